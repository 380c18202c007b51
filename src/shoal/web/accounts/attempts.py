"""How often somebody may try in vain, by the name that they give and by where they come from."""

from __future__ import annotations

from sqlalchemy import case, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session as Db

from shoal.web.accounts.proofs import hash_of
from shoal.web.errors import Refused
from shoal.web.store.base import now
from shoal.web.store.people import Attempt

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
