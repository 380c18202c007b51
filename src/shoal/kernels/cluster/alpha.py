"""Clustering for complete (alpha, k)-anonymity: the smallest class joins the nearest one it is compatible with."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.judge.rules import TOLERANCE
from shoal.kernels.frozen.price.cells import Prices, helper, wide
from shoal.kernels.frozen.price.extents import clear, copy_cells, extend_all, join, make_extents, own_cost
from shoal.kernels.frozen.price.many import joint_costs

# Records: codes (columns, records), sensitive code of each, cap by code (infinite: none), known by code (0: no value).
Records = namedtuple("Records", "codes value cap known")
# Classes, a slot each and one more as scratch: size (0: none), known records, cost: ticks a record, head, tail: first
# and last record of its list, link: by record, the next. stuck: 1 while nothing is compatible; tally: scratch by code.
Classes = namedtuple("Classes", "size known cost head tail link stuck cells tally")
MERGED, BEYOND, MOVED, SUPPRESSED = range(4)


@helper
def _open_classes(p: Prices, records: Records, ids: np.ndarray, count: int) -> Classes:
    n = ids.size
    classes = Classes(
        np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64), np.zeros(count + 1, dtype=np.int64),
        np.full(count + 1, -1, dtype=np.int64), np.full(count + 1, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64),
        np.zeros(count + 1, dtype=np.uint8), make_extents(p, count + 1), np.zeros(records.cap.size, dtype=np.int64),
    )  # fmt: skip
    for i in range(n):
        _append(p, records, classes, wide(ids[i]), wide(i))
    for g in range(count):
        classes.cost[g] = own_cost(p, classes.cells, wide(g))
    return classes


@helper
def _append(p: Prices, records: Records, classes: Classes, g: int, i: int) -> None:
    """Put a record at the end of a class; its cost is left as it was."""
    if classes.head[g] < 0:
        classes.head[g] = i
    else:
        classes.link[classes.tail[g]] = i
    classes.tail[g] = i
    classes.link[i] = -1
    classes.size[g] += 1
    classes.known[g] += records.known[records.value[i]]
    extend_all(p, classes.cells, g, records.codes, i)


@helper
def _compatible(records: Records, classes: Classes, g: int, h: int, k: int) -> bool:
    """Rule 2: no value's share of both is above its cap; small classes are judged as if filled up to k."""
    value, cap, known, link, tally = records.value, records.cap, records.known, classes.link, classes.tally
    size = classes.size[g] + classes.size[h]
    people = classes.known[g] + classes.known[h] + max(wide(0), k - size)
    good = True
    for step in range(3):
        for slot in (g, h):
            i = classes.head[slot]
            while i >= 0:
                x = value[i]
                if step == 0:
                    tally[x] += known[x]
                elif step == 1:
                    good = good and (tally[x] == 0 or tally[x] / (people * cap[x]) <= 1.0 + TOLERANCE)
                else:
                    tally[x] = 0
                i = link[i]
    return good


@helper
def _nearest(
    p: Prices, records: Records, classes: Classes, g: int, count: int, k: int, most: int, joint: np.ndarray
) -> int:
    """The compatible class whose merging raises the loss of a record least, of equals the first; -1: there is none.

    ``most``: records that both may have together (rule 1).
    """
    joint_costs(p, classes.cells, g, wide(0), count, joint)
    size, cost = classes.size, classes.cost
    best = wide(-1)
    least = np.inf
    for h in range(count):
        total = size[g] + size[h]
        if size[h] == 0 or h == g or total > most:
            continue
        raised = (total * joint[h] - size[g] * cost[g] - size[h] * cost[h]) / total
        if raised < least and _compatible(records, classes, g, wide(h), k):
            best, least = wide(h), raised
    return best


@helper
def _merge(classes: Classes, g: int, h: int, cost: int) -> int:
    """Make one class of two, in the lower slot; returns it."""
    keep, gone = min(g, h), max(g, h)
    classes.link[classes.tail[keep]] = classes.head[gone]
    classes.tail[keep] = classes.tail[gone]
    classes.size[keep] += classes.size[gone]
    classes.known[keep] += classes.known[gone]
    classes.cost[keep] = cost
    classes.stuck[keep] = 0
    join(classes.cells, keep, gone)
    _empty(classes, gone)
    return keep


@helper
def _empty(classes: Classes, g: int) -> None:
    classes.size[g] = 0
    classes.known[g] = 0
    classes.head[g] = -1
    classes.tail[g] = -1


@helper
def _unstick(records: Records, classes: Classes, changed: int, count: int, k: int) -> int:
    """Free classes that a changed one is compatible with; returns the size of the smallest of them, or k."""
    least = k
    for g in range(count):
        if classes.stuck[g] == 0 or classes.size[g] == 0 or g == changed:
            continue
        if classes.size[g] + classes.size[changed] > 2 * k - 1:
            continue
        if _compatible(records, classes, wide(g), changed, k):
            classes.stuck[g] = 0
            least = min(least, classes.size[g])
    return least


