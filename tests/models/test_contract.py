"""What the declared flags of every model promise, on random tables, and agreement with the verifier."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from shoal.data.classes import RowIds
from shoal.data.table import Table
from shoal.errors import InfeasibleError
from shoal.models.base import Model, failing_stays, merging_keeps
from shoal.models.feasibility import refuse_infeasible, vacuous
from shoal.models.judge import Judgement
from shoal.recoding.recoded import Released
from shoal.registry import make
from tests.conftest import many
from tests.models.judging import (
    ALL,
    ENGINE,
    NAMES_A_VALUE,
    NO_TUPLES,
    NUMERIC,
    grouped,
    judge_groups,
    judge_of,
    of_classes,
    verdicts,
)
from tests.table.random_tables import Case, cases, groupings


def case_for(name: str, **options: Any) -> st.SearchStrategy[Case]:
    """Tables that a model can be set on."""
    if name in NUMERIC:
        options["sensitive_kinds"] = ["integer", "real", "date"]
    if name in NAMES_A_VALUE:
        options["sensitive_kinds"] = ["flat"]
    return cases(sensitive=(1, 2), quasi=(1, 2), **options)


def fits(table: Table, spec: dict[str, Any]) -> bool:
    """Whether the value that a model names occurs in every sensitive column."""
    return spec["name"] not in NAMES_A_VALUE or all("b" in column.texts for column in table.sensitive)


def ok(table: Table, ids: np.ndarray, model: Model) -> np.ndarray:
    """Which groups satisfy a model on every attribute."""
    return np.all([judgement.ok for judgement in judge_groups(table, ids, model)], axis=0)


def named(spec: dict[str, Any]) -> str:
    return spec["name"]


@pytest.mark.parametrize("spec", [s for s in ALL if make("model", s).monotone == "up"], ids=named)
@settings(max_examples=many(5, 80))
@given(data=st.data())
def test_merging_keeps_what_is_declared_to_be_kept(data: st.DataObject, spec: dict[str, Any]) -> None:
    """``up``: where both of two classes satisfy the model, so does their union."""
    model = make("model", spec)
    case = data.draw(case_for(spec["name"], missing=False, non_answers=False, rows=(4, 14)))
    table = case.table()
    assume(fits(table, spec))
    ids = data.draw(groupings(case.n, suppressed=False))
    before = ok(table, ids, model)
    for one, other in zip(range(before.size - 1), range(1, before.size), strict=True):
        if before[one] and before[other]:
            union = np.where(np.isin(ids, [one, other]), 0, -1).astype(np.int32)
            assert ok(table, union, model).all()


def test_crowding_is_not_kept_by_merging() -> None:
    """Neither class has two values within 1 of each other, their union has three: the flag must say so."""
    table, ids = of_classes([[0, 50, 150, 250], [-1, 1, 100, 200]])
    model = make("model", {"name": "eps-m", "eps": 1, "m": 4})
    assert ok(table, ids, model).tolist() == [True, True]
    assert ok(table, np.zeros_like(ids), model).tolist() == [False]
    assert model.monotone == "none"


@pytest.mark.parametrize("spec", [s for s in ALL if make("model", s).inherited], ids=named)
@settings(max_examples=many(8, 40))
@given(data=st.data())
def test_failing_is_inherited_where_it_is_declared_to_be(data: st.DataObject, spec: dict[str, Any]) -> None:
    """``inherited``: no part of a failing class satisfies the model."""
    model = make("model", spec)
    case = data.draw(case_for(spec["name"], missing=False, non_answers=False, rows=(2, 14)))
    table = case.table()
    rows = np.array(data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, unique=True)))
    whole = np.full(case.n, -1, dtype=np.int32)
    whole[rows] = 0
    assume(not ok(table, whole, model).all())
    part = np.full(case.n, -1, dtype=np.int32)
    part[rows[: data.draw(st.integers(1, rows.size))]] = 0
    assert not ok(table, part, model).all()


@pytest.mark.parametrize("spec", ALL, ids=named)
@settings(max_examples=many(3, 30))
@given(data=st.data())
def test_flags_are_honest_where_people_are_counted(data: st.DataObject, spec: dict[str, Any]) -> None:
    """What the table makes of a model's flags: merging keeps it, and failing stays, or nobody says so."""
    case = data.draw(case_for(spec["name"], rows=(4, 14), subjects=True))
    table = case.table()
    assume(fits(table, spec))
    model = make("model", spec)
    sets = judge_of(table, model).sets
    ids = data.draw(groupings(case.n, suppressed=False))
    found = ok(table, ids, model)
    if all(merging_keeps(one, rules) for one, rules in sets) and found.all():
        assert ok(table, np.zeros_like(ids), model).all()
    if all(failing_stays(one, rules) for one, rules in sets) and not ok(table, np.zeros_like(ids), model).all():
        assert not found.any()


