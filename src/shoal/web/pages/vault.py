"""The vault: what is kept of which release, what answers have told, by what limits; and explicit export."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.datastructures import FormData
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.vault.protocol.decision import Policy
from shoal.web.context import Here, needs
from shoal.web.errors import Outdated, Refused, invalid, refusal
from shoal.web.keys import strongroom
from shoal.web.store.work import Release
from shoal.web.trust.accounting import accounts
from shoal.web.trust.lineage import kept_secrets
from shoal.web.trust.questions import base_of, policy_of, secrets_of, set_policy

router = APIRouter()
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
