"""What a request has at hand: who asks, what the address names, the database, and how a page is answered.

Every route has ``Annotated[Here, needs("some.action")]``, which lets nobody in who may not do that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from sqlalchemy import select
from sqlalchemy.orm import Session as Db
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from shoal.registry import VERSION
from shoal.web.accounts.sessions import (
    SignedIn,
    check_origin,
    check_token,
    cookie_name,
    lock_users,
    new_token,
    refuse_ended,
    signed_in,
    spend,
)
from shoal.web.errors import API, Refused, missing
from shoal.web.permissions import ACTIONS, Principal, Thing, allow, record
from shoal.web.preview.cache import ASKING, once
from shoal.web.projects.project import Workspace
from shoal.web.server_keys import ServerKeyring
from shoal.web.settings import Settings
from shoal.web.store.open import Store
from shoal.web.store.tables import Grant, Job, Project, Question, Release, User

# ----------------------------------------
# What an address names: a project, job, release or question, loaded by its identifier before anything else happens.


@dataclass
class Named:
    """The rows that the parts of an address name."""

    project: Project | None = None
    job: Job | None = None
    release: Release | None = None
    question: Question | None = None
    user: User | None = None


def load_named(db: Db, parts: Mapping[str, Any], *, holds: str | None = None) -> tuple[Named, list[Thing]]:
    """What an address names, and what permission has to know of it.

    What was granted to ``holds`` is not taken back until the transaction ends.
    """
    named, things = Named(), []
    if holds is not None and "release" in parts:
        mine = select(Grant.id).where(Grant.release == parts["release"], Grant.user == holds, Grant.revoked.is_(None))
        db.execute(mine.order_by(Grant.id).with_for_update(read=True))
    for part, find in _FIND.items():
        if part in parts:
            row, thing = find(db, str(parts[part]))
            setattr(named, part, row)
            things.append(thing)
    if named.project is not None and named.job is not None and named.job.project != named.project.id:
        raise missing()
    return named, things


def _row(db: Db, table: type[Any], key: str) -> Any:
    found = db.get(table, key)
    if found is None:
        raise missing()
    return found


def _project(db: Db, key: str) -> tuple[Project, Thing]:
    found = _row(db, Project, key)
    return found, Thing(owner=found.owner)


def _job(db: Db, key: str) -> tuple[Job, Thing]:
    found = _row(db, Job, key)
    return found, Thing(owner=found.author)


def _release(db: Db, key: str) -> tuple[Release, Thing]:
    found = _row(db, Release, key)
    granted = db.scalars(select(Grant.user).where(Grant.release == key, Grant.revoked.is_(None))).all()
    return found, Thing(granted=frozenset(granted))


def _question(db: Db, key: str) -> tuple[Question, Thing]:
    found = _row(db, Question, key)
    return found, Thing(owner=found.user)


def _user(db: Db, key: str) -> tuple[User, Thing]:
    found = _row(db, User, key)
    return found, Thing(owner=found.id)


_FIND: dict[str, Callable[[Db, str], tuple[Any, Thing]]] = {
    "project": _project, "job": _job, "release": _release, "question": _question, "user": _user,
}  # fmt: skip


_T = TypeVar("_T")
_PAGES = Environment(
    loader=PackageLoader("shoal.web", "templates"), autoescape=select_autoescape(default=True),
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
)  # fmt: skip

NAVIGATION = (
    ("project.list", "/", "Projects"),
    ("release.list", "/releases", "Releases"),
    ("question.list", "/questions", "Questions"),
    ("vault.read", "/vault", "Vault"),
    ("user.read", "/users", "Users"),
    ("log.read", "/log", "Log"),
)


class Here:
    """One request, of somebody who may do what they ask for; ``form`` has the fields of a form, by any name."""

    def __init__(self, request: Request, principal: Principal | None, session: SignedIn | None, named: Named) -> None:
        self.request = request
        self._principal = principal
        self.session = session
        self.form: FormData | None = None
        self._named = named
        self._action = "public"

    @property
    def settings(self) -> Settings:
        return self.request.app.state.settings

    @property
    def store(self) -> Store:
        return self.request.app.state.store

    @property
    def keyring(self) -> ServerKeyring:
        """What seals secrets."""
        return self.request.app.state.keys.keyring

    @property
    def someone(self) -> Principal | None:
        """Who asks, None on public pages that nobody has signed in for."""
        return self._principal

    @property
    def me(self) -> Principal:
        """Who asks."""
        if self._principal is None:
            raise missing()
        return self._principal

    def named(self, kind: type[_T]) -> _T:
        """What the address names: ``here.named(Release)``."""
        for row in vars(self._named).values():
            if isinstance(row, kind):
                return row
        raise missing()

    def reading(self) -> AbstractContextManager[Db]:
        return self.store.reading()

    @contextmanager
    def writing(self, *users: str, alters: bool = False) -> Iterator[Db]:
        """A transaction of somebody who may do what they asked for until it ends.

        Parameters
        ----------
        users
            Others whose accounts stay as they are until then.
        alters
            Whether it changes accounts, those of ``users`` or one's own: a password, a role, sessions, tokens or links.
        """
        with self.store.writing() as db:
            if not ACTIONS[self._action].public:
                lock_users(db, self.me.id, *users, alters=alters)
                self._still(db)
                db.expunge_all()  # what is locked later is read after that
            yield db

    @once
    def workspace(self) -> Workspace:
        """The project that the address names, with the newest version of its recipe."""
        project = self._named.project
        if project is None:
            raise missing()
        with self.reading() as db:
            return Workspace.newest(db, project, self.settings)

    @property
    def data(self) -> Path:
        """The data folder of the server."""
        return self.settings.folder

    def may(self, action: str) -> bool:
        """Whether a page should show a way to do something; whether it can be done is decided again there."""
        return allow(self._principal, action)

    def _still(self, db: Db) -> None:
        """Refuse what somebody may not do any more, in the transaction that does it: much may happen until then."""
        known = db.execute(select(User.active, User.role).where(User.id == self.me.id)).one_or_none()
        if known is None or tuple(known) != (True, self.me.role):
            raise missing()
        refuse_ended(db, self.me)
        _, things = load_named(db, self.request.path_params, holds=self.me.id)
        if not all(allow(self.me, self._action, thing) for thing in things):
            raise missing()

    @property
    def navigation(self) -> list[tuple[str, str, str]]:
        """The pages that this account can open."""
        return [one for one in NAVIGATION if self.may(one[0])]

    def token(self) -> str:
        """A token for one form; templates call it ``csrf()``."""
        return "" if self.session is None else new_token(self.session)

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page from a template, which knows ``here``, ``me`` and ``csrf`` beside the values."""
        return render(self.request, template, values, status=status, here=self)

    def see(self, address: str) -> Response:
        """Send a browser to another page, after a form."""
        return RedirectResponse(address, 303)

    def log(self, db: Db, event: str, **facts: Any) -> None:
        """Add a line to the log about what happens in this transaction; no cell and no secret stands in it."""
        record(db, self.me.name, event, **facts)

    def counted(self, cost: str | None) -> Here:
        """The same, once there is room for it in the share of whoever asks."""
        if cost is not None:
            who = _address(self.request) if self.someone is None else self.me.id
            self.request.app.state.limits.take(cost, who)
        return self

    @property
    def by_htmx(self) -> bool:
        """Whether a fragment is asked for, and not a whole page."""
        return self.request.headers.get("hx-request") == "true"


