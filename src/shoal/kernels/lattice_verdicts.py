"""Judge the classes of one node: which fail, and which fail at every finer node too.

A class that does both is settled: no rule is computed for it again.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.lattice import Layout, Room, Slots
from shoal.kernels.rules import RuleView

# The frequency table that nodes are counted on. codes: int32 (levels of all attributes, entries); weight: int64, rows
# of each entry.
Entries = namedtuple("Entries", "codes weight layout")
# Leaf codes of entries, to count lost rows by; codes of all attributes are numbered in one list. weight: int64, rows of
# each entry; places: int32 (entries, attributes that are not rolled up), its leaf codes. Of the attribute that is
# rolled up: deep (int32) and rows (int64), leaf codes and the rows that have them, entry after entry; offsets: int64,
# where each entry's start.
Losing = namedtuple("Losing", "weight places deep rows offsets")
# By class: bad (uint8), 1 where it fails a model; inherits (uint8), 1 where it does so at every finer node; gone
# (int64), rows of others that are lost there.
Flags = namedtuple("Flags", "bad inherits gone")

FAILS, INHERITS = 1, 2


def flag_small(
    sizes: np.ndarray, classes: int, least: np.ndarray, bad: np.ndarray, inherits: np.ndarray, gone: np.ndarray
) -> None:
    """Flag classes with too few rows for the models, ``least[0]``, and for what finer nodes inherit, ``least[1]``.

    ``sizes`` is int64, rows of each class, and ``least`` float64 (2). ``bad``, ``inherits`` and ``gone``, see `Flags`,
    are filled up to ``classes`` and may have more room. Cost: O(classes).
    """
    _native.flag_small(sizes, classes, least, bad, inherits, gone)


def tally(
    sizes: np.ndarray, classes: int, bad: np.ndarray, inherits: np.ndarray, gone: np.ndarray, out: np.ndarray
) -> None:
    """Sum up suppressed rows, good classes, their squared sizes, all classes' squared sizes, rows lost for good.

    Arguments are those of `flag_small`; ``out`` is float64 (5). Rows lost within a class count only where the class
    itself is not lost, and ``gone`` is set to 0 otherwise. Cost: O(classes).
    """
    _native.tally(sizes, classes, bad, inherits, gone, out)


def check_sizes(
    entries: Entries, levels: np.ndarray, slots: Slots, room: Room, least: np.ndarray, flags: Flags, out: np.ndarray
) -> int:
    """Number a node's classes, judge them by their sizes and tally them; -1 when its keys do not fit into 64 bits.

    See `shoal.kernels.lattice.count_node`, `flag_small` and `tally`. Cost: O(entries times attributes).
    """
    return _native.check_sizes(entries, levels, slots, room, least, flags, out)


def class_histograms(
    class_of: np.ndarray,
    classes: int,
    histogram: tuple[np.ndarray, np.ndarray, np.ndarray],
    flags: np.ndarray,
    bad: np.ndarray,
    inherits: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Make compressed histograms of classes, and count each class's records of known value.

    Cost: O(entries + classes times codes), or O(entries log codes) where that is less.

    Parameters
    ----------
    class_of
        int32, class of each owner; -1: it is in none.
    histogram
        int32 owner, int32 code and int64 count: one flat list, which is faster than many short ones.
    flags
        uint8, one a code: 1 where it is unknown.
    bad, inherits
        uint8, one a class: histograms of classes with both stay empty. Empty arrays: none has both.

    Returns
    -------
    int64 indptr, int32 codes, int64 counts (see `shoal.kernels.histograms`), and int64 known.
    """
    indptr, known = np.empty(classes + 1, dtype=np.int64), np.empty(classes, dtype=np.int64)
    codes, counts = _native.class_histograms(class_of, classes, histogram, flags, bad, inherits, indptr, known)
    return indptr, codes, counts, known


def flag_values(
    view: RuleView,
    limit: float,
    sets: int,
    k: int,
    histograms: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    bad: np.ndarray,
    inherits: np.ndarray,
    gone: np.ndarray,
) -> None:
    """Flag the classes that fail one rule, for the models, for what is inherited, or for both.

    Distances between distributions do not grow when classes are merged. So the rows of a class that are kept at a finer
    node are as near the table as each of their parts: the rest of the class, ``gone``, is lost there whatever the node.

    ``sets`` is FAILS, INHERITS or both, ``histograms`` are those of `class_histograms`, and ``k`` is the fewest records
    of a class; the flags of `Flags` are only ever set. Cost: that of `shoal.kernels.rules.judge_rule`.
    """
    _native.flag_values(view, limit, sets, k, histograms, bad, inherits, gone)


def lost_codes(losing: Losing, class_of: np.ndarray, flags: np.ndarray, every: np.ndarray, lost: np.ndarray) -> None:
    """Count the rows of flagged classes by leaf code, one attribute after another, in O(entries times attributes).

    ``class_of`` is int32, the class of each entry; ``every`` and ``lost`` are float64, all rows and lost rows by code.
    """
    _native.lost_codes(losing, class_of, flags, every, lost)


def lost_prices(lost: np.ndarray, prices: np.ndarray, card_at: np.ndarray) -> np.ndarray:
    """Price the suppressed rows in each attribute at each level, from rows by leaf code (float64).

    ``prices`` is float64 (levels, leaf codes of all attributes), ``card_at`` int64, where each attribute's begin, and
    the result float64 (attributes, levels). Cost: O(levels times leaf codes).
    """
    out = np.empty((card_at.size - 1, prices.shape[0]))
    _native.lost_prices(lost, prices, card_at, out)
    return out


def price_others(
    sizes: np.ndarray,
    bad: np.ndarray,
    inherits: np.ndarray,
    codes: np.ndarray,
    first: np.ndarray,
    levels: np.ndarray,
    layout: Layout,
    prices: np.ndarray,
) -> np.ndarray:
    """Price the rows of bad classes in each attribute at its level, less those of classes that inherit.

    ``sizes`` is int64, rows of each class, ``bad`` and ``inherits`` are its flags, and ``first`` (int32) is an entry of
    ``codes`` (int32, levels of all attributes, entries) that belongs to it: all of them cost the same there. ``levels``
    is int64, ``prices`` as for `lost_prices`; the result is float64, one an attribute. Cost: O(classes times
    attributes).
    """
    sums = np.empty(levels.size)
    _native.price_others(sizes, bad, inherits, codes, first, levels, layout, prices, sums)
    return sums


def price_gone(
    gone: np.ndarray,
    codes: np.ndarray,
    first: np.ndarray,
    levels: np.ndarray,
    layout: Layout,
    prices: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add prices of the rows lost within classes, at the highest price in each, whichever rows they are.

    ``gone`` is int64, one a class; ``codes``, ``first``, ``levels`` and ``prices`` are those of `price_others`, and
    ``out`` is float64 (attributes, levels). Cost: O(attributes times (classes + levels times leaf codes)).
    """
    _native.price_gone(gone, codes, first, levels, layout, prices, out)
