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

LOCK = "server.lock"
_PATIENCE, _PAUSE = 1.0, 0.05  # seconds; a process that was killed while it started another has it for a moment longer
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of some network file systems


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Have a data folder to oneself; refused where a server is at work in it.

    The file stays when the lock is given up: one that is removed could be held by two.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)  # which no process that we start inherits
    except OSError as error:
        raise InputError(f"The data folder '{folder}' cannot be used: {error.strerror}.") from None
    try:
        if not _taken(descriptor):
            raise InputError(
                f"A server is at work in the data folder '{folder}': stop it first, or choose another folder."
            )
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    if fcntl is None:
        return True
    end = time.monotonic() + _PATIENCE
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
