"""Jobs that were asked for: added, claimed by one worker at a time, renewed, and ended."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session as Db

from shoal.errors import InternalError
from shoal.web.store.work import Job, Project

KINDS = ("start", "check", "risk", "explore", "compare", "attack", "run", "report")


def add(
    db: Db, project: Project, kind: str, *, recipe: int, author: str, parameters: dict[str, Any] | None = None
) -> Job:
    """Ask for a job on one version of a project's recipe."""
    if kind not in KINDS:
        raise InternalError(f"There is no job '{kind}'.")
    job = Job(project=project.id, kind=kind, recipe=recipe, parameters=parameters or {}, author=author)
    db.add(job)
    db.flush()
    return job
