"""Mondrian: cut a set of rows in two along one column, again and again, in place.

Rows are moved, not only numbered, so that every pass over a part reads memory in order. Parts lie side by side, so
several cores can work on them with the same result as one.

Where equal rows stay together, cells of the frequency table can be cut in their place, each counting as often as it has
rows: the parts are the same.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import FLAT, Prices, cell, helper, whole_of, wide
from shoal.kernels.judge.cells import Tallies, unit_values, units_ok
from shoal.kernels.judge.rules import Rules
from shoal.kernels.judge.segments import Sensitive, failing
from shoal.kernels.partition.aims import Aim, aim_scores, first_cut
from shoal.kernels.partition.bestcut import best_cuts
from shoal.kernels.partition.weights import put, times, total

# codes, spare: (n, m) int32, the rows' codes and room to move them; order, spare_order: the input row of each;
# ends: 1 at the last row of a finished part; weights, spare_weights: None, or int64 rows of each where they are cells.
Work = namedtuple("Work", "codes spare order spare_order ends weights spare_weights", defaults=(None, None))
# k: rows each side needs at least; relaxed: rows equal to the median may go to either side; fallback: try "below" when
# "up to" the median leaves a side empty.
Options = namedtuple("Options", "k relaxed fallback")

# What rows are judged by, or cells; the other one is None.
Judged = tuple[Rules, Sensitive | None, Tallies | None] | None

TASKS = 32
_CANDIDATES = 32
# Below this many rows, waking a second core costs more than it saves.
PARALLEL_FROM = 1 << 13
_ALL = np.iinfo(np.int64).max
_SPREAD = 0x9E3779B1  # codes that lie side by side are looked for far from each other
_inlined = kernel(inline="always")


@helper
def ranges(codes: np.ndarray, lo: int, hi: int, low: np.ndarray, high: np.ndarray) -> None:
    """Fill in the lowest and the highest code of every column."""
    for a in range(codes.shape[1]):
        low[a] = codes[lo, a]
        high[a] = codes[lo, a]
    for i in range(lo + 1, hi):
        for a in range(codes.shape[1]):
            x = codes[i, a]
            if x < low[a]:
                low[a] = x
            elif x > high[a]:
                high[a] = x


@helper
def _distinct(codes: np.ndarray, lo: int, hi: int, a: int, first: int, last: int) -> int:
    found = 0
    if last - first >= 8 * (hi - lo):  # room for every value between would be cleared again and again
        size = wide(16)
        while size < 2 * (hi - lo):
            size *= 2
        table = np.full(size, -1, dtype=np.int32)
        for i in range(lo, hi):
            slot = (wide(codes[i, a]) * _SPREAD >> 16) & (size - 1)
            while table[slot] >= 0 and table[slot] != codes[i, a]:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                table[slot] = codes[i, a]
                found += 1
        return found
    seen = np.zeros(last - first + 1, dtype=np.uint8)
    for i in range(lo, hi):
        place = codes[i, a] - first
        if seen[place] == 0:
            seen[place] = 1
            found += 1
    return found


@helper
def widths_of(codes: np.ndarray, lo: int, hi: int, p: Prices, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Ticks of every column's cell: nothing where all rows have the same value, and at least one where they do not."""
    widths = np.zeros(codes.shape[1], dtype=np.int64)
    for column in range(codes.shape[1]):
        a, first, last = wide(column), wide(low[column]), wide(high[column])
        if first == last or p.unit[a] == 0.0:
            continue
        if p.kind[a] != FLAT:
            widths[a] = cell(p, a, first, last)
        elif last == p.missing[a]:
            widths[a] = whole_of(p, a)
        else:
            widths[a] = p.sizes[p.size_at[a] + _distinct(codes, lo, hi, a, first, last)]
        # Beside an extreme value, or under a weight that is next to nothing, a cell may cost less than a tick.
        widths[a] = max(widths[a], 1)
    return widths


@helper
def widest(widths: np.ndarray) -> int:
    """The first of the widest columns."""
    a = wide(0)
    for b in range(1, widths.size):
        if widths[b] > widths[a]:
            a = wide(b)
    return a


