"""All cuts of a set of rows between two values of a column, each priced by the loss of both sides.

A side's cells are unions over the values of the column that is cut. Where a column has at most a word's worth of
different values among the rows, its cells are words of bits, one for each place among them, and one pass over the rows
collects those of all columns; wider columns are looked at once for each column that may be cut. A column of one value
costs the same wherever the cut lies.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.frozen.count.extents import WORD, popcount
from shoal.kernels.frozen.heap import make_heap, pop
from shoal.kernels.frozen.price.cells import FLAT, Prices, cell, helper, set_cell, whole_of, wide
from shoal.kernels.partition.weights import times, total

# Different codes of every column, ascending, and the rows of each; a column's from ``at``.
_Held = namedtuple("_Held", "values counts at")
# For each column, the places that a cut may lie behind: from ``first`` up to ``last``, none where they are equal.
_Cuts = namedtuple("_Cuts", "first last")

_ROW = 1 << 32
# Words are joined four at a time, which compiles to wide instructions.
_LANES = 4
_ONE = np.uint64(1)


@helper
def _sorted_places(codes: np.ndarray, lo: int, hi: int, a: int, places: np.ndarray) -> np.ndarray:
    """Sorted distinct codes of a column of many codes; fills in each row's place among them."""
    n = hi - lo
    heap = np.empty(n, dtype=np.int64)
    for i in range(n):
        heap[i] = codes[lo + i, a] * _ROW + i
    make_heap(heap, n)
    values = np.empty(n, dtype=np.int32)
    found = 0
    for size in range(n, 0, -1):
        key = pop(heap, size)
        value = key // _ROW
        if found == 0 or values[found - 1] != value:
            values[found] = value
            found += 1
        places[lo + key % _ROW, a] = found - 1
    return values[:found]


@helper
def _slots(n: int, limits: tuple) -> tuple:
    """Where each column's slots start, one a code between its limits, none where they would be many; and all places."""
    low, high = limits
    slot_at = np.zeros(low.size + 1, dtype=np.int64)
    room = wide(0)
    for a in range(low.size):
        span = wide(high[a]) - low[a] + 1
        slot_at[a + 1] = slot_at[a] + (span if span < 4 * n + 64 else 0)
        room += min(n, span)
    return slot_at, room


@helper
def _ranked(
    codes: np.ndarray, places: np.ndarray, lo: int, hi: int, limits: tuple, weights: np.ndarray | None
) -> _Held:
    """Different codes of all columns; fills in each row's places among them."""
    low, m = limits[0], codes.shape[1]
    slot_at, room = _slots(wide(hi - lo), limits)
    slots = np.zeros(slot_at[m], dtype=np.int64)
    for i in range(lo, hi):
        for a in range(m):
            if slot_at[a] < slot_at[a + 1]:
                slots[slot_at[a] + codes[i, a] - low[a]] += times(weights, i)
    values, counts = np.empty(room, dtype=np.int32), np.zeros(room, dtype=np.int64)
    at = np.zeros(m + 1, dtype=np.int64)
    for a in range(m):
        found = at[a]
        for slot in range(slot_at[a], slot_at[a + 1]):
            if slots[slot]:
                values[found], counts[found] = slot - slot_at[a] + low[a], slots[slot]
                slots[slot] = found - at[a]
                found += 1
        if slot_at[a] == slot_at[a + 1]:
            distinct = _sorted_places(codes, lo, hi, wide(a), places)
            values[found : found + distinct.size] = distinct
            for i in range(lo, hi):
                counts[found + places[i, a]] += times(weights, i)
            found += distinct.size
        at[a + 1] = found
    for i in range(lo, hi):
        for a in range(m):
            if slot_at[a] < slot_at[a + 1]:
                places[i, a] = slots[slot_at[a] + codes[i, a] - low[a]]
    return _Held(values, counts, at)


@helper
def _allowed(held: _Held, n: int, k: int) -> _Cuts:
    """Cuts of every column that leave k rows on both sides."""
    m = held.at.size - 1
    first, last = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64)
    for a in range(m):
        rows = wide(0)
        for place in range(held.at[a + 1] - held.at[a] - 1):
            rows += held.counts[held.at[a] + place]
            if rows < k:
                first[a] = place + 1
            if n - rows >= k:
                last[a] = place + 1
        last[a] = max(first[a], last[a])
    return _Cuts(first, last)


