"""Every registered measure: equal to its definition, inside its bounds, and defined or explained anywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.engines.memory import MemoryRows
from shoal.errors import ParameterError
from shoal.recipe.source import read
from shoal.recoding.lattice import top_level
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import FullDomain, Grouping
from shoal.registry import load, names
from shoal.results import Score
from tests.measures.naive import NaiveRelease
from tests.table.random_tables import Case, cases, crowded_table, groupings

MEASURES = names("measure")
# Those that are recomputed from their definitions here; every registered one has to keep its bounds.
DEFINED = [
    "dm", "c-avg", "cm", "genc", "precision", "height", "ncp", "lm", "ilm", "am", "um", "entropy",
]  # fmt: skip
UP = {"precision", "rv", "pa"}


def price(released: Released, name: str, **parameters: Any) -> Score:
    return load("measure", name)(**parameters).score(released.price_stats())


def grouped(case: Case, ids: np.ndarray) -> Released:
    return apply_recoding(MemoryRows(case.table()), Grouping(ids=ids, groups=int(ids.max(initial=-1)) + 1))


@st.composite
def releases(draw: st.DrawFn, **options: Any) -> tuple[Case, np.ndarray]:
    case = draw(cases(**options))
    return case, draw(groupings(case.n))


def assert_bounded(found: Score) -> None:
    """A value inside its bounds, or none and a reason."""
    assert found.better == ("up" if found.name in UP else "down")
    assert 0.0 <= found.suppression <= 1.0
    if found.value is None:
        assert found.reason
        return
    assert found.reason is None
    assert math.isfinite(found.value)
    slack = 1e-9 * max(1.0, abs(found.value))
    assert found.low - slack <= found.value <= found.high + slack
    for beside in found.also.values():
        assert beside is None or math.isfinite(beside)


def test_the_contract_covers_what_is_registered() -> None:
    case = Case(data={"q": [1]}, kinds={"q": "integer"}, quasi=["q"], sensitive=[])
    assert set(NaiveRelease(case, [0]).measures()) == set(DEFINED) <= set(MEASURES)


@settings(max_examples=20)
@given(releases())
def test_every_measure_keeps_its_bounds(drawn: tuple[Case, np.ndarray]) -> None:
    released = grouped(*drawn)
    for name in MEASURES:
        assert_bounded(price(released, name))


@settings(max_examples=30)
@given(releases())
def test_measures_equal_their_definitions(drawn: tuple[Case, np.ndarray]) -> None:
    case, ids = drawn
    released, naive = grouped(case, ids), NaiveRelease(case, ids.tolist())
    assert released.n_classes == len(naive.classes)
    for name, expected in naive.measures(k=released.k).items():
        found = price(released, name)
        assert_bounded(found)
        assert found.suppression == pytest.approx(len(naive.suppressed) / naive.n)
        if expected is None:
            assert found.value is None, name
        else:
            assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-9), name


@settings(max_examples=20)
@given(releases())
def test_um_and_the_tuple_weighted_mean_stand_side_by_side(drawn: tuple[Case, np.ndarray]) -> None:
    case, ids = drawn
    naive = NaiveRelease(case, ids.tolist())
    found = price(grouped(case, ids), "um")
    if not naive.classes:
        assert found.value is None
        assert found.reason == "the release is empty"
        return
    sizes = [len(rows) for rows in naive.classes.values()]
    weighted = sum(float(d) * size for d, size in zip(naive.diversities(), sizes, strict=True)) / sum(sizes)
    assert found.also["tuple-weighted"] == pytest.approx(weighted, abs=1e-9)


@settings(max_examples=20)
@given(st.data())
def test_full_domain_releases(data: st.DataObject) -> None:
    case = data.draw(cases())
    table = case.table()
    levels = {column.name: data.draw(st.integers(0, top_level(column))) for column in table.quasi}
    released = apply_recoding(MemoryRows(table), FullDomain(levels=levels))
    for name in MEASURES:
        assert_bounded(price(released, name))
    found = price(released, "height")
    assert found.value == sum(levels.values())
    assert found.also == levels
    cost = price(released, "genc")
    shares = [
        levels[column.name] / top_level(column) if released.cells[column.name].height else 0.0
        for column in table.quasi
    ]
    assert cost.value == pytest.approx(table.n * sum(shares))
    assert cost.also["normalised"] == pytest.approx(1.0 - price(released, "precision").value)


@pytest.mark.parametrize("name", DEFINED)
def test_one_row_and_exact_cells_cost_nothing(name: str) -> None:
    table = read(pl.DataFrame({"a": [3], "b": ["x"], "s": ["flu"]}), quasi=["a", "b"], sensitive=["s"])
    found = price(apply_recoding(MemoryRows(table), FullDomain(levels={})), name)
    best = {"dm": 1.0, "c-avg": 1.0, "precision": 1.0, "am": 1.0}
    assert found.value == best.get(name, 0.0)


@pytest.mark.parametrize("name", DEFINED)
def test_constant_columns(name: str) -> None:
    frame = pl.DataFrame({"a": [7] * 4, "b": ["x"] * 4, "c": [1.5] * 4, "s": list("aabb")})
    table = read(frame, quasi=["a", "b", "c"], sensitive=["s"])
    found = price(apply_recoding(MemoryRows(table), Grouping(ids=np.zeros(4, dtype=np.int32), groups=1)), name)
    assert_bounded(found)
    expected = {"dm": 16.0, "c-avg": 4.0, "precision": 1.0, "cm": 0.5, "am": None, "height": None}
    assert found.value == expected.get(name, 0.0)


@pytest.mark.parametrize("name", DEFINED)
def test_everything_suppressed(name: str) -> None:
    frame = pl.DataFrame({"a": [1, 2, 3, 9], "b": list("xyzz"), "s": list("aabb")})
    table = read(frame, quasi=["a", "b"], sensitive=["s"], weights={"a": 3.0})
    found = price(apply_recoding(MemoryRows(table), Grouping(ids=np.full(4, -1, dtype=np.int32), groups=0)), name)
    assert_bounded(found)
    assert found.suppression == 1.0
    worst = {
        "dm": 16.0, "cm": 1.0, "genc": 8.0, "precision": 0.0, "ncp": 16.0, "lm": 1.0, "am": 27.0,
        "ilm": 4 * (3 * 8 / 9 + 2 / 3), "entropy": 8.0 + 2 * math.log2(4) + 2 * math.log2(2),
    }  # fmt: skip
    assert found.value == (None if name not in worst else pytest.approx(worst[name]))


@pytest.mark.parametrize(
    "name,expected", [("am", None), ("ilm", 2.0), ("lm", 1.0)]
)
def test_everything_suppressed_of_real_numbers(name: str, expected: float | None) -> None:
    """Whether values can be counted is a matter of the column, not of the classes that are left."""
    table = read(pl.DataFrame({"a": [1.5, 2.25]}), quasi=["a"])
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.full(2, -1, dtype=np.int32), groups=0))
    assert price(released, name).value == expected


@settings(max_examples=20)
@given(releases(rows=(2, 14)))
def test_suppressing_a_record_more_never_pays(drawn: tuple[Case, np.ndarray]) -> None:
    """A suppressed record is priced fully: no loss measure falls when a whole class goes."""
    case, ids = drawn
    released = grouped(case, ids)
    if released.n_classes == 0:
        return
    bad = np.zeros(released.n_classes, dtype=bool)
    bad[0] = True
    fewer = released.suppress(bad)
    for name in ("dm", "cm", "ncp", "lm", "ilm", "am", "entropy"):
        before, after = price(released, name), price(fewer, name)
        if before.value is not None and after.value is not None:
            assert after.value >= before.value - 1e-9, name


def test_real_numbers_have_no_ambiguity_but_a_reason() -> None:
    table = read(pl.DataFrame({"a": [1.5, 2.25, 3.0]}), quasi=["a"])
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.zeros(3, dtype=np.int32), groups=1))
    found = price(released, "am")
    assert (found.value, found.reason) == (
        None, "column 'a' has real numbers, whose intervals cover no countable set",
    )  # fmt: skip
    # Their information loss falls back on the width.
    assert price(released, "ilm").value == pytest.approx(3.0)


def test_intervals_without_a_hierarchy_have_no_level() -> None:
    table = read(pl.DataFrame({"a": [1, 2, 3, 3]}), quasi=["a"])
    mixed = apply_recoding(MemoryRows(table), Grouping(ids=np.array([0, 0, 1, 1], dtype=np.int32), groups=2))
    for name in ("genc", "precision"):
        assert "no hierarchy" in (price(mixed, name).reason or "")


def test_only_full_domain_recodings_have_a_height() -> None:
    table = read(pl.DataFrame({"a": [1, 2]}), quasi=["a"])
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.zeros(2, dtype=np.int32), groups=1))
    assert price(released, "height").reason == "only a full-domain recoding has a height"


def test_average_class_size_counts_the_input_and_shows_the_released_rows() -> None:
    table = read(pl.DataFrame({"a": [1, 1, 2, 2, 3]}), quasi=["a"])
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.array([0, 0, 1, 1, -1], dtype=np.int32), groups=2))
    found = price(released, "c-avg", k=2)
    assert (found.value, found.also["released"]) == (5 / 4, 1.0)
    with pytest.raises(ParameterError, match="whole number of at least 1"):
        load("measure", "c-avg")(k=0)


def test_classification_takes_a_target_and_refuses_a_strange_one() -> None:
    frame = pl.DataFrame({"a": [1, 1, 1, 1], "s": list("aabb"), "t": list("xxxy")})
    released = apply_recoding(MemoryRows(read(frame, quasi=["a"], sensitive=["s", "t"])), FullDomain(levels={}))
    assert [price(released, "cm").value, price(released, "cm", target="t").value] == [0.5, 0.25]
    with pytest.raises(ParameterError, match="not a sensitive attribute"):
        price(released, "cm", target="a")


def test_weights_move_the_weighted_measures_only() -> None:
    frame = pl.DataFrame({"a": [0, 5, 10, 10], "b": list("xxyz")})
    ids = np.array([0, 0, 1, 1], dtype=np.int32)
    plain, heavy = (
        apply_recoding(MemoryRows(read(frame, quasi=["a", "b"], weights=weights)), Grouping(ids=ids, groups=2))
        for weights in ({}, {"a": 3.0})
    )
    assert price(plain, "ncp").value == pytest.approx(2 * 0.5 + 2 * 2 / 3)
    assert price(heavy, "ncp").value == pytest.approx(3 * 2 * 0.5 + 2 * 2 / 3)
    assert price(heavy, "ncp").also["normalised"] == pytest.approx((3 + 4 / 3) / 16)
    assert price(plain, "um").value == price(heavy, "um").value


@pytest.mark.parametrize("name", MEASURES)
def test_snapped_columns_stay_in_bounds(name: str) -> None:
    """Ends that few people have are snapped outward, which must not push a price over its bound."""
    values = np.arange(400) * 7 + 3
    table = crowded_table(read(pl.DataFrame({"a": values, "b": values / 8}), quasi=["a", "b"]), 5)
    ids = (np.arange(400) // 9).astype(np.int32)
    released = apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=int(ids.max()) + 1))
    assert_bounded(price(released, name))
    lone = apply_recoding(MemoryRows(table), Grouping(ids=np.zeros(400, dtype=np.int32), groups=1))
    assert price(lone, "lm").value == 1.0


def test_a_declared_domain_is_what_widths_are_shares_of() -> None:
    table = read(pl.DataFrame({"a": [10, 20]}), quasi=["a"], settings={"a": {"domain": [0, 99]}})
    released = apply_recoding(MemoryRows(table), Grouping(ids=np.zeros(2, dtype=np.int32), groups=1))
    assert price(released, "lm").value == pytest.approx(10 / 99)
    assert price(released, "am").also["normalised"] == pytest.approx(11 / 100)


@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_starred_constant_column_costs_nothing(kind: str) -> None:
    frame = pl.DataFrame({"a": [5, 5] if kind == "number" else ["x", "x"]})
    released = apply_recoding(MemoryRows(read(frame, quasi=["a"])), FullDomain(levels={"a": 1}))
    for name in ("lm", "ncp", "um", "ilm", "genc", "entropy"):
        assert price(released, name).value == 0.0, name
