"""How many questions a researcher may ask about a release: in all, and within an hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Db

from shoal.vault.protocol.decision import Policy
from shoal.web.context import Here
from shoal.web.errors import Refused
from shoal.web.store.base import now
from shoal.web.store.trusted import LogEntry, Question
from shoal.web.store.work import Release

_HOUR = timedelta(hours=1)
_EVENT = "limit of questions"
LIMIT = "limit"  # what a refusal by it is called


def numbers(db: Db, release: str) -> dict[str, int]:
    """How many questions everybody has asked about a release, by their identifiers."""
    counted = select(Question.user, func.count()).where(Question.release == release).group_by(Question.user)
    return {one[0]: one[1] for one in db.execute(counted)}


def next_number(db: Db, user: str, release: str, policy: Policy) -> int:
    """Which of somebody's questions about a release comes next, or why none does."""
    mine = select(Question.created).where(Question.release == release, Question.user == user)
    asked = db.scalar(select(func.count()).select_from(mine.subquery())) or 0
    if asked >= policy.questions:
        lets = f"its custodian lets you ask {policy.questions:,}: ask them for more"
        raise Refused(429, LIMIT, f"You have asked {asked:,} questions about this release, and {lets}.")
    late = list(db.scalars(mine.where(Question.created > now(hours=-1)).order_by(Question.created)))
    if len(late) >= policy.hourly:
        wait = datetime.fromisoformat(late[-policy.hourly]) + _HOUR - datetime.now(UTC)
        lets = f"its custodian lets you ask {policy.hourly:,}: wait, then ask again"
        message = f"You have asked {len(late):,} questions about this release within an hour, and {lets}."
        raise Refused(429, LIMIT, message, headers={"retry-after": str(max(1, round(wait.total_seconds())))})
    return asked + 1


def note(here: Here, release: Release, why: Refused) -> None:
    """Log that somebody came to a limit, once an hour however often they try again."""
    facts = {"release": release.id, "within": "an hour" if "retry-after" in why.headers else "all"}
    with here.writing() as db:
        if not _noted(db, here.me.name, facts):
            here.log(db, _EVENT, **facts)


def _noted(db: Db, who: str, facts: dict[str, str]) -> bool:
    """Whether a line of the last hour says so, of which the newest are looked at alone."""
    chosen = select(LogEntry.time, LogEntry.who, LogEntry.event, LogEntry.facts).order_by(LogEntry.number.desc())
    since = now(hours=-1)
    with db.execute(chosen.execution_options(yield_per=100)) as lines:
        for time, *line in lines:
            if time < since:
                return False
            if line == [who, _EVENT, facts]:
                return True
    return False
