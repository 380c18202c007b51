"""Forms that only our own pages can have sent: by where they come from, and by a token that is good once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from shoal.web.accounts.proofs import keyed, same
from shoal.web.accounts.sessions import SignedIn, refuse_ended
from shoal.web.errors import Refused, conflict
from shoal.web.settings import Settings
from shoal.web.store.opening import Store
from shoal.web.store.people import Spent

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