@helper
def _words(
    places: np.ndarray, lo: int, hi: int, narrow: np.ndarray, cut: np.ndarray, word_at: np.ndarray
) -> np.ndarray:
    """For every value of the columns ``cut``, whose rows start at ``word_at``, one word for each of ``narrow``."""
    lanes = -(-narrow.size // _LANES) * _LANES
    words = np.zeros((word_at[cut.size], lanes), dtype=np.uint64)
    own = np.zeros(lanes, dtype=np.uint64)
    for i in range(lo, hi):
        for lane in range(narrow.size):
            own[lane] = _ONE << np.uint64(places[i, narrow[lane]])
        for one in range(cut.size):
            row = word_at[one] + places[i, cut[one]]
            for lane in range(0, lanes, _LANES):
                w, x, y, z = words[row, lane], words[row, lane + 1], words[row, lane + 2], words[row, lane + 3]
                w, x, y, z = w | own[lane], x | own[lane + 1], y | own[lane + 2], z | own[lane + 3]
                words[row, lane], words[row, lane + 1], words[row, lane + 2], words[row, lane + 3] = w, x, y, z
    return words


@helper
def _ends(word: np.uint64) -> tuple:
    """Places of the lowest and the highest bit."""
    filled = word
    for shift in (1, 2, 4, 8, 16, 32):
        filled |= filled >> np.uint64(shift)
    return popcount((word & (~word + _ONE)) - _ONE), popcount(filled) - 1


@helper
def _narrow_ticks(
    p: Prices, held: _Held, words: np.ndarray, narrow: np.ndarray, start: int, stop: int, ticks: np.ndarray
) -> None:
    """Add what the narrow columns' cells cost with all values up to each place, from place ``start`` up to ``stop``.

    ``words`` are those of the values in the order in which they are taken in.
    """
    # Handing on all prices would cost more than a cell does.
    kind, missing, card, sizes, size_at = p.kind, p.missing, p.card, p.sizes, p.size_at
    pair, pair_at, values, at = p.pair, p.pair_at, held.values, held.at
    for lane in range(narrow.size):
        b = narrow[lane]
        union, priced = np.uint64(0), np.uint64(0)
        cost = wide(0)
        for place in range(stop):
            union |= words[place, lane]
            if place < start:
                continue
            # A cell that has not grown costs what it did.
            if union != priced:
                priced = union
                first, last = _ends(union)
                low, high = wide(values[at[b] + first]), wide(values[at[b] + last])
                if kind[b] != FLAT:
                    cost = pair[pair_at[b] + low * card[b] + high] if pair_at[b] >= 0 else cell(p, b, low, high)
                elif high == missing[b] and low < high:
                    cost = whole_of(p, b)
                else:
                    cost = sizes[size_at[b] + popcount(union)]
            ticks[place] += cost


@helper
def _set_ticks(p: Prices, b: int, held: _Held, pairs: tuple, left: np.ndarray, right: np.ndarray) -> None:
    """Add what the cells of a wide flat column cost: a value is there from the first place it stands beside."""
    mine, beside = pairs
    count = held.at[b + 1] - held.at[b]
    first, last = np.full(count, left.size, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    for i in range(mine.size):
        first[beside[i]] = min(first[beside[i]], mine[i])
        last[beside[i]] = max(last[beside[i]], mine[i])
    begin, end = np.zeros(left.size, dtype=np.int64), np.zeros(left.size, dtype=np.int64)
    for value in range(count):
        begin[first[value]] += 1
        end[last[value]] += 1
    # A missing value is the last of all.
    missing = held.values[held.at[b + 1] - 1] == p.missing[b]
    found = wide(0)
    for place in range(left.size):
        found += begin[place]
        left[place] += set_cell(p, b, found, p.missing[b] if missing and first[count - 1] <= place else wide(-2))
    found = wide(0)
    for place in range(left.size - 1, -1, -1):
        found += end[place]
        right[place] += set_cell(p, b, found, p.missing[b] if missing and last[count - 1] >= place else wide(-2))


@helper
def _range_ticks(p: Prices, b: int, held: _Held, pairs: tuple, left: np.ndarray, right: np.ndarray) -> None:
    """Add what the cells of a wide interval or tree column cost."""
    mine, beside = pairs
    values = held.values[held.at[b] : held.at[b + 1]]
    low, high = np.full(left.size, values.size, dtype=np.int64), np.full(left.size, -1, dtype=np.int64)
    for i in range(mine.size):
        low[mine[i]] = min(low[mine[i]], beside[i])
        high[mine[i]] = max(high[mine[i]], beside[i])
    first, last = low[0], high[0]
    for place in range(left.size):
        first, last = min(first, low[place]), max(last, high[place])
        left[place] += cell(p, b, wide(values[first]), wide(values[last]))
    first, last = low[left.size - 1], high[left.size - 1]
    for place in range(left.size - 1, -1, -1):
        first, last = min(first, low[place]), max(last, high[place])
        right[place] += cell(p, b, wide(values[first]), wide(values[last]))


@helper
def _column_losses(
    places: np.ndarray, p: Prices, held: _Held, a: int, words: np.ndarray, others: tuple, cuts: _Cuts,
    losses: np.ndarray,
) -> None:  # fmt: skip
    """Loss of both sides of every allowed cut of one column.

    ``others`` are all columns of several values, narrow ones and wide ones, and what a row costs by those of one.
    """
    narrow, wider, same = others
    count, n = held.at[a + 1] - held.at[a], held.counts[held.at[a] : held.at[a + 1]].sum()
    left, right = np.full(count, same, dtype=np.int64), np.full(count, same, dtype=np.int64)
    first, last = cuts.first[a], cuts.last[a]
    _narrow_ticks(p, held, words, narrow, first, last, left)
    # From the other end, the side right of the last cut is the smallest.
    _narrow_ticks(p, held, words[::-1], narrow, count - 1 - last, count - 1 - first, right[::-1])
    for b in wider:
        pairs = places[:, a], places[:, b]
        if p.kind[b] == FLAT:
            _set_ticks(p, b, held, pairs, left, right)
        else:
            _range_ticks(p, b, held, pairs, left, right)
    rows = wide(0)
    for place in range(last):
        rows += held.counts[held.at[a] + place]
        if place >= first:
            losses[place - first] = rows * left[place] + (n - rows) * right[place + 1]


@helper
def _same_ticks(p: Prices, held: _Held) -> int:
    """What the cells of all columns of one value cost."""
    ticks = wide(0)
    for column in range(held.at.size - 1):
        b = wide(column)
        if held.at[b + 1] - held.at[b] == 1:
            value = wide(held.values[held.at[b]])
            ticks += cell(p, b, value, value) if p.kind[b] != FLAT else p.sizes[p.size_at[b] + 1]
    return ticks


@helper
def best_cuts(
    codes: np.ndarray, places: np.ndarray, lo: int, hi: int, limits: tuple, p: Prices, k: int,
    weights: np.ndarray | None,
) -> tuple:  # fmt: skip
    """Loss, column and last left value of every cut that leaves k rows on both sides.

    ``limits`` are the lowest and the highest code of every column; ``places`` is room of the shape of ``codes``, of
    which rows ``lo`` to ``hi`` are used.
    """
    held = _ranked(codes, places, lo, hi, limits, weights)
    cuts = _allowed(held, total(weights, lo, hi), k)
    size = held.at[1:] - held.at[:-1]
    others = np.flatnonzero((size > 1) & (size <= WORD)), np.flatnonzero(size > WORD), _same_ticks(p, held)
    cut = np.flatnonzero(cuts.last > cuts.first)
    word_at, start = np.zeros(cut.size + 1, dtype=np.int64), np.zeros(cut.size + 1, dtype=np.int64)
    for one in range(cut.size):
        word_at[one + 1] = word_at[one] + size[cut[one]]
        start[one + 1] = start[one] + cuts.last[cut[one]] - cuts.first[cut[one]]
    losses = np.empty(start[cut.size], dtype=np.int64)
    columns, values = np.empty(losses.size, dtype=np.int64), np.empty(losses.size, dtype=np.int64)
    words = _words(places, lo, hi, others[0], cut, word_at)
    for one in range(cut.size):
        a = wide(cut[one])
        mine = words[word_at[one] : word_at[one + 1]]
        _column_losses(places[lo:hi], p, held, a, mine, others, cuts, losses[start[one] : start[one + 1]])
        for place in range(start[one], start[one + 1]):
            columns[place] = a
            values[place] = held.values[held.at[a] + cuts.first[a] + place - start[one]]
    return losses, columns, values
