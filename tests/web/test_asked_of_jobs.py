"""What jobs are told: sources that are not offered any more, entries of the wrong kind, names of vault entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from shoal.errors import InputError, ParameterError, RecipeError
from shoal.web.errors import API
from shoal.web.jobs.kinds import do
from tests.web.conftest import program
from tests.web.test_jobs import CODED
from tests.web.working import add_job, add_project, job_of, people, work_off

TOKENS = CODED.replace('"zip"]', '"zip"]\npseudonym = ["sex"]').replace('"age", "sex",', '"age",')


def started(folder: Path, source: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    asked = {"kind": "start", "folder": str(folder), "source": source, "offers": [], "parameters": parameters,
             "memory": 1 << 30, "temporary": str(folder)}  # fmt: skip
    return do(asked, lambda *step: None)


@pytest.mark.parametrize(
    "recipe", [CODED + '[output]\ncodes = "cohort"\n', TOKENS + '[output]\ntoken_key = "cohort"\n']
)
def test_a_check_and_a_run_say_the_same_of_entries_of_a_vault(app: FastAPI, recipe: str) -> None:
    project = add_project(app)
    put = program(app, "custodian").put(f"{API}/projects/{project.id}/recipe", json={"text": recipe, "base": 1})
    assert (put.status_code, "an entry of a vault, and projects have none here" in put.text) == (422, True)
    folder = app.state.settings.projects / project.id  # with a recipe that was saved before the server said so
    asked = {"text": recipe, "folder": str(folder), "release": str(folder / "out"), "temporary": str(folder),
             "key": "00" * 32, "offers": []}  # fmt: skip
    for kind in ("check", "run"):
        with pytest.raises(RecipeError) as told:
            do({**asked, "kind": kind}, lambda *step: None)
        assert str(told.value) == put.json()["error"]["message"]


def test_a_source_that_is_not_offered_any_more(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "people.csv"
    (folder / "offers").mkdir(parents=True)
    outside.write_text(people())
    (folder / "offers" / "people.csv").symlink_to(outside)
    sources = [{"offer": "visits", "url": "postgresql://db/x", "table": "visits"},
               {"offer": "people", "path": "offers/people.csv"}]  # fmt: skip
    for source in sources:
        with pytest.raises(InputError, match="is not offered by this server any more: choose or upload another one"):
            started(folder, source)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("columns", "age", "must be a list of texts"), ("columns", [1, 2, 3, 4], "must be a list of texts"),
        ("separator", 3, "must be a text"), ("separator", "ab", "must be one character"),
        ("encoding", "utf-16", "is not utf-16 text"), ("encoding", "\0", "is not .* text"),
        ("markers", "?", "must be a list of texts"), ("formats", ["age"], "must be texts by column"),
        ("roles", {"age": 3}, "must be texts by column"), ("roles", {"age": "king"}, "must be one of identifiers"),
        ("k", True, "must be a whole number of at least 2"), ("k", "5", "must be a whole number of at least 2"),
        ("k", 10**30, "must be a whole number of at least 2"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_source_has_its_kind(tmp_path: Path, name: str, value: Any, words: str) -> None:
    (tmp_path / "people.csv").write_text(people())
    with pytest.raises((InputError, ParameterError), match=words):
        started(tmp_path, {"path": "people.csv"}, given={name: value})
    assert "text" in started(tmp_path, {"path": "people.csv"}, given={name: None})


def test_a_job_ends_whatever_characters_it_was_sent(every_app: FastAPI) -> None:
    project = add_project(every_app)
    with every_app.state.store.writing() as db:
        db.merge(project).source = {"path": "source/people.csv", "name": "people.csv"}
    job = add_job(every_app, project, "start", given={"encoding": "\ud800"})
    work_off(every_app)
    assert (job_of(every_app, job.id).state, job_of(every_app, job.id).message) == (
        "failed", "'people.csv' is not \\ud800 text: give its --encoding, such as latin-1."
    )  # fmt: skip
