"""One writer at a time, over processes: whoever writes a file or folder holds a lock beside it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shoal.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no flock: renames still refuse what is there, and single files are compared first
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds to wait for somebody else's write, which takes a fraction of one
_PAUSE = 0.01
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of some network file systems


@contextmanager
def locked(*places: Path, patience: float | None = None) -> Iterator[None]:
    """Hold the locks of files or folders, always in the same order, so that two processes never wait for each other.

    The system lets go of a lock when its process ends, however it ends. A lock file that is left behind is used, and
    removed, by the next one. What the system refused is the cause of the error that tells so.
    """
    with ExitStack() as held:
        for place in sorted({Path(os.path.abspath(place)) for place in places}):
            held.enter_context(_one(place, PATIENCE if patience is None else patience))
        yield


def lock_file(place: Path) -> Path:
    """The file whose lock whoever writes ``place`` holds."""
    return place.with_name(f".{place.name}.lock")


@contextmanager
def _one(place: Path, patience: float) -> Iterator[None]:
    path = lock_file(place)
    descriptor = _acquired(path, place, patience)
    try:
        yield
    finally:
        try:
            with suppress(OSError):
                path.unlink()  # while it is held: whoever waits for it notices, and makes a new one
        finally:
            os.close(descriptor)


def _acquired(path: Path, place: Path, patience: float) -> int:
    end = time.monotonic() + patience
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(f"'{place}' cannot be written: {error.strerror}.") from error
        try:
            if _taken(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() > end:
            raise InputError(f"'{place}' is being written by another process: try again when that is done.")
        time.sleep(_PAUSE)


def _taken(descriptor: int, path: Path) -> bool:
    """Whether the lock is ours: nobody else holds it, and its file is still the one beside the place."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:  # as on Windows
            return True
        raise
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
