"""Who else can read a file that holds a secret."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from shoal.errors import InputError


def refuse_readable(path: str | Path) -> None:
    """Refuse a file of a secret that others than its owner can read; pipes and terminals have none."""
    with suppress(OSError):
        found = os.stat(path)
        if os.name == "posix" and stat.S_ISREG(found.st_mode) and found.st_mode & (stat.S_IRGRP | stat.S_IROTH):
            raise InputError(f"'{path}' can be read by others than its owner: run chmod 600 on it first.")
