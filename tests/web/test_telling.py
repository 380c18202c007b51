"""What is told of jobs: how far they are, where nothing is that only the server need know, and what is too large."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.jobs import worker as working
from shoal.web.jobs.sandbox import without_places
from shoal.web.jobs.worker import share_of
from shoal.web.settings import Settings
from tests.web.conftest import ADDRESS, add_people, program, sign_in
from tests.web.working import RECIPE, add_job, add_project, job_of, work_off


@pytest.mark.parametrize(
    ("step", "share"),
    [
        ("reading for the gate: 1,500 of 6,000 rows", 0.25), ("3 of 12 points", 0.25), ("the rows: 5 of 10", 0.5),
        ("point 4 of 12: mondrian, k = 5", 0.25), ("grouping part 1 of 4", 0.0), ("12 of 12 points", 1.0),
        ("looking for minimal uniques, key 3 of 4", 0.5), ("leaving quasi-identifiers out: 2 of 4", 0.5),
        ("redrawing 2 of 5 columns a record", None), ("reading", None), ("0 of 0 points", None),
        ("checking and writing: 5 rows", None), ("point 9 of 3: x", None),
    ],
)  # fmt: skip
def test_how_much_is_done_is_read_from_the_words(step: str, share: float | None) -> None:
    assert share_of(step) == share


def test_a_job_says_how_much_of_a_step_is_done(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, float | None]] = []
    renew = working.queue.renew

    def watched(db: Any, job: Any, progress: str, share: float | None, lease: float) -> str:
        told.append((progress, share))
        return renew(db, job, progress, share, lease)

    monkeypatch.setattr(working.queue, "renew", watched)
    monkeypatch.setattr(working, "_RENEW", 0.0)
    add_job(app, add_project(app), "explore", algorithms=["mondrian"], k=[2, 3, 4, 5])
    work_off(app)
    shares = [share for step, share in told if step.startswith("point")]
    assert shares
    assert all(share is not None and 0 <= share < 1 for share in shares)


def test_a_message_says_nothing_of_where_things_are(app: FastAPI, tmp_path: Path) -> None:
    folder, offers = "/srv/data/projects/p", [{"name": "people", "place": "/mnt/x/people.csv"}]
    said = f"'{folder}/releases/j-1' and '{folder}' and '/mnt/x/people.csv' and '/srv/data/master.key' fail."
    assert without_places(said, [folder, "/srv/data"], offers) == (
        "'releases/j-1' and 'the project' and 'people' and 'master.key' fail."
    )
    label, short = "/database and 1/data, but /data/a and '/data'", [{"name": "few", "place": "/data"}]
    assert without_places(label, [], short) == "/database and 1/data, but few/a and 'few'"
    assert without_places(label, ["/data"]) == "/database and 1/data, but a and 'the project'"
    project = add_project(app, RECIPE.replace("people.csv", "gone.csv"))
    job = add_job(app, project, "run").id
    work_off(app)
    message = job_of(app, job).message
    assert message is not None
    assert "gone.csv" in message
    assert str(tmp_path) not in message


def test_what_a_check_and_pages_find_says_nothing_of_where_things_are(
    app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, key = working.keep, app.state.settings.folder / "master.key"  # which is above the project
    monkeypatch.setattr(working, "keep", lambda *given: {**keep(*given), "more": [f"'{key}' is not there."]})
    project = add_project(app, RECIPE + '[hierarchies]\nage = "hierarchies/gone.csv"\n')
    job = add_job(app, project, "check").id
    work_off(app)
    found = job_of(app, job).result
    assert found is not None
    assert found["more"] == ["'master.key' is not there."]
    browser, tabs = sign_in(app, "custodian"), ("hierarchies", "hierarchies/age", "counts", "values")
    for one in (json.dumps(found), *(browser.get(f"/projects/{project.id}/{tab}").text for tab in tabs)):
        assert "hierarchies/gone.csv" in one
        assert str(tmp_path) not in one


def test_what_jobs_and_a_restored_database_leave_is_private(app: FastAPI) -> None:
    settings: Settings = app.state.settings
    job = add_job(app, add_project(app), "compare")
    work_off(app)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in settings.folder.rglob("*")}
    assert settings.projects / job.project / "jobs" / job.id in modes
    assert [str(path) for path, mode in modes.items() if path.is_dir() and mode & 0o077] == []
    database = settings.folder / "shoal.db"
    database.chmod(0o644)
    create_app(settings).state.store.close()
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_what_is_too_large_is_told_the_limit(tmp_path: Path) -> None:
    app = create_app(Settings(folder=tmp_path / "data", upload_bytes=3 << 20))
    add_people(app)
    browser, client, project = sign_in(app, "custodian"), program(app, "custodian"), add_project(app)
    told = client.put(f"{API}/projects/{project.id}/files/source/a.csv", content=b"a\n" * (2 << 20))
    assert (told.status_code, "larger than the 3 MiB" in told.json()["error"]["message"]) == (413, True)
    page = browser.post("/users", data={"name": "x" * (5 << 20)}, headers={"origin": ADDRESS})
    assert (page.status_code, "larger than the 4 MiB" in page.text) == (413, True)

    def bits() -> Any:  # whose length nobody says before
        for _ in range(9):
            yield b"x" * (1 << 20)

    said = client.put(f"{API}/projects/{project.id}/recipe", content=bits())
    assert (said.status_code, "larger than the 4 MiB" in said.text) == (413, True)
    app.state.store.close()
