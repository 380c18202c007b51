"""What all tables share: identifiers, times, and the class that they are derived from."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, LargeBinary, MetaData, Text, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# Constraints with names, without which a migration could not change them.
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    """A table."""

    metadata = MetaData(naming_convention=_NAMES)


def new_id() -> str:
    """A random identifier, which nobody guesses: 128 bits in hexadecimal digits."""
    return secrets.token_hex(16)


def now(**later: float) -> str:
    """This moment, or ``seconds=``, ``minutes=`` or ``hours=`` later: UTC as text that sorts as times do."""
    return (datetime.now(UTC) + timedelta(**later)).isoformat(timespec="microseconds")


# ----------------------------------------
# Who there is: users, their sessions, tokens and one-time links, and how often somebody tried.


class User(Base):
    """Somebody with an account; the password is None until it was chosen by a one-time link."""

    __tablename__ = "users"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    password: Mapped[str | None]
    totp: Mapped[bytes | None] = mapped_column(LargeBinary)
    totp_step: Mapped[int] = mapped_column(default=0)
    active: Mapped[bool] = mapped_column(default=True)
    created: Mapped[str] = mapped_column(default=now)

    @property
    def base(self) -> str:
        """What a change is made from: sent with it, it tells whether somebody else made one meanwhile."""
        return f"{self.role}, {'active' if self.active else 'ended'}"


class Session(Base):
    """Somebody who is signed in: the hash of the cookie, never the cookie."""

    __tablename__ = "sessions"

    hash: Mapped[str] = mapped_column(primary_key=True)
    user: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    csrf: Mapped[str]
    created: Mapped[str] = mapped_column(default=now)
    seen: Mapped[str] = mapped_column(default=now)
    expires: Mapped[str]


class Spent(Base):
    """A form that was sent and is not taken twice."""

    __tablename__ = "spent"

    session: Mapped[str] = mapped_column(ForeignKey("sessions.hash", ondelete="CASCADE"), primary_key=True)
    nonce: Mapped[str] = mapped_column(primary_key=True)


class Token(Base):
    """A key of a program, by its hash."""

    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    hash: Mapped[str] = mapped_column(unique=True)
    user: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    scopes: Mapped[list[Any]] = mapped_column(JSON)
    created: Mapped[str] = mapped_column(default=now)
    expires: Mapped[str]
    used: Mapped[str | None]


class Link(Base):
    """A link that works once: to choose a password."""

    __tablename__ = "links"

    hash: Mapped[str] = mapped_column(primary_key=True)
    purpose: Mapped[str]
    user: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    expires: Mapped[str]
    used: Mapped[str | None]


class Attempt(Base):
    """How often something was tried in vain since a moment; the key is a hash of a name or an address."""

    __tablename__ = "attempts"

    key: Mapped[str] = mapped_column(primary_key=True)
    count: Mapped[int]
    since: Mapped[str]


# ----------------------------------------
# What there is to do: projects, their recipes and files, jobs, and the releases that came of them.


class Project(Base):
    """A source and what is done with it; ``source`` has facts about it, never cells."""

    __tablename__ = "projects"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str]
    owner: Mapped[str] = mapped_column(ForeignKey("users.id"))
    source: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    created: Mapped[str] = mapped_column(default=now)


class RecipeVersion(Base):
    """One version of a recipe; versions are only ever added."""

    __tablename__ = "recipe_versions"

    project: Mapped[str] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(Text)
    author: Mapped[str] = mapped_column(ForeignKey("users.id"))
    note: Mapped[str] = mapped_column(default="")
    created: Mapped[str] = mapped_column(default=now)


class File(Base):
    """A file of a project; ``path`` is below the project's folder."""

    __tablename__ = "files"

    project: Mapped[str] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    path: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    created: Mapped[str] = mapped_column(default=now)


