"""Questions, what their answers have told, and the log, for programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from shoal.vault.leaks import Leak
from shoal.vault.protocol.submission import LONGEST, Submission
from shoal.web.context import Here, needs
from shoal.web.permissions import RESEARCHER
from shoal.web.store.base import now
from shoal.web.store.trusted import Question
from shoal.web.store.work import Release
from shoal.web.trust.accounting import accounts
from shoal.web.trust.chain import exported, last_of
from shoal.web.trust.questions import Told, ask, decide, listed, told

questions_router = APIRouter(tags=["questions"])
_LOG: dict[int | str, dict[str, Any]] = {200: {"content": {"application/x-ndjson": {}}, "description": "The log."}}
State = Literal["asked", "answered", "refused", "waiting"]


class QuestionIn(BaseModel):
    """Results on a release, to be checked and interpreted."""

    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    form: Literal["auto", "text", "tree", "rules", "csv", "json"] = "auto"
    target: Annotated[str, Field(max_length=200)] | None = None
    aliases: Annotated[dict[str, str], Field(max_length=500)] = {}


class Decision(BaseModel):
    """Whether a question that waits is answered."""

    model_config = ConfigDict(extra="forbid")
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
    return [
        AccountOut(who=one.who, questions=one.asked, columns=[_leak(each) for each in one.leaks]) for one in every
    ]


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
    return [QuestionShort(**_short(one), user=who) for one, _, who in found]


def _short(one: Question) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("id", "release", "state", "created", "decided")}


def _out(one: Told) -> QuestionOut:
    return QuestionOut.model_validate({name: getattr(one, name) for name in QuestionOut.model_fields})


def _leak(one: Leak) -> LeakOut:
    return LeakOut(**{name: getattr(one, name) for name in LeakOut.model_fields})
