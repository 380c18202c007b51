"""Users: made by an admin, who hands over a link; whoever opens it chooses the password."""

from __future__ import annotations

import re
from itertools import count

from sqlalchemy import func, or_, select, text, update
from sqlalchemy.orm import Session as Db

from shoal.web.accounts.passwords import hashed
from shoal.web.accounts.proofs import hash_of, new_proof
from shoal.web.accounts.sessions import end_all, lock_users
from shoal.web.errors import Outdated, Refused, conflict, invalid
from shoal.web.jobs import queue
from shoal.web.permissions import ADMIN, ROLES
from shoal.web.store.base import now
from shoal.web.store.people import Link, User

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
