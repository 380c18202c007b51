"""Signing in and out, and choosing a password by a one-time link."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from shoal.web.accounts import sessions
from shoal.web.accounts.signing_in import sign_in
from shoal.web.accounts.users import open_link, use_link
from shoal.web.context import Here, needs
from shoal.web.errors import Refused
from shoal.web.trail import record

router = APIRouter()
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
