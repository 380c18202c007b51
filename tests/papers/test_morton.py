"""Morton et al.: worked examples hold, and so does what must hold of the searches and of Adult, on small samples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.data.hierarchy import Hierarchy
from shoal_papers.base import Context, Outcome
from shoal_papers.data import Data
from shoal_papers.morton.common import at_levels, data_set, level_counts, smallest_class, spread, thinned
from shoal_papers.morton.paper import PAPER
from shoal_papers.morton.printed import NOTHING, OUTLYING, STRINGS
from shoal_papers.standins import synthetic_mcphd


def _outcome(name: str, changed: dict[str, Any], folder: Path | None = None, seeds: tuple[int, ...] = (1,)) -> Outcome:
    item = PAPER.item(name)
    return item.carry_out(Context(parameters=item.settings(True) | changed, seeds=seeds, quick=True, data=Data(folder)))


def _failed(outcome: Outcome) -> list[str]:
    return [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"]


def test_every_worked_example_is_recomputed() -> None:
    outcome = _outcome("examples", {})
    assert _failed(outcome) == []
    assert outcome.table is not None
    assert set(outcome.table["id"]) == {*(f"MO-{number:02d}" for number in [*range(1, 9), 13, 14, 15]), "C12"}


@pytest.mark.parametrize(
    "name, changed",
    [
        ("T5", {"rows": 300, "few": 150, "strings": 60, "sets": ["m03", "r03"]}),
        ("hybrid", {"rows": 300, "strings": 60, "sets": ["m03", "r08"]}),
        ("dist", {"rows": 900, "strings": 60, "block": 8, "sets": ["m08", "r12"]}),
    ],
)
def test_searches_hold_what_must_hold(name: str, changed: dict[str, Any]) -> None:
    outcome = _outcome(name, changed)
    assert _failed(outcome) == []
    assert outcome.runs is not None
    assert outcome.runs["strings"].to_numpy().max() > 1


def test_that_nothing_passes_and_that_outliers_are_why_are_two_claims() -> None:
    outcome = _outcome("T4", {"rows": 600, "few": 150, "strings": 60, "sets": ["r03", "r24"]})
    found = {claim.text: claim for claim in outcome.claims}
    assert (found[NOTHING].standing, found[OUTLYING].standing) == ("not decidable", "refuted")
    assert "where none may, none does" in found[NOTHING].evidence
    assert outcome.plots[0].studied == ("global",)
    assert dict(zip(outcome.plots[0].series[0].x, outcome.plots[0].series[0].printed or [], strict=True))["r03"] == 0.95


def test_sets_have_as_many_strings_as_the_document_prints() -> None:
    assert level_counts([7, 7, 6, 5, 5, 5, 4, 4], 28) == [7, 4, 1, 1, 1, 1, 1, 1]
    assert math.prod(level_counts([7, 7, 7, 6, 6, 6, 5, 5, 4, 4], 44_800)) == 44_800
    assert level_counts([3, 3], 8) == [3, 2]  # 6: neither 8 nor 7 can be had
    made = synthetic_mcphd(n=200, seed=1, attributes=30)
    for name, strings in STRINGS.items():
        data = data_set(made, name, strings)
        there = math.prod(len(tree.rows()[0]) for tree in data.hierarchies.values())
        assert there == (2 if name == "m03" else strings) if name[0] == "m" else 0 < there <= strings
        assert (data.attributes, list(data.hierarchies)) == (int(name[1:]), data.frame.columns)
        assert [len(one) for one in data.values.values()] == [len(one.rows()[0]) for one in data.hierarchies.values()]


def test_levels_are_left_out_and_columns_of_one_with_them() -> None:
    rows = [[f"v{code}", *(f"g{level}.{code >> level}" for level in range(1, 4)), "*"] for code in range(16)]
    trees = {name: Hierarchy.from_rows(name, rows) for name in ("a", "b")}
    assert {name: len(tree.rows()[0]) for name, tree in thinned(trees, 12).items()} == {"a": 4, "b": 3}
    assert {name: len(tree.rows()[0]) for name, tree in thinned(trees, 1).items()} == {"a": 2}
    assert {name: len(tree.rows()[0]) for name, tree in thinned(trees, None).items()} == {"a": 5, "b": 5}
    assert spread(5, 3) == [0, 2, 4]
    frame = pl.DataFrame({"a": ["v0", "v1", "v2"]})
    assert smallest_class(at_levels(frame, trees, {"a": 1}), ["a"]) == 1
    assert smallest_class(at_levels(frame, trees, {"a": 2}), ["a"]) == 3


def test_the_buckets_of_the_raw_table_are_the_documents(adult: Path) -> None:
    outcome = _outcome("6", {}, adult.parent)
    assert _failed(outcome) == []
    assert outcome.table is not None
    assert {"capital-gain >= 7298", "capital-gain < 7298 and age < 28"} <= set(outcome.table["bucket"])


def test_the_split_by_capital_gain_survives_global_search(adult: Path) -> None:
    outcome = _outcome("7", {"k": [5]}, adult.parent)
    assert [claim.verdict for claim in outcome.claims if claim.kind != "info"] == ["holds"] * 4


@pytest.mark.parametrize("name, changed", [("8", {"rows": 400}), ("9", {"rows": 400}), ("local", {"rows": 400})])
def test_small_samples_of_adult_hold_what_must_hold(adult: Path, name: str, changed: dict[str, Any]) -> None:
    outcome = _outcome(name, changed, adult.parent)
    assert _failed(outcome) == []
    assert len(outcome.readings) >= 2
