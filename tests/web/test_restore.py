"""Backup and restore as docs/server.md tells it, and upgrades: the same users, projects, releases and secrets."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import inspect, text

from shoal.errors import InputError
from shoal.web import keys
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.settings import Settings
from shoal.web.store import people, trusted, work
from shoal.web.store.base import Base
from tests.web.conftest import program, sign_in
from tests.web.working import RECIPE, add_project

TABLES = (people, work, trusted)


def test_a_backup_brings_everything_back(app: FastAPI, tmp_path: Path) -> None:
    project, old = add_project(app), app.state.settings.folder
    keyring = app.state.keys.keyring
    with app.state.store.writing() as db:
        keys.put(db, keyring, "secrets", "x", b"a mapping")
    new = tmp_path / "restored"
    with sqlite3.connect(old / "shoal.db") as source, sqlite3.connect(tmp_path / "backup.db") as target:
        source.backup(target)
    shutil.copytree(old, new, ignore=shutil.ignore_patterns("shoal.db*", "master.key"))
    shutil.copy(tmp_path / "backup.db", new / "shoal.db")
    shutil.copy(old / "master.key", new / "master.key")
    restored = create_app(Settings(folder=new))
    assert sign_in(restored, "custodian").get("/").status_code == 200
    assert program(restored, "custodian").get(f"{API}/projects/{project.id}/recipe").json()["text"] == RECIPE
    with restored.state.store.reading() as db:
        assert keys.get(db, restored.state.keys.keyring, "secrets", "x") == b"a mapping"
    restored.state.store.close()


def test_without_its_master_key_a_copy_keeps_its_secrets(app: FastAPI, tmp_path: Path) -> None:
    assert app.state.keys.keyring.generation == 1
    other = tmp_path / "other.key"
    other.write_bytes(bytes(range(32)))
    other.chmod(0o600)
    settings = Settings(folder=app.state.settings.folder, master_key=other)
    with pytest.raises(InputError, match="cannot be opened"):
        keys.open_keyring(settings, app.state.store)


def test_a_master_key_that_is_gone_is_not_made_anew(app: FastAPI) -> None:
    """Another key would open nothing, and stand in every backup from then on as if it were the right one."""
    assert app.state.keys.keyring.generation == 1
    place = app.state.settings.folder / "master.key"
    place.unlink()
    with pytest.raises(InputError, match="is gone, without which no secret opens: put it back"):
        keys.open_keyring(app.state.settings, app.state.store)
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
        assert db.get_one(work.Project, project.id).name == "People"
        assert len(db.execute(text("SELECT version_num FROM alembic_version")).all()) == 1
    again.state.store.close()
