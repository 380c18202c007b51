"""Whose token it is, tokens and users, for programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field
from sqlalchemy import select, text

from shoal.registry import VERSION
from shoal.web.accounts.tokens import give_token, revoke, tokens_of
from shoal.web.accounts.users import change_user, invite
from shoal.web.api import Given, Name, Row
from shoal.web.errors import API
from shoal.web.request import Here, needs
from shoal.web.store.tables import Token, User


class Me(BaseModel):
    """Whose token it is."""

    name: str
    role: str
    scopes: list[str]


class TokenIn(Given):
    name: Name
    scopes: Annotated[list[str], Field(min_length=1, max_length=20)]
    days: Annotated[float, Field(gt=0, le=366)] = 90


class TokenOut(Row):
    id: str
    name: str
    scopes: list[str]
    created: str
    expires: str
    used: str | None


class NewToken(TokenOut):
    token: str


class UserIn(Given):
    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.@+-]+$")]
    role: Literal["researcher"] = "researcher"


class UserEnd(Given):
    active: Literal[False]
    base: Annotated[str, Field(max_length=64)] | None = None


class UserOut(Row):
    id: str
    name: str
    role: str
    active: bool
    base: str
    created: str


class NewUser(UserOut):
    link: str


router = APIRouter()
Tokens = Annotated[Here, needs("token.manage")]


@router.get("/me", tags=["accounts"])
def me(here: Annotated[Here, needs("whoami")]) -> Me:
    return Me(name=here.me.name, role=here.me.role, scopes=sorted(here.me.scopes))


@router.get("/tokens", tags=["accounts"], response_model=list[TokenOut])
def list_tokens(here: Tokens) -> list[Token]:
    with here.reading() as db:
        return tokens_of(db, here.me.id)


@router.post("/tokens", status_code=201, tags=["accounts"])
def new_token(here: Annotated[Here, needs("token.make")], given: TokenIn) -> NewToken:
    """A token that can do no more, and lives no longer, than the one that asks for it; it is told this once."""
    row, proof = give_token(here, name=given.name, scopes=given.scopes, days=given.days)
    return NewToken(**TokenOut.model_validate(row).model_dump(), token=proof)


@router.delete("/tokens/{token}", status_code=204, tags=["accounts"])
def end_token(here: Tokens, token: str) -> None:
    revoke(here, token)


@router.get("/users", tags=["users"], response_model=list[UserOut])
def list_users(here: Annotated[Here, needs("user.read")]) -> list[User]:
    with here.reading() as db:
        return list(db.scalars(select(User).order_by(User.name)))


@router.post("/users", status_code=201, tags=["users"])
def new_user(here: Annotated[Here, needs("user.invite")], given: UserIn) -> NewUser:
    """A researcher, who chooses a password by the link, which is told this once.

    Somebody of another role is made by an admin who is signed in: whoever has a token has the link, too.
    """
    user, link = invite(here, given.name, given.role)
    return NewUser(**UserOut.model_validate(user).model_dump(), link=link)


@router.patch("/users/{user}", tags=["users"], response_model=UserOut)
def end_user(here: Annotated[Here, needs("user.end")], user: str, given: UserEnd) -> User:
    """End an account, and with it its sessions and tokens; where it has ended already, nothing changes.

    With ``base``, as the user had it, it is answered 409 where somebody else changed the user meanwhile. No token gives
    another role, another password or an account that has ended back: an admin who is signed in does.
    """
    return change_user(here, user, active=given.active, base=given.base)


# ----------------------------------------
# The description of the API, and whether the server is well.


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
