"""Releases and grants, for programs."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from starlette.responses import FileResponse, Response, StreamingResponse

from shoal.vault.protocol.submission import LONGEST, Submission
from shoal.vault.signing import fingerprint
from shoal.verify.folder import MANIFEST
from shoal.web.api import Given, Name, Row
from shoal.web.permissions import RESEARCHER
from shoal.web.projects.releases import (
    MEDIA,
    dossier_of,
    downloaded,
    file_of_release,
    files_of_release,
    give,
    grants,
    make_dossier,
    revoke,
    sign,
    signature,
    visible,
)
from shoal.web.questions.log_chain import exported, last_of
from shoal.web.questions.questions import Told, accounts, ask, decide, listed, told
from shoal.web.request import Here, needs
from shoal.web.store.tables import Grant, Question, Release, User, now


class ReleaseOut(Row):
    id: str
    name: str
    statement: str
    kind: str
    rows: int
    manifest: str
    created: str


class FileListed(BaseModel):
    name: str
    bytes: int


class ReleaseFiles(BaseModel):
    files: list[FileListed]


Audience = Literal["internal", "external", "regulator"]
Format = Literal["html", "md", "json"]


class DossierIn(Given):
    audience: Audience
    format: Format = "html"


class DossierOut(BaseModel):
    audience: Audience
    format: Format
    bytes: int
    sha256: str


class Signed(BaseModel):
    key: str


class SignatureOut(BaseModel):
    """The signature and the public key as their files hold them, and the key's fingerprint; null if nobody signed."""

    signature: str | None = None
    public_key: str | None = None
    key: str | None = None


class GrantIn(Given):
    user: Name


class GrantOut(BaseModel):
    id: str
    user: str
    created: str
    revoked: str | None


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
    path = downloaded(here, name)
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
    return _grant(*give(here, given.user))


@router.delete("/releases/{release}/grants/{grant}", status_code=204)
def end_grant(here: Annotated[Here, needs("release.grant")], release: str, grant: str) -> None:
    revoke(here, grant)


def _grant(one: Grant, user: User) -> GrantOut:
    return GrantOut(id=one.id, user=user.name, created=one.created, revoked=one.revoked)


# ----------------------------------------
# Questions, what their answers have told, and the log, for programs.


questions_router = APIRouter(tags=["questions"])
_LOG: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {}}, "description": "The log."}}
State = Literal["asked", "answered", "refused", "waiting"]


class QuestionIn(Given):
    """Results on a release, to be checked and interpreted."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    form: Literal["auto", "text", "tree", "rules", "csv", "json"] = "auto"
    target: Annotated[str, Field(max_length=200)] | None = None
    aliases: Annotated[dict[str, str], Field(max_length=500)] = {}


class Decision(Given):
    """Whether a question that waits is answered."""

    answer: bool


class QuestionShort(BaseModel):
    id: str
    release: str
    user: str
    state: State
    created: str
    decided: str | None


class Line(BaseModel):
    line: int
    statement: str


class RefusedLine(Line):
    why: str


class LeftPiece(BaseModel):
    line: int
    text: str
    why: str


class QuestionOut(QuestionShort):
    form: str
    statements: list[Line]
    refused: list[RefusedLine]
    left: list[LeftPiece]
    more: dict[str, int]
    answer: str | None
    salt: str | None


class LeakOut(BaseModel):
    column: str
    kind: str
    codes: int
    told: int
    implied: int
    share: float
    read: float
    guessed: float


class AccountOut(BaseModel):
    who: str | None
    questions: int
    columns: list[LeakOut]


class LogHead(BaseModel):
    head: str
    entry: int
    time: str


@questions_router.post("/releases/{release}/questions", status_code=201)
def put_question(here: Annotated[Here, needs("question.ask")], release: str, given: QuestionIn) -> QuestionOut:
    """Hand in results on the released table; each statement is counted again on it before any is turned back."""
    wanted = Submission(text=given.text, form=given.form, target=given.target, aliases=given.aliases)
    key = ask(here, here.named(Release), wanted)
    with here.reading() as db:
        return _out(told(here, db.get_one(Question, key)))


@questions_router.get("/releases/{release}/questions")
def list_of_release(here: Annotated[Here, needs("question.list")], release: str) -> list[QuestionShort]:
    return _listed(here, release)


@questions_router.get("/questions")
def list_questions(here: Annotated[Here, needs("question.list")]) -> list[QuestionShort]:
    return _listed(here, None)


@questions_router.get("/questions/{question}")
def show_question(here: Annotated[Here, needs("question.read")], question: str) -> QuestionOut:
    return _out(told(here, here.named(Question)))


@questions_router.post("/questions/{question}/decision")
def take_decision(here: Annotated[Here, needs("question.decide")], question: str, given: Decision) -> QuestionOut:
    decide(here, here.named(Question), allowed=given.answer)
    with here.reading() as db:
        return _out(told(here, db.get_one(Question, question)))


@questions_router.get("/releases/{release}/leaks")
def show_leaks(here: Annotated[Here, needs("leak.read")], release: str) -> list[AccountOut]:
    """What each researcher, and (``who`` null) all together, know of each coded column, and how often they asked."""
    found = accounts(here, here.named(Release))
    every = (*found.each, found.together)
    names = LeakOut.model_fields
    return [
        AccountOut(
            who=one.who, questions=one.asked,
            columns=[LeakOut(**{name: getattr(each, name) for name in names}) for each in one.leaks],
        )
        for one in every
    ]  # fmt: skip


@questions_router.get("/log", response_class=Response, responses=_LOG)
def export_log(here: Annotated[Here, needs("log.read")]) -> Response:
    """All lines, as ``shoal log verify`` checks them."""
    return StreamingResponse(exported(here.reading), media_type="application/x-ndjson")


@questions_router.get("/log/head")
def show_head(here: Annotated[Here, needs("log.read")]) -> LogHead:
    """The hash and the number of the last line, and when that was asked for, to be kept elsewhere."""
    with here.reading() as db:
        last = last_of(db)
    return LogHead(head=last.hash, entry=last.number, time=now())


def _listed(here: Here, release: str | None) -> list[QuestionShort]:
    with here.reading() as db:
        found = listed(db, user=here.me.id if here.me.role == RESEARCHER else None, release=release)
    names = ("id", "release", "state", "created", "decided")
    return [QuestionShort(**{name: getattr(one, name) for name in names}, user=who) for one, _, who in found]


def _out(one: Told) -> QuestionOut:
    return QuestionOut.model_validate({name: getattr(one, name) for name in QuestionOut.model_fields})
