"""Signatures of the server: there with the line of the log that tells of them, or not at all; and a key in no file."""

from __future__ import annotations

import io
import zipfile
from functools import partial
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from shoal.vault import signing
from shoal.web.errors import API
from shoal.web.projects.releases import _key
from shoal.web.store.tables import LogEntry, Release
from tests.web.conftest import ADDRESS, TestClient, program, sign_in
from tests.web.killed import every_end
from tests.web.test_together import uncommitted
from tests.web.working import add_job, add_project, work_off

KEY = b"PRIVATE KEY"


@pytest.fixture
def release(app: FastAPI) -> str:
    job = add_job(app, add_project(app), "run")
    work_off(app)
    return job.id


def signed(app: FastAPI, release: str) -> tuple[bool, bool, bool]:
    """Whether a release has a signature that holds: in its file, on its page, and by the log."""
    browser = sign_in(app, "custodian")
    names = set(zipfile.ZipFile(io.BytesIO(browser.get(f"/releases/{release}/download").content)).namelist())
    page = browser.get(f"/releases/{release}").text
    with app.state.store.reading() as db:
        project = db.get_one(Release, release).project
        lines = list(db.scalars(select(LogEntry).where(LogEntry.event == "signed")))
    bench = browser.get(f"/projects/{project}/release").text
    assert ("<dt>Signed</dt><dd>yes</dd>" in bench) == ("This release is signed with" in page)
    return {"People.sig", "signing.pub"} <= names, "This release is signed with" in page, lines != []


def plain(folder: Path) -> list[str]:
    """Files that a key stands in."""
    return [one.name for one in folder.rglob("*") if one.is_file() and KEY in one.read_bytes()]


def test_a_signature_comes_with_its_line_of_the_log(app: FastAPI, release: str, tmp_path: Path) -> None:
    client, address = program(app, "custodian"), f"{API}/releases/{release}/sign"
    assert client.post(address.replace(release, "0" * 32)).status_code == 404
    with uncommitted(app):
        assert client.post(address).status_code == 500
    assert signed(app, release) == (False, False, False)
    assert client.post(address).status_code == 200
    with uncommitted(app):
        assert client.post(address).status_code == 500  # once more, by the key that is there
    assert signed(app, release) == (True, True, True)
    packed = sign_in(app, "custodian").get(f"/releases/{release}/download").content
    zipfile.ZipFile(io.BytesIO(packed)).extractall(tmp_path / "got")
    found = signing.check_signature(*(tmp_path / "got" / one for one in ("People", "People.sig", "signing.pub")))
    assert found.expected


def test_a_signature_whose_log_fails_is_none(app: FastAPI, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is made by then, and stays."""
    client, address = program(app, "custodian"), f"{API}/releases/{release}/sign"
    made = signing.refuse_damaged

    def late(folder: Path) -> None:
        made(folder)
        broken.__enter__()

    broken = uncommitted(app)
    with monkeypatch.context() as patch:
        patch.setattr(signing, "refuse_damaged", late)
        assert client.post(address).status_code == 500
    broken.__exit__(None, None, None)
    assert signed(app, release) == (False, False, False)


def test_a_key_lies_in_no_file_while_a_release_is_read(
    app: FastAPI, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, seen = signing.refuse_damaged, []

    def reading(folder: Path) -> None:
        seen.append(plain(app.state.settings.folder))
        read(folder)

    monkeypatch.setattr(signing, "refuse_damaged", reading)
    assert program(app, "custodian").post(f"{API}/releases/{release}/sign").status_code == 200
    assert seen == [[]]


def test_a_server_has_one_key(app: FastAPI) -> None:
    keyring, keys = app.state.keys.keyring, set()
    for _ in range(2):
        with app.state.store.writing() as db:
            keys.add(_key(db, keyring))
    assert len(keys) == 1


def send(address: str, headers: dict[str, str], app: FastAPI) -> None:
    assert TestClient(app, base_url=ADDRESS, headers=headers).post(address).status_code == 200


def test_wherever_signing_is_killed_there_is_a_signature_or_none(app: FastAPI, release: str) -> None:
    client = program(app, "custodian")
    assert client.get(f"{API}/releases").status_code == 200  # the first use of a token is written down
    act = partial(send, f"{API}/releases/{release}/sign", dict(client.headers))

    def look(folder: Path) -> None:
        assert plain(folder) == []

    found = []
    for one in every_end(app, act, look):
        told = signed(one, release)
        assert len(set(told)) == 1
        found.append(told[0])
        assert list(one.state.settings.projects.glob("*/releases/*.sig")) == []
        incoming = one.state.settings.folder / "incoming"
        assert not incoming.exists() or list(incoming.iterdir()) == []
    assert (found[0], found[-1]) == (False, True)
