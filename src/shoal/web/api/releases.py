"""Releases and grants, for programs."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import FileResponse, Response

from shoal.vault.signing import fingerprint
from shoal.verify.folder import MANIFEST
from shoal.web.api.models import (
    Audience,
    DossierIn,
    DossierOut,
    FileListed,
    Format,
    GrantIn,
    GrantOut,
    ReleaseFiles,
    ReleaseOut,
    SignatureOut,
    Signed,
)
from shoal.web.context import Here, needs
from shoal.web.projects.dossiers import MEDIA, dossier_of, make_dossier
from shoal.web.projects.releases import file_of_release, files_of_release, grant, grants, revoke, visible
from shoal.web.projects.signing import sign, signature
from shoal.web.store.people import User
from shoal.web.store.work import Grant, Release

router = APIRouter(tags=["releases"])
_FILE = {"content": {"application/octet-stream": {}}, "description": "The file."}
_DOSSIER: dict[int | str, dict[str, Any]] = {
    200: {"content": {one: {} for one in MEDIA.values()}, "description": "The dossier."}
}
_BYTES: dict[int | str, dict[str, Any]] = {200: _FILE}


@router.get("/releases", response_model=list[ReleaseOut])
def list_releases(here: Annotated[Here, needs("release.list")]) -> list[Release]:
    """Those that were granted, for a researcher; all, for others."""
    with here.reading() as db:
        return visible(db, here.me)


@router.get("/releases/{release}", response_model=ReleaseOut)
def show_release(here: Annotated[Here, needs("release.read")], release: str) -> Release:
    return here.named(Release)


@router.get("/releases/{release}/manifest")
def show_manifest(here: Annotated[Here, needs("release.read")], release: str) -> dict[str, Any]:
    """What is promised of a release, as it was written."""
    found: dict[str, Any] = json.loads(file_of_release(here.named(Release), MANIFEST, here.settings).read_bytes())
    return found


@router.get("/releases/{release}/files")
def list_files(here: Annotated[Here, needs("release.download")], release: str) -> ReleaseFiles:
    found = files_of_release(here.named(Release), here.settings)
    return ReleaseFiles(files=[FileListed(name=name, bytes=path.stat().st_size) for name, path in found.items()])


@router.get("/releases/{release}/files/{name}", response_class=FileResponse, responses=_BYTES)
def download(
    here: Annotated[Here, needs("release.download")], release: str, name: Annotated[str, Path(max_length=100)]
) -> FileResponse:
    path = file_of_release(here.named(Release), name, here.settings)
    with here.writing() as db:
        here.log(db, "downloaded", release=release, file=path.name)
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


@router.post("/releases/{release}/dossiers", status_code=201)
def new_dossier(here: Annotated[Here, needs("release.report")], release: str, given: DossierIn) -> DossierOut:
    """The dossier made anew from what is kept, for some readers; it takes the place of the one they had."""
    content = make_dossier(here, here.named(Release), given.audience, given.format)
    digest = hashlib.sha256(content).hexdigest()
    return DossierOut(audience=given.audience, format=given.format, bytes=len(content), sha256=digest)


@router.get("/releases/{release}/dossiers/{audience}", response_class=Response, responses=_DOSSIER)
def show_dossier(
    here: Annotated[Here, needs("release.dossier")], release: str, audience: Audience, format: Format = "html"
) -> Response:
    with here.reading() as db:
        found = dossier_of(db, here.keyring, here.named(Release), audience, format)
    return Response(found, media_type=MEDIA[format])


@router.post("/releases/{release}/sign")
def sign_release(here: Annotated[Here, needs("release.sign")], release: str) -> Signed:
    """Sign with the server's key, whose fingerprint is told; a signature of before is replaced."""
    return Signed(key=sign(here, here.named(Release)))


@router.get("/releases/{release}/signature")
def show_signature(here: Annotated[Here, needs("release.read")], release: str) -> SignatureOut:
    """The signature of a release, and the server's public key, to be compared with one that came another way."""
    keyring = here.keyring
    with here.reading() as db:
        found = signature(db, keyring, here.named(Release))
    if found is None:
        return SignatureOut()
    signed, public = (one.decode() for one in found)
    key = fingerprint(base64.b64decode(json.loads(signed)["public_key"]))
    return SignatureOut(signature=signed, public_key=public, key=key)


@router.get("/releases/{release}/grants")
def list_grants(here: Annotated[Here, needs("release.grant")], release: str) -> list[GrantOut]:
    with here.reading() as db:
        return [_grant(one, user) for one, user in grants(db, release)]


@router.post("/releases/{release}/grants", status_code=201)
def new_grant(here: Annotated[Here, needs("release.grant")], release: str, given: GrantIn) -> GrantOut:
    with here.writing() as db:
        made = grant(db, here.named(Release), given.user, here.me)
        user = db.get_one(User, made.user)
        here.log(db, "granted", release=release, user=user.name)
    return _grant(made, user)


@router.delete("/releases/{release}/grants/{grant}", status_code=204)
def end_grant(here: Annotated[Here, needs("release.grant")], release: str, grant: str) -> None:
    with here.writing() as db:
        ended = revoke(db, here.named(Release), grant)
        here.log(db, "grant revoked", release=release, user=db.get_one(User, ended.user).name)


def _grant(one: Grant, user: User) -> GrantOut:
    return GrantOut(id=one.id, user=user.name, created=one.created, revoked=one.revoked)
