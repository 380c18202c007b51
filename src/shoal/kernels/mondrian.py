"""Mondrian: cut a set of rows in two along one column, again and again, in place.

Rows are moved, not only numbered, so that every pass over a part reads memory in order. Parts are next to each other,
so that several cores can work on them with the same result as one.

Where equal rows stay together, cells of the frequency table can be cut in their place, each counting as often as it has
rows: the parts are the same.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cores import share
from shoal.kernels.prices import Prices
from shoal.kernels.rules import Rules, Sensitive, Tallies

# ----------------------------------------
# The column that cuts should serve the prediction of (native/partition/aims.hpp).
#
# Scores of cuts are the uncertainty that is left on both sides: for labels the number of records times the entropy
# of their side (InfoGain Mondrian), for numbers the squared deviation from the mean of their side (LSD Mondrian;
# both LeFevre, DeWitt & Ramakrishnan 2006).


# labels: int32, one an input row, kinds of them; numbers: int64, one a label and about 0, empty where labels count;
# unit: what the square of one is of the column's variance. Cells have several labels: at (int64, cells + 1) says where
# those of each begin, counts (int64) how many of its rows have each; both are None for rows.
Aim = namedtuple("Aim", "labels kinds numbers unit at counts")

# Scores are rounded to these parts of a bit (or of the column's variance), so that equal ones tie.
STEPS = float(1 << 20)


# codes, spare: (n, m) int16 or int32, the rows' codes and a buffer to move them; order, spare_order: int32, the input
# row of each; ends: uint8, 1 at the last row of a finished part; weights, spare_weights: None, or int64 rows of each
# where they are cells.
Work = namedtuple("Work", "codes spare order spare_order ends weights spare_weights", defaults=(None, None))
# k: rows each side needs at least; relaxed: rows equal to the median may go to either side; fallback: try "below" when
# "up to" the median leaves a side empty.
Options = namedtuple("Options", "k relaxed fallback")

# Rules, and the data of the rows or the cells that they judge; the other one is None.
Judged = tuple[Rules, Sensitive | None, Tallies | None] | None

TASKS = 32
# Below this many rows, waking a second core costs more than it saves.
PARALLEL_FROM = 1 << 13


def cut_parts(
    work: Work,
    starts: np.ndarray,
    p: Prices,
    judged: Judged,
    options: Options,
    best: bool | None,
    aim: Aim | None,
    once: bool,
) -> np.ndarray:
    """Cut every given part once or to the end; ``starts`` (int64) holds where each begins and, last, where all end.

    Returns where each part was cut first (int64), its start where it stays whole or is empty. Cost: O(rows times
    columns) for each level of cuts, and the rules of each cut that is tried.

    Parameters
    ----------
    judged
        The rules, None where the number of rows decides alone.
    best
        Whether all cuts between values are priced, or only medians of the widest columns are tried.
    aim
        What the best cuts should serve, None for the loss alone.
    """
    middles = np.empty(starts.size - 1, dtype=np.int64)
    _native.cut_parts(work, starts, p, judged, options, bool(best), aim, once, middles)
    return middles


def partition(
    work: Work, p: Prices, judged: Judged, options: Options, best: bool, aim: Aim | None = None
) -> None:
    """Cut all rows to the end; one core or several give the same parts. Arguments and cost are those of `cut_parts`."""
    more = (p, judged, options, best, aim)
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
