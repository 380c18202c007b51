"""Whoever writes may do so until it is written: an end that comes meanwhile waits, and one that came first refuses.

On both databases; on PostgreSQL the rows that a permission goes by are locked.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import polars as pl
import pytest
from fastapi import FastAPI
from sqlalchemy import func, select

from shoal.errors import InternalError
from shoal.web import request
from shoal.web.accounts import sessions
from shoal.web.accounts import users as signing_in
from shoal.web.accounts.users import make_user
from shoal.web.errors import API
from shoal.web.store.tables import Grant, LogEntry, User
from tests.web.conftest import ADDRESS, PASSWORD, Browser, program, sign_in, user_of
from tests.web.test_deciding import put_one
from tests.web.test_releases import add_release
from tests.web.test_trust import add_release as trusted_release
from tests.web.test_trust import made  # noqa: F401
from tests.web.working import Gate

NEW = "another password 1"
WRITES, ENDS = {"project made", "granted", "downloaded"}, {"user changed", "token revoked", "password changed",
                                                           "grant revoked", "signed out"}  # fmt: skip
Call = Callable[[], httpx.Response]
Made = tuple[Path, list[dict], pl.DataFrame]


@dataclass(frozen=True)
class Case:
    """Somebody who writes, and an end of what lets them."""

    write: Call
    end: Call


def by_token(app: FastAPI) -> tuple[Call, str]:
    client = program(app, "custodian")
    token = client.get(f"{API}/tokens").json()[0]["id"]
    return lambda: client.post(f"{API}/projects", json={"name": "x"}), token


def account(app: FastAPI) -> Case:
    write, _ = by_token(app)
    admin, user = program(app, "admin"), user_of(app, "custodian").id
    return Case(write, lambda: admin.patch(f"{API}/users/{user}", json={"active": False}))


def role(app: FastAPI) -> Case:
    write, _ = by_token(app)
    admin, user = sign_in(app, "admin"), user_of(app, "custodian").id
    return Case(write, lambda: admin.change_user(user, role="researcher", active="true"))


def token(app: FastAPI) -> Case:
    write, key = by_token(app)
    owner = program(app, "custodian")
    return Case(write, lambda: owner.delete(f"{API}/tokens/{key}"))


def password(app: FastAPI) -> Case:
    write, _ = by_token(app)
    owner = sign_in(app, "custodian")
    return Case(write, lambda: owner.submit("/account/password", old=PASSWORD, password=NEW, again=NEW))


def session(app: FastAPI) -> Case:
    release, browser, same = add_release(app), sign_in(app, "custodian"), Browser(app)
    same.cookies = browser.cookies
    forms = [browser.token(), browser.token()]
    here = {"origin": ADDRESS}
    grant = {"csrf": forms[0], "user": "researcher"}
    return Case(
        lambda: browser.post(f"/releases/{release.id}/grants", data=grant, headers=here),
        lambda: same.post("/logout", data={"csrf": forms[1]}, headers=here),
    )


def grant(app: FastAPI) -> Case:
    release, owner, client = add_release(app), program(app, "custodian"), program(app, "researcher")
    address = f"{API}/releases/{release.id}"
    key = owner.post(f"{address}/grants", json={"user": "researcher"}).json()["id"]
    assert client.get(address).status_code == 200
    return Case(
        lambda: client.get(f"{address}/files/release.csv"), lambda: owner.delete(f"{address}/grants/{key}")
    )


def asker(app: FastAPI, made: Made) -> Case:  # noqa: F811
    """A custodian decides a question of somebody whose account ends."""
    release = trusted_release(app, made)
    question, boss, admin = put_one(app, made, release), program(app, "custodian"), program(app, "admin")
    user = user_of(app, "researcher").id
    return Case(
        lambda: boss.post(f"{API}/questions/{question}/decision", json={"answer": True}),
        lambda: admin.patch(f"{API}/users/{user}", json={"active": False}),
    )


CASES = pytest.mark.parametrize("case", [account, role, token, password, session, grant])


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> Callable[[set[str]], tuple[Event, Gate]]:
    """Has transactions that do something wait before they end, for who comes to the gate; the event tells of it."""

    def pause(events: set[str]) -> tuple[Event, Gate]:
        inside, gate, record, end = Event(), Gate(Gate.DWELL), request.record, sessions.end

        def wait(what: str) -> None:
            if what in events:
                inside.set()
                gate.come()

        def recording(db: Any, who: str, event: str, **facts: Any) -> None:
            db.flush()
            wait(event)
            record(db, who, event, **facts)

        def ending(*given: Any) -> None:
            end(*given)
            wait("signed out")

        monkeypatch.setattr(request, "record", recording)
        monkeypatch.setattr(sessions, "end", ending)
        return inside, gate

    return pause


def written(app: FastAPI) -> int:
    with app.state.store.reading() as db:
        return db.scalar(select(func.count()).where(LogEntry.event.in_(WRITES))) or 0


def is_refused(told: httpx.Response) -> bool:
    return told.status_code in (401, 404) or told.headers.get("location") == "/login"


def both(first: Call, then: Call, inside: Event, gate: Gate) -> list[httpx.Response]:
    """What two calls are answered, of which the second is made while the first one's transaction is open."""

    def later() -> httpx.Response:
        assert inside.wait(30)
        told = then()
        gate.come()
        return told

    with ThreadPoolExecutor(2) as pool:
        return [one.result() for one in (pool.submit(first), pool.submit(later))]


