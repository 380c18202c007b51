"""The worker: claims jobs, lets a child process do each, tells the database how far they are, and keeps what came.

It may be killed at any moment. The children end with it, their leases run out, and a worker takes the jobs up again.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import asdict
from threading import Event, Thread
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from shoal.errors import InternalError, ShoalError
from shoal.web.jobs import queue
from shoal.web.jobs.queue import clear, release_of, sweep, temporary_of
from shoal.web.jobs.results import keep, project_key
from shoal.web.jobs.sandbox import JOB, Sandbox, do_job, found_without_places, without_places
from shoal.web.projects.project import Workspace, folder_of
from shoal.web.server_keys import Keys
from shoal.web.settings import Settings
from shoal.web.store.open import Store
from shoal.web.store.tables import Job, Project, Release

_log = logging.getLogger("shoal.web.jobs")
_POLL = 0.2
_RENEW = 1.0  # seconds; a lease lasts thirty times as long
_FULL = "The server's disk is full: make room, then start the job again."
# Ours, and files by which a database that is offered knows us.
_PASSED = ("POLARS_MAX_THREADS", "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY")


_NUMBER = r"(?P<done>\d[\d,]*) of (?P<all>\d[\d,]*)"
# What is done of something, at the end of a sentence or all of it; and the number of what has begun.
_DONE = re.compile(rf"(?:^|: ){_NUMBER}(?: rows| points)?$")
_BEGUN = re.compile(rf"\b(?:point|part|key) {_NUMBER}\b")


def share_of(step: str) -> float | None:
    """Read from the words of a step how much of it is done, None where they do not say so."""
    for pattern, before in ((_DONE, 0), (_BEGUN, 1)):
        if found := pattern.search(step):
            done, of = (int(found[name].replace(",", "")) for name in ("done", "all"))
            if of and before <= done <= of:
                return (done - before) / of
    return None


class Running:
    """A job and the sandbox that it is done in."""

    def __init__(self, job: Job, asked: dict[str, Any]) -> None:
        self.job, self.asked = job, asked
        self.progress = "starting"
        self.answer: tuple[str, Any] | None = None
        self.since, self.renewed = time.monotonic(), 0.0
        known = {key: os.environ[key] for key in _PASSED if key in os.environ}
        # What does not fit into memory are rows of the source.
        self.sandbox = Sandbox(JOB, asked["memory"], {**known, "TMPDIR": asked["temporary"]})
        self.process = self.sandbox.process
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        with suppress(BrokenPipeError):
            self.sandbox.ask(do_job, asked)

    def _read(self) -> None:
        try:
            while self.answer is None:
                what, *told = self.sandbox.told()
                if what == "progress":
                    self.progress = str(told[0])
                elif what != "ready":
                    self.answer = what, told[0]
        except EOFError:  # it has ended
            return
        except (OverflowError, InternalError):  # nobody hears what it says any more
            self.sandbox.kill()

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        """End the job."""
        self.sandbox.kill()
        self._reader.join(5)

    def outcome(self) -> Any:
        """End the job and return what it found; refused with a sentence where it found nothing."""
        self.kill()
        memory = f"{self.asked['memory'] >> 20:,} MiB"
        if self.answer is None:
            code = self.process.returncode
            how = f"by signal {-code}" if code < 0 else f"with code {code}"
            raise ShoalError(
                f"The job ended {how} before it was done, perhaps since it needed more than the {memory} that jobs "
                "have here: try it with fewer rows or columns, or ask whoever runs the server for more (--set "
                "job-memory)."
            )
        what, found = self.answer
        if what == "done":
            return found
        if what == "refused":
            raise ShoalError(found[1])
        if what == "memory":
            raise ShoalError(
                f"The job needs more memory than the {memory} that jobs have here: use the engine 'duckdb', or ask "
                "whoever runs the server for more."
            )
        if what == "failed":
            full = found[0] in (errno.ENOSPC, errno.EDQUOT)
            raise ShoalError(_FULL if full else f"A file of the project cannot be used: {found[1]}.")
        raise ShoalError(f"internal: {found}; tell whoever runs the server.")


class Worker:
    """Does jobs until it is told to stop."""

    def __init__(self, settings: Settings, store: Store, keys: Keys, *, lease: float = queue.LEASE) -> None:
        self.settings, self.store, self.keys, self.lease = settings, store, keys, lease
        self.name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.running: list[Running] = []

    def run(self, stop: Event) -> None:
        """Work until told to stop; jobs that run then are given back."""
        try:
            with self.store.reading() as db:
                sweep(db, self.settings)
        except Exception as error:  # what is left does no harm to jobs
            _log.error("%s at the start of the worker: going on", type(error).__name__)
        while not stop.is_set():
            try:
                busy = self.step()
            except SQLAlchemyError as error:  # a database that is away for a while
                _log.error("%s of the database: trying again", type(error).__name__)
                busy = False
            except Exception as error:  # of one job, which comes again when its lease has run out; others go on
                _log.error("%s in the worker: going on", type(error).__name__)
                busy = False
            stop.wait(_POLL if self.running or not busy else 0)
        self.give_back()

    def step(self) -> bool:
        """Look after what runs, and take up another job where there is room; whether there was one."""
        for one in list(self.running):
            self._look_after(one)
        if len(self.running) >= self.settings.jobs_at_once:
            return False
        with self.store.writing() as db:
            job = queue.claim(db, self.name, self.lease)
            if job is not None and job.state != "running":
                clear(job, self.settings)  # before it has ended: nobody comes back to it
        if job is not None and job.state == "running":
            clear(job, self.settings)
            self._begin(job)
        return job is not None

    def give_back(self) -> None:
        """Let go of what runs, so that it is taken up again at once."""
        for one in self.running:
            one.kill()
            clear(one.job, self.settings, only=one.job.attempts)  # somebody may cancel it before it is taken up
            with suppress(SQLAlchemyError), self.store.writing() as db:
                job = db.get(Job, one.job.id)
                if job is not None and job.worker == self.name and job.state == "running":
                    job.state, job.worker, job.lease_until = "queued", None, None
                    job.attempts -= 1
        self.running.clear()

    def _begin(self, job: Job) -> None:
        try:
            self.running.append(Running(job, self._asked(job)))
        except ShoalError as error:
            self._undo(job, "failed", str(error))
        except Exception as error:
            _log.error("%s at the start of a job '%s'", type(error).__name__, job.kind)
            self._undo(job, "failed", f"internal: {type(error).__name__}; tell whoever runs the server.")

    def _asked(self, job: Job) -> dict[str, Any]:
        """What the child is told."""
        keyring = self.keys.keyring  # opened before the transaction, since it may write itself
        with self.store.writing() as db:
            project = db.get_one(Project, job.project)
            text = Workspace.at(db, project, job.recipe, self.settings).text if job.recipe else ""
            key = project_key(db, keyring, project.id) if job.kind == "run" else b""
        folder = folder_of(project.id, self.settings)
        work = folder / "jobs" / job.id
        temporary = temporary_of(job, self.settings)
        work.mkdir(mode=0o700, parents=True, exist_ok=True)  # which the next one would make for everybody to read
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        return {
            "kind": job.kind, "parameters": job.parameters, "text": text, "source": project.source,
            "folder": str(folder), "work": str(work), "temporary": str(temporary), "key": key.hex(),
            "release": str(folder / release_of(job)),
            "memory": self.settings.job_memory, "offers": [asdict(one) for one in self.settings.offers],
        }  # fmt: skip

    def _look_after(self, one: Running) -> None:
        if one.ended:
            self.running.remove(one)
            self._settle(one)
            return
        if time.monotonic() - one.since > self.settings.job_seconds:
            one.kill()
            self.running.remove(one)
            self._undo(one.job, "failed", "The job took longer than jobs may take here: try it with less.")
            return
        if time.monotonic() - one.renewed < _RENEW:
            return
        one.renewed = time.monotonic()
        with self.store.writing() as db:
            told = queue.renew(db, one.job, one.progress, share_of(one.progress), self.lease)
        if told != "go":
            one.kill()
            self.running.remove(one)
        if told == "lost":  # another worker has it, whose files these are not
            clear(one.job, self.settings, only=one.job.attempts)
        if told == "cancel":
            self._undo(one.job, "cancelled", queue.CANCELLED)

    def _settle(self, one: Running) -> None:
        """Keep what came of a job, all of it in one transaction, or nothing of it."""
        keyring = self.keys.keyring
        try:
            try:
                found = one.outcome()
            finally:
                shutil.rmtree(temporary_of(one.job, self.settings), ignore_errors=True)
            with self.store.writing() as db:
                told = queue.held(db, one.job)
                if told == "cancel":
                    queue.end(db, one.job, "cancelled", message=queue.CANCELLED)
                if told != "go":  # what another worker has made meanwhile stays
                    clear(one.job, self.settings, only=None if told == "cancel" else one.job.attempts)
                    return
                result = keep(db, one.job, found, self.settings, keyring)
                result = found_without_places(result, self._places(one.job), one.asked["offers"])
                queue.end(db, one.job, "done", result=result)
        except ShoalError as error:
            self._undo(one.job, "failed", str(error))

    def _places(self, job: Job) -> tuple[str, str]:
        return str(folder_of(job.project, self.settings)), str(self.settings.folder)

    def _undo(self, job: Job, state: str, message: str) -> None:
        """End a job that came to nothing, and remove what it wrote before that is certain: nobody comes back to it.

        Where another worker has it, what this one wrote goes alone. And it stays where it was kept after all: what is
        done behind a commit, such as moving the anchor of the secrets, may fail too.
        """
        # Half characters and zero bytes, which somebody may have sent, go into no database.
        told = without_places(message, self._places(job), [asdict(one) for one in self.settings.offers])
        kept = told.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
        with self.store.writing() as db:
            if queue.end(db, job, state, message=kept):
                clear(job, self.settings)
            elif db.scalar(select(Release.folder).where(Release.job == job.id)) != release_of(job):
                clear(job, self.settings, only=job.attempts)
