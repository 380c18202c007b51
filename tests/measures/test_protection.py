"""Measures of protection against their definitions, one record at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.policies import policy_of, set_policies
from shoal.engines.memory import MemoryRows
from shoal.recipe.source import read
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import FullDomain, Grouping
from shoal.registry import load
from shoal.results import Score
from tests.measures.naive import NaiveRelease
from tests.models.test_ranges import policies
from tests.table.random_tables import ORDER, Case, cases, day, groupings

NAMES = ("mpm", "wgp", "range-diversity")


def price(released: Released, name: str) -> Score:
    return load("measure", name)().score(released.price_stats())


def grouped(table: Any, ids: list[int] | np.ndarray) -> Released:
    ids = np.asarray(ids, dtype=np.int32)
    return apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=int(ids.max(initial=-1)) + 1))


def known_values(case: Case, name: str) -> list[Any]:
    """The values of a column, None where they are unknown."""
    silent = {str(value) for value in case.non_answers.get(name, ())}
    return [None if value is None or str(value) in silent else value for value in case.data[name]]


def apart(case: Case, name: str) -> Callable[[list[Any]], float]:
    """Spread of some values as a share of the domain, 1 minus which is S-diversity or closeness."""
    kind, every = case.kinds[name], [value for value in known_values(case, name) if value is not None]

    def share(values: list[Any]) -> float:
        if kind == "tree":
            rows = {row[0]: row for row in case.hierarchies[name]}
            for level in range(len(next(iter(rows.values())))):
                labels = {rows[value][level] for value in values}
                if len(labels) == 1:
                    under = sum(row[level] in labels for row in rows.values())
                    return (under - 1) / (len(rows) - 1)
        if kind == "flat":
            return (len(set(values)) - 1) / (len(set(every)) - 1) if len(set(every)) > 1 else 0.0
        place = {"date": day, "ordinal": ORDER.index}.get(kind, lambda value: value)
        low, high = (0, len(ORDER) - 1) if kind == "ordinal" else (min(map(place, every)), max(map(place, every)))
        found = [place(value) for value in values]
        return (max(found) - min(found)) / (high - low) if high > low else 0.0

    return share


@settings(max_examples=40)
@given(st.data())
def test_measures_equal_their_definitions(data: st.DataObject) -> None:
    case = data.draw(cases(sensitive=(1, 2), quasi=(1, 2)))
    table = set_policies(case.table(), {name: data.draw(policies(case, name)) for name in case.sensitive})
    ids = data.draw(groupings(case.n))
    naive = NaiveRelease(case, ids.tolist())
    s_div: list[list[float]] = []
    r_div: list[list[float]] = []
    shares: list[float] = []
    for rows in naive.classes.values():
        mine: tuple[list[float], list[float]] = ([], [])
        for name in case.sensitive:
            column, values = table.columns[name], known_values(case, name)
            policy, spread = policy_of(column), apart(case, name)
            members = [row for row in rows if values[row] is not None]
            if not members:
                continue
            code = table.codes[name]
            mine[0].append(1 - spread([values[row] for row in members]))
            inside = [
                1 - spread([values[u], values[x]])
                for u in members
                for x in members
                if policy.low[code[u]] <= policy.axis[code[x]] <= policy.high[code[u]]
            ]
            mine[1].append(sum(inside) / len(members) ** 2)
            shares += [
                sum(policy.low[code[u]] <= policy.axis[code[x]] <= policy.high[code[u]] for x in members) / len(members)
                for u in members
            ]
        if mine[0]:
            s_div.append(mine[0])
            r_div.append(mine[1])
    released = grouped(table, ids)
    found = {name: price(released, name) for name in NAMES}
    if not s_div:
        assert all(score.value is None and score.reason for score in found.values())
        return
    mean = [sum(np.mean(one) for one in figures) / len(figures) for figures in (s_div, r_div)]
    assert found["mpm"].value == pytest.approx(mean[0], abs=1e-9)
    assert found["mpm"].also["worst class"] == pytest.approx(max(map(max, s_div)), abs=1e-9)
    assert found["range-diversity"].value == pytest.approx(mean[1], abs=1e-9)
    assert found["wgp"].value == pytest.approx(max(map(max, r_div)), abs=1e-9)
    # A range that no member owns may hold even more.
    assert found["range-diversity"].also["worst range confidence"] >= max(shares) - 1e-9


@settings(max_examples=25)
@given(st.data())
def test_the_worst_class_loses_at_least_the_mean(data: st.DataObject) -> None:
    case = data.draw(cases())
    ids = data.draw(groupings(case.n))
    released, naive = grouped(case.table(), ids), NaiveRelease(case, ids.tolist())
    found = price(released, "wgu")
    if not naive.classes:
        assert (found.value, found.reason) == (None, "the release is empty")
        return
    assert found.value == pytest.approx(float(max(naive.diversities())), abs=1e-9)
    assert found.value >= price(released, "um").value - 1e-12


def test_one_outlier_repairs_a_class_that_is_all_but_exposed() -> None:
    """The extremes span the domain, although four of five share a value."""
    table = read(
        pl.DataFrame({"q": ["a"] * 5 + ["b"] * 5, "s": [0, 40, 40, 40, 40] + [40] * 5}), quasi=["q"], sensitive=["s"]
    )
    found = price(apply_recoding(MemoryRows(table), FullDomain(levels={})), "mpm")
    assert (found.value, found.also) == (0.5, {"worst class": 1.0, "exposed records": 0.5})
    assert price(apply_recoding(MemoryRows(table), FullDomain(levels={})), "range-diversity").also == {
        "worst range confidence": 1.0
    }


@pytest.mark.parametrize("name", NAMES)
def test_corner_cases_have_a_reason(name: str) -> None:
    frame = pl.DataFrame({"q": ["a", "b"], "s": [None, None]}, schema={"q": pl.String, "s": pl.String})
    without = read(frame.select("q"), quasi=["q"])
    unknown = read(frame, quasi=["q"], sensitive=["s"], missing="value")
    known = read(frame.with_columns(s=pl.lit("x")), quasi=["q"], sensitive=["s"])
    for table, ids, reason in (
        (without, [0, 1], "there is no sensitive attribute"),
        (known, [-1, -1], "the release is empty"),
        (unknown, [0, 1], "no class has a known sensitive value"),
    ):
        found = price(grouped(table, ids), name)
        assert (found.value, found.reason) == (None, reason)
    constant = price(grouped(known, [0, 0]), name)
    assert constant.value == 1.0


def test_people_are_counted_as_the_model_counts_them() -> None:
    frame = pl.DataFrame({"q": ["a"] * 12, "s": ["x"] * 9 + ["y", "z", "z"], "who": ["p"] * 9 + ["q", "r", "s"]})
    table = read(frame, quasi=["q"], sensitive=["s"], subject="who")
    release = shoal.anonymize(table, models=[shoal.KAnonymity(k=2), shoal.RangeDiversity(p=0.9)])
    assert release.measure("wgp").value == pytest.approx((1 + 1 + 4) / 16)
    assert release.verdict[1].value == pytest.approx(release.measure("wgp").value)