@helper
def _compact(classes: Classes, count: int) -> int:
    """Move the classes that are left together, in their order; returns how many there are."""
    alive = wide(0)
    cells = classes.cells
    for g in range(count):
        if classes.size[g] == 0:
            continue
        if alive != g:
            classes.size[alive], classes.known[alive] = classes.size[g], classes.known[g]
            classes.cost[alive], classes.stuck[alive] = classes.cost[g], classes.stuck[g]
            classes.head[alive], classes.tail[alive] = classes.head[g], classes.tail[g]
            copy_cells(cells, wide(g), cells, alive)
        alive += 1
    for g in range(alive, count):
        _empty(classes, wide(g))
    return alive


@helper
def _settle(
    p: Prices, records: Records, classes: Classes, count: int, k: int, joint: np.ndarray, done: np.ndarray
) -> int:
    """Merge by both rules until every class of fewer than k records is stuck; returns how many slots are in use."""
    level = wide(1)
    cursor = wide(0)
    gone = 0
    while level < k:
        if cursor >= count:
            level += 1
            cursor = wide(0)
            continue
        g = cursor
        cursor += 1
        if classes.size[g] != level or classes.stuck[g] == 1:
            continue
        h = _nearest(p, records, classes, g, count, k, 2 * k - 1, joint)
        if h < 0:
            classes.stuck[g] = 1
            continue
        keep = _merge(classes, g, h, joint[h])
        done[MERGED] += 1
        gone += 1
        freed = _unstick(records, classes, keep, count, k)
        if 4 * gone > count:
            count = _compact(classes, count)
            gone = 0
            cursor = wide(0)
        if freed <= level:
            level, cursor = freed, wide(0)
    return _compact(classes, count)


@helper
def _dissolve(
    p: Prices, records: Records, classes: Classes, g: int, count: int, k: int, joint: np.ndarray, ids: np.ndarray,
    done: np.ndarray,
) -> None:  # fmt: skip
    """Move each record of a class to where it costs least and rule 2 holds; those with no such class are suppressed."""
    scratch = wide(classes.size.size - 1)
    i = classes.head[g]
    _empty(classes, g)
    while i >= 0:
        after = classes.link[i]
        _empty(classes, scratch)
        clear(classes.cells, scratch)
        _append(p, records, classes, scratch, i)
        classes.cost[scratch] = own_cost(p, classes.cells, scratch)
        h = _nearest(p, records, classes, scratch, count, k, wide(ids.size), joint)
        if h < 0:
            ids[i] = -1
            done[SUPPRESSED] += 1
        else:
            _merge(classes, scratch, h, joint[h])
            done[MOVED] += 1
            _unstick(records, classes, h, count, k)
        i = after
    _empty(classes, scratch)


@helper
def _smallest(classes: Classes, count: int, k: int) -> int:
    best = wide(-1)
    for g in range(count):
        if 0 < classes.size[g] < k and (best < 0 or classes.size[g] < classes.size[best]):
            best = wide(g)
    return best


@kernel
def cluster_classes(
    p: Prices, records: Records, ids: np.ndarray, count: int, k: int, mend: bool, done: np.ndarray
) -> int:
    """Merge ``count`` classes, numbered by their first records; returns how many are left.

    Classes that stay too small are mended if asked for: rule 1 is waived, or they are dissolved, or suppressed (-1).
    """
    classes = _open_classes(p, records, ids, count)
    joint = np.empty(count + 1, dtype=np.int64)
    count = _settle(p, records, classes, count, k, joint, done)
    g = _smallest(classes, count, k) if mend else wide(-1)
    while g >= 0:
        h = _nearest(p, records, classes, g, count, k, wide(ids.size), joint)
        if h >= 0:
            keep = _merge(classes, g, h, joint[h])
            done[BEYOND] += 1
            _unstick(records, classes, keep, count, k)
        else:
            _dissolve(p, records, classes, g, count, k, joint, ids, done)
        count = _settle(p, records, classes, count, k, joint, done)
        g = _smallest(classes, count, k)
    for g in range(count):
        i = classes.head[g]
        while i >= 0:
            ids[i] = g
            i = classes.link[i]
    return count


def cluster_parts(
    p: Prices, records: Records, starts: np.ndarray, k: int, ids: np.ndarray, counts: np.ndarray, done: np.ndarray
) -> None:
    """Cluster the records of every part from single records on, mending nothing; parts as in `cluster_classes`."""

    def cluster(q: int) -> None:
        first, last = starts[q], starts[q + 1]
        mine = Records(
            np.ascontiguousarray(records.codes[:, first:last]), records.value[first:last], records.cap, records.known
        )
        ids[first:last] = np.arange(last - first)
        counts[q] = cluster_classes(p, mine, ids[first:last], last - first, k, False, done[q])

    share(counts.size, cluster)
