"""What no token does, whatever its scopes: take over an account. And how many tokens there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select, update

from shoal.web.accounts import tokens
from shoal.web.accounts.users import change, make_link, open_link
from shoal.web.api.accounts import described
from shoal.web.errors import API, Refused
from shoal.web.permissions import ACTIONS, SCOPES
from shoal.web.request import Here
from shoal.web.store.tables import Link, Token, User
from tests.web.conftest import PASSWORD, Browser, program, sign_in, user_of
from tests.web.test_matrix import calls
from tests.web.working import Gate


def people(app: FastAPI) -> list[tuple[Any, ...]]:
    """All accounts as they are, with the links by which somebody could take them over."""
    with app.state.store.reading() as db:
        links = [(one.user, one.used) for one in db.scalars(select(Link))]
        users = db.scalars(select(User).order_by(User.id))
        return [(one.id, one.role, one.active, one.password, one.totp, links) for one in users]


@pytest.mark.parametrize("role", ["admin", "custodian", "auditor"])
def test_a_token_makes_nobody_who_may_do_something_by_themselves(every_app: FastAPI, role: str) -> None:
    """Whoever has the token has the link, too, and so the account."""
    before = people(every_app)
    answer = program(every_app, "admin").post(f"{API}/users", json={"name": "eve", "role": role})
    assert (answer.status_code, answer.json()["error"]["where"], people(every_app)) == (422, "role", before)


def test_a_token_makes_researchers_who_have_nothing_before_it_is_granted(app: FastAPI) -> None:
    made = program(app, "admin").post(f"{API}/users", json={"name": "eve"}).json()
    assert made["role"] == "researcher"
    page = made["link"].removeprefix(app.state.settings.shown)
    assert Browser(app).submit(page, password=PASSWORD, again=PASSWORD).status_code == 303
    assert "No release" in sign_in(app, "eve").get("/releases").text


@pytest.mark.parametrize("name", ["admin", "custodian", "researcher"])
def test_no_token_resets_a_password_or_a_second_factor(every_app: FastAPI, name: str) -> None:
    before, client = people(every_app), program(every_app, "admin")
    assert client.post(f"{API}/users/{user_of(every_app, name).id}/link").status_code == 404
    assert people(every_app) == before


@pytest.mark.parametrize("given", [{"role": "admin"}, {"role": "researcher"}, {"active": True}, {}])
def test_a_token_ends_accounts_and_changes_them_in_no_other_way(every_app: FastAPI, given: dict[str, Any]) -> None:
    client, who = program(every_app, "admin"), user_of(every_app, "auditor")
    address = f"{API}/users/{who.id}"
    with every_app.state.store.writing() as db:
        db.execute(update(User).where(User.id == user_of(every_app, "researcher2").id).values(active=False))
    before = people(every_app)
    assert client.patch(address, json=given).status_code == 422
    assert client.patch(f"{API}/users/{user_of(every_app, 'researcher2').id}", json=given).status_code == 422
    assert people(every_app) == before
    assert client.patch(address, json={"active": False}).json()["active"] is False


def test_the_description_tells_it(app: FastAPI) -> None:
    told = described(app)
    parts = told["components"]["schemas"]
    assert parts["UserIn"]["properties"]["role"]["const"] == "researcher"
    assert set(parts["UserEnd"]["properties"]) == {"active", "base"}
    assert parts["UserEnd"]["properties"]["active"]["const"] is False
    assert f"{API}/users/{{user}}/link" not in told["paths"]


def test_what_changes_accounts_is_for_those_who_are_signed_in() -> None:
    """A call for programs that could do more would have to be named here."""
    by_token = {(path, method) for path, method, action in calls() if ACTIONS[str(action)].scope == "users:write"}
    assert by_token == {(f"{API}/users", "POST"), (f"{API}/users/{{user}}", "PATCH")}
    assert (ACTIONS["account"].scope, ACTIONS["user.manage"].scope) == (None, None)
    assert "users:write" in SCOPES


def test_a_link_ends_with_what_the_account_was(every_app: FastAPI) -> None:
    """Whoever made the link of a researcher gets no custodian by it later."""
    with every_app.state.store.writing() as db:
        user = db.get_one(User, user_of(every_app, "researcher").id)
        link = make_link(db, user)
        change(db, user, role="custodian")
    with every_app.state.store.reading() as db, pytest.raises(Refused, match="used, or has ended"):
        open_link(db, link)


def test_an_account_has_so_many_tokens_and_no_more(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST", 4)
    client, browser = program(every_app, "auditor"), sign_in(every_app, "auditor")
    more = {"name": "x", "scopes": ["log:read"], "days": 1}
    told = [client.post(f"{API}/tokens", json=more).status_code for _ in range(4)]
    assert told == [201, 201, 201, 409]
    page = browser.submit("/account/tokens", name="x", days=1, scopes=["log:read"], password=PASSWORD)
    assert (page.status_code, "There are 4 tokens of yours already" in page.text) == (409, True)
    assert program(every_app, "custodian").get(f"{API}/tokens").status_code == 200  # others have their own
    old = client.get(f"{API}/tokens").json()[-1]["id"]
    assert client.delete(f"{API}/tokens/{old}").status_code == 204
    assert client.post(f"{API}/tokens", json=more).status_code == 201


def test_tokens_that_ended_are_not_kept(every_app: FastAPI) -> None:
    client = program(every_app, "auditor")
    for _ in range(3):
        client.post(f"{API}/tokens", json={"name": "x", "scopes": ["log:read"], "days": 1e-9})
    with every_app.state.store.reading() as db:
        assert db.scalar(select(func.count()).select_from(Token)) == 2  # the client's, and the newest


def test_tokens_are_made_so_often_an_hour_and_always_revoked(app: FastAPI) -> None:
    app.state.limits._an_hour["new tokens"] = 2
    client, browser = program(app, "auditor"), sign_in(app, "auditor")
    new = {"name": "x", "scopes": ["log:read"]}
    made = client.post(f"{API}/tokens", json=new).json()
    fields = {"days": "1", "password": PASSWORD, **new}
    assert [browser.submit("/account/tokens", **fields).status_code for _ in range(2)] == [200, 429]
    told = client.post(f"{API}/tokens", json=new)
    assert (told.status_code, 0 < int(told.headers["retry-after"]) <= 1800) == (429, True)
    assert [client.get(f"{API}/tokens").status_code for _ in range(4)] == [200] * 4
    assert client.delete(f"{API}/tokens/{made['id']}").status_code == 204
    assert program(app, "researcher").post(f"{API}/tokens", json={"name": "x", "scopes": ["tokens"]}).status_code == 201


def test_users_are_made_by_tokens_so_often_an_hour(app: FastAPI) -> None:
    app.state.limits._an_hour["edits"] = 2
    client = program(app, "admin")
    assert [client.post(f"{API}/users", json={"name": f"r{at}"}).status_code for at in range(3)] == [201, 201, 429]


def test_two_who_make_a_last_token_at_once_make_one(every_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    clients = [program(every_app, "auditor") for _ in range(2)]
    monkeypatch.setattr(tokens, "MOST", 3)
    begun, counted = Gate(), Gate(Gate.DWELL)
    monkeypatch.setattr("shoal.web.request.Here.writing", begun.before(Here.writing))
    monkeypatch.setattr(tokens, "new_proof", counted.before(tokens.new_proof))
    new = {"name": "x", "scopes": ["log:read"]}
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda one: one.post(f"{API}/tokens", json=new).status_code, clients))
    assert (sorted(told), begun.met, counted.met) == ([201, 409], True, False)
