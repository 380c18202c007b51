"""One's own account: the password, the second factor, and tokens for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.responses import Response

from shoal.web.accounts import proofs, sessions
from shoal.web.accounts.proofs import hashed
from shoal.web.accounts.sessions import end_all
from shoal.web.accounts.tokens import give_token, revoke, scopes_of, tokens_of
from shoal.web.accounts.users import change_user, confirm, invite, invite_again, open_link, sign_in, use_link
from shoal.web.errors import Outdated, Refused
from shoal.web.permissions import ROLES, SCOPES, record
from shoal.web.request import Here, needs
from shoal.web.store.tables import User

router = APIRouter()
Account = Annotated[Here, needs("account")]


@router.get("/account")
def show_account(here: Account) -> Response:
    return _account_page(here)


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
        return _account_page(here, error=error)
    return here.see("/account")


@router.post("/account/second-factor")
def offer_second(here: Account) -> Response:
    """A secret to scan; nothing changes before a code of it came back."""
    with here.reading() as db:
        user = db.get_one(User, here.me.id)
    return _account_page(here, second=proofs.offer(here.keyring, user))


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
            proofs.accept(keyring, db.get_one(User, here.me.id), pending, code)
            here.log(db, "second factor set up")
    except Refused as error:
        return _account_page(here, error=error)
    return here.see("/account")


@router.post("/account/second-factor/remove")
def remove_second(here: Account, password: Annotated[str, Form(max_length=1024)] = "") -> Response:
    try:
        confirm(here, password)
        with here.writing(alters=True) as db:
            db.get_one(User, here.me.id).totp = None
            here.log(db, "second factor removed")
    except Refused as error:
        return _account_page(here, error=error)
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
        _, proof = give_token(here, name=name, scopes=scopes or [], days=days)
    except Refused as error:
        return _account_page(here, error=error)
    return _account_page(here, proof=proof)


@router.post("/account/tokens/{token}/revoke")
def revoke_token(here: Annotated[Here, needs("token.manage")], token: str) -> Response:
    revoke(here, token)
    return here.see("/account")


def _account_page(
    here: Here, *, error: Refused | None = None, proof: str | None = None, second: tuple[str, str, str] | None = None
) -> Response:
    with here.reading() as db:
        user, tokens = db.get_one(User, here.me.id), tokens_of(db, here.me.id)
    scopes = {scope: SCOPES[scope] for scope in scopes_of(here.me.role)}
    status = 200 if error is None else error.status
    return here.page(
        "account.html", status, user=user, tokens=tokens, scopes=scopes, error=error, proof=proof, second=second
    )


# ----------------------------------------
# Signing in and out, and choosing a password by a one-time link.


Public = Annotated[Here, needs("public")]


@router.get("/login")
def show_login(here: Public) -> Response:
    if here.someone is not None:
        return here.see("/")
    return here.page("login.html", error=None, name="")


@router.post("/login")
def login(
    here: Public,
    name: Annotated[str, Form(max_length=64)] = "",
    password: Annotated[str, Form(max_length=1024)] = "",
    code: Annotated[str, Form(max_length=16)] = "",
) -> Response:
    client = here.request.client
    try:
        proof = sign_in(here, name.strip(), password, code.strip(), client.host if client else "?")
    except Refused as error:
        return here.page("login.html", error.status, error=error, name=name)
    response = here.see("/")
    sessions.set_cookie(response, proof, here.settings)
    return response


@router.post("/logout")
def logout(here: Annotated[Here, needs("account")]) -> Response:
    with here.writing(alters=True) as db:
        sessions.end(db, here.me.proof)
    response = here.see("/login")
    sessions.set_cookie(response, "", here.settings)
    return response


@router.get("/setup/{link}")
def show_setup(here: Public, link: str) -> Response:
    with here.reading() as db:
        user = open_link(db, link)
    return here.page("setup.html", user=user, error=None)


@router.post("/setup/{link}")
def setup(
    here: Public, link: str, password: Annotated[str, Form()] = "", again: Annotated[str, Form()] = ""
) -> Response:
    with here.reading() as db:
        user = open_link(db, link)
    try:
        if password != again:
            raise Refused(422, "invalid", "The two passwords differ: type them again.", where="again")
        with here.writing() as db:
            record(db, use_link(db, link, password).name, "password chosen by a link")
    except Refused as error:
        return here.page("setup.html", error.status, user=user, error=error)
    return here.see("/login")


# ----------------------------------------
# Users, for the admin: who there is, a new one, another role, an end, and a new link for a lost password.


Manage = Annotated[Here, needs("user.manage")]


@router.get("/users")
def show(here: Annotated[Here, needs("user.read")]) -> Response:
    return _users_page(here)


@router.post("/users")
def add(here: Manage, name: Annotated[str, Form()] = "", role: Annotated[str, Form()] = "") -> Response:
    try:
        user, link = invite(here, name.strip(), role)
    except Refused as error:
        return _users_page(here, error=error)
    return _users_page(here, link=link, user=user)


@router.post("/users/{user}/link")
def renew(here: Manage) -> Response:
    """A link by which somebody chooses a new password; a second factor goes with the old one, when it is used."""
    user, link = invite_again(here, here.named(User).id)
    return _users_page(here, link=link, user=user)


@router.post("/users/{user}/change")
def alter(
    here: Manage, base: Annotated[str, Form()], role: Annotated[str, Form()] = "",
    active: Annotated[bool, Form()] = False,
) -> Response:  # fmt: skip
    try:
        change_user(here, here.named(User).id, role=role or None, active=active, base=base)
    except Outdated as error:
        return _users_page(here, error=error)
    return here.see("/users")


def _users_page(
    here: Here, *, error: Refused | None = None, link: str | None = None, user: User | None = None
) -> Response:
    with here.reading() as db:
        users = list(db.scalars(select(User).order_by(User.name)))
    status = 200 if error is None else error.status
    return here.page("users.html", status, users=users, roles=ROLES, error=error, link=link, made=user)
