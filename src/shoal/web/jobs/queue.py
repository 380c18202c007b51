"""Jobs that were asked for: added, claimed by one worker at a time, renewed, and ended.

A claim is a lease. Whoever holds it renews it; where nobody does, because the worker was killed, another worker takes
the job up again from its beginning. A worker that lost its lease cannot end the job.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlalchemy import and_, func, or_, select, text, update
from sqlalchemy.orm import Session as Db

from shoal.errors import InternalError
from shoal.web.errors import Refused, conflict
from shoal.web.permissions import Principal, allow
from shoal.web.projects.project import folder_of
from shoal.web.settings import Settings
from shoal.web.store.tables import Job, Project, Release, User, now

KINDS = ("start", "check", "risk", "explore", "compare", "attack", "run")
ENDED = ("done", "failed", "cancelled")
LEASE = 30.0  # seconds
MOST_ATTEMPTS = 3
_LOCK = 7_301_449  # of PostgreSQL's advisory locks: one count after the other
_RETRY = 60  # seconds until one may have ended
CANCELLED = "Cancelled."
ORPHANED = "Cancelled, since whoever asked for it may not any more: somebody who may can start it again."
BROKEN = f"The job was broken off {MOST_ATTEMPTS} times, perhaps for want of memory: ask whoever runs the server."


def add(
    db: Db, project: Project, kind: str, *, recipe: int, author: str, most: int,
    parameters: dict[str, Any] | None = None,
) -> Job:  # fmt: skip
    """Ask for a job on one version of a project's recipe; ``most`` may wait of the project, and of who asks."""
    if kind not in KINDS:
        raise InternalError(f"There is no job '{kind}'.")
    refuse_more(db, author, most, project.id)
    job = Job(project=project.id, kind=kind, recipe=recipe, parameters=parameters or {}, author=author)
    db.add(job)
    db.flush()
    return job


def refuse_more(db: Db, author: str, most: int, project: str | None = None) -> None:
    """Refuse another job where ``most`` wait of a project, or of who asks: before anything is done for it.

    Nobody else is let by until the transaction ends, so that two at once are no more than two in turn.
    """
    if db.get_bind().dialect.name == "postgresql":  # on SQLite whoever writes is alone anyway
        db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    for whose, chosen in (("this project", Job.project == project), ("yours", Job.author == author)):
        waiting = db.scalar(select(func.count()).select_from(Job).where(chosen, Job.state == "queued"))
        if (waiting or 0) >= most:
            message = f"{most:,} jobs of {whose} wait already: let them end, or cancel some."
            raise Refused(429, "too-many", message, headers={"retry-after": str(_RETRY)})


def claim(db: Db, worker: str, lease: float = LEASE) -> Job | None:
    """The next job: one that waits, or one whose worker has not been heard of.

    It is ours where its state is ``running``. One that was broken off too often, or cancelled meanwhile, has ended, and
    what it left behind wants clearing.
    """
    lost = and_(Job.state == "running", Job.lease_until < now())
    chosen = (
        select(Job).where(or_(Job.state == "queued", lost)).order_by(Job.created).limit(1)
        .with_for_update(skip_locked=True)
    )  # fmt: skip
    job = db.scalars(chosen).first()
    if job is None:
        return None
    if job.cancel or not may_run(db.get_one(User, job.author)):
        _end(job, "cancelled", CANCELLED if job.cancel else ORPHANED)
    elif job.attempts >= MOST_ATTEMPTS:
        _end(job, "failed", BROKEN)
    else:
        job.state, job.worker, job.lease_until = "running", worker, now(seconds=lease)
        job.attempts, job.started, job.progress, job.share = job.attempts + 1, now(), "starting", None
    return job


def renew(
    db: Db, job: Job, progress: str, share: float | None = None, lease: float = LEASE
) -> str:
    """Hold on to a job and say how far it is: ``"go"``, ``"cancel"``, or ``"lost"`` where it is not ours any more."""
    values = {"lease_until": now(seconds=lease), "progress": progress[:200], "share": share}
    found = db.execute(update(Job).where(_ours(job)).values(values).returning(Job.cancel)).first()
    return "lost" if found is None else "cancel" if found[0] else "go"


