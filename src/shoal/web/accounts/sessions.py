"""Sessions of browsers: begun by signing in, ended by signing out, by time, or with all others of a user."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session as Db
from starlette.responses import Response

from shoal.web.accounts.proofs import hash_of, new_proof
from shoal.web.permissions import Principal
from shoal.web.settings import Settings
from shoal.web.store.base import now
from shoal.web.store.opening import Store
from shoal.web.store.people import Session, Token, User

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


def is_standing(db: Db, me: Principal) -> bool:
    """Whether the session or the token that somebody came with is there still."""
    proof = Token.hash if me.via == "token" else Session.hash
    return db.scalar(select(proof).where(proof == me.proof)) is not None


def lock_user(db: Db, user: str) -> None:
    """Let whoever makes proofs of a user and whoever ends them come one after the other."""
    db.execute(select(User.id).where(User.id == user).with_for_update(key_share=True))


def end_all(db: Db, user: str, *, but: str | None = None) -> None:
    """End all sessions of a user, but the one that asks for it, and all tokens, which a thief may have made."""
    lock_user(db, user)
    db.execute(delete(Token).where(Token.user == user))
    ended = delete(Session).where(Session.user == user)
    db.execute(ended if but is None else ended.where(Session.hash != but))
