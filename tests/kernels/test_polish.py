"""Kernels of polish, and the dealing of records into groups, against plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms import aims
from shoal.algorithms import polish as polishing
from shoal.algorithms.aims import PROTECTION, Aim, Target
from shoal.algorithms.base import sensitive_codes
from shoal.algorithms.prices import ColumnPrices, prices_of, weighted
from shoal.data.stats import unknown_flags
from shoal.kernels import _native
from shoal.kernels.cluster.bottom_up import offer_neighbours, offer_windows, price_groups
from shoal.kernels.cluster.groups import make_exposure, make_groups
from shoal.kernels.cluster.polish import Limits, Scene, dissolve, improve, regroup
from shoal.kernels.prices import FLAT, INTERVAL, TREE, Prices
from shoal.kernels.sensitive_ranges import Secrets
from tests.algorithms.cluster.loukides import problem_of
from tests.algorithms.test_polish import people
from tests.conftest import many
from tests.kernels.plain_polish import PlainPolish, Price, deal, shuffled

SEEDS = st.integers(0, 10_000)
LOSS = Aim("lm")
Change = Callable[..., None]
FAR = np.iinfo(np.int64).max


def price_of(table: Any, prices: Prices, falls: bool = False) -> Price:
    """Price a record of a group, in ticks; `test_groups.py` compares these with what the loss is by definition."""
    codes, known = table.quasi_codes, {}

    def price(rows: Sequence[int]) -> int:
        key = frozenset(rows)
        if key not in known:
            mine = np.ascontiguousarray(codes[:, sorted(key)])
            whole = price_groups(prices, mine, np.zeros(len(key), dtype=np.int64), 1, None).loss[0]
            known[key] = int(whole) // len(key)
        return known[key]

    return Price(price, falls=falls)


def price_of_target(target: Target, prices: Prices, codes: np.ndarray) -> Price:
    """Price a record of a group, in ticks; `test_aims.py` compares these with loss and protection by definition."""
    exposure, known = target.exposure(2), {}

    def ticks(rows: Sequence[int]) -> tuple[int, int]:
        key = frozenset(rows)
        if key not in known:
            ids = np.ones(codes.shape[1], dtype=np.int32)
            ids[sorted(key)] = 0
            groups = make_groups(prices, codes, ids, exposure)
            cells = int(groups.now[0].sum())
            known[key] = cells, int(groups.cost[0]) - cells
        return known[key]

    floor = sum(min(0, round(unit)) for unit in prices.unit.tolist())
    return Price(lambda rows: ticks(rows)[0], lambda rows: ticks(rows)[1], floor, True)


def strangers(seed: int, n: int) -> Any:
    """People of whom much is not known, in attributes of unlike weight."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": [None if x == 0 else x for x in rng.integers(0, 12, n).tolist()],
            "town": [f"t{x}" for x in rng.integers(0, 8, n)],
            "job": [None if x == 0 else f"j{x}" for x in rng.integers(0, 20, n).tolist()],
            "s": [None if x == 0 else f"s{x}" for x in rng.integers(0, 4, n).tolist()],
            "pay": rng.integers(0, 9, n),
        }
    )
    paths = [[f"t{x}", f"half {x // 4}", "*"] for x in range(8)]
    return shoal.read(
        frame, quasi=["age", "town", "job"], sensitive=["s", "pay"], hierarchies={"town": paths}, missing="value",
        weights={"age": 2.0, "job": 0.5},
    )  # fmt: skip


