"""The keyring of a server: kept in the database, sealed by a master key that is not there."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TypeVar

from sqlalchemy.orm import Session as Db

from shoal.errors import InputError, VerificationError
from shoal.io.atomic import refuse_readable, write_whole
from shoal.vault.seal import Key
from shoal.vault.sealed_rows import Keyring, Strongroom
from shoal.web.settings import Settings
from shoal.web.store.opening import Store
from shoal.web.store.trusted import KeyringRow
from shoal.web.trust.rows import SecretRows

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
