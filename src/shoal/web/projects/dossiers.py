"""Dossiers of releases that are kept: those made with the run, and made anew for other readers or in another format."""

from __future__ import annotations

import io
import tarfile

from sqlalchemy.orm import Session as Db

from shoal.io.evidence import evidence_of
from shoal.release.dossier import report
from shoal.reports.dossier import AUDIENCES, EXTERNAL, FORMATS
from shoal.web.context import Here
from shoal.web.errors import conflict, invalid, missing
from shoal.web.jobs.keeping import private_of
from shoal.web.keys import ServerKeyring, kept, put
from shoal.web.projects.releases import folder_of_release
from shoal.web.store.work import Release

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
