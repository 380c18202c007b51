"""A private folder for what does not fit into memory: removed when its run ends, or by the next run after a kill."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal.data.table import refused
from shoal.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no flock: nobody can tell whether a folder is in use, so none is cleared there
    fcntl = None  # type: ignore[assignment]

_PREFIX, _NEW, _LOCK = ".shoal-scratch-", ".shoal-new-scratch-", "lock"


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """A new folder, readable by its owner alone, below ``parent`` or the system's temporary folder."""
    parent = _there(Path(tempfile.gettempdir()) if parent is None else parent)
    clear(parent)
    folder, lock = _made(parent)
    try:
        yield folder
    except OSError as error:
        if Path(str(error.filename)).is_relative_to(folder):
            raise refused(error) from None
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _is_of(lock: int, folder: Path) -> bool:
    """Whether a lock is the one that a folder has now: it may have been cleared, and made anew, meanwhile."""
    try:
        return os.path.samestat(os.fstat(lock), (folder / _LOCK).lstat())
    except FileNotFoundError:
        return False


def remove(folder: Path) -> None:
    """Remove a folder that is held, under another name: a run that begins meanwhile has one of its own.

    What a kill leaves of it is cleared whatever it still holds.
    """
    with suppress(OSError):
        folder = folder.rename(folder.with_name(f"{_PREFIX}{secrets.token_hex(8)}"))
    shutil.rmtree(folder, ignore_errors=True)


def _there(parent: Path) -> Path:
    if not parent.is_dir():
        raise InputError(f"There is no folder '{parent}' for scratch files: make it, or name another one.")
    return parent


def _made(parent: Path) -> tuple[Path, int]:
    """A new folder that is held by its lock."""
    while True:
        name = secrets.token_hex(8)
        folder, made = parent / f"{_PREFIX}{name}", parent / f"{_NEW}{name}"
        try:
            made.mkdir(0o700)
        except OSError as error:
            raise _impossible(parent, error) from None
        held = -1
        try:
            held = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if fcntl is not None:
                fcntl.flock(held, fcntl.LOCK_EX)
            made.rename(folder)
            return folder, held
        except BaseException as error:
            shutil.rmtree(made, ignore_errors=True)
            if held >= 0:
                os.close(held)
            if isinstance(error, FileNotFoundError):  # somebody else began just now, and took it for left by a kill
                continue
            if isinstance(error, OSError):
                raise _impossible(parent, error) from None
            raise


def _impossible(parent: Path, error: OSError) -> InputError:
    return InputError(f"No scratch folder can be made in '{parent}': {error.strerror}.")


def clear(parent: Path) -> None:
    """Remove scratch folders of ours whose runs are over, however they ended."""
    if fcntl is None:
        return
    for folder in [path for prefix in (_PREFIX, _NEW) for path in parent.glob(f"{prefix}*")]:
        with suppress(OSError):
            if folder.lstat().st_uid == os.getuid():
                _clear(folder)


def _clear(folder: Path) -> None:
    """Remove a folder that nobody holds."""
    try:
        held = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        if folder.name.startswith(_PREFIX):
            shutil.rmtree(folder)  # its run is over, and somebody who worked for it wrote to it once more
        else:
            folder.rmdir()  # its run ended, or is, before its first file
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_of(held, folder):
            remove(folder)
    finally:
        os.close(held)
