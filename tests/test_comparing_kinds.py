"""Releases of different kinds on axes that they have in common."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.table import Table
from shoal.release.compare.figures import GUESSING, find_axis
from shoal.release.compare.result import Comparison, comparison_data
from shoal.reports.compare import compare_html

ACCEPTED = ["W-RA-LINK", "W-EXACT-QI", "W-NO-K", "W-UNMODELLED:ill"]
METHODS: list[Any] = [
    {"name": "mondrian", "k": 5}, {"name": "random"}, {"name": "random", "redraw": 3},
    {"name": "anatomy", "l": 3, "publication": "permuted"},
]  # fmt: skip


@pytest.fixture(scope="module")
def table() -> Table:
    draw = np.random.default_rng(3)
    group = draw.integers(0, 4, 600)
    names = ("age", "area", "job", "ill")
    columns = [(group + draw.integers(0, 2, 600) * draw.integers(0, 4, 600)) % 4 for _ in names]
    texts = [[f"{name}{code}" for code in codes] for name, codes in zip(names, columns, strict=True)]
    frame = pl.DataFrame(dict(zip(names, texts, strict=True)))
    return shoal.read(frame, quasi=["age", "area", "job"], sensitive=["ill"])


@pytest.fixture(scope="module")
def found(table: Table) -> Comparison:
    return shoal.compare(table, algorithms=METHODS, acknowledge=ACCEPTED, seed=1)


def test_kinds_meet_on_queries_rules_and_guesses(found: Comparison) -> None:
    assert [(axis.role, axis.name, axis.better) for axis in found.axes] == [
        ("utility", "count-queries", "down"), ("knowledge", "rules", "up"), ("risk", "guessed:ill", "down"),
    ]  # fmt: skip
    assert [entry.outcome.status for entry in found.entries] == ["done"] * 4
    assert all(entry.is_placed(found.axes) for entry in found.entries)
    assert found.recommended is not None


def test_a_guess_is_that_of_the_attack_on_the_kind(found: Comparison) -> None:
    mondrian, once, all_of_it, anatomy = (entry.outcome.figures for entry in found.entries)
    assert mondrian["guessed:ill"] == mondrian["linkage:ill"]
    assert once["guessed:ill"] == once["ra-linkage:ill"] == once["guessed"]
    assert anatomy["guessed:ill"] == max(anatomy["relinking:ill"] or 0, anatomy["linkage:ill"] or 0)
    assert once["guessed:ill"] > all_of_it["guessed:ill"]
    assert found.entries[1].outcome.beside["guessed:ill"] == found.entries[1].outcome.beside["ra-linkage:ill"]


def test_losses_of_noise_are_blank_and_say_why(table: Table) -> None:
    only = shoal.compare(
        table, algorithms=METHODS[:2], acknowledge=ACCEPTED, seed=1, utility="lm", protection="mpm", risk="guessed"
    )
    told = comparison_data(only)
    assert [point["values"]["utility"] is None for point in told["points"]] == [False, True]
    assert told["points"][1]["reason"].startswith("No lm: cells were redrawn at random")
    assert told["points"][1]["shown"]["utility"] == "-"
    assert "1 lacks a figure to be placed by" in only.recommendation


def test_page_and_json_name_what_is_kept(found: Comparison) -> None:
    data = comparison_data(found)
    assert json.loads(json.dumps(data))["axes"][1]["role"] == "knowledge"
    page = compare_html(data, title="ills")
    assert "knowledge kept" in page


def test_an_evaluation_is_an_axis_without_being_asked_for_twice(table: Table) -> None:
    made = shoal.compare(table, algorithms=METHODS[:1], acknowledge=ACCEPTED, seed=1, utility="rules")
    assert [axis.name for axis in made.axes] == ["rules", "mpm", "linkage:ill"]
    assert made.axes[0].better == "up"


@pytest.mark.parametrize(
    "method, attack",
    [({"name": "swapping"}, "record-linkage"), ({"name": "microaggregation", "k": 4}, "nearest")],
)
def test_every_kind_with_values_is_placed_and_whole_guesses_have_an_excess(
    table: Table, method: dict[str, Any], attack: str
) -> None:
    accepted = [*ACCEPTED, "W-PERTURBED"]
    made = shoal.compare(table, algorithms=[method], acknowledge=accepted, seed=1, risk="excess.guessed")
    figures, beside = made.entries[0].outcome.figures, made.entries[0].outcome.beside
    assert figures["guessed"] == figures["guessed:ill"] == figures[f"{attack}:ill"]
    assert figures["excess.guessed"] == figures[f"excess.{attack}:ill"]
    assert beside["guessed"] == beside[f"{attack}:ill"]
    assert made.entries[0].is_placed(made.axes)


def test_codes_have_no_guess_and_say_so(table: Table) -> None:
    told = []
    for axes in ({"utility": "rules", "protection": "mpm", "risk": "guessed:ill"}, {}):
        made = shoal.compare(table, algorithms=["mapping"], acknowledge=["W-PP-REV"], seed=1, **axes)
        told.append(comparison_data(made)["points"][0]["reason"])
    assert told[0] == "No guessed:ill: it does not apply to this kind of release."
    # Counts of columns that nothing was done to are no figure to place it by.
    assert told[1].startswith("No count-queries: Untouched: ")


def test_what_guessed_is_about() -> None:
    assert find_axis("risk", "excess.guessed:ill", ["ill"]).attacks == GUESSING
    assert find_axis("risk", "linkage:ill", ["ill"]).attacks == ("linkage",)
    with pytest.raises(shoal.ShoalError, match="no sensitive column"):
        find_axis("risk", "guessed:job", ["ill"])


def test_no_model_is_asked_of_noise(table: Table) -> None:
    grid = {"k": [3, 9], "random.redraw": [1, 2]}
    made = shoal.compare(table, algorithms=["mondrian", "random"], grid=grid, acknowledge=ACCEPTED, seed=1)
    labels = [entry.point.label for entry in made.entries]
    assert labels == ["mondrian, k=3", "mondrian, k=9", "random, redraw=1", "random, redraw=2"]
    assert [entry.outcome.status for entry in made.entries] == ["done"] * 4
    assert made.notes == ["No model is asked of random, whose records only happen to agree."]
    assert shoal.compare(table, algorithms=["random"], acknowledge=ACCEPTED, seed=1).notes == []
