"""Original cells beside released ones, which undo a coded release: sealed, and only the newest of a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import ShoalError, VerificationError
from shoal.io.atomic import write_whole
from shoal.vault.sealed_rows import Keyring
from shoal.web.projects.together import afterwards
from shoal.web.projects.workspace import folder_of
from shoal.web.settings import Settings
from shoal.web.store.work import Job

_FILE, _PLAIN, _PURPOSE = "compare.sealed", "compare.json", "compared"


def keep_compared(db: Db, job: Job, found: dict[str, Any], settings: Settings, keyring: Keyring) -> dict[str, Any]:
    """Seal what the child found into a file of the job, in the place of what earlier jobs left; no cell stays."""
    folder = folder_of(job.project, settings) / "jobs"
    try:
        write_whole(folder / job.id / _FILE, keyring.seal(_PURPOSE, job.id, json.dumps(found).encode()))
    except OSError as error:
        raise ShoalError(f"What was compared cannot be kept: {error.strerror}. Make room, then try again.") from None
    afterwards(db, lambda now: _drop_others(now, job.project, folder))
    return {"statement": found["statement"]}


def _drop_others(db: Db, project: str, folder: Path) -> None:
    """Remove what jobs left that are done, but what pages show: that of the one that was asked for last."""
    mine = select(Job.id).where(Job.project == project, Job.kind == "compare", Job.state == "done")
    for old in db.scalars(mine.order_by(Job.created.desc()).offset(1)):  # jobs may end in another order
        (folder / old / _FILE).unlink(missing_ok=True)


def compared(job: Job, settings: Settings, keyring: Keyring) -> Any:
    """What a job compared, None where it is not there any more or was sealed by a key that was given up."""
    try:
        sealed = (folder_of(job.project, settings) / "jobs" / job.id / _FILE).read_bytes()
        return json.loads(keyring.unseal(_PURPOSE, job.id, sealed))
    except (OSError, VerificationError):
        return None


def forget_plain(settings: Settings) -> None:
    """Remove what earlier versions of the server left unsealed."""
    for place in settings.projects.glob(f"*/jobs/*/{_PLAIN}"):
        place.unlink(missing_ok=True)
