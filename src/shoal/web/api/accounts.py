"""Whose token it is, tokens and users, for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from sqlalchemy import select

from shoal.web.accounts.tokens import make_token, revoke, tokens_of
from shoal.web.accounts.users import change, make_link, make_user
from shoal.web.api.models import Me, NewToken, NewUser, TokenIn, TokenOut, UserChange, UserIn, UserOut
from shoal.web.context import Here, needs
from shoal.web.store.people import Token, User

router = APIRouter()
Tokens = Annotated[Here, needs("token.manage")]
Manage = Annotated[Here, needs("user.manage")]


@router.get("/me", tags=["accounts"])
def me(here: Annotated[Here, needs("whoami")]) -> Me:
    return Me(name=here.me.name, role=here.me.role, scopes=sorted(here.me.scopes))


@router.get("/tokens", tags=["accounts"], response_model=list[TokenOut])
def list_tokens(here: Tokens) -> list[Token]:
    with here.reading() as db:
        return tokens_of(db, here.me.id)


@router.post("/tokens", status_code=201, tags=["accounts"])
def new_token(here: Tokens, given: TokenIn) -> NewToken:
    """A token that can do no more, and lives no longer, than the one that asks for it; it is told this once."""
    with here.writing() as db:
        row, proof = make_token(db, here.me, name=given.name, scopes=given.scopes, days=given.days)
        here.log(db, "token made", token=row.id)
    return NewToken(**TokenOut.model_validate(row).model_dump(), token=proof)


@router.delete("/tokens/{token}", status_code=204, tags=["accounts"])
def end_token(here: Tokens, token: str) -> None:
    with here.writing() as db:
        revoke(db, here.me.id, token)
        here.log(db, "token revoked", token=token)


@router.get("/users", tags=["users"], response_model=list[UserOut])
def list_users(here: Annotated[Here, needs("user.read")]) -> list[User]:
    with here.reading() as db:
        return list(db.scalars(select(User).order_by(User.name)))


@router.post("/users", status_code=201, tags=["users"])
def new_user(here: Manage, given: UserIn) -> NewUser:
    """A user, who chooses a password by the link, which is told this once."""
    with here.writing() as db:
        user = make_user(db, given.name, given.role)
        link = make_link(db, user)
        here.log(db, "user made", user=user.name, role=user.role)
    return NewUser(**UserOut.model_validate(user).model_dump(), link=f"{here.settings.shown}/setup/{link}")


@router.post("/users/{user}/link", status_code=201, tags=["users"])
def renew_link(here: Manage, user: str) -> NewUser:
    """Another link, by which somebody who lost a password chooses a new one; it is told this once."""
    with here.writing() as db:
        found = db.get_one(User, user)
        link = make_link(db, found)
        here.log(db, "link made", user=found.name)
    return NewUser(**UserOut.model_validate(found).model_dump(), link=f"{here.settings.shown}/setup/{link}")


@router.patch("/users/{user}", tags=["users"], response_model=UserOut)
def alter_user(here: Manage, user: str, given: UserChange) -> User:
    """Another role or an end, which ends sessions and tokens; where nothing changes, nothing ends.

    With ``base``, as the user had it, it is answered 409 where somebody else changed the user meanwhile.
    """
    with here.writing() as db:
        found = db.get_one(User, user)
        jobs = change(db, found, role=given.role, active=given.active, base=given.base)
        if jobs is not None:
            here.log(db, "user changed", user=found.name, role=found.role, active=found.active, jobs_cancelled=jobs)
    return found