def render(
    request: Request, template: str, values: dict[str, Any], *, status: int = 200, here: Here | None = None,
    headers: dict[str, str] | None = None,
) -> Response:  # fmt: skip
    """A template as an answer."""
    here = here or getattr(request.state, "here", None) or Here(request, None, None, Named())
    known = {"here": here, "me": here.someone, "csrf": here.token, "version": VERSION}
    return HTMLResponse(_PAGES.get_template(template).render(**known, **values), status, headers=headers)


async def _form(request: Request) -> FormData | None:
    """The fields of a form that a browser sends; and whatever is read from here on is read for who asks."""
    ASKING.set(lambda: _asks(request))
    if request.method != "POST" or request.url.path.startswith(API):
        return None
    return await request.form()


def _asks(request: Request) -> str:
    here: Here | None = getattr(request.state, "here", None)
    return "" if here is None or here.someone is None else here.someone.id


class Needs:
    """Lets somebody in who may do something, and nobody else.

    ``again`` takes the same form more than once, for what changes nothing.
    """

    def __init__(self, action: str, *, again: bool = False) -> None:
        self.action, self.again = action, again
        ACTIONS[action]  # a misspelt action is our own fault, told at import

    def __call__(self, request: Request, form: Annotated[FormData | None, Depends(_form)]) -> Here:
        here = self.let_in(request)
        here.form = form
        if request.method == "POST" and not request.url.path.startswith(API) and here.session is not None:
            self.check_form(here, form or {})
        return here.counted(ACTIONS[self.action].cost)

    def let_in(self, request: Request) -> Here:
        """Who asks and what for, or why not."""
        programs = request.url.path.startswith(API)
        principal, session = _by_token(request) if programs else _by_cookie(request)
        request.state.here = here = Here(request, principal, session, Named())
        here._action = self.action
        if not programs and request.method not in ("GET", "HEAD"):
            check_origin(request, here.settings)
        public = ACTIONS[self.action].public
        if principal is None and not public:
            raise _unknown(request)
        if not allow(principal, self.action):
            raise Refused(403, "forbidden", "Your account may not do this: ask whoever runs the server.")
        if not public:
            with here.reading() as db:
                here._named, things = load_named(db, request.path_params)
            if not all(allow(principal, self.action, thing) for thing in things):
                raise missing()
        return here

    def check_form(self, here: Here, fields: Any) -> None:
        """Refuse a form that is not of this session, or was sent already."""
        if here.session is None:
            raise _unknown(here.request)
        nonce = check_token(here.session, fields)
        if not self.again:
            spend(here.store, here.session, nonce)
            here.request.state.spent = (here.session, nonce)


