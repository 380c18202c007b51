"""Items, papers, and what it takes to say that a claim holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.registry import load, names
from shoal_papers.base import Claim, Context, Item, Outcome, Paper, impossible
from shoal_papers.claims import (
    below,
    bootstrap,
    checked,
    equals,
    falls_with,
    inconclusive,
    info,
    rises_with,
    summary,
    within,
)
from shoal_papers.data import Data
from shoal_papers.runs import curves, points, sample, summarise

WORDS = {"title": "t", "shows": "s", "statement": "d"}


def item(**given: Any) -> Item:
    usual = {"id": "1", "key": "EXP-T-1", "run": lambda context: Outcome(table=None, claims=[]), **WORDS}
    return Item(**{**usual, **given})


def test_quick_runs_change_parameters_and_take_fewer_seeds() -> None:
    one = item(parameters={"rows": 10, "k": 2}, quick={"rows": 3})
    assert one.settings(False) == {"rows": 10, "k": 2}
    assert one.settings(True) == {"rows": 3, "k": 2}
    assert one.seeds(7, False) == (7, 8, 9, 10, 11)
    assert one.seeds(7, True) == (7, 8)
    assert item(fixed=True).seeds(7, False) == (7,)
    with pytest.raises(ParameterError, match="no parameter 'speed'"):
        item(quick={"speed": 1})


def test_an_impossible_item_says_why() -> None:
    one = impossible(id="9", key="EXP-T-9", reason="The data are lost.", **WORDS)
    outcome = one.carry_out(Context(parameters={}, seeds=(1,), quick=True, data=Data()))
    assert [claim.kind for claim in outcome.claims] == ["info"]
    assert "The data are lost." in outcome.claims[0].evidence
    with pytest.raises(ParameterError, match="reason"):
        item(run=None)


def test_reasons_reach_only_claims_that_do_not_hold_and_none_is_lost() -> None:
    context = Context(parameters={}, seeds=(1,), quick=True, data=Data())
    claims = [
        checked("One holds", True, ""),
        checked("Two fails, far", False, "", kind="soft"),
        inconclusive("Three", ""),
    ]
    words = {"One": "a", "Two fails": "b"}
    one = item(run=lambda context: Outcome(table=None, claims=claims), refuted=words, undecidable={"Three": "c"})
    found = one.carry_out(context).claims
    assert [(claim.verdict, claim.reason, claim.standing) for claim in found] == [
        ("holds", "", "reproduced"), ("does not hold", "b", "refuted"), ("inconclusive", "c", "not decidable"),
    ]  # fmt: skip
    two = item(run=lambda context: Outcome(table=None, claims=claims), undecidable={"Two": "d"})
    assert two.carry_out(context).claims[1].verdict == "inconclusive"
    assert info("x", 1, 2).standing is None
    assert claims[1].standing == "not decidable"
    lost = item(run=lambda context: Outcome(table=None, claims=claims), refuted={"Four": "e"})
    with pytest.raises(ParameterError, match="'Four', which it does not claim"):
        lost.carry_out(context)


def test_items_are_found_by_each_of_their_names() -> None:
    paper = Paper(name="p", authors="A", about="b", items=[item(also=["1b"]), item(id="2", key="EXP-T-2")])
    assert paper.item("exp-t-1") is paper.item("1") is paper.item("1B") is paper.items[0]
    with pytest.raises(ParameterError, match="has no item '3'"):
        paper.item("3")
    with pytest.raises(ParameterError, match="twice"):
        Paper(name="p", authors="A", about="b", items=[item(), item(id="2")])


def test_progress_goes_from_thing_to_thing() -> None:
    told: list[tuple[str, float | None]] = []
    context = Context(
        parameters={}, seeds=(1,), quick=True, data=Data(), progress=lambda step, share: told.append((step, share))
    )
    assert list(context.each([3, 4])) == [3, 4]
    assert told == [("3", 0.0), ("4", 0.5)]


def test_a_claim_of_one_kind_has_no_verdict_of_another() -> None:
    with pytest.raises(ParameterError, match="other verdicts"):
        Claim(kind="info", text="x", verdict="holds", evidence="")
    with pytest.raises(ParameterError, match="one of hard, soft, info"):
        Claim(kind="sure", text="x", verdict="holds", evidence="")


def test_the_bootstrap_repeats_and_covers() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    assert bootstrap(values) == bootstrap(values)
    found = summary([*values, math.nan])
    assert (found.mean, found.median, found.count) == (4.0, 3.0, 5)
    assert 1.0 < found.low < 4.0 < found.high < 10.0
    # A mean of many is known to about two standard errors.
    drawn = np.random.default_rng(1).normal(0, 1, 4000)
    low, high = bootstrap(drawn)
    assert (high - low) / 2 == pytest.approx(1.96 * drawn.std() / math.sqrt(4000), rel=0.1)
    assert math.isnan(summary([]).mean)


def test_below_needs_every_point() -> None:
    high = {5: [3.0, 4.0, 5.0], 10: [3.0, 4.0, 5.0]}
    assert below("x", {5: [1, 2, 3], 10: [2, 3, 4]}, high).verdict == "holds"
    assert below("x", {5: [1, 2, 3], 10: [4, 5, 6]}, high).verdict == "does not hold"
    mixed = below("x", {5: [1, 2, 3], 10: [1, 6, 4]}, high)
    assert mixed.verdict == "inconclusive"
    assert "at 10, the worst of 2 points, 1 of which agree" in mixed.evidence
    assert mixed.numbers["differences"]["5"] == [2.0, 2.0, 2.0]


def test_below_is_strict_unless_told_otherwise() -> None:
    same = [1.0, 2.0]
    assert below("x", same, same).verdict == "does not hold"
    assert below("x", same, same, strict=False).verdict == "holds"
    assert below("x", same, same, margin=0.1).verdict == "holds"
    assert below("ten times", [1.0, 1.0], [9.0, 9.5], factor=10).verdict == "does not hold"
    assert below("x", [math.nan], [1.0]).verdict == "inconclusive"
    with pytest.raises(ParameterError, match="not pairs"):
        below("x", [1.0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="different points"):
        below("x", {1: [1.0]}, {2: [1.0]})


def test_falling_and_rising() -> None:
    down = {1: [5.0, 6.0], 2: [4.0, 5.5], 3: [4.0, 5.0]}
    assert falls_with("x", down).verdict == "holds"
    assert rises_with("x", down).verdict == "does not hold"
    bump = {1: [5.0, 6.0], 2: [5.5, 6.5], 3: [4.0, 5.0]}
    assert falls_with("x", bump).verdict == "does not hold"
    assert "from 1 to 2" in falls_with("x", bump).evidence
    assert falls_with("x", bump, tolerance=0.5).verdict == "holds"
    flat = {1: [5.0, 6.0], 2: [5.0, 6.0]}
    assert falls_with("x", flat).verdict == "does not hold"
    assert falls_with("x", flat, strict=False).verdict == "holds"
    unclear = {1: [5.0, 6.0], 2: [4.0, 7.0]}
    assert falls_with("x", unclear).verdict == "inconclusive"


def test_within_judges_every_value_or_the_mean() -> None:
    values = [0.4, 0.5, 0.71]
    assert within("x", values, high=0.7, kind="hard").verdict == "does not hold"
    assert within("x", [0.4, 0.7], high=0.7, kind="hard").verdict == "holds"
    assert within("x", values, high=0.7).verdict == "inconclusive"
    assert within("x", values, high=0.72).verdict == "holds"
    assert within("x", {1: [0.1], 2: [0.9]}, high=0.5).verdict == "does not hold"
    assert within("x", [math.nan, 0.5], high=0.7, kind="hard").verdict == "does not hold"


def test_exact_claims() -> None:
    assert equals("x", [1, 2], [1, 2]).verdict == "holds"
    assert equals("x", 0.3333, 1 / 3).verdict == "does not hold"
    assert equals("x", 0.3333, 1 / 3, tolerance=1e-3).verdict == "holds"
    assert checked("x", False, "no.").verdict == "does not hold"
    assert info("x", 0.5, 0.57).evidence == "Ours 0.5, the document's 0.57."


def test_runs_become_tables_curves_and_pairs() -> None:
    runs = pl.DataFrame({
        "method": ["a", "b"] * 4, "k": [5, 5, 5, 5, 10, 10, 10, 10], "seed": [2, 2, 1, 1, 1, 1, 2, 2],
        "um": [2.0, 4.0, 1.0, 3.0, 5.0, 7.0, 6.0, 8.0],
    })  # fmt: skip
    assert {at: list(values) for at, values in points(runs, "k", "um", {"method": "a"}).items()} == {
        5: [1.0, 2.0], 10: [5.0, 6.0],
    }  # fmt: skip
    table = summarise(runs, ["method", "k"], ["um"])
    assert table.row(0, named=True) == {
        "method": "a", "k": 5, "runs": 2, "um_mean": 1.5, "um_median": 1.5, "um_low": 1.0, "um_high": 2.0,
    }  # fmt: skip
    first, second = curves(runs, "k", "um", by="method", names={"b": "better"})
    assert (first.name, second.name, list(second.y), list(second.x)) == ("a", "better", [3.5, 7.5], [5, 10])
    with pytest.raises(ParameterError, match="No run has method"):
        points(runs, "k", "um", {"method": "c"})


def test_samples_follow_the_seed() -> None:
    frame = pl.DataFrame({"row": range(50)})
    one = sample(frame, 10, 1)
    assert one.height == 10
    assert one["row"].is_sorted()
    assert one.equals(sample(frame, 10, 1))
    assert not one.equals(sample(frame, 10, 2))
    assert sample(frame, 60, 1).height == 50


@pytest.mark.parametrize("name", names("paper"))
def test_every_registered_paper_is_in_order(name: str) -> None:
    paper = load("paper", name)
    assert paper.name == name
    assert paper.items
    for one in paper.items:
        assert one.key.startswith("EXP-")
        assert one.key.endswith(f"-{one.id}")
        assert one.title
        assert one.shows
        assert one.statement


# Every experiment that the documents describe; figures that one run draws are items of one another.
EXPERIMENTS = {
    "yang-qiao": "6a 6b 7 8a 8b chi2 attack examples",
    "sumana-hareesh": "1 2 examples",
    "poovammal-ponnavaikko": "6 7 8 rules cluster assoc corr R2 time attack examples",
    "morton": "T4 T5 6 7 8 9 hybrid dist local examples",
    "loukides": "3.3 3.4 3.8 3.9 T4.3 T4.4 T4.5 T4.6 T4.7 4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 4.10 4.11 4.12 4.13 "
    "6.4 6.5 6.6 6.7 6.8 6.9 6.10 6.11 6.14 6.15 6.16 6.17 6.18 6.19 6.20 6.21 6.22 6.24 6.25 6.26 6.27 6.28 6.29 6.30 "
    "T6.3 T6.4 T6.5 6.32 6.33 6.34 6.35 6.36 6.37 examples",
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_an_item(name: str) -> None:
    paper = load("paper", name)
    for one in EXPERIMENTS[name].split():
        assert one in {paper.item(one).id, *paper.item(one).also}
