"""One request for every route that writes, with everything that it needs to succeed; a route without one fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pyotp
from fastapi import FastAPI
from sqlalchemy import update
from sqlalchemy.orm import Session as Db

from shoal.web.accounts import proofs as totp
from shoal.web.accounts.proofs import hash_of, new_proof
from shoal.web.accounts.sessions import begin, cookie_name
from shoal.web.accounts.tokens import PREFIX, scopes_of
from shoal.web.accounts.users import make_user
from shoal.web.errors import API
from shoal.web.questions.questions import base_of, policy_of
from shoal.web.store.tables import Grant, Job, Token, User, now
from tests.web.conftest import ADDRESS, PASSWORD, Browser, user_of
from tests.web.test_trust import LIMITS
from tests.web.working import RECIPE, add_job, add_project, people

OFFER = "people"


@dataclass(kw_only=True)
class Sent:
    """What is sent: parts of the address, fields of a form or of JSON, files, or a body."""

    fields: dict[str, Any] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] | None = None
    body: bytes | None = None
    parts: dict[str, str] = field(default_factory=dict)


class Asker:
    """Somebody new of a role, with a session and a token, who sends one request."""

    def __init__(self, world: World, role: str) -> None:
        self.world, self.role, self.name = world, role, f"u{uuid4().hex}"
        self.client = Browser(world.app)
        self._cookie, self._bearer = new_proof(), new_proof(PREFIX)
        with world.app.state.store.writing() as db:
            user = make_user(db, self.name, role, PASSWORD)
            self._cookie = begin(db, user, world.app.state.settings)
            db.add(Token(hash=hash_of(self._bearer), user=user.id, name="x", scopes=scopes_of(role), used=now(),
                         expires=now(hours=1)))  # fmt: skip
            if role == "researcher":
                db.add(Grant(release=world.release, user=user.id, by=user_of(world.app, "custodian").id))
            self.id = user.id

    @property
    def proofs(self) -> list[str]:
        return [hash_of(self._cookie), hash_of(self._bearer)]

    def send(self, method: str, path: str, sent: Sent) -> httpx.Response:
        """Send it, by the token or by a form of the session."""
        address = path.replace(":path}", "}").format(**sent.parts)
        if path.startswith(API):
            more = {"content": sent.body} if sent.body is not None else {"json": sent.fields} if sent.fields else {}
            return self.client.request(method, address, headers={"authorization": f"Bearer {self._bearer}"}, **more)
        self.client.cookies.set(cookie_name(self.world.app.state.settings), self._cookie)
        form = {"csrf": self._form(), **sent.fields} if method == "POST" else None
        return self.client.request(method, address, data=form, files=sent.files, headers={"origin": ADDRESS})

    def _form(self) -> str:
        from shoal.web.accounts.sessions import new_token, signed_in

        state = self.world.app.state
        session = signed_in(state.store, self._cookie, state.settings)
        assert session is not None
        return new_token(session)


class World:
    """An application with a release that questions can be asked of; the rest is made for every request."""

    def __init__(self, app: FastAPI, release: str, question: str) -> None:
        self.app, self.release, self.text = app, release, question

    def do(self, act: Callable[[Db], Any]) -> Any:
        with self.app.state.store.writing() as db:
            return act(db)

    def project(self) -> str:
        return add_project(self.app).id

    def job(self, kind: str = "risk", **values: Any) -> str:
        job = add_job(self.app, add_project(self.app), kind)
        if values:
            self.do(lambda db: db.execute(update(Job).where(Job.id == job.id).values(values)))
        return job.id

    def someone(self, role: str = "auditor") -> User:
        return self.do(lambda db: make_user(db, f"s{uuid4().hex}", role))  # type: ignore[no-any-return]

    def token(self, who: Asker) -> str:
        row = Token(hash=uuid4().hex, user=who.id, name="y", scopes=["tokens"], expires=now(hours=1))
        self.do(lambda db: (db.add(row), db.flush()))
        return row.id

    def grant(self) -> str:
        row = Grant(release=self.release, user=self.someone("researcher").id, by=user_of(self.app, "custodian").id)
        self.do(lambda db: (db.add(row), db.flush()))
        return row.id

    def question(self) -> str:
        asked = Asker(self, "researcher").send(
            "POST", f"{API}/releases/{{release}}/questions", Sent(parts={"release": self.release}, fields=self.asked())
        )
        assert asked.json()["state"] == "waiting", asked.text
        return str(asked.json()["id"])

    def asked(self) -> dict[str, str]:
        return {"text": self.text}

    def policy_base(self) -> str:
        state = self.app.state
        with state.store.reading() as db:
            return base_of(policy_of(db, state.keys.keyring, self.release, state.settings))

    def second(self, who: Asker) -> dict[str, str]:
        with self.app.state.store.reading() as db:
            secret, _, pending = totp.offer(self.app.state.keys.keyring, db.get_one(User, who.id))
        return {"pending": pending, "code": pyotp.TOTP(secret).now(), "password": PASSWORD}


Try = Callable[[World, Asker], Sent]
_FILE = {"file": ("sex.csv", b"f;*\nm;*\n")}
_POINT = {"number": 0, "status": "done", "label": "x", "algorithm": {"name": "mondrian"},
          "models": [{"name": "k", "k": 7}]}  # fmt: skip
_ASKED = {"questions": [{"column": "age"}]}


def of_release(**fields: Any) -> Try:
    return lambda world, who: Sent(parts={"release": world.release}, fields=fields)


def of_project(**fields: Any) -> Try:
    """With the version of the recipe that forms are made from."""
    return lambda world, who: Sent(parts={"project": world.project()}, fields={"base": 1, **fields})


def of_job(kind: str, values: dict[str, Any] | None = None, **fields: Any) -> Try:
    return lambda world, who: Sent(parts={"job": world.job(kind, **(values or {}))}, fields=fields)


def of_user(**fields: Any) -> Try:
    return lambda world, who: Sent(parts={"user": world.someone().id}, fields=fields)


def plain(**fields: Any) -> Try:
    return lambda world, who: Sent(fields=fields)


def _picked(world: World, who: Asker) -> Sent:
    job = world.job("explore", state="done", result={"points": [_POINT]})
    with world.app.state.store.reading() as db:
        project = db.get_one(Job, job).project
    return Sent(parts={"project": project}, fields={"base": 1, "job": job, "point": 0})


def _token(world: World, who: Asker) -> Sent:
    return Sent(parts={"token": world.token(who)})


def _grant(world: World, who: Asker) -> Sent:
    return Sent(parts={"release": world.release, "grant": world.grant()})


def _granted(world: World, who: Asker) -> Sent:
    return Sent(parts={"release": world.release}, fields={"user": world.someone("researcher").name})


def _question(world: World, who: Asker) -> Sent:
    return Sent(parts={"release": world.release}, fields=world.asked())


def _named(world: World, who: Asker) -> Sent:
    return Sent(fields={"name": f"n{uuid4().hex}"})


def decision(**fields: Any) -> Try:
    return lambda world, who: Sent(parts={"question": world.question()}, fields=fields)


_ROLES = {"column": ["age", "sex", "zip", "illness"], "role-0": "quasi", "role-1": "drop", "role-2": "quasi",
          "role-3": "sensitive"}  # fmt: skip
_NEW_TOKEN = {"name": "x", "scopes": ["tokens"], "days": 1}

# Who sends what, by method and address.
TRIES: dict[tuple[str, str], tuple[str, Try]] = {
    ("POST", "/account/password"): ("auditor", plain(old=PASSWORD, password=PASSWORD, again=PASSWORD)),
    ("POST", "/account/second-factor"): ("auditor", plain()),
    ("POST", "/account/second-factor/accept"): ("auditor", lambda world, who: Sent(fields=world.second(who))),
    ("POST", "/account/second-factor/remove"): ("auditor", plain(password=PASSWORD)),
    ("POST", "/account/tokens"): ("auditor", plain(**_NEW_TOKEN, password=PASSWORD)),
    ("POST", "/account/tokens/{token}/revoke"): ("auditor", _token),
    ("POST", "/logout"): ("auditor", plain()),
    ("POST", "/projects/{project}/data"): ("custodian", of_project(**_ROLES)),
    ("POST", "/projects/{project}/data/proposals"): ("custodian", of_project()),
    ("POST", "/projects/{project}/hierarchies/{column:path}"): ("custodian", lambda world, who: Sent(
        parts={"project": world.project(), "column": "sex"}, fields={"base": 1, "do": "upload"}, files=_FILE)),
    ("POST", "/jobs/{job}/cancel"): ("custodian", of_job("risk")),
    ("POST", "/jobs/{job}/again"): ("custodian", of_job("risk", {"state": "failed"})),
    ("POST", "/jobs/{job}/answers"): ("custodian", of_job("start", {"result": _ASKED}, **{"answer:age": "quasi"})),
    ("POST", "/projects/{project}/risk"): ("custodian", of_project()),
    ("POST", "/projects/{project}/attacks"): ("custodian", of_project()),
    ("POST", "/projects/{project}/compare"): ("custodian", of_project()),
    ("POST", "/projects/{project}/explore"): ("custodian", of_project(k="3", algorithm=["mondrian"])),
    ("POST", "/projects/{project}/explore/pick"): ("custodian", _picked),
    ("POST", "/projects/{project}/models"): ("custodian", of_project(name="k", place="0", **{"p-k": "6"})),
    ("POST", "/projects/{project}/models/profile"): ("custodian", of_project(profile="internal-analytics")),
    ("POST", "/projects/{project}/models/algorithm"): ("custodian", of_project(name="mondrian")),
    ("POST", "/projects/new/files"): ("custodian", lambda world, who: Sent(
        fields={"name": "x"}, files={"file": ("people.csv", people().encode())})),
    ("POST", "/projects/new"): ("custodian", plain(name="x", offer=OFFER)),
    ("POST", "/projects/{project}/files"): ("custodian", lambda world, who: Sent(
        parts={"project": world.project()}, fields={"kind": "hierarchy"}, files=_FILE)),
    ("POST", "/projects/{project}/delete"): ("custodian", of_project(sure="yes")),
    ("POST", "/projects/{project}/recipe"): ("custodian", of_project(text=f"{RECIPE}\n# more\n")),
    ("POST", "/projects/{project}/recipe/restore"): ("custodian", of_project(version=1)),
    ("POST", "/projects/{project}/release"): ("custodian", of_project()),
    ("POST", "/projects/{project}/release/check"): ("custodian", of_project()),
    ("POST", "/projects/{project}/release/accept"): ("custodian", of_project(withdraw="W-UNMODELLED:illness")),
    ("POST", "/projects/{project}/release/review"): ("custodian", of_project(title="People")),
    ("POST", "/projects/{project}/values"): ("custodian", of_project(do="rule", column="sex", first="f", second="m")),
    ("POST", "/releases/{release}/ask"): ("researcher", _question),
    ("POST", "/questions/{question}/decision"): ("custodian", decision(decision="answer")),
    ("POST", "/releases/{release}/dossier"): ("custodian", of_release(audience="external", format="md")),
    ("POST", "/releases/{release}/grants"): ("custodian", _granted),
    ("POST", "/releases/{release}/grants/{grant}/revoke"): ("custodian", _grant),
    ("POST", "/releases/{release}/sign"): ("custodian", of_release()),
    ("POST", "/releases/{release}/policy"): ("custodian", lambda world, who: Sent(
        parts={"release": world.release},
        fields={key: one for key, one in LIMITS.items() if key != "automatic"} | {"base": world.policy_base()})),
    ("POST", "/releases/{release}/export"): ("custodian", of_release(sure="true")),
    ("POST", "/users"): ("admin", lambda world, who: Sent(fields={**_named(world, who).fields, "role": "auditor"})),
    ("POST", "/users/{user}/link"): ("admin", of_user()),
    ("POST", "/users/{user}/change"): ("admin", of_user(base="auditor, active", role="researcher", active="true")),
    ("POST", f"{API}/tokens"): ("auditor", plain(**_NEW_TOKEN)),
    ("DELETE", f"{API}/tokens/{{token}}"): ("auditor", _token),
    ("POST", f"{API}/users"): ("admin", _named),
    ("PATCH", f"{API}/users/{{user}}"): ("admin", of_user(active=False)),
    ("POST", f"{API}/projects/{{project}}/jobs"): ("custodian", lambda world, who: Sent(
        parts={"project": world.project()}, fields={"kind": "risk"})),
    ("POST", f"{API}/jobs/{{job}}/cancel"): ("custodian", of_job("risk")),
    ("POST", f"{API}/jobs/{{job}}/again"): ("custodian", of_job("risk", {"state": "failed"})),
    ("POST", f"{API}/jobs/{{job}}/answers"): ("custodian", of_job("start", {"result": _ASKED}, answers={"age": "x"})),
    ("POST", f"{API}/projects"): ("custodian", plain(name="x")),
    ("DELETE", f"{API}/projects/{{project}}"): ("custodian", lambda world, who: Sent(
        parts={"project": world.project()})),
    ("PUT", f"{API}/projects/{{project}}/recipe"): ("custodian", of_project(text=f"{RECIPE}\n# more\n")),
    ("PUT", f"{API}/projects/{{project}}/files/{{kind}}/{{name}}"): ("custodian", lambda world, who: Sent(
        parts={"project": world.project(), "kind": "source", "name": "people.csv"}, body=people(20).encode())),
    ("POST", f"{API}/releases/{{release}}/questions"): ("researcher", _question),
    ("POST", f"{API}/questions/{{question}}/decision"): ("custodian", decision(answer=True)),
    ("POST", f"{API}/releases/{{release}}/dossiers"): ("custodian", of_release(audience="external", format="md")),
    ("POST", f"{API}/releases/{{release}}/sign"): ("custodian", of_release()),
    ("POST", f"{API}/releases/{{release}}/grants"): ("custodian", _granted),
    ("DELETE", f"{API}/releases/{{release}}/grants/{{grant}}"): ("custodian", _grant),
    # What is handed out is logged.
    ("GET", "/releases/{release}/files/{name}"): ("researcher", lambda world, who: Sent(
        parts={"release": world.release, "name": "manifest.json"})),
    ("GET", "/releases/{release}/download"): ("researcher", of_release()),
    ("GET", f"{API}/releases/{{release}}/files/{{name}}"): ("researcher", lambda world, who: Sent(
        parts={"release": world.release, "name": "manifest.json"})),
}  # fmt: skip
# A form that changes nothing: what it offers comes back with another one.
OFFERS = {("POST", "/account/second-factor")}
