"""Passwords: argon2id, as slow for names that nobody has as for those that somebody has."""

from __future__ import annotations

import unicodedata
from functools import cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from shoal.web.errors import invalid

SHORTEST, LONGEST = 12, 256
# RFC 9106, second recommendation: 3 passes over 64 MiB in 4 lanes.
_HASHER = PasswordHasher(time_cost=3, memory_cost=64 * 1024, parallelism=4)
_AT_ONCE = BoundedSemaphore(4)  # whoever tries many passwords at a time gets no more memory than this


def hashed(password: str) -> str:
    """What is kept of a password that somebody chose."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise invalid(f"A password has {SHORTEST} to {LONGEST} characters: choose another.", "password")
    with _AT_ONCE:
        return _HASHER.hash(_normal(password))


def fits(kept: str | None, password: str) -> bool:
    """Whether a password is the one that was chosen; takes as long where none was."""
    try:
        with _AT_ONCE:
            return _HASHER.verify(kept or _nobody(), _normal(password[:LONGEST])) and kept is not None
    except (Argon2Error, InvalidHashError):
        return False


def _normal(password: str) -> str:
    """How an accent is typed makes no difference."""
    return unicodedata.normalize("NFC", password)


@cache
def _nobody() -> str:
    return _HASHER.hash("nobody's password")
