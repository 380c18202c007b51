"""What there is to do: projects, their recipes and files, jobs, and the releases that came of them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from shoal.web.store.base import Base, new_id, now


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
