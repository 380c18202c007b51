"""Backup and restore as docs/server.md tells it, and upgrades: the same users, projects, releases and secrets."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import inspect, text

import shoal
from shoal.cli.main import execute
from shoal.errors import InputError
from shoal.web import server_keys
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.settings import Settings
from shoal.web.store import tables
from shoal.web.store.tables import Base
from tests.web.backups import put_back, take_backup
from tests.web.conftest import program, sign_in
from tests.web.test_trust import MARKED, add_release, cut, made  # noqa: F401
from tests.web.working import RECIPE, add_job, add_project, job_of, work_off

TABLES = (tables, tables, tables)


def test_a_backup_brings_everything_back(
    every_app: FastAPI, made: tuple, tmp_path: Path, request: pytest.FixtureRequest,  # noqa: F811
) -> None:  # fmt: skip
    """Users, a project, releases, a question and its answer, jobs, log and secrets, by the commands of the page."""
    app, settings = every_app, every_app.state.settings
    at, ill, _ = cut(made)
    asked = {"text": f"IF age < {at} THEN disease = {ill}"}
    release = add_release(app, made)
    question = program(app, "researcher").post(f"{API}/releases/{release}/questions", json=asked).json()
    project = add_project(app)
    done = add_job(app, project, "run")
    work_off(app)
    broken = add_job(app, project, "run")
    with app.state.store.writing() as db:  # as a worker leaves it whose machine went down
        lost = db.get_one(tables.Job, broken.id)
        lost.state, lost.worker, lost.lease_until = "running", "gone", "2026-01-01T00:00:00.000000+00:00"
    told = program(app, "auditor").get(f"{API}/log").text
    app.state.store.close()
    place = tmp_path / "elsewhere"
    (place / "kept-elsewhere").mkdir(parents=True)
    settings.folder.rename(place / "shoal-data")
    take_backup(settings, place)
    (place / "shoal-data" / "master.key").rename(place / "kept-elsewhere" / "master.key")
    (place / "shoal-data").rename(tmp_path / "lost")
    if "postgresql" in settings.database:
        settings = replace(settings, database=f"{settings.database}_restored")
    put_back(settings, place)
    found = create_app(replace(settings, folder=place / "shoal-data", database=_there(settings)))
    try:
        _is_back(found, (release, done.id, broken.id), question, told, place)
        assert program(found, "custodian").get(f"{API}/projects/{project.id}/recipe").json()["text"] == RECIPE
    finally:
        found.state.store.close()
        if "postgresql" in settings.database:
            name = settings.database.rpartition("/")[2]
            request.getfixturevalue("postgres").do(f"DROP DATABASE {name} WITH (FORCE)")


def _there(settings: Settings) -> str:
    """The address of the database that was put back; none for the one in the folder."""
    return settings.database if "postgresql" in settings.database else ""


def _is_back(found: FastAPI, keys_of: tuple[str, str, str], question: dict, told: str, place: Path) -> None:  # type: ignore[type-arg]
    release, done, broken = keys_of
    assert stat.S_IMODE(found.state.settings.folder.stat().st_mode) == 0o700
    assert sign_in(found, "custodian").get("/vault").text.count("secrets are as they were left") == 1
    log = place / "log.jsonl"
    head = json.loads(told.splitlines()[-1])["hash"]
    log.write_bytes(program(found, "auditor").get(f"{API}/log").content)
    assert execute(["log", "verify", str(log), "--head", head]) == 0
    assert log.read_text().startswith(told)
    answered = program(found, "researcher").get(f"{API}/questions/{question['id']}").json()
    assert (answered, MARKED in answered["answer"]) == (question, True)
    for key in (release, done):
        got = program(found, "custodian").get(f"{API}/releases/{key}/files").json()["files"]
        (place / key).mkdir()
        for one in got:
            content = program(found, "custodian").get(f"{API}/releases/{key}/files/{one['name']}").content
            (place / key / one["name"]).write_bytes(content)
        assert shoal.verify_release(place / key).passed
    work_off(found)
    assert {job_of(found, key).state for key in (done, broken)} == {"done"}


def test_without_its_master_key_a_copy_keeps_its_secrets(app: FastAPI, tmp_path: Path) -> None:
    assert app.state.keys.keyring.generation == 1
    other = tmp_path / "other.key"
    other.write_bytes(bytes(range(32)))
    other.chmod(0o600)
    settings = Settings(folder=app.state.settings.folder, master_key=other)
    with pytest.raises(InputError, match="cannot be opened"):
        server_keys.open_keyring(settings, app.state.store)


def test_a_master_key_that_is_gone_is_not_made_anew(app: FastAPI) -> None:
    """Another key would open nothing, and stand in every backup from then on as if it were the right one."""
    assert app.state.keys.keyring.generation == 1
    place = app.state.settings.folder / "master.key"
    place.unlink()
    with pytest.raises(InputError, match="is gone, without which no secret opens: put it back"):
        server_keys.open_keyring(app.state.settings, app.state.store)
    assert not place.exists()


def test_the_migrations_make_the_tables_that_the_code_has(every_app: FastAPI) -> None:
    found = inspect(every_app.state.store.engine)
    assert all(TABLES)
    for table in Base.metadata.sorted_tables:
        known = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
        assert known == {column.name: column.nullable for column in table.columns}, table.name
        indexed = {index["name"] for index in found.get_indexes(table.name)}
        assert {index.name for index in table.indexes} <= indexed, table.name


def test_a_second_start_changes_nothing(every_app: FastAPI) -> None:
    project = add_project(every_app)
    again = create_app(every_app.state.settings)
    with again.state.store.reading() as db:
        assert db.get_one(tables.Project, project.id).name == "People"
        assert len(db.execute(text("SELECT version_num FROM alembic_version")).all()) == 1
    again.state.store.close()