def test_two_people_may_share_a_value_only_once_they_are_together() -> None:
    """Each class has an a and a b of its own; merged, both people have both. And a part of that class is diverse."""
    subjects = [["p", "q"], ["p", "q"]]
    table, ids = of_classes([["a", "b"], ["b", "a"]], subjects=subjects)
    model = make("model", {"name": "distinct-l", "l": 2})
    assert ok(table, ids, model).tolist() == [True, True]
    assert ok(table, np.zeros_like(ids), model).tolist() == [False]
    ((_, rules),) = judge_of(table, model).sets
    assert not merging_keeps(model, rules)
    assert not failing_stays(model, rules)
    assert model.all_necessary(judge_of(table, model).reference) == []


@pytest.mark.parametrize("spec", [spec for spec in ALL if spec["name"] != "max-range"], ids=named)
@settings(max_examples=many(3, 40))
@given(data=st.data(), people=st.booleans())
def test_figures_are_the_verifiers(data: st.DataObject, spec: dict[str, Any], people: bool) -> None:
    """Both readings of one contract give the same figure for the worst class, and the same verdict."""
    case = data.draw(case_for(spec["name"], subjects=people))
    table = case.table()
    assume(fits(table, spec))
    tuples = spec["name"] not in NUMERIC | NAMES_A_VALUE | NO_TUPLES and len(case.sensitive) == 2
    if tuples and data.draw(st.booleans()):
        spec = spec | {"on": ["s0", "s1"]}
    compare(table, data.draw(groupings(case.n)), spec)


@settings(max_examples=many(8, 40), phases=[Phase.generate])
@given(st.data(), st.sampled_from([0.5, 0.8]), st.booleans())
def test_max_range_figures_are_the_verifiers(data: st.DataObject, limit: float, people: bool) -> None:
    case = data.draw(case_for("max-range", subjects=people))
    compare(case.table(), data.draw(groupings(case.n)), {"name": "max-range", "limit": limit})


@settings(max_examples=many(8, 40))
@given(st.data(), st.sampled_from([0.5, 0.8]))
def test_max_range_figures_are_the_verifiers_where_all_is_known(data: st.DataObject, limit: float) -> None:
    case = data.draw(case_for("max-range", missing=False, non_answers=False))
    compare(case.table(), data.draw(groupings(case.n)), {"name": "max-range", "limit": limit})


def compare(table: Table, ids: np.ndarray, spec: dict[str, Any]) -> None:
    """Assert that models and verifier agree on every attribute."""
    released = grouped(table, ids)
    if released.n_classes == 0:
        return
    models = make("model", spec).resolved(table.domain)
    theirs = verdicts(released, models)
    ours = [judgement for model in models for judgement in by_reference(released, model)]
    for verdict, judgement in zip(theirs, ours, strict=True):
        expected = verdict.limit if math.isnan(judgement.worst) else judgement.worst
        assert (verdict.value, verdict.holds) == (
            pytest.approx(expected, rel=1e-9, abs=1e-9),
            bool(judgement.ok.all()),
        )
        assert verdict.limit == pytest.approx(judgement.limit)
        assert verdict.classes == int((~judgement.ok).sum())


def by_reference(released: Released, model: Model) -> list[Judgement]:
    """In the verifier's order: an attribute after another, against the table that the model names."""
    table, rows = released.table, np.flatnonzero(released.classes >= 0)
    judge = judge_of(table, model, rows=rows if model.relative else None)
    stats = ENGINE.open(table).stats(RowIds(released.classes, released.n_classes), judge.attributes)
    return judge.judge(replace(stats, spreads=released.spreads))


@pytest.mark.parametrize("spec", ALL, ids=named)
@settings(max_examples=many(3, 30))
@given(data=st.data())
def test_what_is_called_infeasible_is(data: st.DataObject, spec: dict[str, Any]) -> None:
    """No grouping of all rows satisfies a model that was refused before anything ran."""
    case = data.draw(case_for(spec["name"], missing=False, non_answers=False, rows=(2, 8)))
    table = case.table()
    assume(fits(table, spec))
    model = make("model", spec)
    try:
        refuse_infeasible(judge_of(table, model), 0.0)
    except InfeasibleError:
        for _ in range(3):
            ids = data.draw(groupings(case.n, suppressed=False))
            assert not ok(table, ids, model).all()


@pytest.mark.parametrize("spec", ALL, ids=named)
@settings(max_examples=many(3, 30))
@given(data=st.data())
def test_what_is_called_vacuous_cannot_fail(data: st.DataObject, spec: dict[str, Any]) -> None:
    loose = {"t": 0.97, "v": 0.0, "limit": 1.0, "alpha": 1.0, "e": 0.0}
    if data.draw(st.booleans()):
        spec = spec | {key: value for key, value in loose.items() if isinstance(spec.get(key), float | int)}
    case = data.draw(case_for(spec["name"]))
    table = case.table()
    assume(fits(table, spec))
    model = make("model", spec)
    void = {on for _, on in vacuous(judge_of(table, model), 1.0)}
    for judgement in judge_groups(table, data.draw(groupings(case.n, suppressed=False)), model):
        # The size that these models ask for can always fail; vacuous is said of the values they ask for.
        if judgement.on in void and not spec["name"].startswith(("alpha-k", "p-sensitive")):
            assert judgement.ok.all()
