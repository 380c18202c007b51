"""Where cells of people stand on a server that codes them: in the source, which is kept as it is, in what pages make of
it, which docs/server.md names, and nowhere else.

All that a custodian does with a coded release is done; then every file of the data folder, the backup that
docs/server.md tells to take, and what PostgreSQL's own backup gives, are looked through.
"""

from __future__ import annotations

import base64
import re
import subprocess
import tarfile
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy.engine import make_url

from shoal.errors import RecipeError
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.jobs.results import keep_compared
from shoal.web.preview import head
from shoal.web.projects.confinement import parse_confined
from shoal.web.projects.project import folder_of
from shoal.web.settings import Settings
from shoal.web.store.tables import Job
from tests.engines.server import binaries
from tests.web.conftest import program, sign_in
from tests.web.working import MARKED, add_job, add_project, job_of, work_off

CODED = """
acknowledge = ["W-PP-REV"]
[source]
path = "source/people.csv"
[roles]
quasi = ["sex"]
sensitive = ["illness"]
drop = ["age", "zip"]
[algorithm]
name = "table-transform"
"""
PLAIN = "source/people.csv"


def dumped(app: FastAPI, to: Path) -> Path:
    """The database as its own tool backs it up."""
    url = make_url(app.state.settings.database)
    if app.state.store.sqlite:
        subprocess.run(["sqlite3", str(url.database), f".backup {to}"], check=True)
        return to
    programs = binaries()
    assert programs is not None
    where = ["-h", str(url.host), "-p", str(url.port), "-U", str(url.username), "-d", str(url.database)]
    given = {"PGPASSWORD": str(url.password)}
    subprocess.run([programs / "pg_dump", *where, "-f", str(to)], check=True, env=given)
    return to


def forms(text: str) -> list[bytes]:
    """A value as files may write it: as it is, in the numbers of a dump, and as texts hold bytes."""
    plain = text.encode()
    shifted = [base64.b64encode(b" " * at + plain)[4:-4] for at in range(3)]
    return [plain, plain.hex().encode(), *shifted]


def test_marked_values_of_a_coded_release_stand_in_the_source_and_in_what_pages_make_of_it_alone(
    every_app: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head, "LOOKED_AT", 512)  # so that pages look at a copy
    app, project = every_app, add_project(every_app, CODED)
    folder = app.state.settings.folder
    jobs = [add_job(app, project, kind) for kind in ("check", "compare", "run", "compare")]
    work_off(app)
    assert [(one.state, one.message) for one in (job_of(app, job.id) for job in jobs)] == [("done", None)] * 4
    browser = sign_in(app, "custodian")
    assert MARKED in browser.get(f"/projects/{project.id}/compare").text
    assert MARKED not in program(app, "custodian").get(f"{API}/jobs/{jobs[3].id}").text
    assert browser.submit(f"/releases/{jobs[2].id}/export", sure="true").status_code == 200
    at, edit = f"/projects/{project.id}", f"add level above 0: bad = flu, gout; good = cold, {MARKED}"
    assert browser.submit(f"{at}/hierarchies/illness", base="1", do="edit", edits=edit).status_code == 303
    assert [browser.get(f"{at}/{tab}").status_code for tab in ("data", "hierarchies", "values")] == [200] * 3
    tar = tmp_path / "backup.tar"
    left_out = ["--exclude=shoal.db*", "--exclude=*master.key*"]
    dump = dumped(app, tmp_path / "backup.sql")
    subprocess.run(["tar", *left_out, "-cf", str(tar), "-C", str(folder), "."], check=True)
    with tarfile.open(tar) as packed:
        members = {one.name: packed.extractfile(one) for one in packed if one.isfile()}
        found = {name: file.read() for name, file in members.items() if file is not None}
    found |= {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found["database"] = dump.read_bytes()
    for kept in ("compare.sealed", "release.csv"):
        assert len([name for name in found if name.endswith(kept)]) == 2, kept  # the folder has it, and the backup
    marked = [name for name, content in found.items() if any(one in content for one in forms(MARKED))]
    told = (PLAIN, r"\.beginnings/[\d-]+/people\.csv", r"hierarchies/illness-\w+\.csv")
    assert [len([name for name in marked if re.search(f"/{one}$", name)]) for one in told] == [2, 2, 2]
    assert len(marked) == 6, marked


def test_what_was_compared_before_goes(app: FastAPI) -> None:
    project = add_project(app, CODED)
    folder = folder_of(project.id, app.state.settings) / "jobs"
    first = add_job(app, project, "compare").id
    work_off(app)
    assert [one.parent.name for one in folder.glob("*/compare*")] == [first]
    second = add_job(app, project, "compare").id
    work_off(app)
    assert [one.parent.name for one in folder.glob("*/compare*")] == [second]
    (folder / second / "compare.json").write_text("{}")  # of a server before they were sealed
    create_app(Settings(folder=app.state.settings.folder)).state.store.close()
    assert [one.name for one in folder.glob("*/compare*")] == ["compare.sealed"]
    assert program(app, "custodian").delete(f"{API}/projects/{project.id}").status_code == 204
    assert not folder.exists()


def test_what_is_kept_is_what_the_page_shows_whichever_job_ended_last(app: FastAPI) -> None:
    project = add_project(app, CODED)
    state, keyring = app.state, app.state.keys.keyring
    folder = folder_of(project.id, state.settings) / "jobs"
    older, newer = (add_job(app, project, "compare") for _ in range(2))
    for job in (newer, older):
        (folder / job.id).mkdir(parents=True)
        with state.store.writing() as db:
            mine = db.get_one(Job, job.id)
            keep_compared(db, mine, {"statement": job.id}, state.settings, keyring)
            mine.state = "done"
    assert [one.parent.name for one in folder.glob("*/compare*")] == [newer.id]


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("table-transform", ""), ("mapping", ""), ("graded", ""), ("random", ""), ("noise", ""), ("anatomy", ""),
        ("mondrian", '[columns.zip]\ncode = "mapping"\n'),
    ],
)  # fmt: skip
def test_a_seed_that_gives_codes_away_is_refused(app: FastAPI, method: str, more: str) -> None:
    project = add_project(app)
    folder = folder_of(project.id, app.state.settings)
    text = CODED.replace("table-transform", method) + more
    parse_confined(text, folder)
    with pytest.raises(RecipeError, match="The 'seed' of the recipe gives away"):
        parse_confined(f"seed = 4711\n{text}", folder)


def test_a_seed_that_undoes_nothing_is_taken(app: FastAPI) -> None:
    project = add_project(app)
    text = CODED.replace("table-transform", "mondrian")
    assert parse_confined(f"seed = 4711\n{text}", folder_of(project.id, app.state.settings)).seed == 4711
