"""An application of its own for every test, and browsers that are signed in to it.

``app`` is on SQLite, or with ``SHOAL_TEST_DATABASE=postgresql`` on PostgreSQL; a test that asks for ``every_app`` runs
on both. Jobs are done by processes that are forked; a test that asks for ``own_processes`` has them started as a
worker does.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher
from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from shoal.vault import seal
from shoal.web.accounts import proofs
from shoal.web.accounts.proofs import hash_of
from shoal.web.accounts.sessions import begin
from shoal.web.accounts.tokens import make_token, scopes_of
from shoal.web.accounts.users import make_user
from shoal.web.app import create_app, make_folder
from shoal.web.jobs import sandbox
from shoal.web.permissions import ROLES, Principal
from shoal.web.settings import Settings
from shoal.web.store.open import open_store
from shoal.web.store.tables import User
from tests.engines.server import Server, binaries, running
from tests.web import forked

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Starlette would rather have the client's successor
    from fastapi.testclient import TestClient

PASSWORD = "correct horse battery"
ADDRESS = "http://localhost"
DATABASES = ("sqlite", "postgresql")


class Browser(TestClient):
    """A browser: keeps its cookie, says where its forms come from, and sends the token that a page gave it."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(app, base_url=ADDRESS, follow_redirects=False, raise_server_exceptions=False)

    def token(self, page: str = "/account") -> str:
        """A fresh token of a form."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(page).text)
        assert found is not None, "the page has no form"
        return found[1]

    def submit(self, address: str, **fields: Any) -> httpx.Response:
        """Send a form, as a page of ours would."""
        data = {"csrf": self.token(), **fields} if self.cookies else fields
        return self.post(address, data=data, headers={"origin": ADDRESS})

    def base(self, page: str, address: str) -> str:
        """What the form of a page says that a change is made from."""
        found = re.search(rf'action="{address}">.*?name="base" value="([^"]+)"', self.get(page).text, re.DOTALL)
        assert found is not None, "the page has no such form"
        return found[1]

    def set_limits(self, release: str, **fields: str) -> httpx.Response:
        """Send the form of a release's limits, as the page shows it now; its base, where another one was seen."""
        address = f"/releases/{release}/policy"
        return self.submit(address, **{"base": self.base(f"/releases/{release}/leaks", address), **fields})

    def change_user(self, user: str, **fields: str) -> httpx.Response:
        """Send the form of a user, likewise."""
        address = f"/users/{user}/change"
        return self.submit(address, **{"base": self.base("/users", address), **fields})


@pytest.fixture(autouse=True, scope="session")
def _quick_passwords() -> Iterator[None]:
    """Passwords and keys that take no time to check: what is tested is who gets in."""
    slow, memory = proofs._HASHER, seal.MEMORY
    seal.MEMORY = 10
    proofs._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    proofs._nobody.cache_clear()
    yield
    proofs._HASHER, seal.MEMORY = slow, memory
    proofs._nobody.cache_clear()


