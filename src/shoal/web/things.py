"""What an address names: a project, job, release or question, loaded by its identifier before anything else happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.web.errors import missing
from shoal.web.permissions import Thing
from shoal.web.store.people import User
from shoal.web.store.trusted import Question
from shoal.web.store.work import Grant, Job, Project, Release


@dataclass
class Named:
    """The rows that the parts of an address name."""

    project: Project | None = None
    job: Job | None = None
    release: Release | None = None
    question: Question | None = None
    user: User | None = None


def load_named(db: Db, parts: Mapping[str, Any], *, holds: str | None = None) -> tuple[Named, list[Thing]]:
    """What an address names, and what permission has to know of it.

    What was granted to ``holds`` is not taken back until the transaction ends.
    """
    named, things = Named(), []
    if holds is not None and "release" in parts:
        mine = select(Grant.id).where(Grant.release == parts["release"], Grant.user == holds, Grant.revoked.is_(None))
        db.execute(mine.order_by(Grant.id).with_for_update(read=True))
    for part, find in _FIND.items():
        if part in parts:
            row, thing = find(db, str(parts[part]))
            setattr(named, part, row)
            things.append(thing)
    if named.project is not None and named.job is not None and named.job.project != named.project.id:
        raise missing()
    return named, things


def _row(db: Db, table: type[Any], key: str) -> Any:
    found = db.get(table, key)
    if found is None:
        raise missing()
    return found


def _project(db: Db, key: str) -> tuple[Project, Thing]:
    found = _row(db, Project, key)
    return found, Thing(owner=found.owner)


def _job(db: Db, key: str) -> tuple[Job, Thing]:
    found = _row(db, Job, key)
    return found, Thing(owner=found.author)


def _release(db: Db, key: str) -> tuple[Release, Thing]:
    found = _row(db, Release, key)
    granted = db.scalars(select(Grant.user).where(Grant.release == key, Grant.revoked.is_(None))).all()
    return found, Thing(granted=frozenset(granted))


def _question(db: Db, key: str) -> tuple[Question, Thing]:
    found = _row(db, Question, key)
    return found, Thing(owner=found.user)


def _user(db: Db, key: str) -> tuple[User, Thing]:
    found = _row(db, User, key)
    return found, Thing(owner=found.id)


_FIND: dict[str, Callable[[Db, str], tuple[Any, Thing]]] = {
    "project": _project, "job": _job, "release": _release, "question": _question, "user": _user,
}  # fmt: skip
