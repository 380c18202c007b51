"""Estimates of count queries: exact where cells are, unbiased where values are spread evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.keys import Keys
from shoal.utility.count_queries import Answers, CountQueries, answer, normalised_are, summarise
from shoal.utility.queries import RandomQueries, parse_queries
from shoal.utility.reading import Reading, read_published, read_release
from tests.evaluation.test_reading import EXACT, people, released


def entry(name: str, role: str, kind: str, cells: str) -> dict[str, str]:
    return {"name": name, "role": role, "type": kind, "cells": cells}


def spread(rows: int, seed: int) -> Reading:
    """Rows that are spread evenly over the cells of a release: age within tens, weight within units, three jobs."""
    rng = np.random.default_rng(seed)
    age, weight = rng.integers(20, 60, rows), rng.uniform(50, 54, rows).round(6)
    job, ill = rng.choice(["a", "b", "c"], rows), rng.choice(["flu", "cold"], rows)
    original = pl.DataFrame({"age": age, "weight": weight, "job": job, "ill": ill})
    ten, unit = age // 10 * 10, np.floor(weight).astype(int)
    cells = original.with_columns(
        age=pl.Series([f"[{low},{low + 9}]" for low in ten]),
        weight=pl.Series([f"[{low},{low + 1}]" for low in unit]), job=pl.lit("*"),
    )  # fmt: skip
    columns = [
        entry("age", "quasi", "numeric", "interval"), entry("weight", "quasi", "numeric", "interval"),
        entry("job", "quasi", "categorical", "set"), entry("ill", "sensitive", "categorical", "value"),
    ]  # fmt: skip
    return read_published(cells, {"kind": "generalised", "columns": columns}, original, keys=Keys.from_seed(1))


@pytest.mark.parametrize("kind", ["none", "pseudonymised", "randomised", "microaggregated"])
def test_exact_cells_are_counted(kind: str) -> None:
    """The estimate of a release of single values is the true answer of a table that holds these values."""
    frame = people()
    algorithm: Any = {
        "none": shoal.NoAlgorithm(), "pseudonymised": shoal.TableTransform(),
        "randomised": shoal.RandomAnonymisation(), "microaggregated": shoal.Microaggregation(k=4),
    }[kind]  # fmt: skip
    reading = read_release(released(algorithm, frame, read=EXACT if kind == "none" else {}))
    queries = RandomQueries(count=200).make(reading)
    values = {name: [one.values[code] for code in one.released()] for name, one in reading.features.items()}
    held = pl.DataFrame(values, schema_overrides=dict.fromkeys(values, pl.String))
    truth = [
        held.filter(pl.all_horizontal(pl.col(one.column).is_in(list(one.values)) for one in query.conditions)).height
        for query in queries
    ]
    found = answer(reading, queries)
    assert any(truth)
    assert found.estimate.tolist() == truth
    # Where nothing was changed, these are the true answers.
    assert (found.truth.tolist() == truth) == (kind in ("none", "pseudonymised"))


@pytest.mark.parametrize("publication", ["tables", "permuted"])
def test_groups_leave_quasi_identifiers_exact(publication: str) -> None:
    reading = read_release(released(shoal.Anatomy(l=3, on="disease", publication=publication), people()))
    lines = [
        "sex = f and job in {nurse, clerk}",
        "age in [30, 40] and ward = north",
        "disease = flu",
        "weight in [51, 53.5]",
    ]
    found = CountQueries(workload=lines).run(reading)[0].also["each"]
    assert [one["estimate"] for one in found] == pytest.approx([one["truth"] for one in found], abs=1e-9)
    # How the two go together is spread over each group, the same whichever pairing is read.
    both = "sex = f and disease = flu"
    again = read_release(
        released(shoal.Anatomy(l=3, on="disease", publication=publication), people()), keys=Keys.from_seed(9)
    )
    values = [CountQueries(workload=[both]).run(one)[0].also["each"][0]["estimate"] for one in (reading, again)]
    assert values[0] == values[1]


def test_estimates_are_unbiased_on_evenly_spread_rows() -> None:
    lines = [
        "age in [22, 27] and ill = flu",
        "weight in [50.25, 52.5] and job in {a, b}",
        "age = 35 and job = c and weight in [51, 51.1]",
    ]
    errors = []
    for seed in range(30):
        reading = spread(400, seed)
        found = answer(reading, parse_queries(lines, reading))
        errors.append(found.estimate - found.truth)
    mean, scatter = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
    assert (np.abs(mean) < 4 * scatter).all()
    assert (scatter > 0).all()


def test_lengths_spread_real_numbers() -> None:
    """An interval of reals counts by its length, a list of its values by their number."""
    each = CountQueries(workload=["weight in [50.25, 50.5]", "weight in [60, 70]"]).run(spread(400, 1))[0].also["each"]
    inside = spread(400, 1).features["weight"]
    low = sum(text == "[50,51]" for text in np.array(inside.texts)[inside.cell])
    assert each[0]["estimate"] == pytest.approx(low / 4)
    assert each[1] == {"query": "weight in [60, 70]", "truth": 0, "estimate": 0.0}


def test_a_summary_leaves_out_queries_without_an_answer() -> None:
    answers = Answers(
        truth=np.array([0.0, 10, 20, 40]), estimate=np.array([5.0, 5, 20, 60]), independent=np.array([0.0, 10, 10, 0]),
        n=100,
    )  # fmt: skip
    found = summarise(answers, Keys.from_seed(1))
    assert (found.queries, found.excluded) == (4, 1)
    assert (found.mean, found.median) == pytest.approx((1 / 3, 0.5))
    assert found.p90 == pytest.approx(0.5)
    assert found.floored == pytest.approx((5 / 0.1 + 0.5 + 0 + 0.5) / 4)
    assert found == summarise(answers, Keys.from_seed(1))
    assert found.mean_interval is not None
    assert 0 <= found.mean_interval[0] <= 1 / 3 <= found.mean_interval[1] <= 0.5
    assert summarise(answers, Keys.from_seed(1), answers.independent).mean == pytest.approx(0.5)


def test_no_answer_above_zero_is_no_error() -> None:
    finding = CountQueries(workload=["age = 35 and weight in [60, 70]"]).run(spread(100, 1))
    assert [one.value for one in finding] == [None]
    assert "answer 0" in finding[0].sentence


def test_normalised_errors_run_from_worst_to_best() -> None:
    assert normalised_are({"a": 0.1, "b": 0.5, "c": 0.2}) == pytest.approx({"a": 1.0, "b": 0.0, "c": 0.75})
    assert normalised_are({"a": 0.1, "b": 0.1}) == {"a": 1.0, "b": 1.0}


def test_findings_compare_with_one_way_tables() -> None:
    found = CountQueries().run(read_release(released(shoal.Mondrian(k=5), people(200))))
    assert [one.name for one in found] == [
        "count-queries median", "count-queries mean", "count-queries 90th percentile",
    ]  # fmt: skip
    assert all(one.better == "down" and one.baseline is not None and one.sentence.endswith(".") for one in found)
    assert found[0].value is not None
    assert found[0].also["curve"][50] == pytest.approx(found[0].value)


def test_wide_ranges_of_whole_numbers_count_by_length() -> None:
    original = pl.DataFrame({"pay": [0, 10, 500_000, 1_000_000], "ill": ["flu", "flu", "cold", "cold"]})
    cells = original.with_columns(pay=pl.Series(["[0,1000000]"] * 4))
    columns = [entry("pay", "quasi", "numeric", "interval"), entry("ill", "sensitive", "categorical", "value")]
    reading = read_published(cells, {"kind": "generalised", "columns": columns}, original)
    assert list(reading.features["pay"].values) == ["0", "10", "500000", "1000000"]
    found = answer(reading, parse_queries(["pay in [0, 250000] and ill = flu"], reading))
    assert (found.truth[0], found.estimate[0]) == (2, pytest.approx(0.5))
