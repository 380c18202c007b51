"""A disk without room, as databases and the system tell it: 507 and one sentence, for people and for programs."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from starlette.formparsers import MultiPartParser

from shoal.web.errors import API
from tests.web.conftest import ADDRESS, program, sign_in
from tests.web.working import RECIPE, add_project

FULL = "The server's disk is full: make room, then try again."
LONG = RECIPE + "# a word\n" * 20_000  # takes pages of its own


def fill(app: FastAPI) -> None:
    """Let the database have no more room than it takes: SQLite by its own limit, PostgreSQL by what it says then."""
    engine = app.state.store.engine
    if app.state.store.sqlite:
        engine.dispose()

        @event.listens_for(engine, "checkout")
        def limit(connection: Any, *_: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")  # as many as there are

        return
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END$$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER full_disk BEFORE INSERT ON recipe_versions FOR EACH ROW EXECUTE FUNCTION full_disk()"
        )


def test_a_database_without_room_is_told_as_a_full_disk(every_app: FastAPI) -> None:
    browser, client = sign_in(every_app, "custodian"), program(every_app, "custodian")
    project = add_project(every_app)
    fill(every_app)
    page = browser.submit(f"/projects/{project.id}/recipe", base="1", text=LONG)
    assert (page.status_code, FULL.replace("'", "&#39;") in page.text) == (507, True)
    told = client.put(f"{API}/projects/{project.id}/recipe", json={"base": 1, "text": LONG})
    assert told.status_code == 507
    assert told.json() == {"error": {"code": "disk-full", "message": FULL, "where": None}}
    assert client.get(f"{API}/projects/{project.id}/recipe").json()["text"] == RECIPE


def test_a_form_that_there_is_no_room_to_read_is_told_likewise(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, project = sign_in(app, "custodian"), add_project(app)
    fields = {"csrf": browser.token(), "base": "1", "text": RECIPE}

    async def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(MultiPartParser, "parse", no_room)
    page = browser.post(
        f"/projects/{project.id}/recipe", data=fields, files={"file": ("x", b"x")}, headers={"origin": ADDRESS}
    )
    assert (page.status_code, "disk is full" in page.text) == (507, True)


def test_what_cannot_be_given_back_is_refused_all_the_same(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may fill up behind the moment in which a form was taken."""
    browser, project = sign_in(app, "custodian"), add_project(app)

    def no_room(_: object) -> None:
        raise OperationalError("DELETE", {}, Exception("database or disk is full"))

    monkeypatch.setattr("shoal.web.accounts.sessions.give_back", no_room)
    assert browser.submit(f"/projects/{project.id}/recipe/restore", base="x").status_code == 422
