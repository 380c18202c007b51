"""A PostgreSQL of the tests' own: a fresh data folder, a free port of the loopback interface, gone in the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

# Not kept from power cuts, which no test is about, and quick to start.
SETTINGS = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "log_statement=all"]
OWNER = "nobody"  # PostgreSQL refuses to run as root
PASSWORD = "open sesame 7"


def binaries() -> Path | None:
    """Where the programs of the newest PostgreSQL are that is installed; None without one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    known = shutil.which("initdb")
    return None if known is None else Path(known).resolve().parent


@dataclass(frozen=True)
class Server:
    """A running server, whose superuser is ``postgres``; it logs every statement."""

    port: int
    log: Path

    def url(self, database: str = "postgres", role: str = "postgres", password: str = PASSWORD) -> str:
        return f"postgresql://{role}:{password.replace(' ', '%20')}@127.0.0.1:{self.port}/{database}"

    def do(self, *statements: str, database: str = "postgres") -> None:
        """Carry out statements as the superuser."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """What a query finds."""
        import psycopg

        with psycopg.connect(self.url(database)) as connection:
            return connection.execute(query).fetchall()

    def fill(self, table: str, frame: pl.DataFrame, types: dict[str, str] | None = None) -> None:
        """Make a table of a frame, whose columns are text unless said otherwise."""
        import psycopg

        given = types or {}
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in frame.columns}
        listed = ", ".join(f"{quoted[name]} {given.get(name, 'text')}" for name in frame.columns)
        with psycopg.connect(self.url()) as connection:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(f"CREATE TABLE {table} ({listed})")
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in frame.iter_rows():
                    copy.write_row(row)


@contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A server, until it is no longer needed."""
    home = Path(tempfile.mkdtemp(prefix="shoal-postgres-"))
    data, secret = home / "data", home / "secret"
    data.mkdir(0o700)
    secret.write_text(PASSWORD)
    home.chmod(0o755)
    if os.getuid() == 0:
        for path in (data, secret):
            shutil.chown(path, OWNER)
    try:
        asked = ["-D", data, "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync", "-A", "scram-sha-256"]
        _call(programs / "initdb", *asked, f"--pwfile={secret}")
        with _started(programs, data) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def standby(programs: Path, primary: Server) -> Iterator[Server]:
    """A server that follows another and takes no writes."""
    home = Path(tempfile.mkdtemp(prefix="shoal-standby-"))
    data = home / "data"
    data.mkdir(0o700)
    home.chmod(0o755)
    if os.getuid() == 0:
        shutil.chown(data, OWNER)
    try:
        _call(programs / "pg_basebackup", "-D", data, "-R", "-c", "fast", "-N", "-d", primary.url())
        with _started(programs, data) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _started(programs: Path, data: Path) -> Iterator[Server]:
    """A server on a free port of the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = [f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories="]
    settings = " ".join(f"-c {one}" for one in [*here, *SETTINGS])
    _call(programs / "pg_ctl", "-D", data, "-w", "-l", data / "log", "-o", settings, "start")
    try:
        yield Server(port, data / "log")
    finally:
        _call(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


def _call(*command: object) -> None:
    words = [str(word) for word in command]
    if os.getuid() == 0:
        words = ["setpriv", f"--reuid={OWNER}", "--clear-groups", *words]
    # PostgreSQL hangs at its start with the sanitizers that scripts/sanitize loads before Python.
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    found = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, cwd="/", env=plain
    )
    assert found.returncode == 0, found.stdout
