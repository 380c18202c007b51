"""Files that change with the rows that tell of them, or not at all.

Before a file takes its place, a note tells of it, and what was there is kept beside the note. When the transaction has
ended, however it did, the database tells which of the two stays. Who is killed meanwhile, or cannot ask the database,
leaves the note behind, and the next start asks.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session as Db
from sqlalchemy.orm import SessionTransaction

from shoal.errors import InputError
from shoal.io.atomic import locked, sync, write_whole
from shoal.web.errors import conflict
from shoal.web.projects.uploads import Incoming
from shoal.web.store.tables import File

NOTES = ".changing"
_NOTE, _BEFORE, _LOCKED = "note.json", "before", "files"
_PATIENCE = 10.0  # seconds
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
_log = logging.getLogger("shoal.web")


def afterwards(db: Db, act: Callable[[Db], None]) -> ExitStack:
    """Do something to files by what the database says once a transaction has ended; returns what is held until then.

    To ask is better than to be told: where a connection breaks in the middle of a commit, nobody tells.
    """
    engine, held = db.get_bind().engine.execution_options(immediate=False), ExitStack()

    def ended(_: Db, transaction: SessionTransaction) -> None:
        if transaction.parent is not None:
            return
        with held:
            try:
                with Db(engine) as now:
                    act(now)
            except (OSError, SQLAlchemyError) as error:
                _log.error("%s: files of a project are put in order at the next start", type(error).__name__)

    event.listen(db, "after_transaction_end", ended)
    return held


def put_file(db: Db, folder: Path, path: str, incoming: Incoming) -> None:
    """Give a file its place in a project's folder, of whose row the transaction knows by now.

    Whoever else puts files there waits until it is certain which stay: they would keep what may have to go again.
    """
    if folder not in db.info:
        with ExitStack() as taken:
            _take(taken, folder)
            afterwards(db, lambda now: settle(now, folder)).push(taken.pop_all())
        db.info[folder] = True
    place = folder / path
    place.parent.mkdir(mode=0o700, exist_ok=True)
    (folder / NOTES).mkdir(mode=0o700, exist_ok=True)
    note = folder / NOTES / f"{time.time_ns():020}-{secrets.token_hex(4)}"
    note.mkdir(mode=0o700)
    was = place.exists()
    write_whole(note / _NOTE, json.dumps({"path": path, "sha256": incoming.sha256, "was": was}).encode())
    if was:
        _keep(place, note / _BEFORE)
    os.replace(incoming.path, place)
    sync(place.parent)


def _take(taken: ExitStack, folder: Path) -> None:
    """Take the lock of a project's files, for which nobody waits long: on SQLite all who write wait meanwhile."""
    try:
        taken.enter_context(locked(folder / _LOCKED, patience=_PATIENCE))
    except InputError as error:
        if isinstance(error.__cause__, OSError):  # such as a full disk
            raise error.__cause__ from None
        raise conflict("Somebody else changes files of this project just now: try again in a moment.") from None


def _keep(place: Path, before: Path) -> None:
    """Give what is there another name as well; where the disk knows no such thing, its place is empty for a moment."""
    try:
        os.link(place, before)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(place, before)


def settle(db: Db, folder: Path) -> None:
    """Let files stay that have a row, and put back what others took the place of; whoever asks holds the lock."""
    certain: set[str] = set()
    for note in sorted((folder / NOTES).glob("*"), reverse=True):  # the newest first: it has the one before it
        told = _read(note)
        if told is not None and told["path"] not in certain:
            row = db.get(File, (folder.name, told["path"]))
            if row is not None and row.sha256 == told["sha256"]:
                certain.add(told["path"])
            else:
                _put_back(folder / told["path"], note / _BEFORE, told["was"])
        shutil.rmtree(note)
    with suppress(FileNotFoundError):
        (folder / NOTES).rmdir()


def settle_left(db: Db, folder: Path) -> None:
    """The same of what a server left that was killed."""
    if (folder / NOTES).is_dir():
        with locked(folder / _LOCKED):
            settle(db, folder)


def _read(note: Path) -> dict[str, Any] | None:
    """What a note tells; None where its writer did not come as far, nor to the file."""
    try:
        found: dict[str, Any] = json.loads((note / _NOTE).read_bytes())
    except FileNotFoundError:
        return None
    return found


def _put_back(place: Path, before: Path, was: bool) -> None:
    if before.exists():
        os.replace(before, place)
    elif not was:
        place.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        sync(place.parent)
