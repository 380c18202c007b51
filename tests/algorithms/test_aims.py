"""What polish lowers: loss and protection by their weights, against figures record by record, and how they are read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms import aims
from shoal.algorithms import polish as polishing
from shoal.algorithms.aims import PROTECTION, Aim, Target, read_aim
from shoal.algorithms.polish import polish
from shoal.errors import ParameterError
from shoal.kernels import _native
from shoal.kernels.cluster.groups import make_groups
from shoal.kernels.cores import use_cores
from shoal.recoding.recodings import Grouping
from shoal.registry import make
from tests.algorithms.cluster.loukides import Loukides, problem_of
from tests.algorithms.cluster.test_upc import blocks_of, with_policies
from tests.algorithms.lattice.lattices import Case as Made
from tests.algorithms.test_polish import passing, people
from tests.conftest import many
from tests.kernels.test_groups import NEVER, grown
from tests.table.random_tables import Case, cases

K2 = [{"name": "k", "k": 2}]


class Reference:
    """Loss and protection of a group, read off the definitions."""

    def __init__(self, case: Case, blocks: dict[str, Any], aim: Aim) -> None:
        self.naive, self.aim = Loukides(case, blocks), aim

    def __call__(self, rows: list[int]) -> float:
        secrets = self.naive.secrets
        told = [
            one.range_diversity(rows) if self.aim.protection == "range-diversity" else one.diversity(rows)
            for one in secrets
        ]
        weight = Fraction(self.aim.weight)
        return float((1 - weight) * self.naive.loss(rows) + weight * sum(told, Fraction(0)) / len(secrets))


def drawn(data: st.DataObject) -> tuple[Case, dict[str, Any], Aim, Any, Target]:
    case = data.draw(cases(rows=(2, 16), sensitive=(1, 2)))
    cut = data.draw(st.integers(0, 4))
    blocks = blocks_of(case, cut) if cut else {}
    aim = Aim("lm", data.draw(st.sampled_from(PROTECTION)), data.draw(st.sampled_from([0.25, 0.5, 0.75])))
    table = with_policies(case, blocks)
    return case, blocks, aim, table, Target(problem_of(table, K2), aim, np.arange(case.n))


@pytest.mark.reference("fill_steps")
@settings(max_examples=many(10, 100))
@given(data=st.data(), many=st.booleans())
def test_groups_cost_loss_and_what_they_tell(data: st.DataObject, many: bool) -> None:
    case, blocks, aim, table, target = drawn(data)
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=case.n, max_size=case.n)), dtype=np.int32)
    price = Reference(case, blocks, aim)
    p = target.prices(None)
    codes = np.ascontiguousarray(target.with_spreads(table.quasi_codes.T.astype(np.int32))).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aims, "_VALUES", 0 if many else 256)  # no column lists its values, or every one does
        groups = make_groups(p, codes, labels, target.exposure(5))
    lacking = -p.unit[p.unit < 0].sum()
    for g in np.unique(labels):
        rows = np.flatnonzero(labels == g).tolist()
        assert (groups.cost[g] + lacking) / p.one == pytest.approx(price(rows), abs=1e-6)
        for r in rows if len(rows) > 1 else []:
            rest = [row for row in rows if row != r]
            assert (groups.bare[r] + lacking) / p.one == pytest.approx(price(rest), abs=1e-6)


@pytest.mark.reference("probe_exposed")
@settings(max_examples=many(10, 100))
@given(data=st.data(), many=st.booleans())
def test_a_group_tells_no_less_than_its_bound(data: st.DataObject, many: bool) -> None:
    case, blocks, aim, table, _ = drawn(data)
    aim = Aim("lm", "range-diversity", aim.weight)
    target = Target(problem_of(table, K2), aim, np.arange(case.n))
    p = target.prices(None)
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=case.n, max_size=case.n)), dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aims, "_VALUES", 0 if many else 256)
        groups = make_groups(p, table.quasi_codes.astype(np.int32), labels, target.exposure(3))
    loss, price = Reference(case, blocks, Aim("lm", "range-diversity", 0.0)), Reference(case, blocks, aim)
    rows = np.flatnonzero(labels == 0)
    for skip in rows if rows.size > 1 else []:
        for extra in np.flatnonzero(labels == 1):
            told, least = _native.probe_exposed(groups.shown, 0, rows, skip, extra)
            then = [int(row) for row in rows if row != skip] + [int(extra)]
            assert told / p.one == pytest.approx(price(then) - (1.0 - aim.weight) * loss(then), abs=1e-6)
            assert least <= told


@settings(max_examples=many(10, 100))
@given(data=st.data(), k=st.integers(2, 4))
def test_growing_counts_what_groups_tell(data: st.DataObject, k: int) -> None:
    case, blocks, aim, table, target = drawn(data)
    assume(case.n >= k)
    price = Reference(case, blocks, aim)
    p = target.prices(None)
    codes = np.ascontiguousarray(target.with_spreads(table.quasi_codes.T.astype(np.int32))).T
    turn = np.array(data.draw(st.permutations(range(case.n))), dtype=np.int64)
    labels = np.empty(case.n, dtype=np.int64)
    total = grown(p, target.exposure(1), codes, turn, k, NEVER, labels)
    groups = [np.flatnonzero(labels == g).tolist() for g in range(case.n // k)]
    assert min(map(len, groups)) >= k
    assert total / p.one == pytest.approx(sum(len(rows) * price(rows) for rows in groups), abs=1e-5)
    second = {price([int(turn[0]), r]): r for r in range(case.n) if r != turn[0]}
    assert any(labels[r] == 0 for value, r in second.items() if value <= min(second) + 1e-6) or len(second) < case.n - 1


@settings(max_examples=many(10, 100))
@given(
    seed=st.integers(0, 10_000), n=st.integers(4, 90), zone=st.integers(1, 6), subjects=st.booleans(),
    protection=st.sampled_from(PROTECTION), weight=st.sampled_from([0.1, 0.5, 0.9, 1.0]), diverse=st.booleans(),
)  # fmt: skip
def test_models_hold_and_the_weighted_sum_falls(
    seed: int, n: int, zone: int, subjects: bool, protection: str, weight: float, diverse: bool
) -> None:
    models = [{"name": "k", "k": 3}, *([{"name": "distinct-l", "l": 2}] if diverse else [])]
    problem = Made(people(seed, n, subjects), models).problem()
    start = make("algorithm", {"name": "mondrian", "mode": "relaxed"}).run(problem)
    if not passing(problem, start):
        return
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "_ZONE", zone)
        for threads in (1, 2):
            use_cores(threads)
            found.append(polish(problem, start, Aim("lm", protection, weight), 4))
            use_cores(None)
    assert (found[0].ids == found[1].ids).all()
    assert passing(problem, found[0])
    assert record_mean(problem, found[0], protection, weight) <= record_mean(problem, start, protection, weight) + 1e-6


def record_mean(problem: Any, grouping: Grouping, protection: str, weight: float) -> float:
    """What polish lowers: the mean over records, not over classes, of loss and of what their class tells."""
    target = Target(problem, Aim("lm", protection, weight), np.arange(problem.table.n))
    p = target.prices(None)
    codes = np.ascontiguousarray(target.with_spreads(problem.table.quasi_codes.T.astype(np.int32))).T
    groups = make_groups(p, codes, grouping.ids, target.exposure(grouping.groups))
    return float((groups.size * groups.cost).sum() / problem.table.n / p.one)


def test_more_weight_of_protection_tells_less() -> None:
    table = people(2, 600)
    figures = []
    for weight in (0.0, 0.3, 0.7, 1.0):
        given_ = {"name": "toc", "utility_weight": 1.0 - weight, "protection_weight": weight}
        release = shoal.anonymize(
            table, algorithm=make("algorithm", given_), models=[shoal.KAnonymity(k=4)], seed=1,
            acknowledge=["W-UNMODELLED:s"],
        )  # fmt: skip
        figures.append([release.measure(name).value for name in ("lm", "range-diversity")])
    losses, told = zip(*figures, strict=True)
    assert list(losses) == sorted(losses)
    assert list(told) == sorted(told, reverse=True)


@pytest.mark.parametrize(
    ("text", "aim"),
    [
        ("lm", Aim("lm")),
        ("arx-loss", Aim("arx-loss")),
        ("0.5 lm + 0.5 range-diversity", Aim("lm", "range-diversity", 0.5)),
        (".25*mpm+.75*lm", Aim("lm", "mpm", 0.25)),
    ],
)
def test_aims_are_read(text: str, aim: Aim) -> None:
    assert read_aim("Mondrian", text) == aim
    assert read_aim("Mondrian", str(aim)) == aim


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.5 lm + 0.6 mpm", "weights in the 'polish' of Mondrian must sum to 1. Got 0.5 and 0.6."),
        ("0.5 lm + 0.5 dm", "must be one of lm"),
        ("0.5 ilm + 0.5 mpm", "must be one of lm"),
        ("lm + mpm", "a sum such as"),
        ("0.5 mpm + 0.5 range-diversity", "a sum such as"),
        ("", "a sum such as"),
        (3, "Got 3"),
    ],
)
def test_bad_aims_get_one_sentence(text: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match="'polish' of Mondrian") as error:
        make("algorithm", {"name": "mondrian", "polish": text})
    assert sentence in str(error.value)


def test_protection_needs_a_sensitive_attribute() -> None:
    table = shoal.read(people(1, 20).frame.drop("s", "who"), quasi=["age", "town", "job"])
    with pytest.raises(ParameterError, match="needs a sensitive attribute"):
        shoal.anonymize(table, algorithm=shoal.Mondrian(k=2, polish="0.5 lm + 0.5 mpm"), seed=1)
