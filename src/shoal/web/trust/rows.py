"""The strongroom in the database: rows are changed in the transaction of what they belong to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import event, select, text
from sqlalchemy.orm import Session as Db

from shoal.web.store.trusted import Sealed

_LOCK = 7_301_448  # of PostgreSQL's advisory locks: one change after the other


class SecretRows:
    """The table of secrets as a store, seen by one session.

    Parameters
    ----------
    release
        What rows that are written belong to.
    """

    def __init__(self, db: Db, release: str | None = None) -> None:
        self._db, self._release = db, release

    def lock(self) -> None:
        """Have the table to oneself until the transaction ends; on SQLite whoever writes has that anyway."""
        if self._db.get_bind().dialect.name == "postgresql":
            self._db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})

    def read(self, names: Collection[str] | None = None) -> dict[str, bytes]:
        """Rows by name, in one statement."""
        self._db.flush()
        chosen = select(Sealed.id, Sealed.sealed)
        if names is not None:
            chosen = chosen.where(Sealed.id.in_(list(names)))
        return {name: bytes(row) for name, row in self._db.execute(chosen)}

    def change(self, rows: Mapping[str, bytes | None]) -> None:
        """Write some rows, and drop those that are None."""
        for name, row in rows.items():
            known = self._db.get(Sealed, name)
            if row is None:
                if known is not None:
                    self._db.delete(known)
            elif known is None:
                purpose, _, rest = name.partition("/")
                self._db.add(Sealed(id=name, release=self._release, purpose=purpose, name=rest, sealed=row))
            else:
                known.sealed, known.version = row, known.version + 1
        self._db.flush()

    def afterwards(self, action: Callable[[], None]) -> None:
        """When the transaction is committed; never where it is not."""
        wanted = [True]

        def done(session: Any) -> None:
            if wanted[0]:
                wanted[0] = False
                action()

        def undone(session: Any) -> None:
            wanted[0] = False

        event.listen(self._db, "after_commit", done)
        event.listen(self._db, "after_rollback", undone)
