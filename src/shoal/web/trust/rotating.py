"""A new master key, and a restored backup: what is done to the secrets of a server that stands still."""

from __future__ import annotations

from sqlalchemy import select

from shoal.vault.seal import Key
from shoal.web.keys import ROW, master_key, open_keyring, strongroom
from shoal.web.settings import Settings
from shoal.web.store.opening import Store
from shoal.web.store.people import User
from shoal.web.store.trusted import KeyringRow, Leak, Question
from shoal.web.trail import record
from shoal.web.trust.rows import SecretRows


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
