"""Signing in: a name, a password, and the code of a second factor where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.web.accounts import attempts, sessions
from shoal.web.accounts.passwords import fits
from shoal.web.accounts.totp import passes
from shoal.web.accounts.users import named
from shoal.web.errors import Refused
from shoal.web.trail import record

if TYPE_CHECKING:
    from shoal.web.context import Here

# The same for a name that nobody has, a wrong password and a wrong code.
WRONG = "The name, the password or the code is wrong: try again."


def sign_in(here: Here, name: str, password: str, code: str, address: str) -> str:
    """The cookie of a new session; whatever was signed in before in this browser ends."""
    with here.reading() as db:
        attempts.refuse_locked(db, "address", address)
        attempts.refuse_locked(db, "name", name)
        user = named(db, name)
    right = fits(user.password if user is not None else None, password)
    keyring = here.keyring if user is not None and user.totp is not None else None
    with here.writing() as db:
        user = named(db, name)
        known = right and user is not None and user.active
        if not known or user is None or not (keyring is None or passes(keyring, user, code)):
            attempts.failed(db, "name", name)
            attempts.failed(db, "address", address)
            record(db, "nobody", "sign-in refused", known=user is not None)
            db.commit()
            raise Refused(401, "wrong", WRONG)
        attempts.succeeded(db, "name", name)
        record(db, user.name, "signed in")
        if here.session is not None:
            sessions.end(db, here.session.principal.proof)
        return sessions.begin(db, user, here.settings)
