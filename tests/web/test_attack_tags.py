"""What the page of attacks says of figures that have no naive guess to be held against."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import update

from shoal.web.pages.results_view import attacks_view
from shoal.web.store.tables import Job
from tests.web.conftest import sign_in
from tests.web.working import add_job, add_project


def attack(name: str, baseline: float | None, beats: bool) -> dict[str, Any]:
    figure = {
        "name": name, "value": 0.909, "low": 0.9, "high": 0.92, "baseline": baseline, "control": None,
        "control_interval": None, "beats": beats, "trials": 60, "told": "Told.",
    }  # fmt: skip
    return {"name": name, "story": "A story.", "note": "", "figures": [figure]}


def found(*attacks: dict[str, Any]) -> dict[str, Any]:
    return {"statement": "5-anonymous", "hold_out": 0.2, "attacks": list(attacks)}


DIVERGENCE, BEATS, FAILS = attack("divergence", None, False), attack("a", 0.5, True), attack("b", 0.95, False)


@pytest.mark.parametrize(
    ("attacks", "told"),
    [
        ((BEATS, FAILS), "1 of 2 attacks do better than guessing."),
        ((FAILS,), "None of 1 attacks does better than guessing."),
        ((BEATS, DIVERGENCE), "1 of 1 attacks do better than guessing. 1 has no guess to be held against"),
        ((DIVERGENCE, DIVERGENCE), "2 have no guess to be held against"),
        ((), "There was nothing to attack."),
    ],
)
def test_only_what_has_a_guess_is_counted(attacks: tuple[dict[str, Any], ...], told: str) -> None:
    assert attacks_view(found(*attacks)).worst.startswith(told)


def test_no_attack_without_a_guess_is_called_harmless(app: FastAPI) -> None:
    project = add_project(app)
    job = add_job(app, project, "attack")
    with app.state.store.writing() as db:
        db.execute(update(Job).where(Job.id == job.id).values(state="done", result=found(DIVERGENCE)))
    page = sign_in(app, "custodian").get(f"/projects/{project.id}/attacks").text
    assert "no guess to compare with" in page
    assert "no better than guessing" not in page
    assert "beats guessing" not in page
