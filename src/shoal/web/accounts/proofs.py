"""Random texts that prove who somebody is, of which only the hash is kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import secrets
import time
import unicodedata
from functools import cache
from threading import BoundedSemaphore

import pyotp
import segno
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from shoal.errors import VerificationError
from shoal.vault.sealed_rows import Keyring
from shoal.web.errors import invalid
from shoal.web.store.tables import User


def new_proof(prefix: str = "") -> str:
    """256 random bits as text."""
    return prefix + secrets.token_urlsafe(32)


def hash_of(proof: str) -> str:
    """What is kept of it. It is random and long, so that a quick hash will do."""
    return hashlib.sha256(proof.encode()).hexdigest()


def keyed(secret: str, text: str) -> str:
    """The hash of a text under a secret."""
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


# ----------------------------------------
# Passwords: argon2id, as slow for names that nobody has as for those that somebody has.


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


# ----------------------------------------
# The second factor: codes of six digits that an app makes from a shared secret and the time.


_PURPOSE, _PENDING = "totp", "totp-pending"
_STEP = 30  # seconds
_WINDOW = (-1, 0, 1)  # steps by which clocks may differ


def offer(keyring: Keyring, user: User) -> tuple[str, str, str]:
    """A new secret: as text, as a picture to scan, and sealed, to come back with the first code."""
    secret = pyotp.random_base32()
    address = pyotp.TOTP(secret).provisioning_uri(name=user.name, issuer_name="Shoal")
    drawn = io.BytesIO()
    segno.make(address, error="m").save(drawn, kind="svg", scale=5, border=4, light="#fff", xmldecl=False)
    picture = "data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode()
    sealed = keyring.seal(_PENDING, user.id, secret.encode())
    return secret, picture, base64.b64encode(sealed).decode()


def accept(keyring: Keyring, user: User, pending: str, code: str) -> None:
    """Keep a secret that was offered, once a code shows that the app has it."""
    try:
        secret = keyring.unseal(_PENDING, user.id, base64.b64decode(pending)).decode()
    except (ValueError, VerificationError):
        raise invalid("This offer has ended: begin again.", "code") from None
    step = _step_of(secret, code)
    if step is None:
        raise invalid("The code is wrong, or the clocks differ: type the newest one.", "code")
    user.totp, user.totp_step = keyring.seal(_PURPOSE, user.id, secret.encode()), step


def passes(keyring: Keyring, user: User, code: str) -> bool:
    """Whether a code is right and was not used before; the user's row remembers it."""
    if user.totp is None:
        return True
    secret = keyring.unseal(_PURPOSE, user.id, user.totp).decode()
    step = _step_of(secret, code)
    if step is None or step <= user.totp_step:
        return False
    user.totp_step = step
    return True


def _step_of(secret: str, code: str) -> int | None:
    """The step of the time that a code belongs to; all of them are looked at."""
    digits = code.replace(" ", "")
    now = int(time.time()) // _STEP
    found = [now + shift for shift in _WINDOW if same(pyotp.TOTP(secret).generate_otp(now + shift), digits)]
    return found[0] if found else None
