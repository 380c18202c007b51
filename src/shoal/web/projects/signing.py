"""Signatures of releases by the server's key, which is kept sealed and made when it is first needed."""

from __future__ import annotations

import os
import re
import tempfile
import zipfile
from pathlib import Path

from sqlalchemy.orm import Session as Db

from shoal.vault import signing
from shoal.web.keys import ServerKeyring, get, put
from shoal.web.store.work import Release

_KIND, _PRIVATE, _PUBLIC = "signing", "private", "public"
PUBLIC_FILE = "signing.pub"


def sign(db: Db, keyring: ServerKeyring, folder: Path) -> str:
    """Sign a release into a file beside its folder; returns the fingerprint of the key."""
    private = get(db, keyring, _KIND, _PRIVATE)
    # The signer reads its key from a file that nobody else may read; this one lives for a moment.
    with tempfile.TemporaryDirectory() as place:
        key = Path(place) / "key"
        if private is None:
            made, public = signing.new_key(key)
            put(db, keyring, _KIND, _PRIVATE, made.read_bytes())
            put(db, keyring, _KIND, _PUBLIC, public.read_bytes())
        else:
            key.touch(0o600)
            key.write_bytes(private)
        return signing.sign_release(folder, key, signing.signature_beside(folder))


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
    descriptor, place = tempfile.mkstemp(prefix=".incoming-", suffix=".zip", dir=to)
    with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as content:
        for one in sorted(folder.iterdir()):
            if one.is_file() and not one.name.startswith("."):
                content.write(one, f"{name}/{one.name}")
        if signature.is_file() and public is not None:
            content.write(signature, f"{name}.sig")
            content.writestr(PUBLIC_FILE, public)
    return f"{name}.zip", Path(place)
