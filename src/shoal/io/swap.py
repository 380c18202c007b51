"""Files and folders that change in one step, and are on disk before anything else happens."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

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
