"""Sessions of browsers: begun by signing in, ended by signing out, by time, or with all others of a user."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from sqlalchemy import case, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Db
from starlette.responses import Response

from shoal.errors import InternalError
from shoal.web.accounts.proofs import hash_of, keyed, new_proof, same
from shoal.web.errors import Refused, conflict
from shoal.web.permissions import Principal
from shoal.web.settings import Settings
from shoal.web.store.open import Store
from shoal.web.store.tables import Attempt, Link, Session, Spent, Token, User, now

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


# ----------------------------------------
# Forms that only our own pages can have sent: by where they come from, and by a token that is good once.


FIELD = "csrf"


def new_token(session: SignedIn) -> str:
    """A token for one form of a page."""
    nonce = secrets.token_urlsafe(12)
    return f"{nonce}.{keyed(session.csrf, nonce)}"


def check_origin(request: Request, settings: Settings) -> None:
    """Refuse what a page of others sends. Every browser says where a form comes from, in one way or the other."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is None:
        raise _forged()
    if site is not None and site != "same-origin":
        raise _forged()
    if origin is not None and origin != (settings.address or "").rstrip("/"):
        asked = f"{'https' if settings.secure else 'http'}://{request.headers.get('host', '')}"
        if urlsplit(origin)[:2] != urlsplit(asked)[:2]:
            raise _forged()


def check_token(session: SignedIn, fields: Mapping[str, Any]) -> str:
    """The nonce of a form's token, which fits the session that sends it."""
    nonce, _, proof = str(fields.get(FIELD) or "").partition(".")
    if not same(proof, keyed(session.csrf, nonce)):
        raise Refused(403, "form-expired", "This form is not of your session any more: open the page again.")
    return nonce


def spend(store: Store, session: SignedIn, nonce: str) -> None:
    """Take a form once: sent twice, it is refused."""
    try:
        with store.writing() as db:
            db.add(Spent(session=session.principal.proof, nonce=nonce))
    except IntegrityError:
        with store.reading() as db:
            refuse_ended(db, session.principal)
        raise conflict("This form was sent already: open the page again to see what came of it.") from None


def give_back(request: Request) -> None:
    """Let a form be sent again that was refused, so that somebody can go back and correct it."""
    spent = getattr(request.state, "spent", None)
    if spent is not None:
        session, nonce = spent
        with request.app.state.store.writing() as db:
            db.execute(delete(Spent).where(Spent.session == session.principal.proof, Spent.nonce == nonce))


def _forged() -> Refused:
    return Refused(403, "forged", "This request does not come from a page of this server.")


# ----------------------------------------
# How often somebody may try in vain, by the name that they give and by where they come from.


WINDOW = 15  # minutes
# A name is locked after a few, whether anybody has it or not; an address, which many may share, later. An account is
# that of somebody who is signed in, and has to say the password again.
LIMITS = {"name": 5, "address": 50, "account": 5}


def _key(kind: str, who: str) -> str:
    return f"{kind}:{hash_of(who.casefold())}"


def begin_attempt(db: Db, **who: str) -> None:
    """Count an attempt before it is looked at, so that many at a time are no more than many in turn; or refuse it.

    ``who`` says by which kinds, in the order that all take, so that no two wait for each other.
    """
    start = now(minutes=-WINDOW)
    for kind, one in who.items():
        _count(db, kind, one, start)
    # What has run out goes last, and but for what others hold just then.
    old = select(Attempt.key).where(Attempt.since < start).with_for_update(skip_locked=True)
    db.execute(delete(Attempt).where(Attempt.key.in_(old)).execution_options(synchronize_session=False))


def _count(db: Db, kind: str, who: str, start: str) -> None:
    insert = postgresql.insert if db.get_bind().dialect.name == "postgresql" else sqlite.insert
    fresh = insert(Attempt).values(key=_key(kind, who), count=1, since=now())
    over = Attempt.since < start
    counted = fresh.on_conflict_do_update(
        index_elements=[Attempt.key],
        set_={"count": case((over, 1), else_=Attempt.count + 1), "since": case((over, now()), else_=Attempt.since)},
    )
    if db.execute(counted.returning(Attempt.count)).scalar_one() > LIMITS[kind]:
        raise Refused(
            429, "locked", f"That was tried too often: wait {WINDOW} minutes, then try again.",
            headers={"retry-after": str(WINDOW * 60)},
        )  # fmt: skip


def forget(db: Db, kind: str, who: str) -> None:
    """Forget the attempts of somebody who came in."""
    db.execute(delete(Attempt).where(Attempt.key == _key(kind, who)))


def forgive(db: Db, kind: str, who: str) -> None:
    """Forget one attempt, which was not in vain."""
    db.execute(update(Attempt).where(Attempt.key == _key(kind, who)).values(count=Attempt.count - 1))
