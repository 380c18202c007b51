"""What is kept of a job that is done: a recipe, a release, and what is private of it, sealed."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.orm import Session as Db

from shoal.errors import ShoalError, VerificationError
from shoal.io.atomic import write_whole
from shoal.vault.sealed_rows import Keyring
from shoal.web.errors import Refused, conflict
from shoal.web.jobs.queue import add, cancel, release_of
from shoal.web.permissions import record
from shoal.web.projects.project import Fit, Workspace, folder_of
from shoal.web.projects.transaction import afterwards
from shoal.web.server_keys import SecretRows, ServerKeyring, get, put
from shoal.web.settings import Settings
from shoal.web.store.tables import Job, Project, Release, User

if TYPE_CHECKING:
    from shoal.web.request import Here

# ----------------------------------------
# Original cells beside released ones, which undo a coded release: sealed, and only the newest of a project.


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


_KEY = "project-key"


def keep(db: Db, job: Job, found: dict[str, Any], settings: Settings, keyring: ServerKeyring) -> dict[str, Any]:
    """Keep what the child found; returns what of it stands in the job's row."""
    project = db.get_one(Project, job.project)
    if job.kind == "start" and "text" in found:
        return _keep_recipe(db, job, project, found, settings)
    if job.kind == "run":
        return _keep_release(db, job, project, found, keyring)
    if job.kind == "compare":
        return keep_compared(db, job, found, settings, keyring)
    return found


def _keep_recipe(db: Db, job: Job, project: Project, found: dict[str, Any], settings: Settings) -> dict[str, Any]:
    space = Workspace.newest(db, project, settings)  # the child has read what it wrote
    try:
        version = space.save(db, Fit(found["text"]), base=job.recipe, author=job.author, note="first recipe")
    except Refused as error:  # somebody wrote a recipe meanwhile
        raise ShoalError(error.message) from None
    known: dict[str, Any] = {name: found[name] for name in ("rows", "rows_looked_at", "columns") if name in found}
    project.source = {**project.source, **known}
    return {"version": version, **known}


def _keep_release(db: Db, job: Job, project: Project, found: dict[str, Any], keyring: ServerKeyring) -> dict[str, Any]:
    """A release has the identifier of its job, so that one job can never make two."""
    private = {name: base64.b64decode(data) for name, data in found.pop("private").items()}
    db.add(
        Release(
            id=job.id, project=project.id, job=job.id, name=project.name, folder=release_of(job),
            statement=found["statement"], kind=found["kind"], rows=found["rows"], manifest=found["manifest"],
        )
    )  # fmt: skip
    db.flush()
    for name, data in private.items():
        put(db, keyring, name.partition("/")[0], f"{job.id}/{name}", data, release=job.id)
    who = db.get_one(User, job.author).name
    record(db, who, "released", release=job.id, project=project.id, manifest=found["manifest"], rows=found["rows"])
    return {**found, "release": job.id}


def private_of(db: Db, keyring: ServerKeyring, release: str, name: str) -> bytes | None:
    """What is kept of a release: ``secrets`` (JSON), ``evidence`` (a packed folder), ``dossier/internal.html``."""
    return get(db, keyring, name.partition("/")[0], f"{release}/{name}")


def project_key(db: Db, keyring: ServerKeyring, project: str) -> bytes:
    """The key of a project's own vault and registry files."""
    SecretRows(db).lock()  # two workers make one key
    known = get(db, keyring, _KEY, project)
    if known is None:
        known = secrets.token_bytes(32)
        put(db, keyring, _KEY, project, known)
    return known


# ----------------------------------------
# What somebody asks of a job.


def cancel_job(here: Here) -> Job:
    """Ask for an end of the job of a request."""
    job = here.named(Job)
    with here.writing() as db:
        cancel(db, job.id)
        here.log(db, "job cancelled", job=job.id, project=job.project)
        return db.get_one(Job, job.id)


def once_more(here: Here) -> Job:
    """Ask for the job of a request again, where it failed or was cancelled."""
    with here.writing() as db:
        job = db.get_one(Job, here.named(Job).id)
        if job.state not in ("failed", "cancelled"):
            raise conflict("This job has not failed: there is nothing to repeat.")
        return _again(db, here, job, job.recipe, job.parameters)


def start_again(here: Here, answers: dict[str, str]) -> Job:
    """Look at a source again with answers to what the first look could not know."""
    job = here.named(Job)
    if job.kind != "start" or not (job.result or {}).get("questions"):
        raise conflict("This job asked nothing: there is nothing to answer.")
    parameters = {**job.parameters, "answers": {**job.parameters.get("answers", {}), **answers}}
    with here.writing() as db:
        return _again(db, here, job, 0, parameters)


def _again(db: Db, here: Here, job: Job, recipe: int, parameters: dict[str, Any]) -> Job:
    project, most = db.get_one(Project, job.project), here.settings.jobs_waiting
    return add(db, project, job.kind, recipe=recipe, author=here.me.id, parameters=parameters, most=most)
