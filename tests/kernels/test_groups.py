"""Groups that change: prices, and what each group would cost without each member."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import geometry
from shoal.kernels.cluster.mending import nearest_groups, pair_off, union_price
from shoal.kernels.cluster.regroup import grow, shuffle
from shoal.kernels.price.groups import column_prices, empty_groups, fill_groups, join, leave, list_members, refresh
from tests.measures.naive import NaiveColumn, record_price
from tests.table.random_tables import Case, cases


def state(case: Case, labels: np.ndarray):  # type: ignore[no-untyped-def]
    table = case.table()
    geo = geometry(table)
    codes = np.ascontiguousarray(table.quasi_codes.T)
    groups = empty_groups(case.n, codes.shape[1], max(1, int(geo.word_at[-1])), int(labels.max()) + 2)
    fill_groups(groups, labels.astype(np.int32), geo, codes)
    return geo, codes, groups, [NaiveColumn(case, name) for name in case.quasi]


def drawn(data: st.DataObject) -> tuple[Case, np.ndarray]:
    case = data.draw(cases(sensitive=(0, 0)))
    labels = data.draw(st.lists(st.integers(0, 3), min_size=case.n, max_size=case.n))
    return case, np.array(labels)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_prices_and_prices_without_each_member(data: st.DataObject) -> None:
    case, labels = drawn(data)
    _, _, groups, columns = state(case, labels)
    for g in np.unique(labels):
        rows = np.flatnonzero(labels == g).tolist()
        assert groups.cost[g] == pytest.approx(record_price(columns, rows), abs=1e-12)
        assert groups.size[g] == len(rows)
        if len(rows) > 1:
            for r in rows:
                rest = [row for row in rows if row != r]
                assert groups.bare[r] == pytest.approx(record_price(columns, rest), abs=1e-12)
    assert column_prices(groups).sum() >= 0


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_leaving_and_joining_in_any_order(data: st.DataObject) -> None:
    case, labels = drawn(data)
    geo, codes, groups, _ = state(case, labels)
    room = np.empty(case.n, dtype=np.int64)
    for r, g in data.draw(st.lists(st.tuples(st.integers(0, case.n - 1), st.integers(0, 3)), max_size=12)):
        g = min(g, groups.size.size - 1)
        leave(groups, r)
        join(groups, r, g)
        labels[r] = g
    for g in range(groups.size.size):
        refresh(groups, g, geo, codes, room)
        assert sorted(room[: list_members(groups, g, room, 0)].tolist()) == np.flatnonzero(labels == g).tolist()
    _, _, fresh, _ = state(case, np.append(labels, groups.size.size - 2)[:-1])
    used = np.unique(labels)
    assert groups.cost[used] == pytest.approx(fresh.cost[used], abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_unions_and_nearest_groups(data: st.DataObject) -> None:
    case, labels = drawn(data)
    labels = np.unique(labels, return_inverse=True)[1]
    table = case.table()
    geo = geometry(table)
    codes = np.ascontiguousarray(table.quasi_codes.T)
    count = int(labels.max()) + 1
    groups = empty_groups(case.n, codes.shape[1], max(1, int(geo.word_at[-1])), count)
    fill_groups(groups, labels.astype(np.int32), geo, codes)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    rows = [np.flatnonzero(labels == g).tolist() for g in range(count)]

    def rise(g: int, h: int) -> float:
        both = rows[g] + rows[h]
        return (
            len(both) * record_price(columns, both)
            - len(rows[g]) * record_price(columns, rows[g])
            - len(rows[h]) * record_price(columns, rows[h])
        )

    found = nearest_groups(groups, np.arange(count), 10, geo)
    for g in range(count):
        others = [h for h in range(count) if h != g]
        for h in others:
            assert union_price(groups, g, h, geo) == pytest.approx(record_price(columns, rows[g] + rows[h]), abs=1e-12)
        if others:
            assert rise(g, found[g]) == pytest.approx(min(rise(g, h) for h in others), abs=1e-9)
        else:
            assert found[g] == -1


def test_pairs_are_disjoint() -> None:
    # 4 and 1 merge first; 0 wants 1, which is taken, and waits; 2 and 3 merge.
    number = pair_off(np.array([4, 0, 2]), np.array([1, 1, 3]), 6)
    assert number.tolist() == [0, 1, 2, 2, 1, 3]


def test_shuffle_is_a_permutation_that_its_seed_decides() -> None:
    turns = []
    for seed in range(50):
        turn = np.empty(20, dtype=np.int64)
        shuffle(turn, np.uint64(seed))
        assert sorted(turn.tolist()) == list(range(20))
        turns.append(tuple(turn.tolist()))
    assert len(set(turns)) == 50


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_growing_takes_the_cheapest_record_each_time(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(0, 0)))
    k = data.draw(st.integers(2, 4))
    if case.n < k:
        return
    table = case.table()
    geo = geometry(table)
    codes = np.ascontiguousarray(table.quasi_codes.T)
    turn = np.array(data.draw(st.permutations(range(case.n))), dtype=np.int64)
    labels = np.empty(case.n, dtype=np.int64)
    words = max(1, int(geo.word_at[-1]))
    total = grow(geo, codes, np.arange(case.n), turn, k, np.inf, words, labels)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    groups = [np.flatnonzero(labels == g).tolist() for g in range(case.n // k)]
    assert sum(map(len, groups)) == case.n
    assert min(map(len, groups)) >= k
    assert total == pytest.approx(sum(len(rows) * record_price(columns, rows) for rows in groups), abs=1e-9)
    # The first group: no other record could have replaced its last one for less.
    first = int(labels[turn[0]])
    assert first == 0
    pool, mine = [r for r in range(case.n) if r != turn[0]], [int(turn[0])]
    for _ in range(k - 1):
        prices = [record_price(columns, [*mine, r]) for r in pool]
        best = min(prices)
        chosen = next(r for r, value in zip(pool, prices, strict=True) if value <= best + 1e-12 and labels[r] == 0)
        assert record_price(columns, [*mine, chosen]) == pytest.approx(best, abs=1e-12)
        pool.remove(chosen)
        mine.append(chosen)
    assert grow(geo, codes, np.arange(case.n), turn, k, 0.0, words, labels) == np.inf
