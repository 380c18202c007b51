"""Releases: who may see which, their files, and grants."""

from __future__ import annotations

import io
import os
import re
import tarfile
import tempfile
import zipfile
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session as Db

from shoal.io.evidence import evidence_of
from shoal.release.dossier import report
from shoal.reports.dossier import AUDIENCES, EXTERNAL, FORMATS
from shoal.vault import signing
from shoal.web.accounts.users import named
from shoal.web.errors import conflict, invalid, missing
from shoal.web.jobs.results import private_of
from shoal.web.permissions import RESEARCHER, Principal
from shoal.web.projects.project import folder_of
from shoal.web.request import Here
from shoal.web.server_keys import SecretRows, ServerKeyring, get, kept, put
from shoal.web.settings import Settings
from shoal.web.store.tables import Grant, Release, Sealed, User, now


def visible(db: Db, me: Principal) -> list[Release]:
    """Releases that somebody may see, the newest first."""
    chosen = select(Release).order_by(Release.created.desc())
    if me.role == RESEARCHER:
        granted = select(Grant.release).where(Grant.user == me.id, Grant.revoked.is_(None))
        chosen = chosen.where(Release.id.in_(granted))
    return list(db.scalars(chosen))


def folder_of_release(release: Release, settings: Settings) -> Path:
    """Where a release lies."""
    return folder_of(release.project, settings) / release.folder


def files_of_release(release: Release, settings: Settings) -> dict[str, Path]:
    """The files of a release by name; nothing else in its folder can be asked for."""
    folder = folder_of_release(release, settings)
    return {path.name: path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")}


def file_of_release(release: Release, name: str, settings: Settings) -> Path:
    """One file of a release."""
    found = files_of_release(release, settings).get(name)
    if found is None:
        raise missing()
    return found


def downloaded(here: Here, name: str) -> Path:
    """One file of the release of a request, whose download is logged."""
    path = file_of_release(here.named(Release), name, here.settings)
    log_download(here, path.name)
    return path


def log_download(here: Here, name: str) -> None:
    """Log that a file of the release of a request was downloaded."""
    with here.writing() as db:
        here.log(db, "downloaded", release=here.named(Release).id, file=name)


def grant(db: Db, release: Release, who: str, by: Principal) -> Grant:
    """Let a researcher have a release."""
    user = named(db, who)
    if user is None or user.role != RESEARCHER or not user.active:
        raise invalid("There is no researcher of this name: check it.", "user")
    made = Grant(release=release.id, user=user.id, by=by.id)
    try:
        with db.begin_nested():
            db.add(made)
    except IntegrityError:  # also where another custodian is granting it at the same moment
        raise conflict("This researcher has the release already.") from None
    return made


def give(here: Here, who: str) -> tuple[Grant, User]:
    """Let a researcher have the release of a request, and log it."""
    release = here.named(Release)
    with here.writing() as db:
        made = grant(db, release, who, here.me)
        user = db.get_one(User, made.user)
        here.log(db, "granted", release=release.id, user=user.name)
    return made, user


def revoke(here: Here, key: str) -> None:
    """Take the release of a request back, and log it; who downloaded it has it all the same."""
    release = here.named(Release)
    with here.writing() as db:
        found = db.get(Grant, key)
        if found is None or found.release != release.id or found.revoked is not None:
            raise missing()
        found.revoked = now()
        here.log(db, "grant revoked", release=release.id, user=db.get_one(User, found.user).name)


def grants(db: Db, release: str) -> list[tuple[Grant, User]]:
    """Who was granted a release."""
    chosen = select(Grant, User).join(User, User.id == Grant.user).where(Grant.release == release).order_by(
        Grant.created
    )
    return [(one, user) for one, user in db.execute(chosen)]


def people_without(db: Db, release: str) -> list[str]:
    """Researchers who could be granted a release, by name."""
    having = select(Grant.user).where(Grant.release == release, Grant.revoked.is_(None))
    chosen = select(User.name).where(User.role == RESEARCHER, User.active, User.id.not_in(having)).order_by(User.name)
    return list(db.scalars(chosen))


# ----------------------------------------
# Dossiers of releases that are kept: those made with the run, and made anew for other readers or in another format.


MEDIA = {"html": "text/html", "md": "text/markdown", "json": "application/json"}
_LARGEST = 1 << 28  # bytes of evidence that are unpacked in memory


def make_dossier(here: Here, release: Release, audience: str, format: str) -> bytes:
    """A dossier from what is kept of a release, in the place of the one that was kept for the same readers."""
    if audience not in AUDIENCES:
        raise invalid(f"A dossier is for one of: {', '.join(AUDIENCES)}.", "audience")
    if format not in FORMATS:
        raise invalid(f"A dossier is written as one of: {', '.join(FORMATS)}.", "format")
    evidence = None
    if audience != EXTERNAL:
        with here.reading() as db:
            packed = private_of(db, here.keyring, release.id, "evidence")
        if packed is None:
            raise conflict("The evidence of this release is not kept here: only an external dossier can be made of it.")
        evidence = evidence_of(_unpacked(packed), release.name)
    folder = folder_of_release(release, here.settings)
    content = report(folder, audience=audience, format=format, evidence=evidence).encode()
    keyring = here.keyring
    with here.writing() as db:
        put(db, keyring, "dossier", f"{release.id}/{_name(audience, format)}", content, release=release.id)
        here.log(db, "dossier made", release=release.id, audience=audience, format=format)
    return content


def dossier_of(db: Db, keyring: ServerKeyring, release: Release, audience: str, format: str) -> bytes:
    """A dossier that is kept."""
    found = private_of(db, keyring, release.id, _name(audience, format))
    if found is None:
        raise missing()
    return found


def dossiers_of(db: Db, keyring: ServerKeyring, release: Release) -> list[tuple[str, str]]:
    """Readers and formats of the dossiers that are kept of a release."""
    names = set(kept(db, keyring))
    pairs = [(audience, format) for audience in AUDIENCES for format in FORMATS]
    return [(one, format) for one, format in pairs if f"dossier/{release.id}/{_name(one, format)}" in names]


def _name(audience: str, format: str) -> str:
    """What a dossier is kept under; nothing else is reached by what somebody types."""
    if audience not in AUDIENCES or format not in FORMATS:
        raise missing()
    return f"dossier/{audience}.{format}"


def _unpacked(packed: bytes) -> dict[str, bytes]:
    """The files of the evidence, which stay in memory."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:gz") as content:
        for one in content:
            file = content.extractfile(one) if one.isreg() and one.size <= _LARGEST else None
            if file is not None:
                found[one.name] = file.read()
    return found


# ----------------------------------------
# Signatures of releases by the server's key, which is kept sealed and made when it is first needed.


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
