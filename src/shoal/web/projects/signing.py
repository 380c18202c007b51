"""Signatures of releases by the server's key, which is kept sealed and made when it is first needed."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.orm import Session as Db

from shoal.vault import signing
from shoal.web.context import Here
from shoal.web.keys import ServerKeyring, get, put
from shoal.web.projects.releases import folder_of_release
from shoal.web.projects.uploads import INCOMING
from shoal.web.store.work import Release
from shoal.web.trust.rows import SecretRows

_KIND, _PRIVATE, _PUBLIC = "signing", "private", "public"
PUBLIC_FILE = "signing.pub"
_HALF = ".incoming-"  # what is called so goes at the next start of a server that was killed meanwhile


def sign(here: Here, release: Release) -> str:
    """Sign a release into a file beside its folder, and log it; returns the fingerprint of the key.

    All of the release is read before, which takes too long for a transaction.
    """
    to, keyring, folder = here.data / INCOMING, here.keyring, folder_of_release(release, here.settings)
    with here.writing() as db:
        private = _key(db, keyring, to)
    aside = to / f"{_HALF}{secrets.token_hex(8)}"
    try:
        with _key_file(to) as key:
            key.touch(0o600)
            key.write_bytes(private)
            found = signing.sign_release(folder, key, aside)
        with here.writing() as db:
            here.log(db, "signed", release=release.id, key=found)
            aside.replace(signing.signature_beside(folder))
    finally:
        aside.unlink(missing_ok=True)
    return found


def _key(db: Db, keyring: ServerKeyring, to: Path) -> bytes:
    """The server's key, which is made when it is first needed."""
    SecretRows(db).lock()  # two who sign first make one key
    private = get(db, keyring, _KIND, _PRIVATE)
    if private is None:
        with _key_file(to) as key:
            made, public = signing.new_key(key)
            private = made.read_bytes()
            put(db, keyring, _KIND, _PRIVATE, private)
            put(db, keyring, _KIND, _PUBLIC, public.read_bytes())
    return private


@contextmanager
def _key_file(to: Path) -> Iterator[Path]:
    """Where the signer reads its key from: a file that nobody else may read, for a moment, on the server's own disk."""
    to.mkdir(mode=0o700, exist_ok=True)
    key = to / f"{_HALF}{secrets.token_hex(8)}"
    try:
        yield key
    finally:
        for one in (key, key.with_name(f"{key.name}{signing.PUBLIC}")):
            one.unlink(missing_ok=True)


def public_key(db: Db, keyring: ServerKeyring) -> bytes | None:
    """What signatures are checked by; None before there is one."""
    return get(db, keyring, _KIND, _PUBLIC)


def packed(release: Release, folder: Path, public: bytes | None, to: Path) -> tuple[str, Path]:
    """A release as one file of a folder, with its signature and the key to check it; and what to call it.

    Whoever sends the file removes it; by its name it goes at the next start of a server that was killed meanwhile.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", release.name).strip("-.")[:60] or "release"
    signature = signing.signature_beside(folder)
    to.mkdir(mode=0o700, exist_ok=True)
    descriptor, place = tempfile.mkstemp(prefix=_HALF, suffix=".zip", dir=to)
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as content:
            for one in sorted(folder.iterdir()):
                if one.is_file() and not one.name.startswith("."):
                    content.write(one, f"{name}/{one.name}")
            if signature.is_file() and public is not None:
                content.write(signature, f"{name}.sig")
                content.writestr(PUBLIC_FILE, public)
    except BaseException:  # such as a full disk, which half a file would keep full
        os.unlink(place)
        raise
    return f"{name}.zip", Path(place)
