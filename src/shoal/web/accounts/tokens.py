"""Tokens of programs: random, kept as a hash, for some scopes, until a day."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session as Db

from shoal.web.accounts.proofs import hash_of, new_proof
from shoal.web.accounts.sessions import lock_users, refuse_ended
from shoal.web.errors import conflict, invalid, missing
from shoal.web.permissions import ACTIONS, SCOPES, TOKENS, Limits, Principal
from shoal.web.store.open import Store
from shoal.web.store.tables import Token, User, now

if TYPE_CHECKING:
    from shoal.web.request import Here

PREFIX = "shoal_"
MOST_DAYS = 366
MOST = 100  # of one account at a time
_TOUCH = 60
_MOST = 10_000  # tokens that are remembered


def scopes_of(role: str) -> list[str]:
    """Scopes that a token of somebody with a role can make use of."""
    useful = {action.scope for action in ACTIONS.values() if role in action.roles}
    return [scope for scope in SCOPES if scope in useful]


def make_token(db: Db, me: Principal, *, name: str, scopes: Collection[str], days: float) -> tuple[Token, str]:
    """A new token, shown this once. One that a token asks for is no stronger and lives no longer than that one."""
    name = name.strip()
    if not 1 <= len(name) <= 80:
        raise invalid("A token needs a name of at most 80 characters: say what it is for.", "name")
    if not 0 < days <= MOST_DAYS:
        raise invalid(f"A token is good for up to {MOST_DAYS} days: give a number between.", "days")
    possible = set(scopes_of(me.role)) if me.via == "session" else set(scopes_of(me.role)) & me.scopes
    if not scopes or set(scopes) - possible:
        raise invalid(f"The scopes of this token have to be among: {', '.join(sorted(possible))}.", "scopes")
    expires = now(hours=24 * days)
    lock_users(db, me.id)
    db.execute(delete(Token).where(Token.user == me.id, Token.expires < now()))
    refuse_ended(db, me)  # since it was looked at
    if len(tokens_of(db, me.id)) >= MOST:
        raise conflict(f"There are {MOST} tokens of yours already: revoke one first.")
    if me.via == "token":
        expires = min(expires, db.execute(select(Token.expires).where(Token.hash == me.proof)).scalar_one())
    proof = new_proof(PREFIX)
    row = Token(hash=hash_of(proof), user=me.id, name=name, scopes=sorted(scopes), expires=expires)
    db.add(row)
    db.flush()
    return row, proof


def give_token(here: Here, *, name: str, scopes: Collection[str], days: float) -> tuple[Token, str]:
    """Make a token for whoever asks, and log it."""
    with here.writing(alters=True) as db:
        row, proof = make_token(db, here.me, name=name, scopes=scopes, days=days)
        here.log(db, "token made", token=row.id)
    return row, proof


def tokens_of(db: Db, user: str) -> list[Token]:
    """The tokens of a user that are good today."""
    chosen = select(Token).where(Token.user == user, Token.expires > now()).order_by(Token.created)
    return list(db.scalars(chosen))


def revoke(here: Here, token: str) -> None:
    """End a token of whoever asks, and log it."""
    with here.writing(alters=True) as db:
        gone = delete(Token).where(Token.id == token, Token.user == here.me.id)
        if not db.execute(gone).rowcount:  # type: ignore[attr-defined]
            raise missing()
        here.log(db, "token revoked", token=token)


class Bearers:
    """Who sends which token; whoever sends wrong ones has to wait after some, as at signing in.

    A token that was good before is looked at in any case: others may come from the same address.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store, self._limits = store, limits
        self._good: set[str] = set()

    def find(self, header: str | None, address: str) -> Principal | None:
        """Who a header of a request from somewhere stands for."""
        kind, _, proof = (header or "").partition(" ")
        if kind.lower() != "bearer" or not proof.startswith(PREFIX):
            return None
        key = hash_of(proof.strip())
        if key in self._good:
            found = _sent(self._store, key)
            if found is None:
                self._good.discard(key)
            return found
        self._limits.take(TOKENS, address)  # before it is looked at, so that many at a time are no more than in turn
        found = _sent(self._store, key)
        if found is not None:
            self._limits.give_back(TOKENS, address)
            self._good = {key} if len(self._good) >= _MOST else self._good | {key}
        return found


def _sent(store: Store, key: str) -> Principal | None:
    """Whose token it is that has a hash, if it is good today."""
    with store.reading() as db:
        row = db.execute(
            select(Token, User).join(User, User.id == Token.user).where(Token.hash == key)
        ).one_or_none()
    if row is None:
        return None
    token, user = row
    if not user.active or token.expires < now():
        return None
    if token.used is None or token.used < now(seconds=-_TOUCH):
        with store.writing() as db:
            db.execute(update(Token).where(Token.id == token.id).values(used=now()))
    return Principal(
        id=user.id, name=user.name, role=user.role, via="token", scopes=frozenset(token.scopes), proof=token.hash
    )
