"""What the trusted side keeps: sealed secrets and their keys, questions and what their answers tell, and the log."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from shoal.web.store.base import Base, new_id, now


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
