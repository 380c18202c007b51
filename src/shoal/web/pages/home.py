"""The first page: what there is, and what to do next."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from sqlalchemy import select
from starlette.responses import Response

from shoal.web.context import Here, needs
from shoal.web.permissions import ADMIN, AUDITOR, CUSTODIAN
from shoal.web.store.work import Project

router = APIRouter()


@router.get("/")
def home(here: Annotated[Here, needs("home")]) -> Response:
    first = {ADMIN: "/users", AUDITOR: "/log"}.get(here.me.role, "/releases")
    if here.me.role != CUSTODIAN:
        return here.see(first)
    with here.reading() as db:
        projects = list(db.scalars(select(Project).order_by(Project.created.desc())))
    return here.page("home.html", projects=projects)