@pytest.fixture(autouse=True, scope="session")
def _quick_processes() -> Iterator[None]:
    """What a job is done by need not be imported again for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "subprocess", forked)
        yield


@pytest.fixture(autouse=True, scope="session")
def _quick_routes() -> Iterator[None]:
    """What an application makes of the routes that it includes takes longer than most tests, and is always the same."""
    made: dict[tuple[int, str], list[BaseRoute]] = {}  # by router, which are those of modules and stay
    include = FastAPI.include_router

    def include_again(app: FastAPI, router: APIRouter, *, prefix: str = "", **given: Any) -> None:
        if (id(router), prefix) in made:
            app.router.routes.extend(made[id(router), prefix])
        else:
            before = len(app.router.routes)
            include(app, router, prefix=prefix, **given)
            made[id(router), prefix] = app.router.routes[before:]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastAPI, "include_router", include_again)
        yield


@pytest.fixture
def own_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of jobs that are started anew."""
    monkeypatch.setattr(sandbox, "subprocess", subprocess)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL for all tests that want one."""
    programs = binaries()
    if programs is None:
        pytest.skip("needs PostgreSQL, whose programs are not installed")
    with running(programs) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """What the application is told; a test may ask for others."""
    return Settings(folder=tmp_path / "data")


@pytest.fixture
def app(settings: Settings, request: pytest.FixtureRequest) -> Iterator[FastAPI]:
    """An application with a user of every role, called by the role."""
    with _application(settings, os.environ.get("SHOAL_TEST_DATABASE", "sqlite"), request) as made:
        yield made


@pytest.fixture(params=DATABASES)
def every_app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FastAPI]:
    """The same on both databases."""
    with _application(Settings(folder=tmp_path / "data"), request.param, request) as made:
        yield made


@contextmanager
def _application(settings: Settings, database: str, request: pytest.FixtureRequest) -> Iterator[FastAPI]:
    """An application on an empty database of a kind, with users."""
    if database not in DATABASES:
        pytest.fail(f"SHOAL_TEST_DATABASE is one of {', '.join(DATABASES)}.", pytrace=False)
    if database == "postgresql":
        server, name = request.getfixturevalue("postgres"), f"t{secrets.token_hex(6)}"
        server.do(f"CREATE DATABASE {name} TEMPLATE {_template(server)}")
        settings = replace(settings, database=server.url(name))
    elif settings.database == Settings(folder=settings.folder).database:
        make_folder(settings.folder)
        shutil.copy(_migrated(), settings.folder / _migrated().name)
    made = create_app(settings)
    add_people(made)
    yield made
    made.state.store.close()
    if database == "postgresql":
        server.do(f"DROP DATABASE {name} WITH (FORCE)")


@cache
def _migrated() -> Path:
    """A database of SQLite with its tables, which take longer to make than to copy."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-web-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    open_store(Settings(folder=folder).database).close()
    (found,) = folder.iterdir()
    return found


@cache
def _template(server: Server) -> str:
    """The same on PostgreSQL."""
    server.do("CREATE DATABASE migrated")
    open_store(server.url("migrated")).close()
    return "migrated"


def add_people(app: FastAPI) -> None:
    """A user of every role, and a second researcher."""
    with app.state.store.writing() as db:
        for role in ROLES:
            make_user(db, role, role, PASSWORD)
        make_user(db, "researcher2", "researcher", PASSWORD)


def user_of(app: FastAPI, name: str) -> User:
    """The row of a user."""
    from shoal.web.accounts.users import named

    with app.state.store.reading() as db:
        found = named(db, name)
    assert found is not None
    return found


def sign_in(app: FastAPI, name: str) -> Browser:
    """A browser of somebody who has signed in."""
    browser = Browser(app)
    answer = browser.submit("/login", name=name, password=PASSWORD)
    assert answer.status_code == 303, answer.text
    return browser


def program(app: FastAPI, name: str, scopes: list[str] | None = None) -> TestClient:
    """A program with a token of somebody; all scopes that the role can use unless said otherwise."""
    user = user_of(app, name)
    with app.state.store.writing() as db:
        session = hash_of(begin(db, user, app.state.settings))
        db.flush()
        who = Principal(id=user.id, name=user.name, role=user.role, proof=session)
        _, proof = make_token(
            db, who, name="tests", scopes=scopes_of(user.role) if scopes is None else scopes, days=1
        )
    client = TestClient(app, base_url=ADDRESS, raise_server_exceptions=False)
    client.headers["authorization"] = f"Bearer {proof}"
    return client


@pytest.fixture
def browser(app: FastAPI) -> Browser:
    """A browser that nobody has signed in with."""
    return Browser(app)


@pytest.fixture
def signed_in(app: FastAPI) -> Callable[[str], Browser]:
    """``signed_in("custodian")``: a browser of somebody with that role."""
    return lambda name: sign_in(app, name)
