"""Groups that change: prices, and what each group would cost without each member."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.aims import Aim, Target
from shoal.algorithms.prices import prices_of
from shoal.data.table import Table
from shoal.kernels import _native
from shoal.kernels.cluster.bottom_up import nearest_groups, pair_off, price_groups
from shoal.kernels.cluster.groups import Exposure, Groups, make_groups
from shoal.kernels.prices import Prices
from tests.algorithms.cluster.loukides import problem_of
from tests.conftest import many
from tests.kernels.test_cells import exact_ticks
from tests.measures.naive import NaiveColumn
from tests.table.random_tables import Case, cases

# More than any price of a pool.
NEVER = np.iinfo(np.int64).max


def grown(p: Prices, e: Exposure, codes: np.ndarray, turn: np.ndarray, k: int, most: int, labels: np.ndarray) -> int:
    """Deal all records into groups."""
    return int(_native.probe_deal(p, e, np.ascontiguousarray(codes.T), turn, k, most, labels))


def nothing_shown(table: Table, capacity: int) -> Exposure:
    """Groups whose sensitive values do not count."""
    problem = problem_of(table, [{"name": "k", "k": 2}])
    return Target(problem, Aim("lm"), np.arange(table.n)).exposure(capacity)


def state(case: Case, labels: np.ndarray) -> tuple[Prices, np.ndarray, Groups, list[NaiveColumn]]:
    table = case.table()
    p = prices_of(table.domain)
    codes = np.ascontiguousarray(table.quasi_codes.T).T
    groups = make_groups(p, codes, labels.astype(np.int32), nothing_shown(table, int(labels.max()) + 2))
    return p, codes, groups, [NaiveColumn(case, name) for name in case.quasi]


def drawn(data: st.DataObject) -> tuple[Case, np.ndarray]:
    case = data.draw(cases(sensitive=(0, 0)))
    labels = data.draw(st.lists(st.integers(0, 3), min_size=case.n, max_size=case.n))
    return case, np.array(labels)


@pytest.mark.reference("fill_groups")
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_prices_and_prices_without_each_member(data: st.DataObject) -> None:
    case, labels = drawn(data)
    p, _, groups, columns = state(case, labels)
    for g in np.unique(labels):
        rows = np.flatnonzero(labels == g).tolist()
        assert groups.cost[g] == pytest.approx(float(exact_ticks(columns, rows, p)), abs=len(columns) / 2)
        assert groups.now[g].sum() == groups.cost[g]
        assert groups.size[g] == len(rows)
        for r in rows:
            rest = [row for row in rows if row != r]
            without = float(exact_ticks(columns, rest, p)) if rest else 0.0
            assert groups.bare[r] == pytest.approx(without, abs=len(columns) / 2)


@pytest.mark.reference("probe_moves", "probe_members")
@settings(max_examples=many(8, 100))
@given(st.data())
def test_leaving_and_joining_in_any_order(data: st.DataObject) -> None:
    case, labels = drawn(data)
    p, codes, groups, _ = state(case, labels)
    room = np.empty(case.n, dtype=np.int64)
    drawn_moves = data.draw(st.lists(st.tuples(st.integers(0, case.n - 1), st.integers(0, 3)), max_size=12))
    moves = [(r, min(g, groups.size.size - 1)) for r, g in drawn_moves]
    for r, g in moves:
        labels[r] = g
    _native.probe_moves(groups, p, codes.T, np.array(moves, dtype=np.int64).reshape(-1, 2))
    for g in range(groups.size.size):
        assert sorted(room[: _native.probe_members(groups, g, room)].tolist()) == np.flatnonzero(labels == g).tolist()
    _, _, fresh, _ = state(case, labels)
    used = np.unique(labels)
    assert (groups.cost[used] == fresh.cost[used]).all()
    assert (groups.bare == fresh.bare).all()


@pytest.mark.reference("price_groups", "nearest_groups")
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_unions_and_nearest_groups(data: st.DataObject) -> None:
    case, labels = drawn(data)
    labels = np.unique(labels, return_inverse=True)[1]
    table = case.table()
    p = prices_of(table.domain)
    codes = np.ascontiguousarray(table.quasi_codes)
    count = int(labels.max()) + 1
    columns = [NaiveColumn(case, name) for name in case.quasi]
    rows = [np.flatnonzero(labels == g).tolist() for g in range(count)]

    def whole(rows: list[int]) -> float:
        return len(rows) * float(exact_ticks(columns, rows, p))

    def rise(g: int, h: int) -> float:
        return whole(rows[g] + rows[h]) - whole(rows[g]) - whole(rows[h])

    priced = price_groups(p, codes, labels, count, None)
    window = data.draw(st.sampled_from([1, 10]))
    found = nearest_groups(p, codes, labels, count, np.arange(count), window)
    for g in range(count):
        assert priced.size[g] == len(rows[g])
        assert priced.loss[g] == pytest.approx(whole(rows[g]), abs=case.n * len(columns))
        first = max(0, min(g - window, count - 1 - 2 * window))
        others = [h for h in range(first, min(count, max(g + window, 2 * window) + 1)) if h != g]
        if others:
            assert rise(g, found[g]) == pytest.approx(min(rise(g, h) for h in others), abs=case.n * len(columns))
        else:
            assert found[g] == -1


@pytest.mark.reference("pair_off")
def test_pairs_are_disjoint() -> None:
    # 4 and 1 merge first; 0 wants 1, which is taken, and waits; 2 and 3 merge.
    number = pair_off(np.array([4, 0, 2]), np.array([1, 1, 3]), 6)
    assert number.tolist() == [0, 1, 2, 2, 1, 3]


@settings(max_examples=30)
@given(st.data())
def test_pairs_are_numbered_as_in_plain_python(data: st.DataObject) -> None:
    groups = data.draw(st.integers(2, 8))
    which = data.draw(st.permutations(range(groups)))[: data.draw(st.integers(0, groups))]
    nearest = [data.draw(st.integers(-1, groups - 1).filter(lambda h, g=g: h != g)) for g in which]
    partner: dict[int, int] = {}
    for g, h in zip(which, nearest, strict=True):
        if h >= 0 and not {g, h} & set(partner):
            partner |= {g: h, h: g}
    firsts = [g for g in range(groups) if partner.get(g, g) >= g]
    expected = [firsts.index(min(g, partner.get(g, g))) for g in range(groups)]
    assert pair_off(np.array(which, dtype=np.int64), np.array(nearest, dtype=np.int64), groups).tolist() == expected


def test_shuffle_is_a_permutation_that_its_seed_decides() -> None:
    turns = []
    for seed in range(50):
        turn = np.empty(20, dtype=np.int64)
        _native.probe_shuffle(turn, seed)
        assert sorted(turn.tolist()) == list(range(20))
        turns.append(tuple(turn.tolist()))
    assert len(set(turns)) == 50


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_growing_takes_the_cheapest_record_each_time(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(0, 0)))
    k = data.draw(st.integers(2, 4))
    if case.n < k:
        return
    table = case.table()
    p = prices_of(table.domain)
    codes = np.ascontiguousarray(table.quasi_codes.T).T
    turn = np.array(data.draw(st.permutations(range(case.n))), dtype=np.int64)
    labels = np.empty(case.n, dtype=np.int64)
    total = grown(p, nothing_shown(table, 1), codes, turn, k, NEVER, labels)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    groups = [np.flatnonzero(labels == g).tolist() for g in range(case.n // k)]
    assert sum(map(len, groups)) == case.n
    assert min(map(len, groups)) >= k
    expected = sum(len(rows) * float(exact_ticks(columns, rows, p)) for rows in groups)
    assert total == pytest.approx(expected, abs=case.n * len(columns))
    # The first group: no other record could have replaced its last one for less.
    first = int(labels[turn[0]])
    assert first == 0
    pool, mine = [r for r in range(case.n) if r != turn[0]], [int(turn[0])]
    for _ in range(k - 1):
        prices = [exact_ticks(columns, [*mine, r], p) for r in pool]
        best = min(prices) + len(columns)
        chosen = next(r for r, value in zip(pool, prices, strict=True) if value <= best and labels[r] == 0)
        pool.remove(chosen)
        mine.append(chosen)
    assert grown(p, nothing_shown(table, 1), codes, turn, k, 0, labels) == NEVER
