"""Who else can read a file that holds a secret."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shoal.errors import InputError

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
