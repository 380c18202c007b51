"""What somebody sends who means harm: bodies without end, false names of hosts, paths that write, half a form."""

from __future__ import annotations

import errno
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyotp
import pytest
from fastapi import FastAPI, Request
from sqlalchemy import select, text

from shoal.errors import RecipeError
from shoal.web.accounts import sessions
from shoal.web.accounts.sessions import LIMITS
from shoal.web.accounts.users import make_user
from shoal.web.app import create_app
from shoal.web.errors import API
from shoal.web.projects import releases
from shoal.web.projects.confinement import parse_confined
from shoal.web.projects.uploads import clean_name
from shoal.web.settings import Offer, Settings
from shoal.web.store.tables import Attempt, Job, Release, User, now
from tests.web.conftest import ADDRESS, PASSWORD, Browser, add_people, program, sign_in, user_of
from tests.web.working import RECIPE, add_job, add_project, job_of, people, upload, worker_of


def test_only_uploads_may_send_as_much_as_uploads(tmp_path: Path) -> None:
    """Whatever an identifier is called: all other bodies are held in memory before anybody asks who sends them."""
    app = create_app(Settings(folder=tmp_path / "data", form_bytes=1 << 14))
    add_people(app)
    big = "x" * (1 << 15)
    for address in ("/setup/files", "/jobs/files/cancel", f"{API}/projects/files/jobs", f"{API}/users/files"):
        assert Browser(app).post(address, content=big, headers={"origin": ADDRESS}).status_code == 413, address
    assert upload(sign_in(app, "custodian"), people(1000)).status_code == 303
    app.state.store.close()


@pytest.mark.parametrize("host", ["localhost:80/api/v1/x?", "localhost/api/v1/x?", "localhost:80@evil", ""])
def test_the_name_of_a_host_cannot_change_what_an_address_means(app: FastAPI, host: str) -> None:
    """With it, a token would have opened pages, which take none."""
    client, project = program(app, "custodian"), add_project(app)
    address = f"/projects/{project.id}/files"
    assert client.get(address, headers={"host": host}).status_code == 400
    assert client.get(address, follow_redirects=False).status_code == 303


def test_two_names_of_hosts_are_none(app: FastAPI) -> None:
    hosts = [("host", "localhost"), ("host", "localhost")]
    assert Browser(app).get("/login", headers=hosts[:1]).status_code == 200  # type: ignore[arg-type]
    assert Browser(app).get("/login", headers=hosts).status_code == 400  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "entry",
    ['[registry]\nfile = "{}"', '[engine]\nname = "duckdb"\nscratch = "{}"', '[output]\nvault = "{}"',
     '[output]\nlog = "{}"', '[output]\nfolder = "{}"'],
)  # fmt: skip
def test_what_is_offered_is_read_and_never_written(tmp_path: Path, entry: str) -> None:
    folder, offered = tmp_path / "project", tmp_path / "offered"
    (folder / "offers").mkdir(parents=True)
    offered.mkdir()
    (folder / "offers" / "offered").symlink_to(offered)
    offers = [Offer(name="o", place=str(offered))]
    assert parse_confined(RECIPE.replace("source/", "offers/offered/"), folder, offers)
    for place in (str(offered / "x"), "offers/offered/x"):
        with pytest.raises(RecipeError, match="leads out"):
            parse_confined(f"{RECIPE}\n{entry.format(place)}\n", folder, offers)


def test_what_a_database_cannot_keep_is_refused(every_app: FastAPI) -> None:
    """PostgreSQL takes neither zero bytes nor numbers without end."""
    client, project = program(every_app, "custodian"), add_project(every_app)
    json = {"content-type": "application/json"}
    answers = [
        Browser(every_app).submit("/login", name="a\0b", password="x"),
        client.get(f"{API}/projects/a%00b"),
        client.post(f"{API}/projects", json={"name": "a\0b"}),
        client.post(
            f"{API}/projects/{project.id}/jobs", content='{"kind": "risk", "parameters": {"a": NaN}}', headers=json
        ),
    ]
    assert all(one.status_code < 500 for one in answers), answers


def test_names_with_letters_of_any_language_sign_in(every_app: FastAPI) -> None:
    with every_app.state.store.writing() as db:
        make_user(db, "Ärztin", "researcher", PASSWORD)
    assert Browser(every_app).submit("/login", name="Ärztin", password=PASSWORD).status_code == 303


