"""Groups that change: lists of members, extents and prices, and the price of each group without each member."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

import numpy as np

from shoal.kernels import _native
from shoal.kernels.prices import Prices, make_group_extents
from shoal.kernels.sensitive_ranges import CARD, Secrets

# ----------------------------------------
# Range diversity of groups that change (Loukides 2008, Def. 5.1.4), in whole ticks.
#
# Pairs are counted in whole steps of closeness, so that a group's figure depends on its members, never on the order
# in which they came. Records are counted, also where people have several.


# secrets: codes (int32) and closeness of the columns that count, of which there may be none; unit: float64 ticks of
# each of them; full: steps of a closeness of 1; steps: what all pairs of values of columns of few values add, both
# ways, from step_at (-1: the column has too many). By group and column, total: steps of all ordered pairs, known:
# records with a value; brings: by group, steps that each such value would have with its members, from bring_at. own: by
# record and column, steps that it has with the others of its group. All int64.
Exposure = namedtuple("Exposure", "secrets unit full steps step_at total known brings bring_at own")


def make_exposure(secrets: Secrets, unit: np.ndarray, full: int, capacity: int, listed: Sequence[bool]) -> Exposure:
    """Make room for so many groups; ``listed`` flags the columns of few values. Cost: O(their values squared)."""
    n, columns = secrets.codes.shape
    cards = np.where(np.asarray(listed, dtype=bool), secrets.whole[:, CARD], 0)
    exposure = Exposure(
        secrets,
        np.asarray(unit, dtype=np.float64),
        np.int64(full),
        np.zeros(int((cards**2).sum()), dtype=np.int64),
        np.where(cards > 0, np.cumsum(cards**2) - cards**2, -1).astype(np.int64),
        np.zeros((capacity, columns), dtype=np.int64),
        np.zeros((capacity, columns), dtype=np.int64),
        np.zeros((capacity, int(cards.sum())), dtype=np.int64),
        (np.cumsum(cards) - cards).astype(np.int64),
        np.zeros((n, columns), dtype=np.int64),
    )
    _native.fill_steps(exposure)
    return exposure


# Of each record: int32 its group, its neighbours in the group's list, and int64 `bare`, the ticks of the group without
# it. Of each group: int32 head of the list and size, cells (see `shoal.kernels.prices`), int64 their ticks
# (groups, columns), and the sum of these and of its range diversity.
Groups = namedtuple("Groups", "ids after before bare head size cells now cost shown")


def make_groups(p: Prices, codes: np.ndarray, ids: np.ndarray, shown: Exposure) -> Groups:
    """Put every record in its group (int32 ``ids``) and price all groups, in O(columns times records).

    ``codes`` are int32 (columns, records); they are copied unless each record's codes are next to each other in memory.
    There may be as many groups as ``shown`` has room for.
    """
    capacity = shown.total.shape[0]
    n = ids.size
    groups = Groups(
        ids=np.full(n, -1, dtype=np.int32),
        after=np.full(n, -1, dtype=np.int32),
        before=np.full(n, -1, dtype=np.int32),
        bare=np.zeros(n, dtype=np.int64),
        head=np.full(capacity, -1, dtype=np.int32),
        size=np.zeros(capacity, dtype=np.int32),
        cells=make_group_extents(p, capacity),
        now=np.zeros((capacity, codes.shape[0]), dtype=np.int64),
        cost=np.zeros(capacity, dtype=np.int64),
        shown=shown,
    )
    _native.fill_groups(groups, ids, p, np.ascontiguousarray(codes.T))
    return groups