class Streams(Needs):
    """The same for a body that the route reads by itself."""

    def __call__(self, request: Request) -> Here:  # type: ignore[override]
        return self.let_in(request).counted("uploads")


def needs(action: str, *, again: bool = False) -> Any:
    """What a route declares: ``here: Annotated[Here, needs("project.read")]``."""
    return Depends(Needs(action, again=again))


def streams(action: str) -> Any:
    """The same for a route that reads its body by itself."""
    return Depends(Streams(action))


def _by_cookie(request: Request) -> tuple[Principal | None, SignedIn | None]:
    settings: Settings = request.app.state.settings
    session = signed_in(request.app.state.store, request.cookies.get(cookie_name(settings)), settings)
    return (None, None) if session is None else (session.principal, session)


def _by_token(request: Request) -> tuple[Principal | None, None]:
    return request.app.state.bearers.find(request.headers.get("authorization"), _address(request)), None


def _address(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _unknown(request: Request) -> Refused:
    if request.url.path.startswith(API):
        message = "This needs a token: send it as 'Authorization: Bearer ...'."
        return Refused(401, "unauthorised", message, headers={"www-authenticate": "Bearer"})
    if request.headers.get("hx-request") == "true":
        return Refused(401, "unauthorised", "You are signed out: sign in again.", headers={"hx-redirect": "/login"})
    return Refused(303, "unauthorised", "Sign in first.", headers={"location": "/login"})
