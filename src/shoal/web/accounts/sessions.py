"""Sessions of browsers: begun by signing in, ended by signing out, by time, or with all others of a user."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session as Db
from starlette.responses import Response

from shoal.errors import InternalError
from shoal.web.accounts.proofs import hash_of, new_proof
from shoal.web.errors import Refused
from shoal.web.permissions import Principal
from shoal.web.settings import Settings
from shoal.web.store.base import now
from shoal.web.store.opening import Store
from shoal.web.store.people import Link, Session, Token, User

_ALTERS = "alters"  # in what is known of a transaction: how it began
_TOUCH = 60  # seconds: a session is not written down for every request


@dataclass(frozen=True)
class SignedIn:
    """Who came with a cookie, and the secret of the forms that they are given."""

    principal: Principal
    csrf: str


def cookie_name(settings: Settings) -> str:
    """A browser takes the first only by TLS and only from us, never from a neighbouring host."""
    return "__Host-shoal" if settings.secure else "shoal"


def begin(db: Db, user: User, settings: Settings) -> str:
    """A new session of somebody who proved who they are; returns the cookie. What came in a cookie is never used."""
    proof = new_proof()
    expires = now(hours=settings.session_hours)
    db.execute(delete(Session).where(Session.expires < now()))
    db.add(Session(hash=hash_of(proof), user=user.id, csrf=new_proof(), expires=expires))
    return proof


def set_cookie(response: Response, proof: str, settings: Settings) -> None:
    """Hand a session over; an empty one takes it back."""
    response.set_cookie(
        cookie_name(settings), proof, max_age=int(settings.session_hours * 3600) if proof else 0, path="/",
        secure=settings.secure, httponly=True, samesite="lax",
    )  # fmt: skip


def signed_in(store: Store, proof: str | None, settings: Settings) -> SignedIn | None:
    """Who a cookie belongs to, None where it is nobody's any more."""
    if not proof:
        return None
    with store.reading() as db:
        row = db.execute(
            select(Session, User).join(User, User.id == Session.user).where(Session.hash == hash_of(proof))
        ).one_or_none()
    if row is None:
        return None
    session, user = row
    if not user.active or session.expires < now() or session.seen < now(hours=-settings.idle_hours):
        return None
    if session.seen < now(seconds=-_TOUCH):
        with store.writing() as db:
            db.execute(update(Session).where(Session.hash == session.hash).values(seen=now()))
    principal = Principal(id=user.id, name=user.name, role=user.role, proof=session.hash)
    return SignedIn(principal, session.csrf)


def end(db: Db, proof_hash: str) -> None:
    """End one session."""
    db.execute(delete(Session).where(Session.hash == proof_hash))


def refuse_ended(db: Db, me: Principal) -> None:
    """Refuse what somebody asks for whose session or token is not there any more."""
    proof = Token.hash if me.via == "token" else Session.hash
    if db.scalar(select(proof).where(proof == me.proof)) is None:
        raise Refused(401, "unauthorised", "You are signed out, or the token has ended: sign in again.")


def lock_users(db: Db, *users: str, alters: bool = True) -> None:
    """Let whoever goes by accounts and whoever changes them, or their proofs, come one after the other.

    It comes before other locks, and all accounts in one order. Whoever only goes by them does not wait for others who
    do, and so changes none in the same transaction: two of those would wait for each other in vain.
    """
    began = db.info.setdefault(_ALTERS, alters)
    if alters and not began:
        raise InternalError("A transaction that goes by accounts changes one: begin it with 'alters'.")
    chosen = select(User.id).where(User.id.in_(users)).order_by(User.id)
    db.execute(chosen.with_for_update(read=not alters, key_share=alters))  # rows that refer to a user do not wait


def end_all(db: Db, user: str, *, but: str | None = None) -> None:
    """End all sessions of a user, but the one that asks for it, and all tokens and links: a thief may have some."""
    lock_users(db, user)
    db.execute(update(Link).where(Link.user == user, Link.used.is_(None)).values(used=now()))
    db.execute(delete(Token).where(Token.user == user))
    ended = delete(Session).where(Session.user == user)
    db.execute(ended if but is None else ended.where(Session.hash != but))
