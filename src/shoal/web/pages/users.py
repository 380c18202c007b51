"""Users, for the admin: who there is, a new one, another role, an end, and a new link for a lost password."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from sqlalchemy import select
from starlette.responses import Response

from shoal.web.accounts.users import change, make_link, make_user
from shoal.web.context import Here, needs
from shoal.web.errors import Outdated, Refused
from shoal.web.permissions import ROLES
from shoal.web.store.people import User

router = APIRouter()
Manage = Annotated[Here, needs("user.manage")]


@router.get("/users")
def show(here: Annotated[Here, needs("user.read")]) -> Response:
    return _page(here)


@router.post("/users")
def add(here: Manage, name: Annotated[str, Form()] = "", role: Annotated[str, Form()] = "") -> Response:
    try:
        with here.writing(alters=True) as db:
            user = make_user(db, name.strip(), role)
            link = make_link(db, user)
            here.log(db, "user made", user=user.name, role=role)
    except Refused as error:
        return _page(here, error=error)
    return _page(here, link=link, user=user)


@router.post("/users/{user}/link")
def renew(here: Manage) -> Response:
    """A link by which somebody chooses a new password; a second factor goes with the old one, when it is used."""
    with here.writing(here.named(User).id, alters=True) as db:
        user = db.get_one(User, here.named(User).id)
        link = make_link(db, user)
        here.log(db, "link made", user=user.name)
    return _page(here, link=link, user=user)


@router.post("/users/{user}/change")
def alter(
    here: Manage, base: Annotated[str, Form()], role: Annotated[str, Form()] = "",
    active: Annotated[bool, Form()] = False,
) -> Response:  # fmt: skip
    try:
        with here.writing(here.named(User).id, alters=True) as db:
            user = db.get_one(User, here.named(User).id)
            jobs = change(db, user, role=role or None, active=active, base=base)
            if jobs is not None:
                here.log(db, "user changed", user=user.name, role=user.role, active=user.active, jobs_cancelled=jobs)
    except Outdated as error:
        return _page(here, error=error)
    return here.see("/users")


def _page(
    here: Here, *, error: Refused | None = None, link: str | None = None, user: User | None = None
) -> Response:
    with here.reading() as db:
        users = list(db.scalars(select(User).order_by(User.name)))
    address = None if link is None else f"{here.settings.shown}/setup/{link}"
    status = 200 if error is None else error.status
    return here.page("users.html", status, users=users, roles=ROLES, error=error, link=address, made=user)
