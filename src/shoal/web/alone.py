"""One server to a data folder: whoever serves holds a lock, which the system lets go of however the process ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no flock: nobody can tell whether a folder is in use
    fcntl = None  # type: ignore[assignment]

LOCK, WORKER_LOCK = "server.lock", "worker.lock"
# Seconds. A process that was killed while it started another has the first for a moment longer; a worker whose server
# was killed brings to its end what it is just writing.
_PATIENCE = {LOCK: 1.0, WORKER_LOCK: 60.0}
_PAUSE = 0.05
_TOLD = {
    LOCK: "A server is at work in the data folder '{}': stop it first, or choose another folder.",
    WORKER_LOCK: "The worker of a server that has ended is still at work in the data folder '{}': try again later.",
}
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of some network file systems


def take(folder: Path) -> tuple[int, int]:
    """Have a data folder to oneself until the process has ended; refused where a server or its worker is at work in it.

    Returns the descriptors of both locks. A worker inherits the second, and so has it for as long as it lives. The
    files stay when the locks are given up: one that is removed could be held by two.
    """
    server = _locked(folder, LOCK)
    try:
        return server, _locked(folder, WORKER_LOCK)
    except BaseException:
        os.close(server)
        raise


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Have a data folder to oneself for a while, in which nothing else may be begun that outlasts it."""
    held = take(folder)
    try:
        yield
    finally:
        for one in held:
            os.close(one)


def _locked(folder: Path, name: str) -> int:
    try:
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)  # which processes inherit if we say so alone
    except OSError as error:
        raise InputError(f"The data folder '{folder}' cannot be used: {error.strerror}.") from None
    try:
        if not _taken(descriptor, _PATIENCE[name]):
            raise InputError(_TOLD[name].format(folder))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _taken(descriptor: int, patience: float) -> bool:
    if fcntl is None:
        return True
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno in _NO_LOCKS:  # as on Windows
                return True
            raise
