"""Mondrian: cut a set of rows in two along one column, again and again, in place.

Rows are moved, not only numbered, so that every pass over a part reads memory in order. Parts lie side by side, so
several cores can work on them with the same result as one.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.judge.rules import TOLERANCE, Rules
from shoal.kernels.judge.segments import Sensitive, failing, rule_values, segment_ok
from shoal.kernels.partition.bestcut import best_cuts
from shoal.kernels.price.geometry import FLAT, Geometry, price

# codes, spare: (n, m) int32, the rows' codes and room to move them; order, spare_order: the input row of each;
# ends: 1 at the last row of a finished part.
Work = namedtuple("Work", "codes spare order spare_order ends")
# k: rows each side needs at least; relaxed: rows equal to the median may go to either side; best: cheapest cut instead
# of the widest column's median; fallback: try "below" when "up to" the median leaves a side empty; judge: rules matter.
Options = namedtuple("Options", "k relaxed best fallback judge")

TASKS = 32
_CANDIDATES = 32
# Below this many rows, waking a second core costs more than it saves.
PARALLEL_FROM = 1 << 13
_ALL = np.iinfo(np.int64).max


@kernel
def ranges(codes: np.ndarray, lo: int, hi: int, low: np.ndarray, high: np.ndarray) -> None:
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


@kernel
def _distinct(codes: np.ndarray, lo: int, hi: int, a: int, first: int, last: int) -> int:
    seen = np.zeros(last - first + 1, dtype=np.uint8)
    found = 0
    for i in range(lo, hi):
        place = codes[i, a] - first
        if seen[place] == 0:
            seen[place] = 1
            found += 1
    return found


@kernel
def widths_of(codes: np.ndarray, lo: int, hi: int, geo: Geometry, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    widths = np.zeros(codes.shape[1])
    for a in range(codes.shape[1]):
        if low[a] == high[a] or geo.weight[a] == 0.0:
            continue
        if geo.kind[a] == FLAT:
            found = _distinct(codes, lo, hi, a, low[a], high[a])
            widths[a] = geo.weight[a] * (1.0 if high[a] == geo.missing[a] else (found - 1.0) * geo.scale[a])
        else:
            widths[a] = geo.weight[a] * price(geo, a, low[a], high[a])
    return widths


@kernel
def _widest(widths: np.ndarray) -> int:
    """The first column that is as wide as the widest, rounding aside."""
    most = widths.max()
    a = 0
    while widths[a] < most - TOLERANCE:
        a += 1
    return a


@kernel
def lower_median(codes: np.ndarray, lo: int, hi: int, a: int, first: int, last: int) -> tuple:
    """Element number ceil(n/2) of the column, and how many rows lie below it."""
    n = hi - lo
    rank = (n + 1) // 2
    if last - first < 4 * n:
        counts = np.zeros(last - first + 1, dtype=np.int64)
        for i in range(lo, hi):
            counts[codes[i, a] - first] += 1
        below = 0
        value = 0
        while below + counts[value] < rank:
            below += counts[value]
            value += 1
        return np.int64(value + first), below
    values = np.empty(n, dtype=np.int32)
    for i in range(lo, hi):
        values[i - lo] = codes[i, a]
    values.sort()
    below = rank - 1
    while below > 0 and values[below - 1] == values[rank - 1]:
        below -= 1
    return np.int64(values[rank - 1]), below


@kernel
def move(work: Work, lo: int, hi: int, a: int, value: int, ties: int) -> int:
    """Stable partition: below ``value``, then the first ``ties`` equal to it, then the rest; returns its start."""
    m = work.codes.shape[1]
    at = lo
    right = lo
    for i in range(lo, hi):
        x = work.codes[i, a]
        left = x < value
        if x == value and ties > 0:
            ties -= 1
            left = True
        if left:
            if at != i:
                for b in range(m):
                    work.codes[at, b] = work.codes[i, b]
                work.order[at] = work.order[i]
            at += 1
        else:
            for b in range(m):
                work.spare[right, b] = work.codes[i, b]
            work.spare_order[right] = work.order[i]
            right += 1
    # Loops, not slices: they compile in a fraction of the time.
    for i in range(right - lo):
        for b in range(m):
            work.codes[at + i, b] = work.spare[lo + i, b]
        work.order[at + i] = work.spare_order[lo + i]
    return at


@kernel
def _left_rows(work: Work, lo: int, hi: int, a: int, value: int, ties: int) -> int:
    """Number the rows of both sides of a cut in ``spare_order``; returns where the right side starts."""
    at = lo
    end = hi
    for i in range(lo, hi):
        x = work.codes[i, a]
        left = x < value
        if x == value and ties > 0:
            ties -= 1
            left = True
        if left:
            work.spare_order[at] = work.order[i]
            at += 1
        else:
            end -= 1
            work.spare_order[end] = work.order[i]
    return at


@kernel
def _allowed(work: Work, lo: int, middle: int, hi: int, rules: Rules, data: Sensitive, freed: np.ndarray) -> bool:
    """Whether both sides numbered in ``spare_order`` satisfy the rules."""
    values = np.empty(rules.op.size)
    start, stop = lo, middle
    for _ in range(2):
        if not segment_ok(work.spare_order[start:stop], rules, data, freed, values):
            return False
        start, stop = middle, hi
    return True


@kernel
def _freed(work: Work, lo: int, hi: int, rules: Rules, data: Sensitive) -> np.ndarray:
    """Rules that a cut need not keep: those that merging does not preserve and that fail here already."""
    freed = np.zeros(rules.op.size, dtype=np.uint8)
    values = np.empty(rules.op.size)
    rule_values(work.order[lo:hi], rules, data, values)
    for r in range(rules.op.size):
        if rules.strict_parent[r] and failing(rules, values, r):
            freed[r] = 1
    return freed


@kernel
def _median_cut(work: Work, lo: int, hi: int, a: int, limits: tuple, relaxed: bool, below_only: bool) -> tuple:
    """Value, ties to the left and size of the left side of a cut at the median of one column."""
    value, below = lower_median(work.codes, lo, hi, a, limits[0], limits[1])
    if relaxed:
        half = (hi - lo) // 2
        return value, half - below, half
    if below_only:
        return value, 0, below
    left = below
    for i in range(lo, hi):
        if work.codes[i, a] == value:
            left += 1
    return value, _ALL, left


@kernel
def _cut(work: Work, lo: int, hi: int, geo: Geometry, rules: Rules, data: Sensitive, options: Options) -> int:
    """Take the first allowed cut in order of preference; returns the middle, or lo when none is allowed.

    The best cuts between values come first if asked for, then medians of the widest columns (for ``best`` only in
    relaxed mode, where ties may still be halved).
    """
    n = hi - lo
    if n < 2 * options.k:
        return lo
    m = work.codes.shape[1]
    low = np.empty(m, dtype=np.int32)
    high = np.empty(m, dtype=np.int32)
    ranges(work.codes, lo, hi, low, high)
    freed = np.zeros(rules.op.size, dtype=np.uint8)
    if options.judge and rules.strict_parent.any():
        freed = _freed(work, lo, hi, rules, data)
    losses = np.empty(0)
    columns = np.empty(0, dtype=np.int64)
    values = np.empty(0, dtype=np.int64)
    if options.best:
        losses, columns, values = best_cuts(work.codes, lo, hi, geo, options.k)
    widths = np.zeros(m)
    if options.relaxed or not options.best:
        widths = widths_of(work.codes, lo, hi, geo, low, high)
    tries = 0
    again = False
    while True:
        pick = int(np.argmin(losses)) if losses.size else -1
        if pick >= 0 and losses[pick] < np.inf and tries < _CANDIDATES:
            losses[pick] = np.inf
            tries += 1
            a, value, ties, left = columns[pick], values[pick], _ALL, options.k
        else:
            a = _widest(widths)
            if widths[a] <= 0.0:
                return lo
            value, ties, left = _median_cut(work, lo, hi, a, (low[a], high[a]), options.relaxed, again)
            again = options.fallback and not options.relaxed and not again
            if not again:
                widths[a] = 0.0
        if left < options.k or n - left < options.k:
            continue
        if options.judge:
            middle = _left_rows(work, lo, hi, a, value, ties)
            if not _allowed(work, lo, middle, hi, rules, data, freed):
                continue
        return move(work, lo, hi, a, value, ties)


@kernel
def _finish(work: Work, lo: int, hi: int, geo: Geometry, rules: Rules, data: Sensitive, options: Options) -> None:
    """Cut one part to the end; the smaller side goes first, which keeps the stack logarithmic."""
    stack = np.empty((128, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = lo, hi
    depth = 1
    while depth:
        depth -= 1
        a, b = stack[depth, 0], stack[depth, 1]
        middle = _cut(work, a, b, geo, rules, data, options)
        if middle == a:
            work.ends[b - 1] = 1
            continue
        if middle - a > b - middle:
            stack[depth, 0], stack[depth, 1] = a, middle
            stack[depth + 1, 0], stack[depth + 1, 1] = middle, b
        else:
            stack[depth, 0], stack[depth, 1] = middle, b
            stack[depth + 1, 0], stack[depth + 1, 1] = a, middle
        depth += 2


def partition(work: Work, geo: Geometry, rules: Rules, data: Sensitive, options: Options) -> None:
    """Cut all rows to the end; one core or several give the same parts."""
    if work.order.size < PARALLEL_FROM:
        _finish(work, 0, work.order.size, geo, rules, data, options)
    else:
        _partition_parallel(work, geo, rules, data, options)


@kernel
def partition_parts(
    work: Work, starts: np.ndarray, geo: Geometry, rules: Rules, data: Sensitive, options: Options
) -> None:
    """Cut every given part to the end; ``starts`` holds where each begins and, last, where all end."""
    for p in range(starts.size - 1):
        _finish(work, starts[p], starts[p + 1], geo, rules, data, options)


def _partition_parallel(work: Work, geo: Geometry, rules: Rules, data: Sensitive, options: Options) -> None:
    """Level by level until there are enough parts to share out, then part by part."""
    starts = np.array([0, work.order.size], dtype=np.int64)
    while starts.size - 1 < TASKS:
        parts = starts.size - 1
        middles = np.empty(parts, dtype=np.int64)

        def cut(p: int, starts: np.ndarray = starts, middles: np.ndarray = middles) -> None:
            middles[p] = _cut(work, starts[p], starts[p + 1], geo, rules, data, options)

        share(parts, cut)
        found = np.unique(np.concatenate((starts, middles)))
        if found.size == starts.size:
            break
        starts = found
    share(starts.size - 1, lambda p: _finish(work, starts[p], starts[p + 1], geo, rules, data, options))