@helper
def lower_median(codes: np.ndarray, lo: int, hi: int, a: int, limits: tuple, weights: np.ndarray | None) -> tuple:
    """Element number ceil(n/2) of the column, whose codes have these limits, and how many rows lie below it."""
    first, last = limits
    n = hi - lo
    rank = (total(weights, lo, hi) + 1) // 2
    below = wide(0)
    if last - first < 4 * n:
        counts = np.zeros(last - first + 1, dtype=np.int64)
        for i in range(lo, hi):
            counts[codes[i, a] - first] += times(weights, i)
        value = 0
        while below + counts[value] < rank:
            below += counts[value]
            value += 1
        return wide(value + first), below
    values = np.empty(n, dtype=np.int32)
    for i in range(lo, hi):
        values[i - lo] = codes[i, a]
    # Halving the range of values, which takes a pass a bit, is quicker than sorting, and to compile as well.
    value, top = wide(first), wide(last)
    while value < top:
        middle = (value + top) // 2
        found = wide(0)
        for i in range(n):
            if values[i] <= middle:
                found += times(weights, lo + i)
        if found >= rank:
            top = middle
        else:
            value, below = middle + 1, found
    return value, below


@helper
def _goes_left(x: int, value: int, ties: int) -> bool:
    """Whether a row lies left of a cut, which may take only so many more rows that are equal to ``value``."""
    return x < value or (x == value and ties > 0)


@helper
def move(work: Work, lo: int, hi: int, a: int, value: int, ties: int) -> int:
    """Stable partition: below ``value``, then the first ``ties`` equal to it, then the rest; returns its start."""
    m = work.codes.shape[1]
    at = lo
    right = lo
    for i in range(lo, hi):
        x = work.codes[i, a]
        if _goes_left(wide(x), value, ties):
            ties -= x == value
            if at != i:
                for b in range(m):
                    work.codes[at, b] = work.codes[i, b]
                work.order[at] = work.order[i]
                put(work.weights, at, work.weights, i)
            at += 1
        else:
            for b in range(m):
                work.spare[right, b] = work.codes[i, b]
            work.spare_order[right] = work.order[i]
            put(work.spare_weights, right, work.weights, i)
            right += 1
    # Loops, not slices: they compile in a fraction of the time.
    for i in range(right - lo):
        for b in range(m):
            work.codes[at + i, b] = work.spare[lo + i, b]
        work.order[at + i] = work.spare_order[lo + i]
        put(work.weights, at + i, work.spare_weights, lo + i)
    return at


@helper
def _left_rows(work: Work, lo: int, hi: int, a: int, value: int, ties: int) -> int:
    """Number the rows of both sides of a cut in ``spare_order``; returns where the right side starts."""
    at = lo
    end = hi
    for i in range(lo, hi):
        x = work.codes[i, a]
        if _goes_left(wide(x), value, ties):
            ties -= x == value
            work.spare_order[at] = work.order[i]
            at += 1
        else:
            end -= 1
            work.spare_order[end] = work.order[i]
    return at


@_inlined
def _allowed(work: Work, lo: int, middle: int, hi: int, judged: Any, freed: np.ndarray) -> bool:
    """Whether both sides numbered in ``spare_order`` satisfy the rules."""
    rules, data, cells = judged
    values = np.empty(rules.op.size)
    start, stop = lo, middle
    for _ in range(2):
        if not units_ok(work.spare_order[start:stop], rules, data, cells, freed, values):
            return False
        start, stop = middle, hi
    return True


@_inlined
def _freed(work: Work, lo: int, hi: int, judged: Any) -> np.ndarray:
    """Flag rules that a cut need not keep: those that merging does not preserve and that fail here already."""
    rules, data, cells = judged
    freed = np.zeros(rules.op.size, dtype=np.uint8)
    if rules.strict_parent.any():
        values = np.empty(rules.op.size)
        unit_values(work.order[lo:hi], rules, data, cells, values)
        for r in range(rules.op.size):
            freed[r] = rules.strict_parent[r] and failing(rules, values, r)
    return freed


@helper
def _median_cut(work: Work, lo: int, hi: int, a: int, limits: tuple, relaxed: bool, below_only: bool) -> tuple:
    """Value, ties to the left and size of the left side of a cut at the median of one column."""
    value, below = lower_median(work.codes, lo, hi, a, limits, work.weights)
    if relaxed:
        half = (hi - lo) // 2
        return value, half - below, half
    if below_only:
        return value, 0, below
    left = below
    for i in range(lo, hi):
        if work.codes[i, a] == value:
            left += times(work.weights, i)
    return value, _ALL, left


@_inlined
def _candidates(
    work: Work, lo: int, hi: int, limits: tuple, p: Prices, k: int, best: bool | None, aim: Aim | None
) -> tuple:
    """Scores, losses, columns and last left values of all cuts between values, none where they are not asked for."""
    losses, columns, values = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    if best is not None:
        losses, columns, values = best_cuts(work.codes, work.spare, lo, hi, limits, p, k, work.weights)
    scores = np.zeros(losses.size, dtype=np.int64)
    if aim is not None:
        scores = aim_scores(work, lo, hi, aim, columns, values)
    return scores, losses, columns, values


