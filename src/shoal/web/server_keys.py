"""The keyring of a server: kept in the database, sealed by a master key that is not there."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import event, select, text
from sqlalchemy.orm import Session as Db

from shoal.errors import InputError, VerificationError
from shoal.io.atomic import refuse_readable, write_whole
from shoal.vault.seal import Key
from shoal.vault.sealed_rows import Keyring, Strongroom
from shoal.web.permissions import record
from shoal.web.settings import Settings
from shoal.web.store.open import Store
from shoal.web.store.tables import KeyringRow, Leak, Question, Sealed, User

# ----------------------------------------
# The strongroom in the database: rows are changed in the transaction of what they belong to.


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


_T = TypeVar("_T")
ROW = 1
DEFAULT, ANCHOR = "master.key", "secrets.anchor"


class ServerKeyring(Keyring):
    """The keyring of a server, and the file by which an older copy of its secrets is told."""

    __slots__ = ("anchor",)
    anchor: Path


class Keys:
    """The keyring, opened when it is first needed, since deriving its key is slow on purpose."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._opened: ServerKeyring | None = None
        self._lock = Lock()

    @property
    def keyring(self) -> ServerKeyring:
        with self._lock:
            if self._opened is None:
                self._opened = open_keyring(self._settings, self._store)
            return self._opened


def master_key(settings: Settings, *, make: bool = False) -> Key:
    """What opens the keyring: the file that was named, or one in the data folder.

    It is made only for a new keyring, by whoever holds the lock of the secrets.
    """
    if settings.master_key is not None and settings.passphrase_file is not None:
        raise InputError("Give a master key or a file with a passphrase, not both.")
    if settings.passphrase_file is not None:
        refuse_readable(settings.passphrase_file)
        try:
            text = settings.passphrase_file.read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise InputError(f"The passphrase file '{settings.passphrase_file}' cannot be read: check it.") from None
        return Key.passphrase(text)
    place = settings.master_key or settings.folder / DEFAULT
    if settings.master_key is None and not place.exists():
        if not make:  # another one would open nothing, and would be taken for the right one ever after
            raise InputError(f"The master key '{place}' is gone, without which no secret opens: put it back.")
        write_whole(place, secrets.token_bytes(32))
    return Key.file(place)


def open_keyring(settings: Settings, store: Store, *, check: bool = True) -> ServerKeyring:
    """The keyring of the database, made if there is none; an older copy of its secrets is an error, if wanted."""
    with store.reading() as db:
        row = db.get(KeyringRow, ROW)
    if row is None:
        with store.writing() as db:
            SecretRows(db).lock()  # server and worker start at the same moment: one makes key and keyring
            if db.get(KeyringRow, ROW) is None:
                db.add(KeyringRow(id=ROW, wrapped=Keyring.new().closed(master_key(settings, make=True))))
        with store.reading() as db:
            row = db.get_one(KeyringRow, ROW)
    key = master_key(settings)
    made = ServerKeyring.open(row.wrapped, key)
    made.anchor = settings.folder / ANCHOR
    if check:
        with store.reading() as db:
            kept(db, made)
    return made


def strongroom(db: Db, keyring: ServerKeyring, release: str | None = None) -> Strongroom:
    """All secrets of the server, as one session sees them."""
    return Strongroom(SecretRows(db, release), keyring, keyring.anchor)


def put(db: Db, keyring: ServerKeyring, purpose: str, name: str, data: bytes, release: str | None = None) -> None:
    """Seal something and keep it, in the place of what was kept for the same purpose under the same name."""
    SecretRows(db).lock()
    strongroom(db, keyring, release).put(f"{purpose}/{name}", data)


def get(db: Db, keyring: ServerKeyring, purpose: str, name: str) -> bytes | None:
    """What is kept for a purpose under a name, opened."""
    return _looked(db, keyring, lambda room: room.get(f"{purpose}/{name}"))


def kept(db: Db, keyring: ServerKeyring) -> list[str]:
    """Names of all that is kept, behind their purposes."""
    return _looked(db, keyring, Strongroom.names)


def _looked(db: Db, keyring: ServerKeyring, look: Callable[[Strongroom], _T]) -> _T:
    try:
        return look(strongroom(db, keyring))
    except VerificationError:  # the session may be older than the anchor, which somebody has moved since
        # To read is enough, and waits for nobody: the session itself may be the one that writes.
        with Db(db.get_bind().engine.execution_options(immediate=False)) as now:
            return look(strongroom(now, keyring))


# ----------------------------------------
# A new master key, and a restored backup: what is done to the secrets of a server that stands still.


def rotate(settings: Settings, store: Store, key: Key | None = None) -> int:
    """Turn all that is sealed over to a fresh master key, and forget the old one; how many pieces that were.

    Parameters
    ----------
    key
        What opens the keyring from now on; the same as before by default.
    """
    old = open_keyring(settings, store)
    new = old.rotated()
    new.anchor = old.anchor
    with store.writing() as db:
        rows = SecretRows(db)
        rows.lock()
        strongroom(db, old).rewrap(new)
        pieces = len(rows.read()) - 1
        for one in db.scalars(select(Question)):
            for part in ("text", "checked", "answer"):
                sealed = getattr(one, part)
                if sealed is not None:
                    setattr(one, part, new.rewrap("question", f"{one.id}/{part}", sealed))
                    pieces += 1
        for told in db.scalars(select(Leak)):
            told.what = new.rewrap("leak", f"{told.question}/{told.column}", told.what)
            pieces += 1
        for user in db.scalars(select(User).where(User.totp.is_not(None))):
            user.totp = new.rewrap("totp", user.id, user.totp or b"")
            pieces += 1
        db.get_one(KeyringRow, ROW).wrapped = new.retired().closed(key or master_key(settings))
        record(db, "command line", "master key rotated", pieces=pieces)
    return pieces


def accept(settings: Settings, store: Store) -> int:
    """Take the secrets as they are for the newest, after a backup was restored; how many changes they have seen."""
    keyring = open_keyring(settings, store, check=False)
    with store.writing() as db:
        epoch = strongroom(db, keyring).accept()
        record(db, "command line", "restored backup accepted", changes=epoch)
    return epoch
