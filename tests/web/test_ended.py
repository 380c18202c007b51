"""What ended after somebody was let in: nothing is done for a session, token or account that is gone.

Every route that writes is tried, as the matrix of routes knows them, with an end before each of its transactions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi import FastAPI
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session as Db

from shoal.web.app import create_app
from shoal.web.projects.uploads import INCOMING
from shoal.web.settings import Offer, Settings
from shoal.web.store.open import Store
from shoal.web.store.tables import Base, Grant, Session, Token, User
from tests.web.conftest import PASSWORD, add_people, sign_in
from tests.web.test_matrix import calls
from tests.web.test_trust import LIMITS, add_release, cut, made  # noqa: F401
from tests.web.working import people
from tests.web.written import OFFER, OFFERS, TRIES, Asker, World

Made = tuple[Path, list[dict], pl.DataFrame]
End = Callable[[Asker], Callable[[Db], object]]
State = tuple[dict[str, Any], dict[str, tuple[int, int]]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, made: Made) -> Iterator[World]:  # noqa: F811
    """One application for all, on SQLite, whose questions wait for the custodian."""
    folder = tmp_path_factory.mktemp("ended")
    (folder / "people.csv").write_text(people())
    offers = (Offer(name=OFFER, place=str(folder / "people.csv")),)
    app = create_app(Settings(folder=folder / "data", offers=offers, jobs_waiting=10_000))
    add_people(app)
    release, (at, ill, _) = add_release(app, made), cut(made)
    by_hand = {key: value for key, value in LIMITS.items() if key != "automatic"}
    assert sign_in(app, "custodian").set_limits(release, **by_hand).status_code == 303
    yield World(app, release, f"IF age < {at} THEN disease = {ill}")
    app.state.store.close()


class Meanwhile:
    """Does something just before the next transaction but some, and keeps how everything was then."""

    def __init__(self, world: World, act: Callable[[Db], object], after: int) -> None:
        self.world, self._act, self._left = world, act, after
        self.before: State | None = None

    @contextmanager
    def armed(self) -> Iterator[None]:
        inner = Store.writing

        @contextmanager
        def writing(store: Store) -> Iterator[Db]:
            if self._left == 0:
                with inner(store) as db:
                    self._act(db)
                self.before = state_of(self.world.app)
            self._left -= 1
            with inner(store) as db:
                yield db

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "writing", writing)
            yield


def state_of(app: FastAPI) -> State:
    """All rows but those of forms, which are given back where they are refused; and all files that are kept."""
    names = [one.name for one in Base.metadata.sorted_tables if one.name != "spent"]
    with app.state.store.engine.connect() as db:
        rows = {name: sorted(map(repr, db.exec_driver_sql(f"SELECT * FROM {name}"))) for name in names}
    folder, files = str(app.state.settings.folder), {}
    for place, folders, found in os.walk(folder):
        folders[:] = [one for one in folders if one != INCOMING]
        for one in (os.path.join(place, name) for name in found if not name.startswith("shoal.db")):
            files[one] = (os.stat(one).st_mtime_ns, os.stat(one).st_size)
    return rows, files


def end_proofs(who: Asker) -> Callable[[Db], object]:
    return lambda db: [db.execute(delete(one).where(one.hash.in_(who.proofs))) for one in (Session, Token)]


def end_account(who: Asker) -> Callable[[Db], object]:
    return lambda db: db.execute(update(User).where(User.id == who.id).values(active=False))


def test_every_route_that_writes_is_tried() -> None:
    writing = {(method, path) for path, method, action in calls() if method != "GET" and action != "public"}
    assert {one for one in TRIES if one[0] != "GET"} == writing
    assert set(TRIES) <= {(method, path) for path, method, _ in calls()}


@pytest.mark.parametrize("route", TRIES, ids=" ".join)
def test_nothing_is_done_for_what_has_ended(world: World, route: tuple[str, str]) -> None:
    for after in count():
        if not tried(world, route, end_proofs, after):
            break
        assert tried(world, route, end_account, after)
    assert after > 0, "it writes nothing"


def tried(world: World, route: tuple[str, str], end: End, after: int) -> bool:
    """Whether it has so many transactions that the end came before one of them; where it has not, it was done."""
    role, prepare = TRIES[route]
    who = Asker(world, role)
    sent, meanwhile = prepare(world, who), Meanwhile(world, end(who), after)
    with meanwhile.armed():
        answer = who.send(*route, sent)
    told = (after, answer.status_code, answer.text[-2000:])
    if meanwhile.before is None:
        assert answer.status_code < 400, told
        assert answer.headers.get("location") != "/login" or route == ("POST", "/logout"), told
        return False
    assert answer.status_code in (401, 404) or route in OFFERS, told
    assert state_of(world.app) == meanwhile.before, told
    assert not list((world.app.state.settings.folder / INCOMING).glob("*")), told
    return True


def test_a_grant_that_was_taken_back_gives_nothing(world: World) -> None:
    for route in (one for one in TRIES if TRIES[one][0] == "researcher"):
        who = Asker(world, "researcher")
        sent = TRIES[route][1](world, who)
        revoked = update(Grant).where(Grant.user == who.id).values(revoked="2000")
        meanwhile = Meanwhile(world, lambda db, revoked=revoked: db.execute(revoked), 0)  # type: ignore[misc]
        with meanwhile.armed():
            assert who.send(*route, sent).status_code == 404, route
        assert state_of(world.app) == meanwhile.before, route


def test_a_thief_makes_no_token_while_the_owner_changes_the_password(
    every_app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.web.pages import account

    thief, owner = sign_in(every_app, "custodian"), sign_in(every_app, "custodian")
    confirm = account.confirm

    def then(*given: object) -> None:
        confirm(*given)  # type: ignore[arg-type]
        monkeypatch.setattr(account, "confirm", confirm)
        new = "another password 1"
        assert owner.submit("/account/password", old=PASSWORD, password=new, again=new).status_code == 303

    monkeypatch.setattr(account, "confirm", then)
    answer = thief.submit("/account/tokens", name="mine", days=300, scopes=["projects:read"], password=PASSWORD)
    with every_app.state.store.reading() as db:
        made = db.scalar(select(func.count()).select_from(Token))
    assert (answer.status_code, "shoal_" in answer.text, made) == (401, False, 0)
    assert thief.get("/account").status_code == 303
    assert owner.get("/account").status_code == 200