def test_half_a_form_is_no_upload(app: FastAPI) -> None:
    browser = sign_in(app, "custodian")
    begun = (
        f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{browser.token()}\r\n'
        f'--b\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\n{people()}'
    )
    headers = {"origin": ADDRESS, "content-type": "multipart/form-data; boundary=b"}
    answer = browser.post("/projects/new/files", content=begun, headers=headers)
    assert (answer.status_code, "broke off" in answer.text) == (400, True)
    assert browser.post("/projects/new/files", content=f"{begun}\r\n--b--\r\n", headers=headers).status_code == 303


def test_long_names_of_files_fit_the_disk(app: FastAPI) -> None:
    assert upload(sign_in(app, "custodian"), people(), name=f"{'漢' * 98}.csv").status_code == 303
    for name in ("漢" * 300 + ".csv", "a" + "." * 60 + "b" * 99, "." * 300):
        clean = clean_name(name)
        assert len(clean.encode()) <= 200
        assert not clean.startswith(".")


def test_a_cookie_alone_makes_no_token_and_tries_no_passwords(app: FastAPI) -> None:
    browser = sign_in(app, "custodian")
    fields = {"name": "mine", "days": "300", "scopes": "projects:read"}
    for _ in range(LIMITS["account"]):
        assert browser.submit("/account/tokens", **fields, password="wrong").status_code == 403
    locked = browser.submit("/account/password", old=PASSWORD, password="z" * 12, again="z" * 12)
    assert locked.status_code == 429
    assert sign_in(app, "custodian").get("/account").status_code == 200  # the name itself is not locked by that
    other = sign_in(app, "auditor")
    fields["scopes"] = "log:read"
    assert "not shown again" in other.submit("/account/tokens", **fields, password=PASSWORD).text


@pytest.mark.parametrize("how", ["password", "link", "end"])
def test_tokens_end_with_the_password(app: FastAPI, how: str) -> None:
    browser, client, admin, new = sign_in(app, "auditor"), program(app, "auditor"), sign_in(app, "admin"), "n" * 12
    assert client.get(f"{API}/me").status_code == 200
    user = user_of(app, "auditor").id
    if how == "password":
        assert browser.submit("/account/password", old=PASSWORD, password=new, again=new).status_code == 303
    elif how == "link":
        found = re.search(r"/setup/[\w-]+", admin.submit(f"/users/{user}/link").text)
        assert found is not None
        assert Browser(app).submit(found[0], password=new, again=new).status_code == 303
    else:
        for fields in ({}, {"active": "true"}):
            assert admin.change_user(user, role="auditor", **fields).status_code == 303
    assert client.get(f"{API}/me").status_code == 401


def test_a_second_factor_is_asked_for_until_the_link_is_used(app: FastAPI) -> None:
    user = user_of(app, "auditor").id
    with app.state.store.writing() as db:
        db.get_one(User, user).totp = app.state.keys.keyring.seal("totp", user, b"JBSWY3DPEHPK3PXP")
    found = re.search(r"/setup/[\w-]+", sign_in(app, "admin").submit(f"/users/{user}/link").text)
    assert found is not None
    assert Browser(app).submit("/login", name="auditor", password=PASSWORD).status_code == 401
    assert Browser(app).submit(found[0], password="n" * 12, again="n" * 12).status_code == 303
    assert Browser(app).submit("/login", name="auditor", password="n" * 12).status_code == 303


