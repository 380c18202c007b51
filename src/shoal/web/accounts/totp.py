"""The second factor: codes of six digits that an app makes from a shared secret and the time."""

from __future__ import annotations

import base64
import io
import time

import pyotp
import segno

from shoal.errors import VerificationError
from shoal.vault.sealed_rows import Keyring
from shoal.web.accounts.proofs import same
from shoal.web.errors import invalid
from shoal.web.store.people import User

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
