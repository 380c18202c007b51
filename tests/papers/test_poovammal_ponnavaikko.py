"""Worked examples of graded grouping and mapping tables hold, and so does what must hold on small samples of Adult."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoal_papers.base import Context, Outcome
from shoal_papers.data import Data
from shoal_papers.poovammal_ponnavaikko.common import EQUAL, LINE
from shoal_papers.poovammal_ponnavaikko.paper import PAPER

TINY: dict[str, dict[str, Any]] = {
    "6": {"rows": 400, "gradings": [EQUAL, LINE], "judged": ["training rows"]},
    "7": {"rows": 400, "gradings": [EQUAL], "leaves": 6},
    "rules": {"rows": 400, "gradings": [EQUAL], "leaves": 6},
    "cluster": {"rows": 120, "sample": 60, "gradings": [EQUAL]},
    "assoc": {"rows": 400, "limits": [[0.2, 0.8]], "longest": 2},
    "R2": {"rows": 400, "beside": ["sex"]},
    "corr": {"rows": 400, "k": [3, 5]},
    "time": {"sizes": [200, 400]},
    "attack": {"rows": 600, "known": [50], "gradings": [EQUAL, LINE]},
}
HARD = {"6": 2, "7": 4, "rules": 4, "cluster": 0, "assoc": 2, "R2": 1, "corr": 0, "time": 0, "attack": 2}


def carried_out(name: str, folder: Path | None = None, seeds: tuple[int, ...] = (1,)) -> Outcome:
    item = PAPER.item(name)
    given = item.settings(True) | TINY.get(name, {})
    return item.carry_out(Context(parameters=given, seeds=seeds, quick=True, data=Data(folder)))


def broken(outcome: Outcome) -> list[str]:
    return [claim.text for claim in outcome.claims if claim.kind == "hard" and claim.verdict != "holds"]


def test_every_worked_example_is_recomputed() -> None:
    outcome = carried_out("examples")
    assert broken(outcome) == []
    assert outcome.table is not None
    assert set(outcome.table["id"]) == {f"PP-{number:02d}" for number in range(1, 18)}


def test_table_8_is_regenerated() -> None:
    outcome = carried_out("8")
    assert broken(outcome) == []
    assert outcome.table is not None
    assert outcome.table["names 2 to 10"].to_list() == pytest.approx(
        outcome.table["document, names 2 to 10"].to_list(), abs=5e-6
    )


def test_every_item_is_there() -> None:
    assert {item.id for item in PAPER.items} == {*TINY, "examples", "8"}


@pytest.mark.parametrize("name", TINY)
def test_what_must_hold_holds(adult: Path, name: str) -> None:
    outcome = carried_out(name, adult.parent)
    assert broken(outcome) == []
    assert sum(claim.kind == "hard" for claim in outcome.claims) == HARD[name]
    assert outcome.readings
    assert outcome.plots


def test_codes_do_not_keep_ages_or_education_secret(adult: Path) -> None:
    soft = [claim for claim in carried_out("attack", adult.parent, (1, 2)).claims if claim.kind == "soft"]
    assert [claim.verdict for claim in soft] == ["does not hold"] * 2
