"""Whose token it is, tokens and users, for programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from sqlalchemy import select, text

from shoal.registry import VERSION
from shoal.web.accounts.tokens import make_token, revoke, tokens_of
from shoal.web.accounts.users import change, make_link, make_user
from shoal.web.api.schemas import Me, NewToken, NewUser, TokenIn, TokenOut, UserEnd, UserIn, UserOut
from shoal.web.errors import API
from shoal.web.request import Here, needs
from shoal.web.store.tables import Token, User

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
    with here.writing(alters=True) as db:
        row, proof = make_token(db, here.me, name=given.name, scopes=given.scopes, days=given.days)
        here.log(db, "token made", token=row.id)
    return NewToken(**TokenOut.model_validate(row).model_dump(), token=proof)


@router.delete("/tokens/{token}", status_code=204, tags=["accounts"])
def end_token(here: Tokens, token: str) -> None:
    with here.writing(alters=True) as db:
        revoke(db, here.me.id, token)
        here.log(db, "token revoked", token=token)


@router.get("/users", tags=["users"], response_model=list[UserOut])
def list_users(here: Annotated[Here, needs("user.read")]) -> list[User]:
    with here.reading() as db:
        return list(db.scalars(select(User).order_by(User.name)))


@router.post("/users", status_code=201, tags=["users"])
def new_user(here: Annotated[Here, needs("user.invite")], given: UserIn) -> NewUser:
    """A researcher, who chooses a password by the link, which is told this once.

    Somebody of another role is made by an admin who is signed in: whoever has a token has the link, too.
    """
    with here.writing(alters=True) as db:
        user = make_user(db, given.name, given.role)
        link = make_link(db, user)
        here.log(db, "user made", user=user.name, role=user.role)
    return NewUser(**UserOut.model_validate(user).model_dump(), link=f"{here.settings.shown}/setup/{link}")


@router.patch("/users/{user}", tags=["users"], response_model=UserOut)
def end_user(here: Annotated[Here, needs("user.end")], user: str, given: UserEnd) -> User:
    """End an account, and with it its sessions and tokens; where it has ended already, nothing changes.

    With ``base``, as the user had it, it is answered 409 where somebody else changed the user meanwhile. No token gives
    another role, another password or an account that has ended back: an admin who is signed in does.
    """
    with here.writing(user, alters=True) as db:
        found = db.get_one(User, user)
        jobs = change(db, found, active=given.active, base=given.base)
        if jobs is not None:
            here.log(db, "user changed", user=found.name, role=found.role, active=found.active, jobs_cancelled=jobs)
    return found


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