class Job(Base):
    """Work that was asked for; ``message`` is one sentence and holds no value of a cell."""

    __tablename__ = "jobs"
    __table_args__ = (Index("ix_jobs_state_created", "state", "created"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project: Mapped[str] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    recipe: Mapped[int]
    parameters: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    author: Mapped[str] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(default="queued")
    worker: Mapped[str | None]
    lease_until: Mapped[str | None]
    cancel: Mapped[bool] = mapped_column(default=False)
    progress: Mapped[str] = mapped_column(default="")
    share: Mapped[float | None]
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    message: Mapped[str | None] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(default=0)
    created: Mapped[str] = mapped_column(default=now)
    started: Mapped[str | None]
    ended: Mapped[str | None]


class Release(Base):
    """A written release; ``folder`` is below the project's."""

    __tablename__ = "releases"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    job: Mapped[str] = mapped_column(ForeignKey("jobs.id"), unique=True)
    name: Mapped[str]
    folder: Mapped[str]
    statement: Mapped[str] = mapped_column(Text)
    kind: Mapped[str]
    rows: Mapped[int] = mapped_column(BigInteger)
    manifest: Mapped[str]
    created: Mapped[str] = mapped_column(default=now)


class Grant(Base):
    """Who may have a release."""

    __tablename__ = "grants"
    # Once for each researcher, however often it was taken back.
    __table_args__ = (
        Index("uq_grants_release_user", "release", "user", unique=True, sqlite_where=text("revoked IS NULL"),
              postgresql_where=text("revoked IS NULL")),
    )  # fmt: skip

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    release: Mapped[str] = mapped_column(ForeignKey("releases.id"), index=True)
    user: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created: Mapped[str] = mapped_column(default=now)
    revoked: Mapped[str | None]


# ----------------------------------------
# What the trusted side keeps: sealed secrets and their keys, questions and what their answers tell, and the log.


class Sealed(Base):
    """A secret under its own data key; ``purpose`` and ``name`` are authenticated with it."""

    __tablename__ = "secrets"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    release: Mapped[str | None] = mapped_column(ForeignKey("releases.id"), index=True)
    purpose: Mapped[str]
    name: Mapped[str]
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    version: Mapped[int] = mapped_column(default=1)
    created: Mapped[str] = mapped_column(default=now)


class KeyringRow(Base):
    """The keyring: wrapped data keys, and a counter by which an older copy is told."""

    __tablename__ = "keyring"

    id: Mapped[int] = mapped_column(primary_key=True)
    wrapped: Mapped[bytes] = mapped_column(LargeBinary)
    epoch: Mapped[int] = mapped_column(BigInteger, default=0)


class Question(Base):
    """Results that a researcher asks to have interpreted."""

    __tablename__ = "questions"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    release: Mapped[str] = mapped_column(ForeignKey("releases.id"), index=True)
    user: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    form: Mapped[str]
    text: Mapped[bytes] = mapped_column(LargeBinary)
    checked: Mapped[bytes | None] = mapped_column(LargeBinary)
    state: Mapped[str] = mapped_column(default="asked")
    answer: Mapped[bytes | None] = mapped_column(LargeBinary)
    decided_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created: Mapped[str] = mapped_column(default=now)
    decided: Mapped[str | None]


class Leak(Base):
    """What an answer told."""

    __tablename__ = "leaks"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    question: Mapped[str] = mapped_column(ForeignKey("questions.id"), index=True)
    release: Mapped[str] = mapped_column(ForeignKey("releases.id"), index=True)
    user: Mapped[str] = mapped_column(ForeignKey("users.id"), index=True)
    column: Mapped[str]
    what: Mapped[bytes] = mapped_column(LargeBinary)


class LogEntry(Base):
    """A line of the log, which holds the hash of the line before."""

    __tablename__ = "log"

    number: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    time: Mapped[str]
    who: Mapped[str]
    event: Mapped[str]
    facts: Mapped[dict[str, Any]] = mapped_column(JSON)
    previous: Mapped[str]
    hash: Mapped[str]
