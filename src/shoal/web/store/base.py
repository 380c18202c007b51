"""What all tables share: identifiers, times, and the class that they are derived from."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase

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
