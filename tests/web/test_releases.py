"""Releases by the API: there for those who were granted them, as long as they are, and every download in the log."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from shoal.web.errors import API
from shoal.web.projects.releases import folder_of_release
from shoal.web.store.tables import LogEntry, Release
from tests.web.conftest import program, sign_in
from tests.web.working import add_job, add_project


def add_release(app: FastAPI) -> Release:
    """A release as far as the server looks at it, without a run."""
    project = add_project(app)
    job = add_job(app, project, "run")
    release = Release(
        id=job.id, project=project.id, job=job.id, name="People", folder=f"releases/{job.id}-1",
        statement="5-anonymous", kind="generalised", rows=60, manifest="0" * 64,
    )  # fmt: skip
    with app.state.store.writing() as db:
        db.add(release)
    folder = folder_of_release(release, app.state.settings)
    folder.mkdir()
    (folder / "manifest.json").write_text('{"statement": "5-anonymous"}')
    (folder / "release.csv").write_text("age\n[20,30)\n")
    (folder / ".hidden").write_text("x")
    return release


def test_a_researcher_has_what_was_granted_while_it_is(every_app: FastAPI) -> None:
    release = add_release(every_app)
    address = f"{API}/releases/{release.id}"
    mine, other = program(every_app, "researcher"), program(every_app, "researcher2")
    custodian = program(every_app, "custodian")
    paths = ("", "/manifest", "/files", "/files/release.csv")
    assert {mine.get(address + one).status_code for one in paths} == {404}
    granted = custodian.post(f"{address}/grants", json={"user": "researcher"})
    assert granted.status_code == 201
    assert custodian.post(f"{address}/grants", json={"user": "researcher"}).status_code == 409
    assert custodian.post(f"{address}/grants", json={"user": "auditor"}).status_code == 422
    assert {mine.get(address + one).status_code for one in paths} == {200}
    assert mine.get(f"{address}/files/release.csv").text == "age\n[20,30)\n"
    assert [one["id"] for one in mine.get(f"{API}/releases").json()] == [release.id]
    assert {other.get(address + one).status_code for one in paths} == {404}
    assert other.get(f"{API}/releases").json() == []
    assert custodian.delete(f"{address}/grants/{granted.json()['id']}").status_code == 204
    assert {mine.get(address + one).status_code for one in paths} == {404}
    with every_app.state.store.reading() as db:
        lines = list(db.scalars(select(LogEntry).order_by(LogEntry.number)))
    assert [(one.who, one.event) for one in lines] == [
        ("custodian", "granted"), ("researcher", "downloaded"), ("researcher", "downloaded"),
        ("custodian", "grant revoked"),
    ]  # fmt: skip


def test_an_auditor_reads_what_is_promised_and_no_data(app: FastAPI) -> None:
    address = f"{API}/releases/{add_release(app).id}"
    auditor = program(app, "auditor")
    assert auditor.get(f"{address}/manifest").json() == {"statement": "5-anonymous"}
    assert auditor.get(f"{address}/files/release.csv").status_code == 403
    assert program(app, "admin").get(address).status_code == 403


@pytest.mark.parametrize("name", ["..%2F..%2Fsource%2Fpeople.csv", ".hidden", "nothing.csv", "%2Fetc%2Fpasswd"])
def test_nothing_but_files_of_the_release_is_handed_out(app: FastAPI, name: str) -> None:
    address = f"{API}/releases/{add_release(app).id}"
    client = program(app, "custodian")
    assert [one["name"] for one in client.get(f"{address}/files").json()["files"]] == ["manifest.json", "release.csv"]
    assert client.get(f"{address}/files/{name}").status_code == 404


@pytest.mark.parametrize("part", ["", "bytes=0-9", "bytes=abc", "bytes=99999999-", "items=0-1"])
def test_a_packed_release_goes_with_its_answer(app: FastAPI, part: str) -> None:
    address = f"/releases/{add_release(app).id}/download"
    answer = sign_in(app, "custodian").get(address, headers={"range": part} if part else {})
    assert answer.status_code in (200, 206, 400, 416)
    assert list((app.state.settings.folder / "incoming").iterdir()) == []


def test_questions_of_a_release_do_not_tell_that_it_is_there(app: FastAPI) -> None:
    release, client = add_release(app), program(app, "researcher2")
    answers = [client.get(f"{API}/releases/{one}/questions") for one in (release.id, "0" * 32)]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].json() == answers[1].json()
    assert program(app, "custodian").get(f"{API}/releases/{release.id}/questions").json() == []
    assert client.get(f"{API}/questions").json() == []