def held(db: Db, job: Job) -> str:
    """As :func:`renew` tells it, of a job that has come to its end; nobody else can take it in this transaction."""
    cancel = db.scalars(select(Job.cancel).where(_ours(job)).with_for_update()).first()
    return "lost" if cancel is None else "cancel" if cancel else "go"


def end(db: Db, job: Job, state: str, *, message: str | None = None, result: dict[str, Any] | None = None) -> bool:
    """End a job that is ours; False where it is not any more, and nothing of it may count."""
    values = {
        "state": state, "message": message, "result": result, "ended": now(), "lease_until": None, "worker": None,
        "progress": "", "share": None,
    }  # fmt: skip
    return db.execute(update(Job).where(_ours(job)).values(values).returning(Job.id)).first() is not None


def cancel(db: Db, job_id: str) -> None:
    """Ask for an end: at once where the job only waits, soon where it runs."""
    job = db.get_one(Job, job_id, with_for_update=True)
    if job.state in ENDED:
        raise conflict("This job has ended already.")
    job.cancel = True
    if job.state == "queued":
        _end(job, "cancelled", CANCELLED)


def may_run(user: User) -> bool:
    """Whether somebody may still have jobs done."""
    return user.active and allow(Principal(id=user.id, name=user.name, role=user.role), "project.run")


def cancel_all(db: Db, user: str) -> int:
    """Ask for an end of all jobs of somebody who may have none any more; how many there were."""
    chosen = select(Job).where(Job.author == user, Job.state.not_in(ENDED)).with_for_update()
    found = list(db.scalars(chosen))
    for job in found:
        job.cancel = True
        if job.state == "queued":
            _end(job, "cancelled", ORPHANED)
    return len(found)


def _ours(job: Job) -> Any:
    return and_(Job.id == job.id, Job.state == "running", Job.worker == job.worker, Job.attempts == job.attempts)


def _end(job: Job, state: str, message: str) -> None:
    job.state, job.message, job.ended, job.lease_until, job.worker = state, message, now(), None, None


# ----------------------------------------
# What attempts of jobs leave on disk, of which part may be private: removed where it came to nothing.


_JOB = re.compile("[0-9a-f]{32}")  # in names of releases and of what lies beside them


def temporary_of(job: Job, settings: Settings) -> Path:
    """Where one attempt of a job puts what goes with it."""
    return folder_of(job.project, settings) / "jobs" / job.id / f"temporary-{job.attempts}"


def release_of(job: Job) -> str:
    """Where one attempt of a job puts a release, below the project's folder."""
    return f"releases/{job.id}-{job.attempts}"


def clear(job: Job, settings: Settings, only: int | None = None) -> None:
    """Remove what attempts of a job have written that came to nothing."""
    folder = folder_of(job.project, settings)
    shutil.rmtree(folder / "jobs" / job.id if only is None else temporary_of(job, settings), ignore_errors=True)
    _remove((folder / "releases").glob(f"*{job.id}-{'' if only is None else only}*"))


def sweep(db: Db, settings: Settings) -> None:
    """Remove what attempts have left of jobs that ended otherwise: by a worker that was killed when it had lost them.

    Jobs that wait or run are cleared by who takes them up, and nobody knows whose the files of unknown ones are.
    """
    for folder in settings.projects.glob("*"):
        ended = select(Job.id, Job.state).where(Job.project == folder.name, Job.state.in_(ENDED))
        states = dict(db.execute(ended).all())
        kept = set(db.scalars(select(Release.folder).where(Release.project == folder.name)))
        for path in (folder / "jobs").glob("*"):
            if path.name in states:
                _remove(path.glob("temporary-*") if states[path.name] == "done" else [path])
        for path in (folder / "releases").glob("*"):
            found = _JOB.search(path.name)
            if found is not None and found[0] in states and f"releases/{path.name}" not in kept:
                _remove([path])


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
