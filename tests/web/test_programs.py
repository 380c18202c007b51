"""What programs can do as pages can: within the same limits, and nothing that a job could not use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from shoal.vault import signing
from shoal.web.errors import API
from shoal.web.permissions import Limits
from shoal.web.settings import Settings
from shoal.web.store.tables import Job, Session, Token, User
from tests.web.conftest import program, sign_in, user_of
from tests.web.working import add_job, add_project, job_of, project_of, upload, work_off


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("start", {"answers": 5}), ("start", {"given": {"table": "x"}}), ("start", {"given": {"k": "5"}}),
        ("start", {"answers": {"age": 5}}), ("start", {"given": {"encoding": "x" * 1001}}),
        ("risk", {"threshold": "much"}), ("risk", {"threshold": -1}), ("risk", {"more": "x" * (3 << 20)}),
        ("explore", {"k": [1]}), ("explore", {"k": 5}), ("explore", {"algorithms": "mondrian"}),
        ("attack", {"hold_out": 1}), ("attack", {"hold_out": "x"}), ("run", {"seed": 1}), ("check", {"a": 1}),
        ("compare", {"a": 1}), ("nothing", {}),
    ],
)  # fmt: skip
def test_a_job_is_told_what_its_kind_takes(app: FastAPI, kind: str, parameters: dict[str, Any]) -> None:
    client, project = program(app, "custodian"), add_project(app)
    answer = client.post(f"{API}/projects/{project.id}/jobs", json={"kind": kind, "parameters": parameters})
    assert (answer.status_code, set(answer.json()["error"])) == (422, {"code", "message", "where"})
    with app.state.store.reading() as db:
        assert db.scalar(select(func.count()).select_from(Job)) == 0


def test_what_a_job_takes_reaches_it(app: FastAPI) -> None:
    client, project = program(app, "custodian"), add_project(app)
    for kind, given in {"risk": {"threshold": 0.1}, "explore": {"k": [3, 4]}, "run": {}}.items():
        job = client.post(f"{API}/projects/{project.id}/jobs", json={"kind": kind, "parameters": given}).json()
        assert job_of(app, job["id"]).parameters == given


def test_projects_of_programs_count_as_uploads(app: FastAPI) -> None:
    app.state.limits = Limits(Settings(folder=app.state.settings.folder, uploads_per_hour=2))
    client = program(app, "custodian")
    assert [client.post(f"{API}/projects", json={"name": "x"}).status_code for _ in range(3)] == [201, 201, 429]


def test_only_a_job_that_asked_is_answered(app: FastAPI) -> None:
    browser, client, project = sign_in(app, "custodian"), program(app, "custodian"), add_project(app)
    for job in (add_job(app, project, "run"), add_job(app, project, "start", answers=5)):
        assert browser.submit(f"/jobs/{job.id}/answers", **{"answer:age": "x"}).status_code == 409
        assert client.post(f"{API}/jobs/{job.id}/answers", json={"answers": {"age": "x"}}).status_code == 409


def test_a_program_answers_and_repeats(app: FastAPI) -> None:
    browser, client = sign_in(app, "custodian"), program(app, "custodian")
    dates = "born,town\n" + "".join(f"0{1 + at % 9}/0{1 + at % 8}/19{50 + at},{'ab'[at % 2]}\n" for at in range(40))
    _, job = project_of(app, upload(browser, dates, name="dates.csv"))
    work_off(app)
    asked = client.get(f"{API}/jobs/{job.id}").json()["result"]["questions"]
    answers = {one["column"]: one["answers"][0] for one in asked}
    assert set(answers) == {"born"}
    made = client.post(f"{API}/jobs/{job.id}/answers", json={"answers": answers})
    assert (made.status_code, job_of(app, made.json()["id"]).parameters) == (201, {"answers": answers})
    assert client.post(f"{API}/jobs/{job.id}/again").status_code == 409
    assert client.post(f"{API}/jobs/{made.json()['id']}/cancel").status_code == 200
    repeated = client.post(f"{API}/jobs/{made.json()['id']}/again")
    assert (repeated.status_code, job_of(app, repeated.json()["id"]).parameters) == (201, {"answers": answers})


def test_a_program_signs(app: FastAPI) -> None:
    job, client = add_job(app, add_project(app), "run"), program(app, "custodian")
    work_off(app)
    told = [client.post(f"{API}/releases/{job.id}/sign") for _ in range(2)]
    assert [one.status_code for one in told] == [200, 200]
    assert told[0].json() == told[1].json()
    assert len(told[0].json()["key"]) > 8


def test_a_release_is_read_for_its_signature_before_others_have_to_wait(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, client = add_job(app, add_project(app), "run"), program(app, "custodian")
    work_off(app)
    read, seen = signing.refuse_damaged, []

    def reading(folder: Path) -> None:
        with app.state.store.writing() as db:  # which nobody could enter if somebody were in
            db.execute(select(User).where(User.name == "custodian").with_for_update())
        seen.append(folder)
        read(folder)

    monkeypatch.setattr(signing, "refuse_damaged", reading)
    assert client.post(f"{API}/releases/{job.id}/sign").status_code == 200
    assert len(seen) == 1


def test_a_change_that_changes_nothing_ends_nothing(app: FastAPI) -> None:
    client, admin, who = program(app, "admin"), sign_in(app, "admin"), user_of(app, "custodian")
    browser = sign_in(app, "custodian")
    program(app, "custodian")

    def proofs() -> int:
        with app.state.store.reading() as db:
            return sum(
                db.scalar(select(func.count()).where(one.user == who.id)) or 0  # type: ignore[arg-type]
                for one in (Session, Token)
            )

    before = proofs()
    assert admin.change_user(who.id, role="custodian", active="true").status_code == 303
    assert (proofs(), browser.get("/account").status_code) == (before, 200)
    for _ in range(2):
        assert client.patch(f"{API}/users/{who.id}", json={"active": False}).json()["active"] is False
    assert proofs() == 0
