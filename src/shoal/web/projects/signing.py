"""Signatures of releases by the server's key, which is kept sealed and made when it is first needed."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from pathlib import Path

from sqlalchemy.orm import Session as Db

from shoal.vault import signing
from shoal.web.context import Here
from shoal.web.keys import ServerKeyring, get, put
from shoal.web.projects.releases import folder_of_release
from shoal.web.store.trusted import Sealed
from shoal.web.store.work import Release
from shoal.web.trust.rows import SecretRows

_KIND, _PRIVATE, _PUBLIC = "signing", "private", "public"
PUBLIC_FILE = "signing.pub"
_HALF = ".incoming-"  # what is called so goes at the next start of a server that was killed meanwhile


def sign(here: Here, release: Release) -> str:
    """Sign a release, and log it; returns the fingerprint of the key.

    The signature is kept with the secrets, so that it is there when its line of the log is, and the key leaves the
    memory of the server only sealed. All of the release is read before, which takes too long for a transaction.
    """
    keyring, folder = here.keyring, folder_of_release(release, here.settings)
    with here.writing() as db:
        private = _key(db, keyring)
    content, found = signing.signature_of(folder, private, "The server's key")
    with here.writing() as db:
        put(db, keyring, _KIND, release.id, content, release=release.id)
        here.log(db, "signed", release=release.id, key=found)
    return found


def _key(db: Db, keyring: ServerKeyring) -> bytes:
    """The server's key, which is made when it is first needed."""
    SecretRows(db).lock()  # two who sign first make one key
    private = get(db, keyring, _KIND, _PRIVATE)
    if private is None:
        private, public = signing.new_pair()
        put(db, keyring, _KIND, _PRIVATE, private)
        put(db, keyring, _KIND, _PUBLIC, public)
    return private


def is_signed(db: Db, release: Release) -> bool:
    """Whether a release has a signature."""
    return db.get(Sealed, f"{_KIND}/{release.id}") is not None


def signature(db: Db, keyring: ServerKeyring, release: Release) -> tuple[bytes, bytes] | None:
    """The signature of a release and the public key that it is checked by; None where nobody signed it."""
    found, public = get(db, keyring, _KIND, release.id), get(db, keyring, _KIND, _PUBLIC)
    return None if found is None or public is None else (found, public)


def packed(release: Release, folder: Path, signed: tuple[bytes, bytes] | None, to: Path) -> tuple[str, Path]:
    """A release as one file of a folder, with its signature and the key to check it; and what to call it.

    Whoever sends the file removes it; by its name it goes at the next start of a server that was killed meanwhile.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", release.name).strip("-.")[:60] or "release"
    to.mkdir(mode=0o700, exist_ok=True)
    descriptor, place = tempfile.mkstemp(prefix=_HALF, suffix=".zip", dir=to)
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as content:
            for one in sorted(folder.iterdir()):
                if one.is_file() and not one.name.startswith("."):
                    content.write(one, f"{name}/{one.name}")
            if signed is not None:
                content.writestr(f"{name}{signing.SUFFIX}", signed[0])
                content.writestr(PUBLIC_FILE, signed[1])
    except BaseException:  # such as a full disk, which half a file would keep full
        os.unlink(place)
        raise
    return f"{name}.zip", Path(place)