@pytest.mark.sample(6)
@CASES
def test_an_end_waits_for_what_is_being_written(
    every_app: FastAPI, case: Callable[[FastAPI], Case], paused: Callable[..., tuple[Event, Gate]]
) -> None:
    found = case(every_app)
    inside, gate = paused(WRITES)
    told = both(found.write, found.end, inside, gate)
    assert (gate.met, [one.status_code < 400 for one in told]) == (False, [True, True]), told


@pytest.mark.sample(6)
@CASES
def test_nothing_is_written_behind_an_end(
    every_app: FastAPI, case: Callable[[FastAPI], Case], paused: Callable[..., tuple[Event, Gate]]
) -> None:
    found = case(every_app)
    before = written(every_app)
    inside, gate = paused(ENDS)
    ended, told = both(found.end, found.write, inside, gate)
    assert (gate.met, ended.status_code < 400, is_refused(told)) == (False, True, True), told
    assert written(every_app) == before


@pytest.mark.parametrize("first", ["decision", "end"])
def test_nobody_is_answered_whose_account_ends(
    every_app: FastAPI, made: Made, paused: Callable[..., tuple[Event, Gate]], first: str  # noqa: F811
) -> None:
    case = asker(every_app, made)
    inside, gate = paused({"answer"} if first == "decision" else ENDS)
    calls = (case.write, case.end) if first == "decision" else (case.end, case.write)
    told = [one.status_code for one in both(*calls, inside, gate)]
    assert (gate.met, told) == (False, [200, 200] if first == "decision" else [200, 409])


def test_admins_who_end_each_other_by_the_same_page_do_not_wait_in_vain(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    with every_app.state.store.writing() as db:
        make_user(db, "admin2", "admin", PASSWORD)
    names = ("admin", "admin2")
    clients, users = [program(every_app, one) for one in names], [user_of(every_app, one).id for one in names]
    begun = Gate()
    monkeypatch.setattr(request.Here, "writing", begun.before(request.Here.writing))
    with ThreadPoolExecutor(2) as pool:
        told = list(
            pool.map(
                lambda one, who: one.patch(f"{API}/users/{who}", json={"active": False}).status_code,
                clients, reversed(users),
            )
        )  # fmt: skip
    assert (begun.met, sorted(told)) == (True, [200, 404])


def test_two_who_change_the_same_account_at_once_do_not_wait_in_vain(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of them only looks at it first."""
    owners = [sign_in(every_app, "custodian") for _ in range(2)]
    begun = Gate()
    monkeypatch.setattr("shoal.web.pages.account.hashed", begun.after(lambda given: f"hash of {given}"))
    with ThreadPoolExecutor(2) as pool:
        told = list(
            pool.map(
                lambda one: one.submit("/account/password", old=PASSWORD, password=NEW, again=NEW).status_code, owners
            )
        )
    assert (begun.met, sorted(told)) == (True, [303, 401])


def test_who_goes_by_an_account_does_not_change_it(every_app: FastAPI) -> None:
    """What would make two wait for each other is a fault that every test finds, on either database."""
    user = user_of(every_app, "custodian").id
    with every_app.state.store.writing() as db:
        sessions.lock_users(db, user, alters=False)
        with pytest.raises(InternalError, match="begin it with 'alters'"):
            sessions.lock_users(db, user)


@pytest.mark.parametrize("change", ["password", "totp", "active"])
def test_nobody_signs_in_by_what_was_right_a_moment_before(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    fits = signing_in.fits

    def meanwhile(*given: Any) -> bool:
        with every_app.state.store.writing() as db:
            user = db.get_one(User, user_of(every_app, "custodian").id)
            setattr(user, change, {"password": "another", "totp": b"sealed", "active": False}[change])
        return fits(*given)

    monkeypatch.setattr(signing_in, "fits", meanwhile)
    answer = Browser(every_app).submit("/login", name="custodian", password=PASSWORD)
    assert (answer.status_code, "shoal" in answer.cookies) == (401, False)
    with every_app.state.store.reading() as db:
        assert db.scalar(select(func.count()).select_from(sessions.Session)) == 0


def test_a_grant_is_held_by_whom_it_was_made_to_alone(every_app: FastAPI) -> None:
    """What another researcher does keeps nobody from taking one back."""
    release = add_release(every_app)
    for name in ("researcher", "researcher2"):
        told = program(every_app, "custodian").post(f"{API}/releases/{release.id}/grants", json={"user": name})
        assert told.status_code == 201
    if every_app.state.store.sqlite:
        return
    with every_app.state.store.writing() as db, every_app.state.store.writing() as other:
        from shoal.web.request import load_named

        load_named(db, {"release": release.id}, holds=user_of(every_app, "researcher").id)
        theirs = select(Grant).where(Grant.user == user_of(every_app, "researcher2").id)
        assert other.scalars(theirs.with_for_update(nowait=True)).one()
