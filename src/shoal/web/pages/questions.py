"""Questions: a researcher hands in results, and reads what became of them; a custodian decides those that wait."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.datastructures import FormData
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.vault.protocol.decision import Policy
from shoal.vault.protocol.submission import FORMS, Submission
from shoal.web.errors import Outdated, Refused, invalid, refusal
from shoal.web.permissions import RESEARCHER
from shoal.web.questions.ledger import numbers
from shoal.web.questions.lineage import kept_secrets
from shoal.web.questions.questions import (
    accounts,
    ask,
    base_of,
    decide,
    listed,
    policy_of,
    read_aliases,
    secrets_of,
    set_policy,
    told,
)
from shoal.web.request import Here, needs
from shoal.web.server_keys import strongroom
from shoal.web.store.tables import Question, Release

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


# ----------------------------------------
# The vault: what is kept of which release, what answers have told, by what limits; and explicit export.


_SHARES = ("waiting", "budget", "together", "enumeration")
_WHOLE = ("minimum", "questions", "hourly")


@router.get("/vault")
def show_vault(here: Annotated[Here, needs("vault.read")]) -> Response:
    with here.reading() as db:
        try:
            names, problem = strongroom(db, here.keyring).check(), None
        except ShoalError as error:
            names, problem = {}, str(error)
        releases = list(db.scalars(select(Release).order_by(Release.created.desc())))
    rows = []
    for one in releases:
        if f"secrets/{one.id}/secrets" in names:
            rows.append((one, [(each.column, each.kind, each.size()) for each in kept_secrets(here, one)]))
    return here.page("vault.html", rows=rows, kept=len(names), problem=problem)


@router.get("/releases/{release}/leaks")
def show_leaks(here: Annotated[Here, needs("leak.read")]) -> Response:
    return _leaks(here)


@router.post("/releases/{release}/policy")
def change_policy(here: Annotated[Here, needs("policy.set")], base: Annotated[str, Form()]) -> Response:
    release, given = here.named(Release), here.form or FormData()
    with here.reading() as db:
        known = policy_of(db, here.keyring, release.id, here.settings)
    try:
        shares = {name: float(str(given.get(name, ""))) for name in _SHARES}
        whole = {name: int(str(given.get(name, getattr(known, name)))) for name in _WHOLE}
        policy = Policy.of_plain({**known.plain(), "automatic": given.get("automatic") == "true", **whole, **shares})
    except ValueError:
        sentence = "Limits are numbers: whole ones for rows and questions, shares from 0 to 1 for the others."
        return _leaks(here, invalid(sentence))
    except ShoalError as error:
        return _leaks(here, refusal(error))
    try:
        set_policy(here, release, policy, base)
    except Outdated as error:
        return _leaks(here, error)
    return here.see(f"/releases/{release.id}/leaks")


@router.post("/releases/{release}/export")
def export_secrets(here: Annotated[Here, needs("vault.export")], sure: Annotated[bool, Form()] = False) -> Response:
    """What undoes a release, as ``shoal vault put`` takes it: the only way out, and it is logged."""
    release = here.named(Release)
    if not sure:
        return _leaks(here, invalid("Say that you want the secrets themselves, which undo the release.", "sure"))
    content = json.dumps([one.reveal() for one in secrets_of(here, release)], indent=2, ensure_ascii=False) + "\n"
    with here.writing() as db:
        here.log(db, "export", release=release.id)
    headers = {"content-disposition": 'attachment; filename="secrets.json"', "cache-control": "no-store"}
    return Response(content, media_type="application/json", headers=headers)


def _leaks(here: Here, error: Refused | None = None) -> Response:
    found = accounts(here, here.named(Release))
    return here.page(
        "leaks.html", 200 if error is None else error.status, release=here.named(Release), found=found, error=error,
        base=base_of(found.policy), exports=here.may("vault.export"),
    )  # fmt: skip
