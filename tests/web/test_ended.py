"""What ended after somebody was let in: nothing is done for a session, token or account that is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fastapi import FastAPI
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session as Db

from shoal.web.accounts.users import change
from shoal.web.errors import API
from shoal.web.store.opening import Store
from shoal.web.store.people import Session, Token, User
from shoal.web.store.work import Grant, Project
from tests.web.conftest import ADDRESS, PASSWORD, program, sign_in
from tests.web.test_releases import add_release
from tests.web.working import RECIPE, add_project

Meanwhile = Callable[[Callable[[Db], object]], None]


@pytest.fixture
def meanwhile(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Does something just before the next transaction begins."""
    inner, waiting = Store.writing, list[Callable[[Db], object]]()

    @contextmanager
    def writing(store: Store) -> Iterator[Db]:
        for one in waiting[:]:
            waiting.clear()
            with inner(store) as db:
                one(db)
        with inner(store) as db:
            yield db

    monkeypatch.setattr(Store, "writing", writing)
    return waiting.append


def count(app: FastAPI, table: type) -> int:
    with app.state.store.reading() as db:
        return db.scalar(select(func.count()).select_from(table)) or 0


def end_account(db: Db) -> None:
    change(db, db.scalars(select(User).where(User.name == "custodian")).one(), active=False)


def end_tokens(db: Db) -> None:
    db.execute(delete(Token))


@pytest.mark.parametrize("end", [end_account, end_tokens])
def test_a_program_that_lost_its_token_does_nothing(
    every_app: FastAPI, meanwhile: Meanwhile, end: Callable[[Db], None]
) -> None:
    release, client, project = add_release(every_app), program(every_app, "custodian"), add_project(every_app)
    assert client.get(f"{API}/projects").status_code == 200  # when it was last used is written down now
    calls = {
        "grants": lambda: client.post(f"{API}/releases/{release.id}/grants", json={"user": "researcher2"}),
        "projects": lambda: client.post(f"{API}/projects", json={"name": "Mine"}),
        "tokens": lambda: client.post(f"{API}/tokens", json={"name": "x", "scopes": ["tokens"], "days": 1}),
        "recipe": lambda: client.put(
            f"{API}/projects/{project.id}/recipe", json={"text": f"{RECIPE}\n# more", "base": 1}
        ),
    }
    before = count(every_app, Project)
    meanwhile(end)
    first = next(iter(calls))
    assert calls[first]().status_code in (401, 404)
    assert (count(every_app, Grant), count(every_app, Project), count(every_app, Token)) == (0, before, 0)
    assert {name: call().status_code for name, call in calls.items()} == dict.fromkeys(calls, 401)


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
    assert (answer.status_code, "shoal_" in answer.text, count(every_app, Token)) == (401, False, 0)
    assert thief.get("/account").status_code == 303
    assert owner.get("/account").status_code == 200


def test_a_browser_that_was_signed_out_does_nothing(every_app: FastAPI, meanwhile: Meanwhile) -> None:
    release, browser = add_release(every_app), sign_in(every_app, "custodian")
    form = {"csrf": browser.token(), "user": "researcher"}
    # That the form was sent is written down first, then what it asks for.
    meanwhile(lambda db: meanwhile(lambda db: db.execute(delete(Session))))
    answer = browser.post(f"/releases/{release.id}/grants", data=form, headers={"origin": ADDRESS})
    assert (answer.status_code, count(every_app, Grant), count(every_app, Session)) == (401, 0, 0)
