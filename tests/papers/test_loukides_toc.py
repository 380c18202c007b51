"""Loukides, Chapters 1 to 4: worked examples hold, and experiments come out of small samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.recoding.recodings import CellGrouping
from shoal_papers.base import Claim, Context, Outcome
from shoal_papers.data import Data
from shoal_papers.loukides.paper import PAPER
from shoal_papers.loukides.toc_common import (
    METHODS,
    OCCUPATIONS,
    adult_table,
    by_cluster,
    figures,
    fitting,
    group_ids,
    mrg,
    told,
)

FIGURES = {
    "3.3", "3.4", "3.8", "3.9", "T4.3", "T4.4", "T4.5", "T4.6", "T4.7", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7",
    "4.8", "4.9", "4.10", "4.11", "4.12", "4.13",
}  # fmt: skip
TINY: dict[str, dict[str, Any]] = {
    "3.3": {"rows": 200},
    "3.8": {"rows": 200, "small": 100},
    "3.9": {"rows": 200, "rounds": 4},
    "T4.3": {"rows": 200, "grid": 2, "k": [2], "sigma": [2.5], "rounds": [2, 3], "shares": [0.5]},
    "T4.7": {"rows": 200, "k": [2], "iterations": [1, 2]},
    "4.1": {"rows": [200, 400]},
    "4.3": {"rows": 200, "small": 100, "k": [5], "readings": [5]},
    "4.4": {"rows": 200, "generated": 200, "wu": [0.0, 1.0]},
    "4.12": {"rows": 200, "count": 50, "k": [5, 25]},
}


def carry_out(name: str, folder: Path | None, **changed: Any) -> Outcome:
    item = PAPER.item(name)
    given = item.settings(True) | changed
    return item.carry_out(Context(parameters=given, seeds=(1,), quick=True, data=Data(folder)))


def failed(outcome: Outcome) -> list[str]:
    return [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"]


def test_every_figure_has_an_item() -> None:
    assert {name for item in PAPER.items for name in (item.id, *item.also)} >= FIGURES


def test_every_worked_example_is_recomputed() -> None:
    outcome = carry_out("examples", None)
    assert failed(outcome) == []
    assert outcome.table is not None
    numbers = [*range(1, 42), *range(54, 58)]
    known = {f"LU-{number:02d}" for number in numbers} | {f"LP-{number}" for number in range(10, 17)} | {"AL-01"}
    assert set(outcome.table["id"]) == known
    printed = [claim.numbers for claim in outcome.claims if claim.kind == "info"]
    assert all(numbers["ours"] != numbers["stated"] for numbers in printed)


def test_domains_are_those_of_table_4_2(adult: Path) -> None:
    assert failed(carry_out("T4.2", adult.parent)) == []


def test_512_subspaces_of_all_complete_rows(adult: Path) -> None:
    outcome = carry_out("4.2", adult.parent, s=[50, 100])
    assert failed(outcome) == []
    assert outcome.runs is not None
    assert outcome.runs["subspaces"].to_list() == [512, 256]
    assert "512" in outcome.claims[0].text


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", TINY)
def test_figures_hold_what_must_hold(adult: Path, name: str) -> None:
    outcome = carry_out(name, adult.parent, **TINY[name])
    assert failed(outcome) == []
    assert outcome.table is not None
    assert outcome.plots
    assert outcome.readings
    assert [claim for claim in outcome.claims if claim.kind == "soft"]


def test_figures_of_groups_are_those_of_classes_where_no_two_groups_have_equal_cells(adult: Path) -> None:
    table = adult_table(Data(adult.parent).adult()[:300])
    made, found = figures(table, METHODS["MRG"](25), 1)
    assert made.evidence["counts"]["clusters"] == found["classes"]
    groups = by_cluster(made, table)
    assert groups["um_clusters"] == pytest.approx(found["um"], abs=1e-12)
    assert groups["mpm_clusters"] == pytest.approx(found["mpm"], abs=1e-12)
    assert groups["dm_clusters"] == found["dm"]
    assert found["seconds"] > 0


def test_groups_of_combinations_are_groups_of_rows(adult: Path) -> None:
    """Of many equal rows strict Mondrian cuts distinct combinations, whose groups are told a row each all the same."""
    table = adult_table(Data(adult.parent).adult().select(pl.all().gather([0] * 40 + list(range(40)))))
    made, found = figures(table, METHODS["Mondrian, strict"](5), 1)
    assert isinstance(made.released.recoding, CellGrouping)
    assert group_ids(made).size == table.n
    assert by_cluster(made, table)["dm_clusters"] == found["dm"]


def test_occupations_are_numbered_in_the_published_order(adult: Path) -> None:
    frame = Data(adult.parent).adult()
    assert set(OCCUPATIONS) == set(frame["occupation"])
    numbers = adult_table(frame[:200]).frame["occupation"].cast(pl.Int64).to_numpy()
    assert np.array(OCCUPATIONS)[numbers].tolist() == frame[:200]["occupation"].to_list()


def test_readings_leave_out_what_does_not_change() -> None:
    def claim(verdict: str, evidence: str) -> Claim:
        return Claim(kind="soft", text="A is below B", verdict=verdict, evidence=evidence)

    ours = [claim("holds", "Difference 1.")]
    assert told("Otherwise", [claim("holds", "Difference 2.")], ours) == []
    assert told("Otherwise", [claim("does not hold", "Difference -1.")], ours) == [
        "Otherwise: A is below B: does not hold. Difference -1."
    ]


def test_both_readings_of_mrg_are_judged_and_drawn(adult: Path) -> None:
    """Query errors too: what the listing's clusters lose, those of k records may win."""
    outcome = carry_out("4.12", adult.parent, **TINY["4.12"])
    soft = [claim.text for claim in outcome.claims if claim.kind == "soft"]
    listing = [text.removeprefix("Listing: ") for text in soft if text.startswith("Listing: ")]
    assert listing == [text.removeprefix("Fits Fig. 4.10: ") for text in soft if text.startswith("Fits Fig. 4.10: ")]
    assert len(listing) == 15
    assert outcome.plots[0].studied == ("MRGB, listing", "MRGB, fits Fig. 4.10")


def test_a_reason_explains_what_it_is_about() -> None:
    """Clusters without a largest size say nothing of what weights do, or of K-Members-p beside Mondrian."""
    texts = ("Listing: Adult: UM never rises with w_u", "Listing: K-Members-p has the highest UM: above Mondrian's")
    for text in texts:
        reasons = [start for name in ("4.3", "4.4") for start in PAPER.item(name).refuted if text.startswith(start)]
        assert reasons == []


def test_the_listing_is_as_printed() -> None:
    """Steps 15 and 16 of Algorithm 5 look for the best of all clusters."""
    assert (mrg(5).leftover_scope, mrg(5).assign, mrg(5).listing) == ("all", "value", "printed")
    assert fitting(5).leftover_scope == "all"
