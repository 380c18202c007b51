"""The description of the API, and whether the server is well."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from sqlalchemy import text

from shoal.version import VERSION
from shoal.web.context import Here, needs
from shoal.web.errors import API

about_router = APIRouter(tags=["about"])


class Health(BaseModel):
    status: str
    version: str


@about_router.get("/health")
def health(here: Annotated[Here, needs("public")]) -> Health:
    """Whether the server and its database answer."""
    with here.reading() as db:
        db.execute(text("SELECT 1"))
    return Health(status="ok", version=VERSION)


@about_router.get("/openapi.json", include_in_schema=False)
def openapi(here: Annotated[Here, needs("public")]) -> dict[str, Any]:
    """What there is, for programs that make clients of it."""
    state = here.request.app.state
    if not hasattr(state, "described"):  # made once, since anybody may ask for it
        state.described = described(here.request.app)
    return state.described  # type: ignore[no-any-return]


def described(app: Any) -> dict[str, Any]:
    """All of the API as OpenAPI tells it."""
    found = get_openapi(title="Shoal", version=VERSION, routes=app.routes)
    found["paths"] = {path: one for path, one in found["paths"].items() if path.startswith(API)}
    found.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    found["security"] = [{"token": []}]
    return found
