"""What is refused, fails or is removed leaves no rows of people behind, and removes none that are in use."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fastapi import FastAPI

from shoal.errors import ShoalError
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.jobs import queue, worker
from shoal.web.projects.project import folder_of
from shoal.web.request import Here
from tests.web.conftest import program, sign_in
from tests.web.working import add_job, add_project, job_of, people, upload, work_off


def folders(app: FastAPI) -> list[Path]:
    return sorted((app.state.settings.folder / "projects").iterdir())


def fail(*given: object, **named: object) -> None:
    raise RuntimeError("in the middle of it")


@pytest.mark.parametrize("content", ["", "\0\0\0", "PK"])
def test_an_upload_that_is_refused_makes_no_folder(app: FastAPI, content: str) -> None:
    answer = upload(sign_in(app, "custodian"), content, name="people.csv" if content != "PK" else "people.parquet")
    assert (answer.status_code, folders(app)) == (422, [])


def test_an_upload_that_fails_late_leaves_no_rows(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = sign_in(app, "custodian")
    with monkeypatch.context() as broken:
        broken.setattr(queue, "add", fail)
        assert upload(browser, people()).status_code == 500
    assert folders(app) == []
    assert upload(browser, people()).status_code == 303
    assert [list(one.glob(".*")) for one in folders(app)] == [[]]


def test_a_file_that_fails_late_is_not_kept(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    project, client = add_project(app), program(app, "custodian")
    address = f"{API}/projects/{project.id}/files/hierarchy/sex.csv"
    with monkeypatch.context() as broken:
        broken.setattr(Here, "log", fail)
        assert client.put(address, content="f;*\nm;*\n").status_code == 500
    kept = folder_of(project.id, app.state.settings) / "hierarchies"
    assert list(kept.iterdir()) == []
    assert client.put(address, content="f;*\nm;*\n").status_code == 201
    assert [one.name for one in kept.iterdir()] == ["sex.csv"]


def test_rows_that_pages_copied_go_with_the_file_that_they_are_of(app: FastAPI) -> None:
    project, client = add_project(app), program(app, "custodian")
    copies = folder_of(project.id, app.state.settings) / ".beginnings"
    for kind, content in (("hierarchy", "f;*\nm;*\n"), ("source", people())):
        (copies / "stamp").mkdir(parents=True, exist_ok=True)
        assert client.put(f"{API}/projects/{project.id}/files/{kind}/people.csv", content=content).status_code == 201
        assert not copies.exists()
    copies.mkdir()
    create_app(app.state.settings).state.store.close()
    assert not copies.exists()


def test_a_project_goes_only_where_its_row_does(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    project, client = add_project(app), program(app, "custodian")
    source = folder_of(project.id, app.state.settings) / "source" / "people.csv"
    with monkeypatch.context() as broken:
        broken.setattr(Here, "log", fail)
        assert client.delete(f"{API}/projects/{project.id}").status_code == 500
    assert (source.is_file(), list(source.parent.parent.glob(".*"))) == (True, [])
    assert client.delete(f"{API}/projects/{project.id}").status_code == 204
    assert folders(app) == []


def test_a_new_start_ends_what_a_killed_server_began(app: FastAPI) -> None:
    """What has no row without having been begun is of a database that is older, and stays."""
    made, gone, newer = add_project(app), *(app.state.settings.projects / name for name in ("0" * 32, "1" * 32))
    folder = folder_of(made.id, app.state.settings)
    for one in (folder, gone, newer):
        one.mkdir(exist_ok=True)
    for one in (folder, gone):
        (one / ".unmade").touch()
    create_app(app.state.settings).state.store.close()
    assert folders(app) == sorted([folder, newer])
    assert list(folder.glob(".*")) == []


def test_the_mark_of_what_is_being_removed_goes_last(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = app.state.settings.projects / ("2" * 32)
    for name in ("source", "jobs"):
        (folder / name).mkdir(parents=True)
        (folder / name / "people.csv").touch()
    (folder / ".unmade").touch()
    left = []

    def stopped(path: Path, **given: object) -> None:
        left.append((folder / ".unmade").exists())

    with monkeypatch.context() as killed:
        killed.setattr(shutil, "rmtree", stopped)
        create_app(app.state.settings).state.store.close()
    assert len(left) > 1
    assert all(left)
    assert (folder / ".unmade").exists()  # for the next start
    create_app(app.state.settings).state.store.close()
    assert not folder.exists()


def test_what_cannot_be_kept_of_a_job_is_removed(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise ShoalError("It cannot be kept.")

    project = add_project(app)
    job = add_job(app, project, "run")
    monkeypatch.setattr(worker, "keep", refuse)
    work_off(app)
    assert (job_of(app, job.id).state, job_of(app, job.id).message) == ("failed", "It cannot be kept.")
    assert list((folder_of(project.id, app.state.settings) / "releases").iterdir()) == []
