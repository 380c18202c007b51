"""A table of a database that is offered: from there to a verified release, and its password is shown nowhere."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest
from fastapi import FastAPI

from shoal.cli.server import _offer
from shoal.io.databases import without_password
from shoal.release.entry import verify_release
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.settings import Settings
from shoal.web.store.tables import Release
from tests.engines.server import Server
from tests.web.conftest import add_people, program, sign_in
from tests.web.working import job_of, people, project_of, work_off

SECRET = "zebra crossing 41"
TABS = (
    "data", "hierarchies", "models", "risk", "explore", "compare", "attacks", "release", "values", "recipe", "files",
)  # fmt: skip


@pytest.fixture
def place(postgres: Server) -> Iterator[str]:
    """The address of a table that somebody may read and nothing else."""
    role, schema = f"r{secrets.token_hex(4)}", f"s{secrets.token_hex(4)}"
    postgres.do(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'", f"CREATE SCHEMA {schema}")
    postgres.fill(f"{schema}.visits", pl.read_csv(people().encode()), {"age": "integer", "zip": "integer"})
    postgres.do(f"ALTER TABLE {schema}.visits ADD COLUMN visit serial PRIMARY KEY")
    postgres.do(f"GRANT USAGE ON SCHEMA {schema} TO {role}", f"GRANT SELECT ON {schema}.visits TO {role}")
    yield f"postgresql://{role}:{quote(SECRET)}@127.0.0.1:{postgres.port}/postgres#{schema}.visits"
    postgres.do(f"DROP SCHEMA {schema} CASCADE", f"DROP ROLE {role}")


def made_on(place: str, folder: Path) -> FastAPI:
    app = create_app(Settings(folder=folder, offers=(_offer("visits", place),)))
    add_people(app)
    return app


def told(app: FastAPI, project: str, jobs: list[str]) -> str:
    """All that a custodian, an admin and an auditor can see of a project."""
    browser, client, auditor = sign_in(app, "custodian"), program(app, "custodian"), program(app, "auditor")
    pages = ["/projects/new", "/releases", f"/projects/{project}", *(f"/projects/{project}/{tab}" for tab in TABS)]
    pages += [f"/jobs/{one}" for one in jobs]
    calls = ["/projects", f"/projects/{project}", f"/projects/{project}/recipe", f"/projects/{project}/jobs"]
    found = [browser.get(one).text for one in pages]
    found += [client.get(f"{API}{one}").text for one in [*calls, *(f"/jobs/{one}" for one in jobs)]]
    return "\n".join([*found, auditor.get(f"{API}/log").text, sign_in(app, "admin").get("/log").text])


def kept(folder: Path) -> bytes:
    """All that lies in the data folder."""
    return b"\n".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


def hidden(text: str) -> bool:
    return not any(one in text for one in (SECRET, quote(SECRET), json.dumps(SECRET)))


def test_an_offered_table_becomes_a_verified_release(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    app = made_on(place, folder)
    browser, client = sign_in(app, "custodian"), program(app, "custodian")
    assert "visits" in browser.get("/projects/new").text
    project, start = project_of(app, browser.submit("/projects/new", name="Visits", offer="visits"))
    work_off(app)
    assert (job_of(app, start.id).state, job_of(app, start.id).message) == ("done", None)
    jobs = [start.id]
    for kind in ("check", "run", "compare", "attack"):
        jobs.append(client.post(f"{API}/projects/{project.id}/jobs", json={"kind": kind}).json()["id"])
    work_off(app)
    assert [(job_of(app, one).state, job_of(app, one).message) for one in jobs] == [("done", None)] * 5
    assert (job_of(app, jobs[1]).result or {})["problems"] == []
    assert "Nobody was held out" in browser.get(f"/projects/{project.id}/attacks").text
    assert 'class="changed"' in browser.get(f"/projects/{project.id}/compare").text
    with app.state.store.reading() as db:
        release = db.get_one(Release, jobs[2])
    assert release.rows == 60
    assert verify_release(folder / "projects" / project.id / release.folder).passed
    dossier = browser.get(f"/releases/{release.id}/dossier").text
    assert "postgresql://" in client.get(f"{API}/projects/{project.id}/recipe").text
    assert not hidden(place)
    assert hidden(told(app, project.id, jobs) + dossier)
    app.state.store.close()
    assert hidden(kept(folder).decode("latin-1"))


@pytest.mark.parametrize("gone", ["the server", "the table"])
def test_a_database_that_does_not_answer_is_told_without_its_password(
    postgres: Server, place: str, tmp_path: Path, gone: str
) -> None:
    wrong = place.replace(f":{postgres.port}", ":1") if gone == "the server" else f"{place.rpartition('.')[0]}.nothing"
    app = made_on(wrong, tmp_path / "data")
    browser = sign_in(app, "custodian")
    project, start = project_of(app, browser.submit("/projects/new", name="Visits", offer="visits"))
    work_off(app)
    failed = job_of(app, start.id)
    assert (failed.state, str(failed.message).startswith("internal")) == ("failed", False)
    client, (url, _, table) = program(app, "custodian"), wrong.partition("#")
    text = (
        f'[source]\nurl = "{without_password(url)}"\ntable = "{table}"\n[roles]\nquasi = ["age"]\nkey = "visit"\n'
        '[[models]]\nname = "k"\nk = 5\n'
    )
    put = client.put(f"{API}/projects/{project.id}/recipe", json={"text": text, "base": 0})
    assert put.status_code < 300, put.text
    ask = f"{API}/projects/{project.id}/jobs"
    jobs = [client.post(ask, json={"kind": kind}).json()["id"] for kind in ("check", "run")]
    work_off(app)
    check, run = (job_of(app, one) for one in jobs)
    assert (check.state, run.state) == ("done", "failed")
    problems = [one["message"] for one in (check.result or {})["problems"]]
    assert problems == [run.message]
    assert not run.message.startswith("internal")
    assert hidden(told(app, project.id, [start.id, *jobs]))
    app.state.store.close()
    assert hidden(kept(tmp_path / "data").decode("latin-1"))


def test_a_table_without_a_key_is_told_to_its_owner(postgres: Server, place: str, tmp_path: Path) -> None:
    table = place.partition("#")[2]
    postgres.do(f"ALTER TABLE {table} DROP COLUMN visit")
    app = made_on(place, tmp_path / "data")
    browser, client = sign_in(app, "custodian"), program(app, "custodian")
    project, start = project_of(app, browser.submit("/projects/new", name="Visits", offer="visits"))
    work_off(app)
    failed = job_of(app, start.id)
    assert (failed.state, "have its owner add a key, or take a view" in str(failed.message)) == ("failed", True)
    # Of several columns that would do, somebody may name the one.
    postgres.do(f"ALTER TABLE {table} ADD COLUMN one serial", f"ALTER TABLE {table} ADD COLUMN other serial")
    given = {"kind": "start", "parameters": {"given": {"roles": {"other": "key"}}}}
    again = client.post(f"{API}/projects/{project.id}/jobs", json=given).json()["id"]
    work_off(app)
    assert (job_of(app, again).state, job_of(app, again).message) == ("done", None)
    assert 'key = "other"' in client.get(f"{API}/projects/{project.id}/recipe").json()["text"]
    app.state.store.close()


def test_a_password_may_stand_in_a_file_of_its_own(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/server.md advises: the process of a job is told of the file, and of no secret."""
    file = tmp_path / "pgpass"
    file.write_text(f"127.0.0.1:*:*:*:{SECRET}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    app = made_on(place.replace(f":{quote(SECRET)}", ""), tmp_path / "data")
    _, start = project_of(app, sign_in(app, "custodian").submit("/projects/new", name="Visits", offer="visits"))
    work_off(app)
    assert (job_of(app, start.id).state, job_of(app, start.id).message) == ("done", None)
    app.state.store.close()


def test_a_recipe_reads_no_other_table_of_the_database(place: str, tmp_path: Path) -> None:
    app = made_on(place, tmp_path / "data")
    client = program(app, "custodian")
    project = client.post(f"{API}/projects", json={"name": "Visits", "offer": "visits"}).json()
    shown = project["source"]["url"]
    assert hidden(json.dumps(project))
    for table in ("pg_catalog.pg_authid", "visits"):
        source = f'[source]\nurl = "{shown}"\ntable = "{table}"\n'
        text = source + '[roles]\nquasi = ["age"]\n[[models]]\nname = "k"\nk = 5\n'
        put = client.put(f"{API}/projects/{project['id']}/recipe", json={"text": text, "base": 0})
        assert (put.status_code, "is not offered" in put.text) == (422, True)
    app.state.store.close()