@_inlined
def _cut(
    work: Work, lo: int, hi: int, p: Prices, judged: Judged, options: Options, best: bool | None, aim: Aim | None
) -> int:
    """Take the first allowed cut in order of preference; returns the middle, or lo when none is allowed.

    The best cuts between values come first if asked for (with an aim, those that serve it best), then medians of the
    widest columns (for ``best`` only in relaxed mode, where ties may still be halved).
    """
    n = total(work.weights, lo, hi)
    if n < 2 * options.k:
        return lo
    m = work.codes.shape[1]
    low, high = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    ranges(work.codes, lo, hi, low, high)
    freed = np.zeros(0, dtype=np.uint8)
    if judged is not None:
        freed = _freed(work, lo, hi, judged)
    scores, losses, columns, values = _candidates(work, lo, hi, (low, high), p, options.k, best, aim)
    widths = np.zeros(m, dtype=np.int64)
    if best is None or options.relaxed:
        widths = widths_of(work.codes, lo, hi, p, low, high)
    tries = 0
    again = False
    while True:
        pick = first_cut(scores, losses, _ALL)
        if pick >= 0 and tries < _CANDIDATES:
            losses[pick] = _ALL
            tries += 1
            a, value, ties, left = columns[pick], values[pick], _ALL, options.k
        else:
            a = widest(widths)
            if widths[a] <= 0:
                return lo
            value, ties, left = _median_cut(work, lo, hi, a, (low[a], high[a]), options.relaxed, again)
            again = options.fallback and not options.relaxed and not again
            if not again:
                widths[a] = 0
        if left < options.k or n - left < options.k:
            continue
        if judged is not None:
            middle = _left_rows(work, lo, hi, a, value, ties)
            if not _allowed(work, lo, middle, hi, judged, freed):
                continue
        return move(work, lo, hi, a, value, ties)


@kernel
def cut_parts(
    work: Work, starts: np.ndarray, p: Prices, judged: Judged, options: Options, best: bool | None, aim: Aim | None,
    once: bool,
) -> np.ndarray:  # fmt: skip
    """Cut every given part once or to the end; ``starts`` holds where each begins and, last, where all end.

    Returns where each part was cut first. The one way in from Python: each one more compiles all rules again.
    """
    middles = np.empty(starts.size - 1, dtype=np.int64)
    stack = np.empty((128, 2), dtype=np.int64)
    for part in range(middles.size):
        stack[0, 0], stack[0, 1] = starts[part], starts[part + 1]
        depth = 1
        first = True
        while depth:
            depth -= 1
            a, b = stack[depth, 0], stack[depth, 1]
            middle = _cut(work, a, b, p, judged, options, best, aim)
            if first:
                middles[part] = middle
                first = False
            if once:
                break
            if middle == a:
                work.ends[b - 1] = 1
                continue
            # The smaller side goes first, which keeps the stack logarithmic.
            larger = 0 if middle - a > b - middle else 1
            stack[depth + larger, 0], stack[depth + larger, 1] = a, middle
            stack[depth + 1 - larger, 0], stack[depth + 1 - larger, 1] = middle, b
            depth += 2
    return middles


def partition(
    work: Work, p: Prices, judged: Judged, options: Options, best: bool, aim: Aim | None = None
) -> None:
    """Cut all rows to the end; one core or several give the same parts.

    ``judged`` holds the rules, None where the number of rows decides alone; ``aim`` is what best cuts serve. What is
    not asked for is handed on as None, so that it is not compiled either.
    """
    more = (p, judged, options, True if best else None, aim)
    starts = np.array([0, work.order.size], dtype=np.int64)
    # Level by level until there are enough parts to share out, then part by part.
    while work.order.size >= PARALLEL_FROM and starts.size - 1 < TASKS:
        middles = np.empty(starts.size - 1, dtype=np.int64)

        def cut(part: int, starts: np.ndarray = starts, middles: np.ndarray = middles) -> None:
            middles[part] = cut_parts(work, starts[part : part + 2], *more, True)[0]

        share(middles.size, cut)
        found = np.unique(np.concatenate((starts, middles)))
        if found.size == starts.size:
            break
        starts = found
    share(starts.size - 1, lambda part: cut_parts(work, starts[part : part + 2], *more, False))
