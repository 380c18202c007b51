"""How often somebody may try in vain, by the name that they give and by where they come from."""

from __future__ import annotations

from sqlalchemy import delete
from sqlalchemy.orm import Session as Db

from shoal.web.accounts.proofs import hash_of
from shoal.web.errors import Refused
from shoal.web.store.base import now
from shoal.web.store.people import Attempt

WINDOW = 15  # minutes
# A name is locked after a few, whether anybody has it or not; an address, which many may share, later.
LIMITS = {"name": 5, "address": 50}


def _key(kind: str, who: str) -> str:
    return f"{kind}:{hash_of(who.casefold())}"


def refuse_locked(db: Db, kind: str, who: str) -> None:
    """Refuse somebody who tried too often."""
    found = db.get(Attempt, _key(kind, who))
    if found is not None and found.since > now(minutes=-WINDOW) and found.count >= LIMITS[kind]:
        raise Refused(
            429, "locked", f"That was tried too often: wait {WINDOW} minutes, then try again.",
            headers={"retry-after": str(WINDOW * 60)},
        )  # fmt: skip


def failed(db: Db, kind: str, who: str) -> None:
    """Count an attempt in vain."""
    key, start = _key(kind, who), now(minutes=-WINDOW)
    found = db.get(Attempt, key, with_for_update=True)
    if found is None:
        db.execute(delete(Attempt).where(Attempt.since < start))
        db.add(Attempt(key=key, count=1, since=now()))
    elif found.since < start:
        found.count, found.since = 1, now()
    else:
        found.count += 1


def succeeded(db: Db, kind: str, who: str) -> None:
    """Forget the attempts of somebody who came in."""
    db.execute(delete(Attempt).where(Attempt.key == _key(kind, who)))
