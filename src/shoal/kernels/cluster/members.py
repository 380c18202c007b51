"""K-Members: grow one cluster after another, always by the record that costs least (Byun et al. 2007).

Equal records share one entry of the pool. Every entry carries its running cost; when the cluster's cell changes in a
column, the price of every value is worked out once and only that column's part of the costs moves. Costs are whole
ticks, so that a running cost is exactly the one from scratch. A step is then a few passes over the pool.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.cluster.leftovers import Clusters, admit, least_raised, make_clusters, raise_column, raise_pairs
from shoal.kernels.cluster.protection import PAIRS, SPREAD, TIE, Guide, closeness, distances, is_known, mean_closeness
from shoal.kernels.compiled import kernel
from shoal.kernels.cores import share
from shoal.kernels.frozen.price.cells import Prices, helper, whole_of, wide
from shoal.kernels.frozen.price.extents import extend, make_extents, own_cell
from shoal.kernels.frozen.price.many import cells_with

# Places of records are numbered part after part. rows: places, an entry after another; entry_at: where each entry's
# rows start; part_at: first entry of each part; codes: (columns, entries). A part knows its own values of a column,
# values from value_at (parts, columns + 1); local: (columns, entries) number of an entry's value among them.
Plan = namedtuple("Plan", "rows entry_at part_at codes local values value_at")
# entry: number of each live entry; next: its next row. cost: (2, entries) what decides and what breaks ties. By value
# of each column, from table_at: table: what it adds to the costs now; add: its closeness to the cluster's values.
# delta, close: what a value adds more than before, and scratch; tied: entries of the same least cost; gone: used-up
# entries; one: scratch for the cell of one value.
Pool = namedtuple("Pool", "entry next local cost table add table_at delta close tied gone one")

_GONE = 1 << 61


@helper
def _open_pool(p: Prices, plan: Plan, part: int, k: int) -> Pool:
    m = plan.local.shape[0]
    start = plan.part_at[part]
    d = plan.part_at[part + 1] - start
    table_at = plan.value_at[part] - plan.value_at[part, 0]
    entry = np.empty(d, dtype=np.int64)
    after = np.empty(d, dtype=np.int64)
    local = np.empty((m, d), dtype=np.int32)
    for e in range(d):
        entry[e] = start + e
        after[e] = plan.entry_at[start + e]
        for a in range(m):
            local[a, e] = plan.local[a, start + e]
    return Pool(
        entry, after, local, np.empty((2, d), dtype=np.int64), np.empty(table_at[m], dtype=np.int64),
        np.empty(table_at[m], dtype=np.int64), table_at, np.empty(table_at[m], dtype=np.int64),
        np.empty(table_at[m], dtype=np.int64), np.empty(d, dtype=np.int64), np.empty(k, dtype=np.int64),
        make_extents(p, wide(1)),
    )  # fmt: skip


@helper
def _reset(pool: Pool, live: int) -> None:
    """To an empty cluster every record costs nothing."""
    for layer in range(2):
        for e in range(live):
            pool.cost[layer, e] = 0
    for v in range(pool.table.size):
        pool.table[v] = 0
        pool.add[v] = 0


@helper
def _shift(cost: np.ndarray, local: np.ndarray, delta: np.ndarray, live: int) -> None:
    for e in range(live):
        cost[e] += delta[local[e]]


@helper
def _values(plan: Plan, part: int, a: int) -> np.ndarray:
    """The codes that a part has in a column."""
    return plan.values[plan.value_at[part, a] : plan.value_at[part, a + 1]]


@helper
def _price_pairs(guide: Guide, pool: Pool, a: int, values: np.ndarray, near: int, people: int, whole: int) -> None:
    """Range diversity with each value in the cluster as well, in ``delta``."""
    known = guide.known[guide.at[a] : guide.at[a + 1]]
    add = pool.add[pool.table_at[a] : pool.table_at[a + 1]]
    for v in range(values.size):
        if known[values[v]] == 0:
            pool.delta[v] = mean_closeness(near, people)
        else:
            pool.delta[v] = mean_closeness(near + whole + add[v], people + 1)


@helper
def _reprice(p: Prices, guide: Guide, plan: Plan, part: int, pool: Pool, cl: Clusters, c: int, a: int) -> bool:
    """What every value of a column adds now, and the difference to before in ``delta``; whether there is any."""
    values = _values(plan, part, a)
    table = pool.table[pool.table_at[a] : pool.table_at[a + 1]]
    known = guide.known[guide.at[a] : guide.at[a + 1]]
    delta = pool.delta
    if guide.role[a] == PAIRS:
        _price_pairs(guide, pool, a, values, cl.near[a, c], cl.people[a, c], whole_of(p, a))
    else:
        cells_with(p, cl.cells, c, a, values, delta)
        now = own_cell(p, cl.cells, c, a)
        for v in range(values.size):
            if known[values[v]] == 0:
                delta[v] = now
            if guide.role[a] == SPREAD:
                delta[v] = -delta[v]
    changed = False
    for v in range(values.size):
        value = delta[v]
        delta[v] -= table[v]
        table[v] = value
        changed |= delta[v] != 0
    return changed


@helper
def _meet(p: Prices, guide: Guide, plan: Plan, part: int, pool: Pool, cl: Clusters, c: int, a: int, entry: int) -> None:
    """Count a sensitive value's closeness to the cluster, and every other value's to it."""
    values = _values(plan, part, a)
    at = pool.table_at[a]
    cl.near[a, c] += whole_of(p, a) + pool.add[at + plan.local[a, entry]]
    cl.people[a, c] += 1
    closeness(p, guide, pool.one, a, wide(plan.codes[a, entry]), values, pool.close)
    for v in range(values.size):
        pool.add[at + v] += pool.close[v]


@helper
def _join(
    p: Prices, guide: Guide, plan: Plan, part: int, pool: Pool, cl: Clusters, c: int, entry: int, live: int
) -> bool:
    """Put a record into the open cluster; whether the cost of any other changed."""
    changed = False
    for column in range(guide.role.size):
        a = wide(column)
        x = wide(plan.codes[a, entry])
        # A first record of unknown value still has to price what the others would add.
        touched = guide.role[a] == PAIRS
        if is_known(guide, a, x):
            if touched:
                _meet(p, guide, plan, part, pool, cl, c, a, entry)
            touched |= extend(p, cl.cells, c, a, x)
        if touched and _reprice(p, guide, plan, part, pool, cl, c, a):
            changed = True
            _shift(pool.cost[1 if guide.role[a] == TIE else 0], pool.local[a], pool.delta, live)
    return changed


@helper
def _tie(pool: Pool, live: int, two: bool) -> int:
    """Number the entries of least cost in ``tied``; returns how many there are."""
    main = pool.cost[0]
    tied = pool.tied
    best = main[0]
    for e in range(live):
        best = min(best, main[e])
    count = 0
    for e in range(live):
        if main[e] == best:
            tied[count] = e
            count += 1
    if not two or count < 2:
        return count
    best = pool.cost[1, tied[0]]
    for i in range(count):
        best = min(best, pool.cost[1, tied[i]])
    kept = 0
    for i in range(count):
        if pool.cost[1, tied[i]] == best:
            tied[kept] = tied[i]
            kept += 1
    return kept


@helper
def _first(plan: Plan, pool: Pool, count: int) -> int:
    """Which of the tied entries has the first record."""
    best = 0
    for i in range(1, count):
        if plan.rows[pool.next[pool.tied[i]]] < plan.rows[pool.next[pool.tied[best]]]:
            best = i
    return best


@helper
def _first_of_all(plan: Plan, pool: Pool, live: int) -> int:
    """The live entry with the first record."""
    for e in range(live):
        pool.tied[e] = e
    return pool.tied[_first(plan, pool, live)]


@helper
def _furthest(p: Prices, guide: Guide, plan: Plan, part: int, pool: Pool, live: int, last: int) -> int:
    """The live entry furthest from a record by what decides."""
    for e in range(live):
        pool.cost[0, e] = 0
    for column in range(guide.role.size):
        a = wide(column)
        if guide.role[a] == TIE:
            continue
        values = _values(plan, part, a)
        distances(p, guide, pool.one, a, wide(plan.codes[a, last]), values, pool.delta)
        for v in range(values.size):
            pool.delta[v] = -pool.delta[v]
        _shift(pool.cost[0], pool.local[a], pool.delta, live)
    count = _tie(pool, live, live < 0)
    return pool.tied[_first(plan, pool, count)]


@helper
def _used_up(plan: Plan, pool: Pool, e: int) -> bool:
    return pool.next[e] == plan.entry_at[pool.entry[e] + 1]


@helper
def _drop(plan: Plan, pool: Pool, used: int, live: int) -> int:
    """Fill the places of used-up entries from the end; order does not matter, because ties look at rows."""
    for i in range(used + 1):
        while live > 0 and _used_up(plan, pool, live - 1):
            live -= 1
        if i < used and pool.gone[i] < live:
            e = pool.gone[i]
            live -= 1
            pool.entry[e] = pool.entry[live]
            pool.next[e] = pool.next[live]
            for a in range(pool.local.shape[0]):
                pool.local[a, e] = pool.local[a, live]
    return live


@helper
def _grow(
    p: Prices, guide: Guide, plan: Plan, part: int, pool: Pool, cl: Clusters, c: int, live: int, ids: np.ndarray
) -> int:
    """Grow one cluster from the tied entry 0; returns how many entries stay live."""
    two = (guide.role == TIE).any()
    k = cl.members.shape[1]
    _reset(pool, live)
    used = wide(0)
    count = wide(1)
    for size in range(k):
        pick = _first(plan, pool, count)
        e = pool.tied[pick]
        cl.members[c, size] = pool.entry[e]
        ids[plan.rows[pool.next[e]]] = c
        pool.next[e] += 1
        if _used_up(plan, pool, e):
            pool.gone[used] = e
            used += 1
            count -= 1
            pool.tied[pick] = pool.tied[count]
        changed = _join(p, guide, plan, part, pool, cl, c, pool.entry[e], live)
        for i in range(used):
            pool.cost[0, pool.gone[i]] = _GONE
        # As long as nothing changed, whatever tied still ties.
        if size + 1 < k and (changed or count == 0 or size == 0):
            count = _tie(pool, live, two)
    return _drop(plan, pool, used, live)


@helper
def _place(
    p: Prices, guide: Guide, plan: Plan, part: int, pool: Pool, cl: Clusters, sizes: np.ndarray, entry: int, placed: int
) -> int:
    """The cluster that a leftover raises least; the record is in it afterwards."""
    grown = np.empty(sizes.size, dtype=np.int64)
    for c in range(sizes.size):
        cl.raised[0, c] = 0
        cl.raised[1, c] = 0
    for step in range(2):
        best = least_raised(cl)
        for column in range(guide.role.size):
            a = wide(column)
            x = wide(plan.codes[a, entry])
            if not is_known(guide, a, x):
                continue
            if guide.role[a] == PAIRS:
                closeness(p, guide, pool.one, a, x, _values(plan, part, a), pool.close)
            if step == 1:
                admit(p, guide, cl, best, placed, a, x, plan.local[a], pool.close)
            elif guide.role[a] == PAIRS:
                raise_pairs(p, cl, placed, a, plan.local[a], pool.close)
            else:
                raise_column(p, guide, cl, sizes, a, x, grown)
    cl.late[placed, 0] = best
    cl.late[placed, 1] = entry
    sizes[best] += 1
    return best


@kernel
def cluster_part(p: Prices, guide: Guide, plan: Plan, part: int, k: int, furthest: bool, ids: np.ndarray) -> int:
    """Cluster one part; returns how many records were left over in the end."""
    pool = _open_pool(p, plan, part, k)
    live = pool.entry.size
    rows = plan.entry_at[plan.part_at[part + 1]] - plan.entry_at[plan.part_at[part]]
    count = rows // k
    left = rows - count * k
    cl = make_clusters(make_extents(p, count + 1), count, k, left)
    # The order of the records is random, so the first of them is a random one.
    last = pool.entry[_first_of_all(plan, pool, live)]
    for c in range(count):
        if furthest:
            seed = _furthest(p, guide, plan, part, pool, live, last)
        else:
            seed = _first_of_all(plan, pool, live)
        pool.tied[0] = seed
        live = _grow(p, guide, plan, part, pool, cl, wide(c), live, ids)
        last = cl.members[c, k - 1]
        for a in range(guide.role.size):
            cl.now[a, c] = own_cell(p, cl.cells, wide(c), wide(a))
    sizes = np.full(count, k, dtype=np.int64)
    for i in range(left):
        e = _first_of_all(plan, pool, live)
        ids[plan.rows[pool.next[e]]] = _place(p, guide, plan, part, pool, cl, sizes, pool.entry[e], wide(i))
        pool.next[e] += 1
        pool.gone[0] = e
        live = _drop(plan, pool, wide(_used_up(plan, pool, e)), live)
    return left


def cluster_parts(p: Prices, guide: Guide, plan: Plan, k: int, furthest: bool) -> tuple[np.ndarray, np.ndarray]:
    """Cluster every part; one core or several give the same clusters.

    Returns
    -------
    ids, left
        Cluster of each place, numbered from 0 in each part; leftovers of each part.
    """
    ids = np.empty(plan.rows.size, dtype=np.int32)
    left = np.empty(plan.part_at.size - 1, dtype=np.int64)

    def cluster(part: int) -> None:
        left[part] = cluster_part(p, guide, plan, part, k, furthest, ids)

    share(left.size, cluster)
    return ids, left
