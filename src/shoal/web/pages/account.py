"""One's own account: the password, the second factor, and tokens for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.web.accounts import totp
from shoal.web.accounts.passwords import hashed
from shoal.web.accounts.sessions import end_all
from shoal.web.accounts.signing_in import confirm
from shoal.web.accounts.tokens import make_token, revoke, scopes_of, tokens_of
from shoal.web.context import Here, needs
from shoal.web.errors import Refused
from shoal.web.permissions import SCOPES
from shoal.web.store.people import User

router = APIRouter()
Account = Annotated[Here, needs("account")]


@router.get("/account")
def show_account(here: Account) -> Response:
    return _page(here)


@router.post("/account/password")
def change_password(
    here: Account,
    old: Annotated[str, Form(max_length=1024)] = "",
    password: Annotated[str, Form(max_length=1024)] = "",
    again: Annotated[str, Form(max_length=1024)] = "",
) -> Response:
    try:
        confirm(here, old, "old")
        if password != again:
            raise Refused(422, "invalid", "The two passwords differ: type them again.", where="again")
        new = hashed(password)
        with here.writing(alters=True) as db:
            db.get_one(User, here.me.id).password = new
            end_all(db, here.me.id, but=here.me.proof)
            here.log(db, "password changed")
    except Refused as error:
        return _page(here, error=error)
    return here.see("/account")


@router.post("/account/second-factor")
def offer_second(here: Account) -> Response:
    """A secret to scan; nothing changes before a code of it came back."""
    with here.reading() as db:
        user = db.get_one(User, here.me.id)
    return _page(here, second=totp.offer(here.keyring, user))


@router.post("/account/second-factor/accept")
def accept_second(
    here: Account,
    pending: Annotated[str, Form(max_length=4096)] = "",
    code: Annotated[str, Form(max_length=16)] = "",
    password: Annotated[str, Form(max_length=1024)] = "",
) -> Response:
    keyring = here.keyring
    try:
        confirm(here, password)
        with here.writing(alters=True) as db:
            totp.accept(keyring, db.get_one(User, here.me.id), pending, code)
            here.log(db, "second factor set up")
    except Refused as error:
        return _page(here, error=error)
    return here.see("/account")


@router.post("/account/second-factor/remove")
def remove_second(here: Account, password: Annotated[str, Form(max_length=1024)] = "") -> Response:
    try:
        confirm(here, password)
        with here.writing(alters=True) as db:
            db.get_one(User, here.me.id).totp = None
            here.log(db, "second factor removed")
    except Refused as error:
        return _page(here, error=error)
    return here.see("/account")


@router.post("/account/tokens")
def add_token(
    here: Annotated[Here, needs("token.make")],
    name: Annotated[str, Form(max_length=200)] = "",
    days: Annotated[float, Form()] = 90,
    scopes: Annotated[list[str] | None, Form()] = None,
    password: Annotated[str, Form(max_length=1024)] = "",
) -> Response:
    try:
        confirm(here, password)
        with here.writing(alters=True) as db:
            row, proof = make_token(db, here.me, name=name, scopes=scopes or [], days=days)
            here.log(db, "token made", token=row.id)
    except Refused as error:
        return _page(here, error=error)
    return _page(here, proof=proof)


@router.post("/account/tokens/{token}/revoke")
def revoke_token(here: Annotated[Here, needs("token.manage")], token: str) -> Response:
    with here.writing(alters=True) as db:
        revoke(db, here.me.id, token)
        here.log(db, "token revoked", token=token)
    return here.see("/account")


def _page(
    here: Here, *, error: Refused | None = None, proof: str | None = None, second: tuple[str, str, str] | None = None
) -> Response:
    with here.reading() as db:
        user, tokens = db.get_one(User, here.me.id), tokens_of(db, here.me.id)
    scopes = {scope: SCOPES[scope] for scope in scopes_of(here.me.role)}
    status = 200 if error is None else error.status
    return here.page(
        "account.html", status, user=user, tokens=tokens, scopes=scopes, error=error, proof=proof, second=second
    )
