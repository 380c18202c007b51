"""What attempts of jobs leave on disk, of which part may be private: removed where it came to nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.web.jobs.queue import ENDED
from shoal.web.projects.workspace import folder_of
from shoal.web.settings import Settings
from shoal.web.store.work import Job, Release

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
