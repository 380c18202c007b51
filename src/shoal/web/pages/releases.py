"""Releases: which there are, what each promises, its dossier and its files, who has it, and whose signature it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from shoal.errors import InputError, ShoalError
from shoal.grammar import target_words
from shoal.verify.folder import read_manifest
from shoal.web.errors import Refused
from shoal.web.pages.models import model_words
from shoal.web.permissions import RESEARCHER
from shoal.web.projects.releases import (
    MEDIA,
    dossier_of,
    dossiers_of,
    downloaded,
    file_of_release,
    folder_of_release,
    give,
    grants,
    is_signed,
    log_download,
    make_dossier,
    packed,
    people_without,
    revoke,
    sign,
    signature,
    visible,
)
from shoal.web.projects.uploads import INCOMING
from shoal.web.request import Here, needs
from shoal.web.server_keys import kept
from shoal.web.store.tables import Release

# ----------------------------------------
# A written release: what it states, what was checked, what it does not protect.


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """A release as its manifest tells it, which is public: counts of suppressed rows are its publisher's alone."""

    statement: str
    kind: str
    rows: int
    classes: int
    smallest: int
    verdicts: tuple[tuple[str, ...], ...]
    not_protected: tuple[str, ...]
    acknowledged: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, int], ...]
    signed: bool


def release_view(folder: Path, *, signed: bool) -> ReleaseView:
    """What is known of a release in a folder, and whether it has a signature, which is kept elsewhere."""
    try:
        manifest = read_manifest(folder)
    except OSError:
        raise InputError("The files of this release are not there any more: run the recipe again.") from None
    classes = manifest.get("classes") or {}
    return ReleaseView(
        statement=manifest["statement"], kind=str(manifest["kind"]), rows=manifest["data"]["rows"],
        classes=classes.get("count") or 0, smallest=classes.get("smallest") or 0,
        verdicts=tuple(_verdict(one) for one in manifest["verdicts"]),
        not_protected=tuple(manifest["not_protected"]), acknowledged=tuple(manifest["acknowledged"]),
        columns=tuple((str(one["name"]), str(one["role"])) for one in manifest["columns"]),
        files=tuple((one.name, one.stat().st_size) for one in sorted(folder.iterdir()) if one.is_file()),
        signed=signed,
    )  # fmt: skip


def _verdict(one: Mapping[str, Any]) -> tuple[str, ...]:
    target = target_words(one["model"]["name"], one["on"])
    words = model_words({key: value for key, value in one["model"].items() if key != "on"})
    return words, target, "holds" if one["holds"] else "fails", _number(one["value"]), _number(one["limit"]), one["by"]


def _number(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, int | float) and not isinstance(value, bool) else "–"


router = APIRouter()
# A dossier is a file of its own, with its styles in it; nothing of it may run or reach anywhere.
_ALONE = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"}


class _Once(FileResponse):
    """A file that goes with its answer, whatever becomes of that: a range that is none, or somebody who left."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            Path(self.path).unlink(missing_ok=True)


@router.get("/releases")
def show_releases(here: Annotated[Here, needs("release.list")]) -> Response:
    with here.reading() as db:
        listed = visible(db, here.me)
    return here.page("releases.html", releases=listed)


@router.get("/releases/{release}")
def show_release(here: Annotated[Here, needs("release.read")]) -> Response:
    return _page(here, None)


def _page(here: Here, problem: Refused | None) -> Response:
    release = here.named(Release)
    with here.reading() as db:
        signed = is_signed(db, release)
        given = grants(db, release.id) if here.may("release.grant") else []
        others = people_without(db, release.id) if here.may("release.grant") else []
        coded = f"secrets/{release.id}/secrets" in kept(db, here.keyring)
        dossiers = dossiers_of(db, here.keyring, release) if here.may("release.dossier") else []
    try:
        view = release_view(folder_of_release(release, here.settings), signed=signed)
    except (ShoalError, OSError):
        view = None
    return here.page(
        "release-one.html", 200 if problem is None else problem.status, release=release, view=view, given=given,
        others=others, problem=problem, coded=coded, dossiers=dossiers, asks=coded and here.me.role == RESEARCHER,
    )  # fmt: skip


@router.get("/releases/{release}/files/{name}")
def download_file(here: Annotated[Here, needs("release.download")], name: str) -> Response:
    path = downloaded(here, name)
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


@router.get("/releases/{release}/download")
def download(here: Annotated[Here, needs("release.download")]) -> Response:
    """The whole release in one file, with its signature beside it."""
    release = here.named(Release)
    with here.reading() as db:
        signed = signature(db, here.keyring, release)
    log_download(here, "all")
    name, path = packed(release, folder_of_release(release, here.settings), signed, here.data / INCOMING)
    return _Once(path, filename=name, media_type="application/zip")


@router.get("/releases/{release}/dossier")
def show_dossier(
    here: Annotated[Here, needs("release.dossier")], audience: str = "internal", format: str = "html"
) -> Response:
    """The dossier for those inside, for a regulator or for everybody; other formats than a page are saved."""
    with here.reading() as db:
        found = dossier_of(db, here.keyring, here.named(Release), audience, format)
    saved = {} if format == "html" else {"content-disposition": f'attachment; filename="{audience}.{format}"'}
    return Response(found, media_type=MEDIA[format], headers={**_ALONE, **saved})


@router.post("/releases/{release}/dossier")
def new_dossier(
    here: Annotated[Here, needs("release.report")],
    audience: Annotated[str, Form()] = "",
    format: Annotated[str, Form()] = "html",
) -> Response:
    """The dossier made anew from what is kept, for some readers."""
    release = here.named(Release)
    try:
        make_dossier(here, release, audience, format)
    except Refused as error:
        return _page(here, error)
    return here.see(f"/releases/{release.id}/dossier?audience={audience}&format={format}")


@router.get("/releases/{release}/report")
def show_report(here: Annotated[Here, needs("release.read")]) -> Response:
    """What anybody may read of the release."""
    path = file_of_release(here.named(Release), "report.html", here.settings)
    return HTMLResponse(path.read_bytes(), headers=_ALONE)


@router.post("/releases/{release}/grants")
def new_grant(here: Annotated[Here, needs("release.grant")], user: Annotated[str, Form()] = "") -> Response:
    release = here.named(Release)
    try:
        give(here, user.strip())
    except Refused as error:
        return _page(here, error)
    return here.see(f"/releases/{release.id}")


@router.post("/releases/{release}/grants/{grant}/revoke")
def end_grant(here: Annotated[Here, needs("release.grant")], grant: str) -> Response:
    revoke(here, grant)
    return here.see(f"/releases/{here.named(Release).id}")


@router.post("/releases/{release}/sign")
def sign_release(here: Annotated[Here, needs("release.sign")]) -> Response:
    """Sign with the server's key, which is made when it is first needed."""
    release = here.named(Release)
    sign(here, release)
    return here.see(f"/releases/{release.id}")
