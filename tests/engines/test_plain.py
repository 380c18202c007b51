"""What every engine must give: the same release, whoever counts. The other one here counts by loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.data.classes import Cells, Everybody, RowIds, Split, Together
from shoal.data.keys import Keys
from shoal.data.rows import Rows, in_memory
from shoal.data.stats import GroupStats
from shoal.engines.memory import MemoryEngine
from shoal.errors import ParameterError, ShoalError
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.suppression import enforce, other_references, split_verdicts
from shoal.recipe.source import read
from shoal.recoding.recoded import Released, apply_recoding
from shoal.registry import load, make, names
from tests.algorithms.lattice.lattices import Case, cases
from tests.engines.plain import PlainEngine, PlainRows

ENGINES = (MemoryEngine(), PlainEngine())
TUPLE = {"name": "distinct-l", "l": 2, "on": ["s", "x"]}
METHODS: list[dict[str, Any]] = [
    {"name": "optimal"}, {"name": "optimal", "measure": "entropy"}, {"name": "incognito"}, {"name": "samarati"},
    {"name": "none"}, {"name": "rv-global"}, {"name": "rv-global", "weights": "association"}, {"name": "rv-local"},
    {"name": "rv-hybrid"}, {"name": "rv-distributed", "max_strings": 9}, {"name": "top-down-subtree"},
    {"name": "k-optimize", "nodes": 3}, {"name": "k-optimize", "nodes": 3, "measure": "cm"}, {"name": "set-partition"},
    {"name": "genetic", "population": 4, "evaluations": 8},
]  # fmt: skip
# Equal rows are cut as one, where rows are people.
MONDRIAN: list[dict[str, Any]] = [
    {"name": "mondrian"}, {"name": "mondrian", "cut": "widest", "fallback_lt": True},
    {"name": "mondrian", "cut": "info-gain"}, {"name": "mondrian", "cut": "lsd", "target": "x"},
]  # fmt: skip


def released_by(rows: Rows, case: Case, spec: dict[str, Any], limit: float) -> tuple[Released, Judge] | str:
    """A release, or why there is none."""
    algorithm = make("algorithm", {**spec, "suppression_limit": limit})
    judge = Judge(case.models, whole_reference(rows, case.models))
    try:
        recoding = algorithm.run(Problem(rows=rows, judge=judge, keys=Keys.from_seed(1)))
        return enforce(apply_recoding(rows, recoding), judge, limit), judge
    except ShoalError as error:
        return str(error)


def same(one: GroupStats, other: GroupStats) -> None:
    """Sizes and histograms, to the last entry."""
    assert (one.sizes.tolist(), one.rows.tolist()) == (other.sizes.tolist(), other.rows.tolist())
    assert list(one.histograms) == list(other.histograms)
    for key, mine in one.histograms.items():
        theirs = other.histograms[key]
        for name in ("indptr", "codes", "counts", "known"):
            assert getattr(mine, name).tolist() == getattr(theirs, name).tolist(), (key, name)


@settings(max_examples=20)
@given(cases(), st.sampled_from(METHODS), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_every_engine_leads_to_the_same_release(case: Case, spec: dict[str, Any], limit: float, pairs: bool) -> None:
    """The search, its classes after suppression, what is judged of them, and every figure of every measure."""
    _compare(Case(case.table, [*case.specs, TUPLE]) if pairs else case, spec, limit)


@settings(max_examples=25)
@given(cases(people=False), st.sampled_from(MONDRIAN), st.sampled_from([0.0, 0.3]), st.booleans())
def test_so_does_mondrian_where_equal_rows_stay_together(
    case: Case, spec: dict[str, Any], limit: float, pairs: bool
) -> None:
    _compare(Case(case.table, [*case.specs, TUPLE]) if pairs else case, spec, limit)


def _compare(case: Case, spec: dict[str, Any], limit: float) -> None:
    mine, theirs = (released_by(engine.open(case.table), case, spec, limit) for engine in ENGINES)
    if isinstance(mine, str) or isinstance(theirs, str):
        assert mine == theirs
        return
    (one, judge), (other, _) = mine, theirs
    assert (one.levels, one.n_classes, one.n_suppressed) == (other.levels, other.n_classes, other.n_suppressed)
    same(one.sensitive_stats, other.sensitive_stats)
    for name, cells in one.cells.items():
        assert cells.texts().to_list() == other.cells[name].texts().to_list()
    for name in names("measure"):
        made = load("measure", name)()
        assert repr(made.score(one.price_stats())) == repr(made.score(other.price_stats())), name
    for report in (split_verdicts, other_references):
        assert repr(report(one, judge)) == repr(report(other, judge))


@settings(max_examples=20)
@given(cases(), st.data())
def test_every_engine_counts_alike(case: Case, data: st.DataObject) -> None:
    """Everything that is asked of rows, on every kind of class map."""
    memory, plain = (engine.open(case.table) for engine in ENGINES)
    tuples = [("s", "x"), *([tuple(memory.domain.schema.quasi[:2])] if len(memory.domain.schema.quasi) > 1 else [])]
    for names_ in tuples:
        mine, theirs = memory.joined(names_), plain.joined(names_)
        for name in ("codes", "counts", "unknown"):
            assert getattr(mine, name).tolist() == getattr(theirs, name).tolist()
    attributes = [case.table.attribute([name]) for name in ("s", "x")] + [case.table.attribute(["s", "x"])]
    attributes += [replace(one, people=False) for one in attributes if one.people]
    first, second = memory.frequency(attributes), plain.frequency(attributes)
    assert first.codes.tolist() == second.codes.tolist()
    same(*(GroupStats(one.sizes, one.rows, one.histograms) for one in (first, second)))
    ids, of = (_numbers(data, many) for many in (case.table.n, first.rows.size))
    for classes in (Everybody(), RowIds(ids, 4), Cells(of, 4), Together(Cells(of, 4)), Together(RowIds(ids, 4))):
        same(memory.stats(classes, attributes), plain.stats(classes, attributes))
    for split in (Split(Cells(of, 4), "s"), Split(RowIds(ids, 4), "x")):
        same(memory.stats(split, attributes), plain.stats(split, attributes))
    for columns in (["s"], ["s", "x"]):
        assert memory.alone(columns) == plain.alone(columns)


def _numbers(data: st.DataObject, count: int) -> np.ndarray:
    return np.array(data.draw(st.lists(st.integers(-1, 3), min_size=count, max_size=count)), dtype=np.int32)


def test_rows_elsewhere_are_refused_whatever_they_are_called_there() -> None:
    class Stored(PlainRows):
        table = "patients"

    rows = PlainEngine().open(read(pl.DataFrame({"a": [1, 2]}), quasi=["a"]))
    with pytest.raises(ParameterError, match="for which they must be in memory"):
        in_memory(Stored(**vars(rows)))


@pytest.mark.parametrize(
    "spec, people, said",
    [
        ({"name": "mondrian", "mode": "relaxed"}, False, "looks at rows one by one, for which they must be in memory"),
        ({"name": "mondrian"}, True, "looks at rows one by one, for which they must be in memory"),
        ({"name": "mondrian", "polish": "lm"}, False, "Polish moves rows one by one, for which they must be in memory"),
    ],
)
def test_a_method_of_single_rows_says_that_it_needs_them_in_memory(
    spec: dict[str, Any], people: bool, said: str
) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "who": ["p", "q", "r", "s"]}).select("a", *(["who"] if people else []))
    rows = PlainEngine().open(read(frame, quasi=["a"], subject="who" if people else None))
    judge = Judge([make("model", {"name": "k", "k": 2})], whole_reference(rows, []))
    with pytest.raises(ParameterError, match=said):
        make("algorithm", spec).run(Problem(rows=rows, judge=judge, keys=Keys.from_seed(1)))


@pytest.mark.parametrize(("sensitive", "asked"), [(["s"], 0), (["s", "x"], 2)])
def test_classes_are_split_only_where_something_is_told_of_it(
    sensitive: list[str], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Splitting takes a pass over all rows; by the attribute that a model is about it tells nothing."""
    frame = pl.DataFrame({"q": ["a"] * 4, "s": ["u", "v"] * 2, "x": ["1", "2", "3", "4"]})
    table = read(frame.select("q", *sensitive), quasi=["q"], sensitive=sensitive)
    case = Case(table, [{"name": "k", "k": 2}, *({"name": "distinct-l", "l": 2, "on": name} for name in sensitive)])
    found = released_by(MemoryEngine().open(case.table), case, {"name": "none"}, 0.0)
    assert not isinstance(found, str)
    splits = []
    plain = type(found[0].rows).stats
    monkeypatch.setattr(
        type(found[0].rows), "stats",
        lambda rows, classes, wanted: (splits.append(classes), plain(rows, classes, wanted))[1],
    )  # fmt: skip
    told = split_verdicts(*found)
    assert sum(isinstance(one, Split) for one in splits) == asked
    assert [one["known"] for one in told] == [name for name in sensitive if asked]
