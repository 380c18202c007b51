"""Signing in: a name, a password, and the code of a second factor where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.orm import Session as Db

from shoal.web.accounts import attempts, sessions
from shoal.web.accounts.passwords import fits
from shoal.web.accounts.sessions import lock_users
from shoal.web.accounts.totp import passes
from shoal.web.accounts.users import named
from shoal.web.errors import Refused
from shoal.web.store.people import User
from shoal.web.trail import record

if TYPE_CHECKING:
    from shoal.web.context import Here

# The same for a name that nobody has, a wrong password and a wrong code.
WRONG = "The name, the password or the code is wrong: try again."


def sign_in(here: Here, name: str, password: str, code: str, address: str) -> str:
    """The cookie of a new session; whatever was signed in before in this browser ends."""
    with here.writing() as db:
        attempts.begin_attempt(db, address=address, name=name)
        found = named(db, name)
    right = fits(found.password if found is not None else None, password)
    keyring = here.keyring if found is not None and found.totp is not None else None
    with here.writing() as db:
        user = None if found is None else _locked(db, here, found)
        if not (right and user and user.active) or not (keyring is None or passes(keyring, user, code)):
            record(db, "nobody", "sign-in refused", known=user is not None)
            db.commit()
            raise Refused(401, "wrong", WRONG)
        attempts.forgive(db, "address", address)  # in the order of above: neither waits for the other
        attempts.forget(db, "name", name)
        if here.session is not None:
            sessions.end(db, here.session.principal.proof)
        record(db, user.name, "signed in")  # last of what others may hold: whoever ends an account logs that last, too
        return sessions.begin(db, user, here.settings)


def _locked(db: Db, here: Here, found: User) -> User | None:
    """Somebody who signs in, as long as the password and the second factor are those that were looked at.

    Of two who send the same code at the same moment one comes too late.
    """
    lock_users(db, found.id, *([] if here.session is None else [here.session.principal.id]))
    user = db.get_one(User, found.id)
    return user if (user.password, user.totp) == (found.password, found.totp) else None


def confirm(here: Here, password: str, where: str = "password") -> None:
    """Have the password said again, without which a cookie alone would change an account or make a token."""
    with here.writing() as db:
        attempts.begin_attempt(db, account=here.me.id)
        kept = db.get_one(User, here.me.id).password
    if not fits(kept, password):
        raise Refused(403, "wrong", "The password is wrong: type it again.", where=where)
    with here.writing() as db:
        attempts.forget(db, "account", here.me.id)
