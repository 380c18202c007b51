"""Opening the database: SQLite in the data folder, or PostgreSQL by its address, brought up to date first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from shoal.errors import InputError

_WAIT = 30  # seconds for whoever writes before us
_POOL: dict[str, Any] = {"pool_size": 20, "max_overflow": 40}  # more than there are threads that answer
_LOCK = 7_301_446  # of PostgreSQL's advisory locks: one migration at a time


class Store:
    """The database. Sessions are short: nothing that takes long is done inside of one."""

    def __init__(self, url: str) -> None:
        self.sqlite = url.startswith("sqlite")
        self.engine = (
            _sqlite(url) if self.sqlite else create_engine(url, pool_pre_ping=True, hide_parameters=True, **_POOL)
        )
        self._read = sessionmaker(self.engine, expire_on_commit=False)
        self._write = sessionmaker(self.engine.execution_options(immediate=True), expire_on_commit=False)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one state of everything, and changes nothing."""
        with self._read() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session whose changes all happen in the end, or not at all; on SQLite nobody else writes meanwhile."""
        with self._write.begin() as session:
            yield session

    def close(self) -> None:
        self.engine.dispose()


def open_store(url: str) -> Store:
    """The database at an address, with its tables as this version has them."""
    if url.startswith("sqlite"):
        _private(make_url(url).database)
    store = Store(url)
    try:
        with store.engine.execution_options(immediate=True).begin() as connection:
            _migrate(connection)
    except SQLAlchemyError as error:
        store.close()
        reason = type(getattr(error, "orig", None) or error).__name__
        raise InputError(f"The database cannot be opened ({reason}): check its address and its rights.") from None
    return store


def _private(name: str | None) -> None:
    """Make the file ourselves, since SQLite would let others read it, or close a copy; its logs take over the mode."""
    if name:
        os.close(os.open(name, os.O_RDWR | os.O_CREAT, 0o600))
        with suppress(PermissionError):  # of a file that is somebody else's, who sees to it
            Path(name).chmod(0o600)


def _migrate(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _sqlite(url: str) -> Engine:
    how = {"timeout": _WAIT, "check_same_thread": False}
    engine = create_engine(url, connect_args=how, hide_parameters=True, **_POOL)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below
        for setting in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        how = "BEGIN IMMEDIATE" if connection.get_execution_options().get("immediate") else "BEGIN"
        connection.exec_driver_sql(how)

    return engine
