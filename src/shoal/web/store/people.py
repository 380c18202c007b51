"""Who there is: users, their sessions, tokens and one-time links, and how often somebody tried."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from shoal.web.store.base import Base, new_id, now


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
