"""Questions and decisions at the same moment, on both databases: what is compared and what is written are one step."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest
from fastapi import FastAPI
from sqlalchemy import delete, select, update

from shoal.errors import VerificationError
from shoal.io import atomic
from shoal.vault.sealed_rows import Keyring
from shoal.web import server_keys
from shoal.web.accounts import users
from shoal.web.accounts import users as signing_in
from shoal.web.errors import Refused
from shoal.web.pages import releases
from shoal.web.permissions import Principal
from shoal.web.projects.releases import grant
from shoal.web.questions import questions
from shoal.web.server_keys import SecretRows, get, open_keyring, put
from shoal.web.settings import Settings
from shoal.web.store.open import Store
from shoal.web.store.tables import Grant, KeyringRow, Release, Sealed, User, now
from tests.web.conftest import PASSWORD, program, sign_in, user_of
from tests.web.test_trust import LIMITS, add_release, cut, made  # noqa: F401
from tests.web.working import Gate

Made = tuple[Path, list[dict], pl.DataFrame]


@contextmanager
def meeting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two begin to write together, and while one writes, the other has no way to compare."""
    begun, written = Gate(), Gate(Gate.DWELL)
    monkeypatch.setattr(questions, "answer", begun.before(questions.answer))
    monkeypatch.setattr(questions, "_settle", written.before(questions._settle))
    yield
    assert (begun.met, written.met) == (True, False)


def prepared(app: FastAPI, made: Made, **limits: str) -> tuple[str, list[str]]:  # noqa: F811
    """A release, and two texts of which the budget bears one answer."""
    release = add_release(app, made)
    wanted = {**LIMITS, "budget": "0.6", **limits}
    assert sign_in(app, "custodian").set_limits(release, **wanted).status_code == 303
    at, ill, gout = cut(made)
    return release, [f"IF age < {at} THEN disease = {ill}", f"IF age >= {at} THEN disease = {gout}"]


def share(app: FastAPI, release: str) -> float:
    figures = program(app, "auditor").get(f"/api/v1/releases/{release}/leaks").json()[-1]["columns"]
    return next(one["share"] for one in figures if one["column"] == "disease")


def test_two_questions_that_were_compared_at_once_share_a_budget(
    every_app: FastAPI, made: Made, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    release, texts = prepared(every_app, made)
    clients = [program(every_app, "researcher") for _ in texts]
    ask = f"/api/v1/releases/{release}/questions"
    with meeting(monkeypatch), ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one: one[0].post(ask, json={"text": one[1]}), zip(clients, texts, strict=True)))
    assert [one.status_code for one in found] == [201, 201]
    assert sorted(one.json()["state"] for one in found) == ["answered", "refused"]
    assert share(every_app, release) <= 0.6


