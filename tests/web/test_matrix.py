"""Every route against every role: a route without an action fails, and whoever may not gets nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Mount

from shoal.web import api, pages
from shoal.web.app import create_app, routers
from shoal.web.errors import API
from shoal.web.permissions import ACTIONS, ROLES, SCOPES, Principal, Thing, allow
from shoal.web.request import Needs
from shoal.web.settings import Settings
from tests.web.conftest import ADDRESS, Browser, add_people, program, sign_in
from tests.web.working import add_project

NOBODY = "0" * 32
EVERYBODY = set(ROLES)
# Who may do what, written down a second time: {action: roles}.
EXPECTED: dict[str, set[str]] = {
    "public": EVERYBODY,
    "home": EVERYBODY,
    "account": EVERYBODY,
    "whoami": EVERYBODY,
    "token.make": EVERYBODY,
    "token.manage": EVERYBODY,
    "user.read": {"admin"},
    "user.manage": {"admin"},
    "user.invite": {"admin"},
    "user.end": {"admin"},
    "project.list": {"custodian"},
    "project.read": {"custodian"},
    "project.create": {"custodian"},
    "project.edit": {"custodian"},
    "project.run": {"custodian"},
    "job.read": {"custodian"},
    "job.cancel": {"custodian"},
    "release.list": {"custodian", "researcher", "auditor"},
    "release.read": {"custodian", "researcher", "auditor"},
    "release.download": {"custodian", "researcher"},
    "release.dossier": {"custodian", "auditor"},
    "release.report": {"custodian"},
    "release.grant": {"custodian"},
    "release.sign": {"custodian"},
    "question.ask": {"researcher"},
    "question.list": {"custodian", "researcher"},
    "question.read": {"custodian", "researcher"},
    "question.decide": {"custodian"},
    "vault.read": {"custodian"},
    "vault.export": {"custodian"},
    "policy.set": {"custodian"},
    "leak.read": {"custodian", "auditor"},
    "log.read": {"admin", "auditor"},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """One application for all, since nobody changes anything in it."""
    folder: Path = tmp_path_factory.mktemp("matrix")
    app = create_app(Settings(folder=folder / "data"))
    add_people(app)
    yield app
    app.state.store.close()


def action_of(route: APIRoute) -> str | None:
    """What a route declares."""
    found = [one.call.action for one in route.dependant.dependencies if isinstance(one.call, Needs)]
    return found[0] if len(found) == 1 else None


def calls() -> list[tuple[str, str, str | None]]:
    """Every address of pages and API, with its method and action."""
    every = [("", router) for router in routers(pages)] + [(API, router) for router in routers(api)]
    found = []
    for prefix, router in every:
        for one in router.routes:
            assert isinstance(one, APIRoute)
            found += [(prefix + one.path, method, action_of(one)) for method in sorted(one.methods)]
    return found


def test_every_route_declares_one_action() -> None:
    assert len(calls()) > 60
    assert [(path, method) for path, method, action in calls() if action is None] == []


def test_nothing_is_served_but_pages_api_and_static_files(made: FastAPI) -> None:
    assert len(made.routes) == len(routers(pages)) + len(routers(api)) + 1
    assert [one.path for one in made.routes if isinstance(one, Mount)] == ["/static"]


def test_the_table_is_what_was_decided() -> None:
    assert {name: set(one.roles) for name, one in ACTIONS.items()} == EXPECTED
    assert {one.scope for one in ACTIONS.values()} - {None} == set(SCOPES)


def test_only_these_routes_are_public() -> None:
    public = {(path, method) for path, method, action in calls() if action == "public"}
    assert public == {
        ("/login", "GET"), ("/login", "POST"), ("/setup/{link}", "GET"), ("/setup/{link}", "POST"),
        (f"{API}/health", "GET"), (f"{API}/openapi.json", "GET"),
    }  # fmt: skip


@pytest.mark.parametrize("role", [*ROLES, None])
def test_whoever_may_not_is_refused(made: FastAPI, role: str | None) -> None:
    """By a browser and by a program; and whoever may gets another answer than a refusal."""
    browser = Browser(made) if role is None else sign_in(made, role)
    client = Browser(made) if role is None else program(made, role)
    for path, method, action in calls():
        if action in (None, "public") or path == "/logout":
            continue
        address = re.sub(r"\{[^}]*\}", NOBODY, path)
        by = client if path.startswith(API) else browser
        answer = by.request(method, address, headers={"origin": ADDRESS})
        told = (path, method, role, answer.status_code)
        if role is None:
            assert answer.status_code == 401 if path.startswith(API) else answer.headers["location"] == "/login", told
        elif role not in EXPECTED[action] or (path.startswith(API) and not by_token(action)):
            assert answer.status_code == 403, told
        elif method == "POST" and not path.startswith(API):
            assert answer.status_code in (403, 404, 400, 422), told  # no token of a form
            assert "may not do this" not in answer.text, told
        else:
            assert answer.status_code in (200, 303, 404, 422), told


def by_token(action: str) -> bool:
    return ACTIONS[action].scope is not None or ACTIONS[action].any_token


def test_a_token_does_what_its_scopes_say(made: FastAPI) -> None:
    client = program(made, "custodian", ["releases:read"])
    assert client.get(f"{API}/releases").status_code == 200
    assert client.get(f"{API}/projects").status_code == 403
    assert client.get(f"{API}/me").json() == {"name": "custodian", "role": "custodian", "scopes": ["releases:read"]}


def test_pages_take_no_tokens_and_the_api_no_cookies(made: FastAPI) -> None:
    client = program(made, "custodian")
    assert client.get("/", follow_redirects=False).headers["location"] == "/login"
    assert sign_in(made, "custodian").get(f"{API}/projects").status_code == 401


def test_things_are_there_only_for_those_who_may_see_them() -> None:
    mine, granted = Thing(owner="a"), Thing(granted=frozenset({"a"}))
    a, b = (Principal(id=name, name=name, role="researcher") for name in "ab")
    auditor = Principal(id="c", name="c", role="auditor")
    assert [allow(one, "question.read", mine) for one in (a, b)] == [True, False]
    assert [allow(one, "release.download", granted) for one in (a, b, auditor)] == [True, False, False]
    assert allow(auditor, "release.read", granted)


def test_somebody_who_is_no_longer_active_is_nobody(app: FastAPI) -> None:
    client, browser, admin = program(app, "custodian"), sign_in(app, "custodian"), sign_in(app, "admin")
    project = add_project(app)
    address = f"{API}/projects/{project.id}"
    assert client.get(address).status_code == 200
    from tests.web.conftest import user_of

    answer = admin.change_user(user_of(app, "custodian").id, role="custodian")
    assert answer.status_code == 303
    assert client.get(address).status_code == 401
    assert browser.get("/").headers["location"] == "/login"
