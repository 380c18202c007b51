"""Questions: a researcher hands in results, and reads what became of them; a custodian decides those that wait."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.vault.protocol.submission import FORMS, Submission
from shoal.web.context import Here, needs
from shoal.web.errors import Refused, invalid
from shoal.web.permissions import RESEARCHER
from shoal.web.store.trusted import Question
from shoal.web.store.work import Release
from shoal.web.trust.aliases import read_aliases
from shoal.web.trust.limits import numbers
from shoal.web.trust.questions import ask, decide, listed, policy_of, secrets_of, told

router = APIRouter()
Ask = Annotated[Here, needs("question.ask")]


@router.get("/releases/{release}/ask")
def show_form(here: Ask) -> Response:
    return _form(here)


@router.post("/releases/{release}/ask")
def put_question(
    here: Ask,
    text: Annotated[str, Form()] = "",
    form: Annotated[str, Form()] = "auto",
    target: Annotated[str, Form()] = "",
    aliases: Annotated[str, Form()] = "",
) -> Response:
    given = {"text": text, "form": form, "target": target, "aliases": aliases}
    try:
        wanted = Submission(text=text, form=form, target=target.strip() or None, aliases=read_aliases(aliases))
        return here.see(f"/questions/{ask(here, here.named(Release), wanted)}")
    except Refused as error:
        return _form(here, error, **given)


def _form(here: Here, error: Refused | None = None, **given: str) -> Response:
    release = here.named(Release)
    try:
        columns = {one.column: one.kind for one in secrets_of(here, release) if one.kind != "key"}
    except Refused as nothing:
        error, columns = nothing, {}
    with here.reading() as db:
        policy = policy_of(db, here.keyring, release.id, here.settings)
        asked = numbers(db, release.id).get(here.me.id, 0)
    empty = {"text": "", "form": "auto", "target": "", "aliases": ""}
    page = here.page(
        "ask.html", 200 if error is None else error.status, release=release, columns=columns, policy=policy,
        asked=asked, forms_known=FORMS, error=error, given={**empty, **given},
    )  # fmt: skip
    page.headers.update({} if error is None else error.headers)  # such as when to ask again
    return page


@router.get("/questions")
def show_list(here: Annotated[Here, needs("question.list")]) -> Response:
    with here.reading() as db:
        found = listed(db, user=here.me.id if here.me.role == RESEARCHER else None)
    return here.page("questions.html", questions=found)


@router.get("/questions/{question}")
def show_question(here: Annotated[Here, needs("question.read")]) -> Response:
    return here.page("question.html", one=told(here, here.named(Question)), decides=here.may("question.decide"))


@router.post("/questions/{question}/decision")
def take_decision(here: Annotated[Here, needs("question.decide")], decision: Annotated[str, Form()] = "") -> Response:
    question = here.named(Question)
    if decision not in ("answer", "refuse"):
        raise invalid("Say whether the question is to be answered or refused.", "decision")
    decide(here, question, allowed=decision == "answer")
    return here.see(f"/questions/{question.id}")
