"""Who may do what: one table and one function, which every page and every call of the API goes through."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import Lock
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session as Db

from shoal.io.hash_chain import START, link
from shoal.web.errors import Refused
from shoal.web.settings import Settings
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

    ``cost`` says of which share an account uses up a part by it.
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


# ----------------------------------------
# How often somebody may ask for what is expensive: a share that is used up at once or bit by bit, and comes back.
#
# Kept in the memory of the one process that answers: whoever waits for a restart has waited, too.


_HOUR = 3600.0
TOKENS = "wrong tokens"
_NEW_TOKENS = 100  # tokens of one account: as many as it may have at a time
_WRONG_TOKENS = 200  # of them from one address: as many as attempts to sign in
_WORDS = {TOKENS: "Wrong tokens were sent"}
_REMEMBERED = 10_000  # who is remembered; those whose share is whole again are forgotten first


class Limits:
    """A share of requests an hour for each kind and each account, or each address where nobody has signed in."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._an_hour = {
            "uploads": settings.uploads_per_hour, "jobs": settings.jobs_per_hour,
            "downloads": settings.downloads_per_hour, "edits": settings.edits_per_hour,
            "new tokens": _NEW_TOKENS, TOKENS: _WRONG_TOKENS,
        }  # fmt: skip
        self._left: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, kind: str, who: str) -> None:
        """Count a request, or refuse it and say when there will be room for another."""
        most = self._an_hour[kind]
        with self._lock:
            now = self._clock()
            left = self._of((kind, who), now)
            if left >= 1:
                self._left[kind, who] = (left - 1, now)
                self._forget(now)
                return
        wait = math.ceil((1 - left) * _HOUR / most)
        words = f"{wait:,} {'second' if wait == 1 else 'seconds'}" if wait < 120 else f"{-(-wait // 60):,} minutes"
        what = _WORDS.get(kind, "That was asked for")
        raise Refused(
            429, "too-often", f"{what} too often, {most:,} times within an hour: try again in {words}.",
            headers={"retry-after": str(wait)},
        )  # fmt: skip

    def give_back(self, kind: str, who: str) -> None:
        """Count a request no more, which turned out not to be one of those that are counted."""
        with self._lock:
            now = self._clock()
            self._left[kind, who] = (min(self._an_hour[kind], self._of((kind, who), now) + 1), now)

    def _of(self, key: tuple[str, str], now: float) -> float:
        """What is left of a share."""
        most = self._an_hour[key[0]]
        left, since = self._left.get(key, (float(most), now))
        return min(most, left + (now - since) * most / _HOUR)

    def _forget(self, now: float) -> None:
        if len(self._left) > _REMEMBERED:
            used = {key: one for key, one in self._left.items() if self._of(key, now) < self._an_hour[key[0]]}
            self._left = dict(list(used.items())[-_REMEMBERED:])