def test_two_decisions_at_once_share_a_budget(
    every_app: FastAPI, made: Made, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    release, texts = prepared(every_app, made, automatic="")
    client = program(every_app, "researcher")
    found = [client.post(f"/api/v1/releases/{release}/questions", json={"text": one}).json() for one in texts]
    assert {one["state"] for one in found} == {"waiting"}
    bosses = [program(every_app, "custodian") for _ in found]
    with meeting(monkeypatch), ThreadPoolExecutor(2) as pool:
        told = list(
            pool.map(
                lambda one: one[0].post(f"/api/v1/questions/{one[1]['id']}/decision", json={"answer": True}),
                zip(bosses, found, strict=True),
            )
        )
    assert sorted(one.status_code for one in told) == [200, 409]
    assert share(every_app, release) <= 0.6


def test_a_store_that_was_put_back_is_told_while_one_writes(every_app: FastAPI) -> None:
    """And not by waiting for oneself."""
    store, keyring = every_app.state.store, every_app.state.keys.keyring
    with store.writing() as db:
        put(db, keyring, "test", "one", b"1")
    with store.reading() as db:
        older = {one.id: one.sealed for one in db.scalars(select(Sealed))}
    with store.writing() as db:
        put(db, keyring, "test", "one", b"2")
    with store.writing() as db:
        for name, sealed in older.items():
            db.execute(update(Sealed).where(Sealed.id == name).values(sealed=sealed))
    with store.writing() as db, pytest.raises(VerificationError, match="older copy"):
        get(db, keyring, "test", "one")


def test_a_page_is_shown_while_somebody_writes_secrets(
    app: FastAPI, made: Made, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    release, grants = add_release(app, made), releases.grants

    def and_another_writes(db: Any, name: str) -> Any:
        found = grants(db, name)
        with app.state.store.writing() as other:
            put(other, app.state.keys.keyring, "test", "one", b"1")
        return found

    monkeypatch.setattr(releases, "grants", and_another_writes)
    assert sign_in(app, "custodian").get(f"/releases/{release}").status_code == 200


def test_of_two_admins_who_end_each_other_one_stays(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    with every_app.state.store.writing() as db:
        users.make_user(db, "admin2", "admin", PASSWORD)
    begun, written = Gate(), Gate(Gate.DWELL)
    monkeypatch.setattr(users, "end_all", written.before(users.end_all))

    def end(name: str) -> int:
        begun.come()
        try:
            with every_app.state.store.writing() as db:
                users.change(db, db.scalars(select(User).where(User.name == name)).one(), active=False)
        except Refused as error:
            return error.status
        return 200

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(end, ["admin", "admin2"])) == [200, 409]
    assert (begun.met, written.met) == (True, False)


def test_who_signs_in_and_who_ends_the_account_of_that_browser_do_not_wait_for_each_other(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, admin = sign_in(every_app, "researcher"), program(every_app, "admin")
    (ended,) = [one["id"] for one in admin.get("/api/v1/users").json() if one["name"] == "researcher"]
    begun, gate = Event(), Gate(Gate.DWELL)  # one may wait for the other, and never both
    monkeypatch.setattr(signing_in, "fits", lambda *_: begun.set() or True)  # its form is taken by then
    monkeypatch.setattr(users, "end_all", gate.after(users.end_all))
    monkeypatch.setattr(signing_in, "record", gate.after(signing_in.record))
    with ThreadPoolExecutor(2) as pool:
        gone = pool.submit(lambda: begun.wait(30) and admin.patch(f"/api/v1/users/{ended}", json={"active": False}))
        come = pool.submit(lambda: browser.submit("/login", name="auditor", password=PASSWORD))
    assert (gone.result().status_code, come.result().status_code) == (200, 303)


def taken_back(app: FastAPI, release: str) -> None:
    with app.state.store.writing() as db:
        db.execute(update(Grant).where(Grant.release == release).values(revoked=now()))


def ended(app: FastAPI, release: str) -> None:
    with app.state.store.writing() as db:
        users.change(db, db.scalars(select(User).where(User.name == "researcher")).one(), active=False)


@pytest.mark.parametrize("happens", [taken_back, ended])
def test_nobody_is_answered_who_may_not_ask_any_more(
    every_app: FastAPI, made: Made, happens: Callable[..., None], monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    """While their question is looked at, the release is taken back, or the account ends."""
    release, (text, _) = prepared(every_app, made)
    client, answer = program(every_app, "researcher"), questions.answer

    def meanwhile(*given: Any) -> Any:
        happens(every_app, release)
        return answer(*given)

    monkeypatch.setattr(questions, "answer", meanwhile)
    assert client.post(f"/api/v1/releases/{release}/questions", json={"text": text}).status_code == 404
    assert share(every_app, release) == 0


def _begun_anew(app: FastAPI) -> tuple[Settings, Store]:
    """Settings and database of a server that has neither key nor secrets."""
    settings, store = app.state.settings, app.state.store
    with store.writing() as db:
        db.execute(delete(KeyringRow))
        db.execute(delete(Sealed))
    for file in ("master.key", "secrets.anchor"):
        (settings.folder / file).unlink(missing_ok=True)
    return settings, store


@pytest.mark.parametrize("at", [(Keyring, "closed"), (server_keys, "write_whole")], ids=["the keyring", "the key"])
def test_server_and_worker_make_one_key_and_one_keyring(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch, at: tuple[Any, str]
) -> None:
    settings, store = _begun_anew(every_app)
    begun, written = Gate(), Gate(Gate.DWELL)
    monkeypatch.setattr(*at, written.before(getattr(*at)))
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: begun.before(open_keyring)(settings, store), range(2)))
    assert (begun.met, written.met) == (True, False)
    made.append(open_keyring(settings, store))
    sealed = made[0].seal("test", "one", b"1")
    assert [one.unseal("test", "one", sealed) for one in made] == [b"1"] * 3
    assert not list(settings.folder.glob(".master.key.*"))


def test_a_key_is_made_on_any_disk_and_after_any_kill(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, store = _begun_anew(app)
    left = settings.folder / ".master.key.new"  # of a start that was killed
    left.write_bytes(b"half")

    def no_links(*given: Any, **more: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    synced: list[Path] = []
    monkeypatch.setattr(os, "link", no_links)  # as on FAT
    monkeypatch.setattr(atomic, "sync", synced.append)
    assert open_keyring(settings, store).generation == 1
    place = settings.folder / "master.key"
    assert (len(place.read_bytes()), place.stat().st_mode & 0o777, left.exists()) == (32, 0o600, False)
    assert settings.folder in synced  # a key whose name is not on disk is none after a loss of power


def test_a_first_secret_may_be_kept_while_the_keyring_is_opened(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, store = _begun_anew(every_app)
    keyring, read, done = open_keyring(settings, store), SecretRows.read, []

    def meanwhile(rows: SecretRows, *given: Any) -> dict[str, bytes]:
        found = read(rows, *given)
        if not done:
            done.append(True)
            with store.writing() as db:
                put(db, keyring, "test", "one", b"1")
        return found

    monkeypatch.setattr(SecretRows, "read", meanwhile)
    assert open_keyring(settings, store).generation == 1


def test_two_who_grant_a_release_at_once_make_one_grant(every_app: FastAPI, made: Made) -> None:  # noqa: F811
    key, boss = add_release(every_app, made), user_of(every_app, "custodian")
    by = Principal(id=boss.id, name=boss.name, role=boss.role)
    begun, written = Gate(), Gate(Gate.DWELL)
    both = written.after(grant)

    def granted(_: int) -> str:
        begun.come()
        try:
            with every_app.state.store.writing() as db:
                both(db, db.get_one(Release, key), "researcher2", by)
        except Refused as error:
            return error.message
        return ""

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(granted, range(2))) == ["", "This researcher has the release already."]
    assert (begun.met, written.met) == (True, False)
    browser = sign_in(every_app, "custodian")
    with every_app.state.store.reading() as db:
        chosen = select(Grant.id).where(Grant.release == key, Grant.user == user_of(every_app, "researcher2").id)
        (one,) = db.scalars(chosen)
    assert program(every_app, "researcher2").get(f"/api/v1/releases/{key}").status_code == 200
    assert browser.submit(f"/releases/{key}/grants/{one}/revoke").status_code == 303
    assert program(every_app, "researcher2").get(f"/api/v1/releases/{key}").status_code == 404
    assert granted(0) == ""  # again, after it was taken back
