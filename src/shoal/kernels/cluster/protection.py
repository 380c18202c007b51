"""What guides K-Members and K-Members-p: which columns cost, which break ties, and how close sensitive values are."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.frozen.price.cells import FLAT, Prices, helper, whole_of, wide
from shoal.kernels.frozen.price.extents import Extents, extend
from shoal.kernels.frozen.price.many import cells_with

# A column's part: its loss decides; its loss breaks ties; its spread counts in favour; its range diversity decides.
COST, TIE, SPREAD, PAIRS = range(4)

# role: one a column. By code, from at: known (0: no value), and the policy's place, low and high end of its range.
Guide = namedtuple("Guide", "role known axis low high at")


@helper
def is_known(guide: Guide, a: int, x: int) -> bool:
    """Whether a code is a value."""
    return guide.known[guide.at[a] + x] != 0


@helper
def distances(p: Prices, guide: Guide, one: Extents, a: int, x: int, values: np.ndarray, out: np.ndarray) -> None:
    """Ticks of the cells of a value and each of some others, nothing where either is unknown; ``one`` is scratch."""
    one.low[a, 0] = np.iinfo(np.int32).max
    one.high[a, 0] = -1
    if p.kind[a] == FLAT:
        for w in range(p.word_at[a], p.word_at[a + 1]):
            one.bits[w, 0] = np.uint64(0)
    extend(p, one, wide(0), a, x)
    cells_with(p, one, wide(0), a, values, out)
    known = guide.known[guide.at[a] : guide.at[a + 1]]
    for v in range(values.size):
        if known[x] == 0 or known[values[v]] == 0:
            out[v] = 0


@helper
def closeness(p: Prices, guide: Guide, one: Extents, a: int, x: int, values: np.ndarray, out: np.ndarray) -> None:
    """Ticks that a value and each of some others add to all ordered pairs.

    That is their closeness, once for each of the two whose range holds the other, and nothing for unknown values.
    """
    distances(p, guide, one, a, x, values, out)
    start, stop = guide.at[a], guide.at[a + 1]
    known, axis = guide.known[start:stop], guide.axis[start:stop]
    low, high = guide.low[start:stop], guide.high[start:stop]
    whole = whole_of(p, a)
    for v in range(values.size):
        y = values[v]
        inside = 0
        if known[x] != 0 and known[y] != 0:
            inside += low[x] <= axis[y] <= high[x]
            inside += low[y] <= axis[x] <= high[y]
        out[v] = inside * (whole - out[v])


@helper
def mean_closeness(near: int, people: int) -> int:
    """Range diversity in ticks (Loukides, Def. 5.1.4): the mean over all ordered pairs of known values."""
    return wide(0) if people == 0 else wide(near / (people * people) + 0.5)
