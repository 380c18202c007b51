"""Who may do what: one table and one function, which every page and every call of the API goes through."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session as Db

from shoal.io.hash_chain import START, link
from shoal.web.store.tables import LogEntry

ADMIN, CUSTODIAN, RESEARCHER, AUDITOR = ROLES = ("admin", "custodian", "researcher", "auditor")
_ALL = frozenset(ROLES)


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Somebody who proved who they are: by a session in a browser, or by a token that has scopes.

    ``proof`` is the hash of the cookie or the token.
    """

    id: str
    name: str
    role: str
    via: str = "session"
    scopes: frozenset[str] = frozenset()
    proof: str = ""


@dataclass(frozen=True, kw_only=True)
class Thing:
    """What something is done to, as far as permission goes: whose it is, and who else was granted it."""

    owner: str | None = None
    granted: Collection[str] = ()


@dataclass(frozen=True, kw_only=True)
class Action:
    """Who may do something: these roles, for those things that ``rule`` allows; by token only with the scope.

    ``cost`` says of which share an account uses up a part by it (``web/rate_limits.py``).
    """

    roles: frozenset[str] = _ALL
    scope: str | None = None
    rule: Callable[[Principal, Thing], bool] = lambda principal, thing: True
    public: bool = False
    any_token: bool = False
    cost: str | None = None


def _if_granted(principal: Principal, thing: Thing) -> bool:
    return principal.role != RESEARCHER or principal.id in thing.granted


def _if_own(principal: Principal, thing: Thing) -> bool:
    return principal.role != RESEARCHER or principal.id == thing.owner


def _of(*roles: str) -> frozenset[str]:
    return frozenset(roles)


# Scopes that a token may have. Without one no token will do, as for whatever could take over an account: passwords,
# second factors, links to choose either anew, and roles.
SCOPES = {
    "projects:read": "see projects, recipes and jobs",
    "projects:write": "make and change projects, upload, start jobs",
    "releases:read": "list and download releases, read their dossiers",
    "releases:write": "grant and sign releases, make their dossiers",
    "questions:read": "read questions and answers",
    "questions:write": "ask, and decide",
    "users:read": "list users",
    "users:write": "make accounts of researchers, and end accounts",
    "log:read": "read the log and what answers told",
    "tokens": "list, make and revoke tokens",
}

ACTIONS: dict[str, Action] = {
    "public": Action(public=True),
    "home": Action(),
    "account": Action(),
    "whoami": Action(any_token=True),
    "token.make": Action(scope="tokens", cost="new tokens"),
    "token.manage": Action(scope="tokens"),
    "user.read": Action(roles=_of(ADMIN), scope="users:read"),
    "user.manage": Action(roles=_of(ADMIN)),
    "user.invite": Action(roles=_of(ADMIN), scope="users:write", cost="edits"),
    "user.end": Action(roles=_of(ADMIN), scope="users:write"),
    "project.list": Action(roles=_of(CUSTODIAN), scope="projects:read"),
    "project.read": Action(roles=_of(CUSTODIAN), scope="projects:read"),
    "project.create": Action(roles=_of(CUSTODIAN), scope="projects:write"),
    "project.edit": Action(roles=_of(CUSTODIAN), scope="projects:write", cost="edits"),
    "project.run": Action(roles=_of(CUSTODIAN), scope="projects:write", cost="jobs"),
    "job.read": Action(roles=_of(CUSTODIAN), scope="projects:read"),
    "job.cancel": Action(roles=_of(CUSTODIAN), scope="projects:write"),
    "release.list": Action(roles=_of(CUSTODIAN, RESEARCHER, AUDITOR), scope="releases:read"),
    "release.read": Action(roles=_of(CUSTODIAN, RESEARCHER, AUDITOR), scope="releases:read", rule=_if_granted),
    "release.download": Action(
        roles=_of(CUSTODIAN, RESEARCHER), scope="releases:read", rule=_if_granted, cost="downloads"
    ),
    "release.dossier": Action(roles=_of(CUSTODIAN, AUDITOR), scope="releases:read"),
    "release.report": Action(roles=_of(CUSTODIAN), scope="releases:write", cost="jobs"),
    "release.grant": Action(roles=_of(CUSTODIAN), scope="releases:write"),
    "release.sign": Action(roles=_of(CUSTODIAN), scope="releases:write", cost="jobs"),
    "question.ask": Action(roles=_of(RESEARCHER), scope="questions:write", rule=_if_granted),
    "question.list": Action(roles=_of(CUSTODIAN, RESEARCHER), scope="questions:read", rule=_if_granted),
    "question.read": Action(roles=_of(CUSTODIAN, RESEARCHER), scope="questions:read", rule=_if_own),
    "question.decide": Action(roles=_of(CUSTODIAN), scope="questions:write", cost="jobs"),
    "vault.read": Action(roles=_of(CUSTODIAN)),
    "vault.export": Action(roles=_of(CUSTODIAN)),
    "policy.set": Action(roles=_of(CUSTODIAN)),
    "leak.read": Action(roles=_of(CUSTODIAN, AUDITOR), scope="log:read", cost="downloads"),
    "log.read": Action(roles=_of(ADMIN, AUDITOR), scope="log:read"),
}


def allow(principal: Principal | None, action: str, thing: Thing | None = None) -> bool:
    """Whether somebody may do something, to some thing where there is one."""
    wanted = ACTIONS[action]
    if wanted.public:
        return True
    if principal is None or principal.role not in wanted.roles:
        return False
    if principal.via == "token" and not wanted.any_token and wanted.scope not in principal.scopes:
        return False
    return thing is None or wanted.rule(principal, thing)


# ----------------------------------------
# The server's log: who did what, in lines of which each holds the hash of the one before.
#
# A line is added in the transaction of what it tells, so that neither happens without the other. Facts are
# identifiers, names of users, counts and kinds: no cell, no secret.


_LOCK = 7_301_447  # of PostgreSQL's advisory locks: one line after the other


def record(db: Db, who: str, event: str, **facts: Any) -> None:
    """Add a line."""
    if db.get_bind().dialect.name == "postgresql":
        db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    last = db.execute(select(LogEntry.number, LogEntry.hash).order_by(LogEntry.number.desc()).limit(1)).first()
    number, previous = (0, START) if last is None else last
    made = link(number + 1, previous, who=who, event=event, facts=facts)
    db.add(LogEntry(number=made.pop("entry"), **made))
    db.flush()
