"""Polish: change groups a little at a time, as long as the price of all records falls and every rule keeps holding.

The price may hold the range diversity of groups, or columns whose spread counts in favour. Taking a record in can then
make a group cheaper.

Groups are dealt into zones and records change places only within one, so that zones can run side by side with the
same result on one core as on several. Groups and flags of the scene are changed in place. Codes of the scene are copied
unless each record's codes are next to each other in memory.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.cluster.groups import Groups
from shoal.kernels.prices import Prices
from shoal.kernels.rules import Rules, Sensitive

# ----------------------------------------
# Data that polish looks at while it puts records in other groups (native/cluster/relocate.hpp).


# codes: (columns, n) int32, below 0 for unknown sensitive values; near: (n, c) int32 neighbours, -1 at the end; order:
# int32, the input row of each record; zone: int32, of each group; uint8 flags of records, quiet: it had nothing to
# gain; calm: vain regroupings; touched: its group has changed.
Scene = namedtuple("Scene", "codes near order zone quiet calm touched")
# k: fewest records of a group; widest: largest mean price of a column (infinity: any);
# largest: groups of more records are left alone; pool, tries: records of a regrouping, and how often it is tried.
Limits = namedtuple("Limits", "k widest largest pool tries")
# The rules, what they look at, and prices in which all columns weigh the same, for the limit on their mean. None where
# the number of records decides alone.
Judged = tuple[Rules, Sensitive, Prices] | None


def improve(
    records: np.ndarray,
    z: int,
    groups: Groups,
    p: Prices,
    scene: Scene,
    judged: Judged,
    limits: Limits,
    done: np.ndarray,
) -> None:
    """Move or exchange single records (int64) of a zone; ``done[0]`` and ``done[1]`` (int64) count both.

    Cost: for each record, O(columns) for each member of the groups of its neighbours.
    """
    _native.improve_records(records, z, groups, p, _by_record(scene), judged, limits, done)


def dissolve(
    which: np.ndarray,
    z: int,
    groups: Groups,
    p: Prices,
    scene: Scene,
    judged: Judged,
    limits: Limits,
    done: np.ndarray,
) -> None:
    """Give all members of a group (int64) to others where that is cheaper; ``done[2]`` (int64) counts the groups.

    Cost: for each member, O(columns) for each group of its neighbours.
    """
    _native.dissolve_groups(which, z, groups, p, _by_record(scene), judged, limits, done)


def regroup(
    which: np.ndarray,
    z: int,
    groups: Groups,
    p: Prices,
    scene: Scene,
    judged: Judged,
    limits: Limits,
    done: np.ndarray,
    seed: np.uint64,
) -> None:
    """Deal the records of neighbouring groups (int64) anew where that is cheaper; ``done[3]`` (int64) counts them.

    Cost: O(columns times the square of ``limits.pool``) for each group and try.
    """
    _native.regroup_records(which, z, groups, p, _by_record(scene), judged, limits, done, seed)


def wake(near: np.ndarray, touched: np.ndarray, quiet: np.ndarray, calm: np.ndarray) -> None:
    """Clear the flags of records in and around changed groups, which may have something to gain again.

    Arrays are those of `Scene`; ``quiet`` and ``calm`` are changed in place. Cost: O(neighbours of touched records).
    """
    _native.wake_records(near, touched, quiet, calm)


def _by_record(scene: Scene) -> Scene:
    return scene._replace(codes=np.ascontiguousarray(scene.codes.T))
