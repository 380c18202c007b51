"""A private folder for what does not fit into memory: removed when its run ends, or by the next run after a kill."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no flock: nobody can tell whether a folder is in use, so none is cleared there
    fcntl = None  # type: ignore[assignment]

_PREFIX, _NEW, _LOCK = ".shoal-scratch-", ".shoal-new-scratch-", "lock"


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A new folder, readable by its owner alone, below ``parent`` or the system's temporary folder."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    if not parent.is_dir():
        raise InputError(f"There is no folder '{parent}' for scratch files: make it, or name another one.")
    clear(parent)
    name = secrets.token_hex(8)
    folder, made = parent / f"{_PREFIX}{name}", parent / f"{_NEW}{name}"
    try:
        made.mkdir(0o700)
        held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"No scratch folder can be made in '{parent}': {error.strerror}.") from None
    try:
        if fcntl is not None:
            fcntl.flock(held, fcntl.LOCK_EX)
        made.rename(folder)  # under a name that others clear only once it is held
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def clear(parent: Path) -> None:
    """Remove scratch folders of ours whose runs are over, however they ended."""
    if fcntl is None:
        return
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_uid != os.getuid():
                continue
            held = os.open(folder / _LOCK, os.O_RDWR)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)
