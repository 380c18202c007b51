"""Yang & Qiao's worked examples hold, and their figures come out of small samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal_papers.base import Context, Outcome
from shoal_papers.data import Data
from shoal_papers.yang_qiao.attack import squared
from shoal_papers.yang_qiao.common import QUASI, SENSITIVE, made_by, reading_of, table_of
from shoal_papers.yang_qiao.paper import PAPER
from shoal_papers.yang_qiao.queries import _halves, _range
from shoal_papers.yang_qiao.rules import associations, by_length, expected


def broken(outcome: Outcome) -> list[str]:
    return [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"]


def small(adult: Path, name: str, **changed: Any) -> Outcome:
    item = PAPER.item(name)
    given = item.settings(True) | {"rows": 600} | changed
    return item.carry_out(Context(parameters=given, seeds=(1, 2), quick=True, data=Data(adult.parent)))


def test_every_worked_example_is_recomputed() -> None:
    outcome = PAPER.item("examples").carry_out(Context(parameters={}, seeds=(1,), quick=True, data=Data()))
    assert broken(outcome) == []
    assert outcome.table is not None
    assert set(outcome.table["id"]) == {*(f"RA-{number:02d}" for number in range(1, 34)), "AL-18"}
    misprints = [claim.text for claim in outcome.claims if claim.kind == "info"]
    assert len(misprints) == 5


def test_every_experiment_has_an_item() -> None:
    for name in ("6a", "6b", "7", "8a", "8b", "chi2", "attack", "examples"):
        assert PAPER.item(name) is PAPER.item(f"EXP-YQ-{name}")


def test_queries_by_attributes(adult: Path) -> None:
    """Every method answers the same queries, l-diverse data by far worst."""
    outcome = small(adult, "6a", quasi=[1, 3, 6], queries=60, l=6)
    assert broken(outcome) == []
    assert outcome.runs is not None
    assert outcome.runs.height == 2 * 3 * 5
    assert outcome.runs.group_by("seed", "quasi").agg(pl.n_unique("asked"))["asked"].max() == 1
    # What the text says of Fig. 6a is about growth and variation alone.
    assert not any("few attributes" in claim.text for claim in outcome.claims)
    assert any("is below that of l-diverse where queries have few attributes: holds" in one for one in outcome.readings)
    assert len(outcome.plots) == 2
    assert len(outcome.readings) == 16 + 6 + 3


def test_queries_by_l(adult: Path) -> None:
    outcome = small(adult, "6b", l=[2, 6], queries=60)
    assert outcome.runs is not None
    assert outcome.runs.height == 2 * (1 + 4 * 2)
    series = {one.name: one for one in outcome.plots[0].series}
    assert list(series["RA"].x) == [2, 6]
    assert series["RA"].y[0] == series["RA"].y[1]
    assert series["l-diverse"].y[0] > series["RA"].y[0]


def test_associations_by_method_and_by_lambda(adult: Path) -> None:
    outcome = small(adult, "7", l=[6, 9], of_rule=[0.08])
    assert outcome.runs is not None
    assert outcome.runs["method"].unique(maintain_order=True).to_list() == [
        "RA", *(f"{name} {l}" for name in ("permutation", "permutation in classes") for l in (6, 9)),  # noqa: E741
    ]  # fmt: skip
    verdicts = {claim.text: claim.verdict for claim in outcome.claims}
    assert verdicts["More associations are recovered from RA than from permutation, at every l"] == "holds"
    by_lambda = small(adult, "8b", **{"lambda": [1, 5], "of_rule": [0.08, 0.04]})
    recovered = [one for one in by_lambda.plots[0].series if one.name == "support 8 %"]
    assert recovered[0].y[0] > recovered[0].y[1]
    assert [claim.kind for claim in by_lambda.claims] == ["soft"] * 4


def test_length_one_are_the_frequent_single_values() -> None:
    """Section 7.3 says so of Fig. 8b; associations of one value are another reading."""
    parts = pl.DataFrame(
        {"seed": [1, 1, 1, 2, 2], "length": [1, 2, 3, 1, 2], "items": [90.0, 90.0, 90.0, 100.0, 100.0],
         "recovered": [10.0, 50.0, 5.0, 20.0, 60.0]}
    )  # fmt: skip
    assert {length: list(one) for length, one in by_length(parts).items()} == {1: [90.0, 100.0], 2: [50.0, 60.0]}
    assert list(by_length(parts, items=False)[1]) == [10.0, 20.0]


def test_shares_are_those_of_a_plain_count(adult: Path) -> None:
    """Recovered associations and chi^2, counted by other means."""
    frame = Data(adult.parent).adult().head(500)
    made = made_by("RA", {True: table_of(frame)}, 0, 3)
    found = associations(reading_of(made, 3), ("rule", 0.08), 0.15)
    before, after = _pairs(frame), _pairs(made.frame)
    lengths = found["lengths"]["1"]
    assert (lengths["rules"], lengths["kept"]) == (len(before), len(before & after))
    # Exact cells are their own groups, so that expected counts are counts.
    assert expected(reading_of(made, 3), ("rule", 0.08), 0.15) == pytest.approx(found["recovered"])
    left = associations(reading_of(made, 3), ("antecedent", 0.08), 0.15)
    assert left["rules"] > found["rules"]
    assert expected(reading_of(made, 3), ("antecedent", 0.08), 0.15) == pytest.approx(left["recovered"])
    for name, (value, _) in squared(frame).items():
        seen = frame.pivot(SENSITIVE, index=name, values=SENSITIVE, aggregate_function=pl.len()).drop(name)
        cells = seen.fill_null(0).to_numpy().astype(float)
        rest = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0) / cells.sum()
        assert value == pytest.approx((((cells - rest) ** 2) / rest).sum() / cells.sum())


def _pairs(frame: pl.DataFrame) -> set[tuple[str, str, str]]:
    """Associations of one quasi-identifier with support of 8 % and confidence of 15 %."""
    kept = set()
    for name in QUASI:
        counted = frame.group_by(pl.col(name).cast(pl.String), SENSITIVE).len("of")
        counted = counted.with_columns(all=pl.sum("of").over(name))
        often = counted.filter((pl.col("of") >= 0.08 * frame.height) & (pl.col("of") >= 0.15 * pl.col("all")))
        kept |= {(name, *row) for row in often.select(name, SENSITIVE).rows()}
    return kept


def test_bayes_is_calibrated(adult: Path) -> None:
    outcome = small(adult, "attack", **{"rows": 1500, "lambda": [1, 2], "l": 6, "vectors": 5})
    assert broken(outcome) == []
    verdicts = {claim.text: claim.verdict for claim in outcome.claims}
    assert verdicts["The occupation of a known person is guessed with a probability of at most 1/Pa"] == "does not hold"
    assert outcome.runs is not None
    assert outcome.runs.height == 2 * 6


def test_facts_of_adult(adult: Path) -> None:
    item = PAPER.item("chi2")
    outcome = item.carry_out(Context(parameters=item.settings(True), seeds=(1,), quick=True, data=Data(adult.parent)))
    assert broken(outcome) == []
    assert outcome.claims[-1].numbers["above"] == pytest.approx({"education": 0.5093, "workclass": 0.2831}, abs=0.01)


def test_growth_and_range_of_a_curve() -> None:
    curve = {1: np.array([1.0]), 3: np.array([5.0]), 5: np.array([7.0])}
    assert _range(curve) == pytest.approx([6.0])
    assert [float(one[0]) for one in _halves(curve)] == [2.0, 1.0]
    assert _halves(curve, ratio=True)[0] == pytest.approx(np.log(5) / 2)