def test_many_attempts_at_the_same_moment_are_counted_all(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is looked at before all have begun, and no more than the limit are looked at."""
    tries = 12
    looked: list[str] = []

    def slow(kept: str | None, password: str) -> bool:
        looked.append(password)
        time.sleep(0.3)
        return False

    monkeypatch.setattr("shoal.web.accounts.users.fits", slow)
    with ThreadPoolExecutor(tries) as pool:
        sent = [pool.submit(Browser(every_app).submit, "/login", name="admin", password=str(i)) for i in range(tries)]
        told = sorted(one.result().status_code for one in sent)
    assert told == [401] * LIMITS["name"] + [429] * (tries - LIMITS["name"])
    assert len(looked) == LIMITS["name"]


@pytest.mark.parametrize("every_app", ["postgresql"], indirect=True)
def test_an_attempt_waits_for_none_of_somebody_else(every_app: FastAPI) -> None:
    """Two that both clear up what has run out would otherwise wait for each other."""
    store = every_app.state.store
    with store.writing() as db:
        db.add_all(Attempt(key=key, count=1, since=now(hours=-1)) for key in ("held", "free"))
    with store.writing() as other, store.writing() as mine:
        other.execute(select(Attempt).where(Attempt.key == "held").with_for_update())
        mine.execute(text("SET LOCAL lock_timeout = '500ms'"))
        sessions.begin_attempt(mine, address="here", name="admin")
    with store.reading() as db:
        assert (db.get(Attempt, "held") is None, db.get(Attempt, "free") is None) == (False, True)
    with store.writing() as db:
        sessions.begin_attempt(db, account="somebody")
        assert db.get(Attempt, "held") is None


def test_a_code_is_good_once_at_the_same_moment_too(every_app: FastAPI) -> None:
    user, secret = user_of(every_app, "auditor").id, "JBSWY3DPEHPK3PXP"
    with every_app.state.store.writing() as db:
        db.get_one(User, user).totp = every_app.state.keys.keyring.seal("totp", user, secret.encode())
    fields = {"name": "auditor", "password": PASSWORD, "code": pyotp.TOTP(secret).now()}
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(Browser(every_app).submit, "/login", **fields) for _ in range(4)]
        assert sorted(one.result().status_code for one in sent) == [303, 401, 401, 401]


@pytest.mark.usefixtures("own_processes")
def test_what_jobs_leave_for_a_moment_lies_in_their_project(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that do not fit into memory go to no folder of the system, and with the job."""
    monkeypatch.setenv("TMPDIR", "/nowhere")
    job, worker = add_job(app, add_project(app), "risk"), worker_of(app)
    assert worker.step()
    (running,) = worker.running
    environment: list[bytes] = []
    for _ in range(500):  # a process that has just begun has no environment yet
        environment = Path(f"/proc/{running.process.pid}/environ").read_bytes().split(b"\0")
        if len(environment) > 1:
            break
        time.sleep(0.01)
    place = app.state.settings.projects / job.project / "jobs" / job.id / "temporary-1"
    assert f"TMPDIR={place}".encode() in environment
    assert place.stat().st_mode & 0o777 == 0o700
    (place / "rows").write_text("x")
    running.process.kill()
    running.process.wait()
    worker.step()
    assert job_of(app, job.id).state == "failed"
    assert not place.parent.exists()


def test_a_job_out_of_time_takes_nothing_of_another_attempt_away(app: FastAPI) -> None:
    job, worker = add_job(app, add_project(app), "risk"), worker_of(app)
    worker.step()
    with app.state.store.writing() as db:
        row = db.get_one(Job, job.id)
        row.attempts, row.worker = 2, "another"
    folder = app.state.settings.projects / job.project
    names = (f"releases/{job.id}-1", f"releases/{job.id}-2", f"jobs/{job.id}/temporary-2")
    mine, *kept = (folder / one for one in names)
    for one in (mine, *kept):
        one.mkdir()
    worker.running[0].since -= app.state.settings.job_seconds + 1
    worker.step()
    assert (job_of(app, job.id).state, job_of(app, job.id).message) == ("running", None)
    assert (mine.exists(), [one.exists() for one in kept]) == (False, [True, True])


def test_half_a_download_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, to = tmp_path / "release", tmp_path / "incoming"
    folder.mkdir()
    (folder / "data.csv").write_text("x")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("zipfile.ZipFile.write", full)
    with pytest.raises(OSError, match="full"):
        releases.packed(Release(name="a"), folder, None, to)
    assert list(to.iterdir()) == []


def test_a_wide_form_is_read_only_of_whoever_may_send_it(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tens of thousands of fields take seconds, in which nobody else would be answered."""
    address, read = f"/projects/{add_project(app).id}/data", []
    custodian, researcher, nobody = sign_in(app, "custodian"), sign_in(app, "researcher"), Browser(app)
    form = Request.form

    def watched(request: Request, **options: Any) -> Any:
        read.append(request.url.path)
        return form(request, **options)

    fields, token = {f"role-{at}": "" for at in range(2000)} | {"base": "1"}, custodian.token()
    monkeypatch.setattr(Request, "form", watched)
    here, elsewhere = {"origin": ADDRESS}, {"origin": "http://evil.example"}
    answers = [one.post(address, data=fields, headers=here).status_code for one in (nobody, researcher)]
    answers.append(custodian.post(address, data=fields, headers=elsewhere).status_code)
    assert (answers, read) == ([303, 403, 403], [])
    assert custodian.post(address, data={"csrf": token, **fields}, headers=here).status_code == 422
    assert set(read) == {address}
