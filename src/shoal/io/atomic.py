"""Files and folders that change in one step, and are on disk before anything else happens."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from shoal.errors import InputError

_HERE = -100  # AT_FDCWD: paths are relative to where we are
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_NO_SUCH_THING = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


def put(staged: Path, place: Path, aside: Path | None = None) -> None:
    """Put a folder where there is nothing, or an empty folder, or, given ``aside``, the one that it replaces.

    Seen from outside it is one step: old and new change places. Where the system cannot do that, the old one goes
    ``aside`` first, and for a moment nothing is there.
    """
    try:
        os.rename(staged, place)  # refuses a folder that is not empty, whoever filled it
    except OSError as error:
        if aside is None or error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not exchange(staged, place):
            os.rename(place, aside)
            os.rename(staged, place)
    sync(place.parent)
    sync(staged.parent)


def exchange(one: Path, two: Path) -> bool:
    """Let two paths change places in one step; False, and nothing done, where the system has no such thing."""
    call = _call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(two)) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_SUCH_THING:
        return False
    raise OSError(code, os.strerror(code), str(one))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, under another name first, which the next one uses after a failure."""
    staged = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        staged.unlink()
    # Created with mode 0600: there is no moment at which others could open it.
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(staged, path)
    except BaseException:
        with suppress(OSError):
            staged.unlink()
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Have a file, or a folder's list of names, on disk before anything else happens."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _call() -> Callable[[bytes, bytes], int] | None:
    if os.name != "posix":
        return None
    library: Any = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin" and hasattr(library, "renamex_np"):
        return lambda one, two: library.renamex_np(one, two, _EXCHANGE)
    if hasattr(library, "renameat2"):
        return lambda one, two: library.renameat2(_HERE, one, _HERE, two, _EXCHANGE)
    return None


# ----------------------------------------
# One writer at a time, over processes: whoever writes a file or folder holds a lock beside it.


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


# ----------------------------------------
# Who else can read a file that holds a secret.


CREDENTIALS = "CREDENTIALS_DIRECTORY"  # where systemd puts what LoadCredential= names
_READ_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH


def refuse_readable(path: str | Path) -> None:
    """Refuse a file of a secret that others than its owner can read; pipes and terminals have none."""
    try:
        found = os.stat(path)
    except OSError:  # which whoever reads it tells
        return
    if os.name != "posix" or not stat.S_ISREG(found.st_mode) or not found.st_mode & _READ_BY_OTHERS:
        return
    if not _is_credential(Path(path), found):
        raise InputError(f"'{path}' can be read by others than its owner: run chmod 600 on it first.")


def _is_credential(path: Path, found: os.stat_result) -> bool:
    """Whether systemd made a file for this service alone.

    It lets the service in by an access list, whose mask the mode shows as rights of the group; the group itself has
    none. That is believed in the folder that it names, as long as nobody else gets into that.
    """
    named = os.environ.get(CREDENTIALS, "")
    if not os.path.isabs(named) or path.resolve().parent != Path(named).resolve():
        return False
    try:
        folder = os.stat(named)
    except OSError:
        return False
    return all(
        one.st_uid in (0, os.geteuid()) and not one.st_mode & (stat.S_IWGRP | stat.S_IRWXO) for one in (found, folder)
    )