class Both:
    """The same zones of groups for the kernels and for plain Python."""

    def __init__(
        self, seed: int, n: int, k: int, zones: int, diverse: bool, aim: Aim = LOSS, values: Sequence[float] = ()
    ) -> None:
        rng = np.random.default_rng(seed)
        table = strangers(seed, n) if aim.protection else people(seed, n)
        table = table.knowing(research={"rv": {"town": values}} if values else {})
        models = [{"name": "k", "k": k}, *([{"name": "distinct-l", "l": 2}] if diverse else [])]
        problem = problem_of(table, models)
        cuts = np.flatnonzero(rng.integers(0, 2, n // k - 1)) * k + k
        labels = np.empty(n, dtype=np.int32)
        for g, rows in enumerate(np.split(rng.permutation(n), cuts)):
            labels[rows] = g
        spare = zones * (n // k + 1)  # groups without records, as many in every zone
        self.zone = np.append(rng.integers(0, zones, cuts.size + 1), np.arange(spare) % zones).astype(np.int32)
        self.limits = Limits(k=k, widest=np.inf, largest=int(rng.choice([2 * k, n])), pool=4 * k, tries=2)
        # Records of the scene are in another order than those that rules are judged on.
        order = rng.permutation(n).astype(np.int32)
        target = Target(problem, aim, order)
        records = np.ascontiguousarray(table.quasi_codes[:, order].T)
        secrets = [
            np.where(unknown_flags(one) == 0, np.arange(one.card), -1)[table.codes[one.name][order]]
            for one in table.sensitive
        ]
        near = polishing._neighbours(records, prices_of(table.domain), rng)
        near[:, rng.integers(1, near.shape[1] + 1) :] = -1
        codes = np.ascontiguousarray(target.with_spreads(records)).T
        self.flags = [rng.integers(0, 2, n).astype(np.uint8) * 2 for _ in range(2)] + [np.zeros(n, dtype=np.uint8)]
        self.scene = Scene(codes, near, order, self.zone, *self.flags)
        self.prices = target.prices(None)
        self.groups = make_groups(self.prices, codes, labels, target.exposure(self.zone.size))
        self.judged = (problem.judge.rules, sensitive_codes(problem), self.prices) if diverse else None
        self.done = np.zeros(4, dtype=np.int64)

        def allowed(rows: Sequence[int]) -> bool:
            # A group without any known value passes.
            kinds = [len({int(one) for one in codes[list(rows)] if one >= 0}) for codes in secrets]
            return not diverse or (len(rows) >= k and 1 not in kinds)

        by_row = price_of(table, self.prices)
        falls = any(later > value for value, later in pairwise(values))
        priced = Price(lambda rows: by_row([int(order[r]) for r in rows]), falls=falls)
        if aim.protection:
            priced = price_of_target(target, self.prices, codes)
        self.plain = PlainPolish(
            [np.flatnonzero(labels == g).tolist() for g in range(self.zone.size)], priced, allowed, near.tolist(),
            self.zone.tolist(), self.limits,
        )  # fmt: skip
        self.plain.quiet, self.plain.calm = self.flags[0].tolist(), self.flags[1].tolist()
        self.rng = rng

    def run(self, kernel: Change, plain: Change, which: np.ndarray, z: int, *seed: int) -> None:
        """Call both, and compare all that either changed."""
        state = (self.groups, self.prices, self.scene, self.judged, self.limits, self.done)
        kernel(which, z, *state, *map(np.uint64, seed))
        plain(which.tolist(), z, *seed)
        room = np.empty(self.groups.ids.size, dtype=np.int64)
        for g, mine in enumerate(self.plain.groups):
            assert room[: _native.probe_members(self.groups, g, room)].tolist() == mine
            assert (self.groups.ids[mine] == g).all()
            assert not mine or self.groups.cost[g] == self.plain.price(mine)
        assert self.done.tolist() == self.plain.done
        assert [flags.tolist() for flags in self.flags] == [self.plain.quiet, self.plain.calm, self.plain.touched]


@pytest.mark.reference("improve_records", "dissolve_groups", "regroup_records")
@pytest.mark.parametrize("diverse", [False, True])
@settings(max_examples=many(15, 150), deadline=None)
@given(seed=SEEDS, n=st.integers(12, 40), k=st.integers(2, 4), zones=st.integers(1, 2))
def test_groups_change_as_in_plain_python(seed: int, n: int, k: int, zones: int, diverse: bool) -> None:
    compare(Both(seed, n, k, zones, diverse), zones, seed)


@pytest.mark.parametrize("values", [[0, 2, 1], [1, 0, 1], [3, 1, 2], [2, 1, 0]])
@settings(max_examples=many(15, 150), deadline=None)
@given(seed=SEEDS, n=st.integers(12, 40), k=st.integers(2, 4))
@example(seed=4, n=24, k=3)
def test_research_values_may_rise_with_the_level(seed: int, n: int, k: int, values: list[float]) -> None:
    """A group may get cheaper by one more record: no change may be left out for what a part of it costs."""
    compare(Both(seed, n, k, 1, False, Aim("rv"), values), 1, seed)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("protection", PROTECTION)
@settings(max_examples=many(8, 100), deadline=None)
@given(seed=SEEDS, n=st.integers(12, 24), k=st.integers(2, 4), diverse=st.booleans(), weight=st.floats(0.1, 0.9))
def test_groups_that_tell_less_are_found_as_in_plain_python(
    protection: str, listed: bool, seed: int, n: int, k: int, diverse: bool, weight: float
) -> None:
    """With missing and unknown values, weights, and sensitive columns that list their values or do not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aims, "_VALUES", 256 if listed else 0)
        compare(Both(seed, n, k, 1, diverse, Aim("lm", protection, weight)), 1, seed)


def draw_column(rng: np.random.Generator, kind: int) -> tuple[ColumnPrices, Callable[[set[int]], float], bool]:
    """Draw a column of up to 6 values, the price of a set of them by definition, and whether a price may fall.

    Nodes of a tree and sizes of sets may cost anything from 0 to 1, in thirds so that some cost the same.
    """
    card = int(rng.integers(1, 7))
    missing = card - 1 if kind != TREE and rng.random() < 0.4 else -1
    if kind == INTERVAL:
        place = np.cumsum(rng.integers(1, 4, card)).astype(np.float64)
        width = max(place[-1] - place[0], 1.0)
        column = ColumnPrices(
            kind=kind, card=card, missing=missing, width=width, scale=1.0 / width, place=place, top=place
        )

        def between(codes: set[int]) -> float:
            return float(len(codes) > 1) if missing in codes else float(np.ptp(place[list(codes)])) / width

        return column, between, False
    if kind == FLAT:
        sizes = rng.integers(0, 4, card + 1) / 3.0
        if rng.random() < 0.4:
            sizes.sort()
        column = ColumnPrices(kind=kind, card=card, missing=missing, width=card, sizes=sizes)
        falls = bool((np.diff(sizes[1:]) < 0).any()) or (missing >= 0 and sizes[1:].max() > 1.0)
        return column, lambda codes: 1.0 if len(codes) > 1 and missing in codes else sizes[len(codes)], falls
    levels = [np.arange(card)]
    while levels[-1].any():
        joined = rng.integers(0, 2, levels[-1].max() + 1)
        joined[0] = 0
        levels.append(np.cumsum(joined)[levels[-1]])
    nodes = np.stack(levels)
    prices = rng.integers(0, 4, (len(nodes), card)) / 3.0
    if rng.random() < 0.4:
        prices.sort(axis=0)
        prices[:] = prices.max(axis=1, keepdims=True)
    steps = np.take_along_axis(prices, nodes, axis=1)
    column = ColumnPrices(kind=kind, card=card, width=card, tree=nodes.astype(np.int32).ravel(), steps=steps.ravel())

    def common(codes: set[int]) -> float:
        return next(
            price[min(codes)] for mine, price in zip(nodes, steps, strict=True) if len(set(mine[list(codes)])) == 1
        )

    return column, common, bool((np.diff(steps, axis=0) < 0).any())


@settings(max_examples=many(300, 5_000), deadline=None)
@given(seed=st.integers(0, 1 << 40))
def test_the_best_place_is_found_whatever_cells_cost(seed: int) -> None:
    """Nodes and sets may cost anything, groups have one record or more, and every group is looked at."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 10))
    drawn = [draw_column(rng, int(kind)) for kind in rng.integers(0, 3, rng.integers(1, 4))]
    columns, by_definition, falls = zip(*drawn, strict=True)
    weights = rng.integers(1, 4, len(columns)).astype(np.float64)
    prices = weighted(columns, weights, n)
    codes = np.stack([rng.integers(0, column.card, n) for column in columns]).astype(np.int32)

    def price(rows: Sequence[int]) -> int:
        if not rows:
            return 0
        cells = [one(set(mine[list(rows)].tolist())) for one, mine in zip(by_definition, codes, strict=True)]
        return sum(round(unit * cell) for unit, cell in zip(prices.unit.tolist(), cells, strict=True))

    labels = np.unique(rng.integers(0, rng.integers(2, 5), n), return_inverse=True)[1].astype(np.int32)
    limits = Limits(k=int(rng.integers(1, 4)), widest=np.inf, largest=n + 1, pool=n, tries=1)
    near = np.array([[*rng.permutation(np.delete(np.arange(n), r)), -1] for r in range(n)], dtype=np.int32)
    flags = [np.zeros(n, dtype=np.uint8) for _ in range(3)]
    zone, done = np.zeros(labels.max() + 1, dtype=np.int32), np.zeros(4, dtype=np.int64)
    scene = Scene(codes, near, np.arange(n, dtype=np.int32), zone, *flags)
    nothing = make_exposure(no_secrets(n), np.empty(0), 1, zone.size, [])
    groups = make_groups(prices, codes, labels, nothing)
    plain = PlainPolish(
        [np.flatnonzero(labels == g).tolist() for g in range(zone.size)], Price(price, falls=any(falls)),
        lambda rows: True, near.tolist(), zone.tolist(), limits,
    )  # fmt: skip
    for _ in range(3):
        records, which = rng.permutation(n), rng.permutation(zone.size)
        for kernel, same, mine in (improve, plain.improve, records), (dissolve, plain.dissolve, which):
            kernel(mine, 0, groups, prices, scene, None, limits, done)
            same(mine.tolist(), 0)
            for g, rows in enumerate(plain.groups):
                assert np.flatnonzero(groups.ids == g).tolist() == sorted(rows)
            assert groups.cost.tolist() == [price(rows) for rows in plain.groups]
        assert done.tolist() == plain.done


def no_secrets(n: int) -> Secrets:
    """Make the sensitive columns of a table that has none."""
    return Secrets(
        codes=np.empty((n, 0), dtype=np.int32), whole=np.empty((0, 6), dtype=np.int64), real=np.empty((0, 3)),
        policy=np.empty((0, 4), dtype=np.int32), ref=np.empty(0), tree=np.empty(0, dtype=np.int32), near=np.empty(0),
    )  # fmt: skip


def compare(both: Both, zones: int, seed: int) -> None:
    """Change groups in two rounds."""
    for round_ in range(2):
        for z in range(zones):
            records = both.rng.permutation(np.flatnonzero(both.zone[both.groups.ids] == z))
            which = both.rng.permutation(np.flatnonzero(both.zone == z))
            both.run(improve, both.plain.improve, records, z)
            both.run(dissolve, both.plain.dissolve, which, z)
            both.run(regroup, both.plain.regroup, which, z, seed + round_)


@pytest.mark.reference("probe_shuffle")
@pytest.mark.parametrize("seed", [0, 1, 12345, (1 << 64) - 1])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_permutations(n: int, seed: int) -> None:
    turn = np.empty(n, dtype=np.int64)
    _native.probe_shuffle(turn, seed)
    assert turn.tolist() == shuffled(n, seed)


@pytest.mark.reference("probe_deal")
@settings(max_examples=many(20, 100), deadline=None)
@given(seed=SEEDS, n=st.integers(4, 30), k=st.integers(2, 4))
def test_records_are_dealt_as_in_plain_python(seed: int, n: int, k: int) -> None:
    table = people(seed, n)
    codes, labels = np.ascontiguousarray(table.quasi_codes.T), np.empty(n, dtype=np.int64)
    turn = np.random.default_rng(seed).permutation(n)
    exposure = Target(problem_of(table, [{"name": "k", "k": 2}]), Aim("lm"), np.arange(n)).exposure(1)
    total = _native.probe_deal(prices_of(table.domain), exposure, codes, turn, k, FAR, labels)
    assert (total, labels.tolist()) == deal(range(n), turn.tolist(), k, price_of(table, prices_of(table.domain)))


@pytest.mark.reference("offer_windows", "offer_neighbours")
@settings(max_examples=many(20, 100), deadline=None)
@given(seed=SEEDS, n=st.integers(2, 40), width=st.integers(1, 3))
def test_near_records_are_listed_as_in_plain_python(seed: int, n: int, width: int) -> None:
    table, rng = people(seed, n), np.random.default_rng(seed)
    prices = prices_of(table.domain)
    price = price_of(table, prices)
    codes = np.ascontiguousarray(table.quasi_codes.T).T
    most = int(rng.integers(1, 20))
    near, distance = np.full((n, most), -1, dtype=np.int32), np.full((n, most), FAR)
    lists: list[list[int]] = [[] for _ in range(n)]

    def offer(i: int, other: int) -> None:
        """Insert a record behind those that are as near, and keep the nearest."""
        if other not in (i, *lists[i]):
            lists[i] = sorted([*lists[i], other], key=lambda j: price([i, j]))[:most]

    for _ in range(2):
        order = rng.permutation(n)
        offer_windows(codes, prices, order.astype(np.int32), width, near, distance)
        for at, i in enumerate(order.tolist()):
            for other in order[max(0, at - width) : at + width + 1].tolist():
                offer(i, other)
    offer_neighbours(codes, prices, near, distance)
    before = [list(one) for one in lists]
    for i in range(n):
        for j in before[i][:12]:
            for other in before[j][:12]:
                offer(i, other)
    for i, mine in enumerate(lists):
        assert near[i].tolist() == mine + [-1] * (most - len(mine))
        assert distance[i].tolist() == [price([i, j]) for j in mine] + [FAR] * (most - len(mine))
