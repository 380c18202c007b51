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
from shoal.table.spill import refused

try:
    import fcntl
except ImportError:  # Windows has no flock: nobody can tell whether a folder is in use, so none is cleared there
    fcntl = None  # type: ignore[assignment]

_PREFIX, _NEW, _KEPT, _LOCK = ".shoal-scratch-", ".shoal-new-scratch-", ".shoal-kept-", "lock"


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


@contextmanager
def held(parent: Path, name: str) -> Iterator[Path]:
    """A folder that stays where it is, until a run without it begins, with nobody else in it meanwhile."""
    folder = _there(parent) / f"{_KEPT}{name}"
    try:
        lock = _locked(folder)
    except BlockingIOError:
        raise InputError(f"Another run is at work with the same source in '{parent}': wait for its end.") from None
    except OSError as error:
        raise _impossible(parent, error) from None
    try:
        yield folder
    finally:
        os.close(lock)


def _locked(folder: Path) -> int:
    while True:
        folder.mkdir(0o700, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (folder / _LOCK).exists():  # or somebody has cleared it meanwhile
                return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


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
    for folder in [path for prefix in (_PREFIX, _NEW, _KEPT) for path in parent.glob(f"{prefix}*")]:
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
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)
