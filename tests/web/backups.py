"""Backup and restore by the commands that docs/server.md states, word by word, on either database."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from sqlalchemy.engine import make_url

from shoal.web.settings import Settings
from tests.engines.server import binaries

_PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text("utf-8")
_SECTION = _PAGE.partition("## Backup and restore\n")[2].partition("\n## ")[0]
_BACKUP, _RESTORE = re.findall(r"^```sh\n(.*?)^```$", _SECTION, re.DOTALL | re.MULTILINE)
_DUMP, _LOAD = (re.findall(rf"`({word} [^`]*)`", _SECTION)[0] for word in ("pg_dump", "createdb"))


def take_backup(settings: Settings, to: Path) -> None:
    """Into a folder, which has the data folder in it, as ``shoal-data``."""
    _carry_out(_BACKUP, "sqlite3 .*", _DUMP, settings, to)


def put_back(settings: Settings, to: Path) -> None:
    """From a folder with a backup and the master key, into the data folder in there, which must not be there yet."""
    _carry_out(_RESTORE, r"install .*shoal\.db", _LOAD, settings, to)


def put_back_database(settings: Settings, to: Path) -> None:
    """The database alone, in the place of the one that is there."""
    if "postgresql" in settings.database:
        _carry_out(f"dropdb --force shoal\n{_LOAD}", "^$", "", settings, to)
        return
    for path in settings.folder.glob("shoal.db*"):
        path.unlink()
    (line,) = re.findall(r"install .*shoal\.db", _RESTORE)
    _carry_out(line, "^$", "", settings, to)


def _carry_out(commands: str, line: str, instead: str, settings: Settings, at: Path) -> None:
    """Commands of the page, with one for PostgreSQL where it says so; its database is called otherwise in tests."""
    given = {"PATH": os.environ["PATH"]}
    url = make_url(settings.database)
    if url.drivername.startswith("postgresql"):
        programs = binaries()
        assert programs is not None
        commands, changed = re.subn(rf"^{line}$" if instead else line, instead, commands, flags=re.MULTILINE)
        assert changed == 1 or not instead, "the page has no such line"
        commands = re.sub(r"\bshoal(?=\s|$)", str(url.database), commands)
        given = {"PATH": f"{programs}:{given['PATH']}", "PGHOST": str(url.host), "PGPORT": str(url.port)}
        given |= {"PGUSER": str(url.username), "PGPASSWORD": str(url.password)}
    done = subprocess.run(["sh", "-ec", commands], cwd=at, env=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
