"""Users: made by an admin, who hands over a link; whoever opens it chooses the password."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from sqlalchemy import func, or_, select, text, update
from sqlalchemy.orm import Session as Db

from shoal.web.accounts import sessions
from shoal.web.accounts.proofs import fits, hash_of, hashed, new_proof, passes
from shoal.web.accounts.sessions import end_all, lock_users
from shoal.web.errors import Outdated, Refused, conflict, invalid
from shoal.web.jobs import queue
from shoal.web.permissions import ADMIN, ROLES, record
from shoal.web.store.tables import Link, User, now

if TYPE_CHECKING:
    from shoal.web.request import Here

LINK_HOURS = 48
_LOCK = 7_301_450  # of PostgreSQL's advisory locks: one change of who is admin after the other
_NAME = re.compile(r"[\w.@+-]{1,64}")


def make_user(db: Db, name: str, role: str, password: str | None = None) -> User:
    """A new user, who cannot sign in before there is a password."""
    if not _NAME.fullmatch(name):
        raise invalid("A name has up to 64 letters, digits and . @ + - _: choose another.", "name")
    if role not in ROLES:
        raise invalid(f"A role is one of: {', '.join(ROLES)}.", "role")
    if named(db, name) is not None:
        raise conflict("Somebody has this name already: choose another.")
    user = User(name=name, role=role, password=None if password is None else hashed(password))
    db.add(user)
    db.flush()
    return user


def named(db: Db, name: str) -> User | None:
    """The user of a name, whatever its capitals; of letters that English lacks, databases may know none."""
    chosen = select(User).where(or_(User.name == name, func.lower(User.name) == name.lower()))
    return db.scalars(chosen.order_by(User.name != name)).first()


def make_link(db: Db, user: User) -> str:
    """A link that lets a user choose a password, once; earlier ones end."""
    lock_users(db, user.id)
    proof = new_proof()
    db.execute(update(Link).where(Link.user == user.id, Link.used.is_(None)).values(used=now()))
    db.add(Link(hash=hash_of(proof), purpose="password", user=user.id, expires=now(hours=LINK_HOURS)))
    return proof


def open_link(db: Db, proof: str) -> User:
    """Whose link it is; refused where it was used, ended, or never was."""
    link = db.get(Link, hash_of(proof))
    user = None if link is None or link.used is not None or link.expires < now() else db.get(User, link.user)
    if user is None or not user.active:
        raise Refused(404, "link-ended", "This link was used, or has ended: ask whoever runs the server for another.")
    return user


def use_link(db: Db, proof: str, password: str) -> User:
    """Choose the password by a link, which ends the second factor, all sessions, all tokens and the link.

    The second factor goes no sooner: until then, the old password has to do with it.
    """
    lock_users(db, db.scalar(select(Link.user).where(Link.hash == hash_of(proof))) or "")
    user = open_link(db, proof)
    user.password, user.totp = hashed(password), None
    db.execute(update(Link).where(Link.hash == hash_of(proof)).values(used=now()))
    end_all(db, user.id)
    return user


def change(
    db: Db, user: User, *, role: str | None = None, active: bool | None = None, base: str | None = None
) -> int | None:
    """Another role, or an end to an account; one admin is always left. Sessions and tokens of the user end.

    So do jobs that the user may not ask for any more, of which the number is returned; None where nothing changes, and
    nothing ends. ``base`` is the user's own as somebody saw it, who is refused where it is another one by now.
    """
    if role is not None and role not in ROLES:
        raise invalid(f"A role is one of: {', '.join(ROLES)}.", "role")
    lock_users(db, user.id)
    if db.get_bind().dialect.name == "postgresql":  # on SQLite whoever writes is alone anyway
        db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    db.refresh(user)
    admins = list(db.scalars(select(User).where(User.role == ADMIN, User.active)))
    if base not in (None, user.base):
        raise Outdated(f"Somebody changed this user meanwhile, who is '{user.base}' now: look, then change it again.")
    wanted = (role or user.role, user.active if active is None else active)
    if wanted == (user.role, user.active):
        return None
    if admins == [user]:
        raise conflict("This is the last admin: make another one first.")
    user.role, user.active = wanted
    end_all(db, user.id)
    return 0 if queue.may_run(user) else queue.cancel_all(db, user.id)


def invite(here: Here, name: str, role: str) -> tuple[User, str]:
    """Make a user, and the address at which a password is chosen."""
    with here.writing(alters=True) as db:
        user = make_user(db, name, role)
        link = make_link(db, user)
        here.log(db, "user made", user=user.name, role=user.role)
    return user, f"{here.settings.shown}/setup/{link}"


def invite_again(here: Here, key: str) -> tuple[User, str]:
    """Make another address at which a user chooses a password."""
    with here.writing(key, alters=True) as db:
        user = db.get_one(User, key)
        link = make_link(db, user)
        here.log(db, "link made", user=user.name)
    return user, f"{here.settings.shown}/setup/{link}"


def change_user(
    here: Here, key: str, *, role: str | None = None, active: bool | None = None, base: str | None = None
) -> User:
    """Change a user, and log it where that changes anything."""
    with here.writing(key, alters=True) as db:
        user = db.get_one(User, key)
        jobs = change(db, user, role=role, active=active, base=base)
        if jobs is not None:
            here.log(db, "user changed", user=user.name, role=user.role, active=user.active, jobs_cancelled=jobs)
    return user


def first_admin(db: Db) -> str | None:
    """A one-time link for the admin, where nobody can sign in as one yet; the rest of an address.

    Who is admin is told by the role: somebody of another role may well be called so.
    """
    admins = list(db.scalars(select(User).where(User.role == ADMIN, User.active).order_by(User.created)))
    if any(one.password is not None for one in admins):
        return None
    return make_link(db, admins[0] if admins else make_user(db, _free_name(db), ADMIN))


def _free_name(db: Db) -> str:
    """What the first admin is called: a name that nobody has."""
    names = (ADMIN if at == 1 else f"{ADMIN}-{at}" for at in count(1))
    return next(name for name in names if named(db, name) is None)


# ----------------------------------------
# Signing in: a name, a password, and the code of a second factor where there is one.


# The same for a name that nobody has, a wrong password and a wrong code.
WRONG = "The name, the password or the code is wrong: try again."


def sign_in(here: Here, name: str, password: str, code: str, address: str) -> str:
    """The cookie of a new session; whatever was signed in before in this browser ends."""
    with here.writing() as db:
        sessions.begin_attempt(db, address=address, name=name)
        found = named(db, name)
    right = fits(found.password if found is not None else None, password)
    keyring = here.keyring if found is not None and found.totp is not None else None
    with here.writing() as db:
        user = None if found is None else _locked(db, here, found)
        if not (right and user and user.active) or not (keyring is None or passes(keyring, user, code)):
            record(db, "nobody", "sign-in refused", known=user is not None)
            db.commit()
            raise Refused(401, "wrong", WRONG)
        sessions.forgive(db, "address", address)  # in the order of above: neither waits for the other
        sessions.forget(db, "name", name)
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
        sessions.begin_attempt(db, account=here.me.id)
        kept = db.get_one(User, here.me.id).password
    if not fits(kept, password):
        raise Refused(403, "wrong", "The password is wrong: type it again.", where=where)
    with here.writing() as db:
        sessions.forget(db, "account", here.me.id)
