"""The application: settings in, something that a server can serve out."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.staticfiles import StaticFiles

from shoal.errors import InputError
from shoal.version import VERSION
from shoal.web import api, pages
from shoal.web.accounts.tokens import Bearers
from shoal.web.errors import API, ErrorAnswer, add_handlers
from shoal.web.jobs.compared import forget_plain
from shoal.web.keys import Keys
from shoal.web.limits import Limits
from shoal.web.middleware import BodyLimit, Headers, Hosts
from shoal.web.projects.making import finish_begun
from shoal.web.projects.uploads import INCOMING, forget_halves
from shoal.web.settings import Settings
from shoal.web.store.opening import open_store
from shoal.web.trust.chain import Watch

_STATIC = Path(__file__).parent / "static"
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": words}
    for status, words in {
        400: "The request cannot be read.",
        401: "There is no token, or it has ended.",
        403: "The account or the token may not do this.",
        404: "There is no such thing, or none that this account may see.",
        405: "The address takes no such request.",
        409: "It does not fit with what is there, or Shoal refused it.",
        413: "The request is too large.",
        422: "Something given has to change.",
        429: "Asked for too often; Retry-After says in how many seconds there is room again.",
        500: "A fault of the server.",
        501: "The server lacks an optional library that this needs.",
        503: "The database does not answer, or others read first; Retry-After says when to try again.",
        507: "The server's disk is full.",
    }.items()
}


def create_app(settings: Settings) -> FastAPI:
    """An application over a data folder and a database, which is brought up to date first."""
    make_folder(settings.folder)
    make_folder(settings.projects)
    forget_halves(settings.folder / INCOMING)
    forget_plain(settings)
    app = FastAPI(title="Shoal", version=VERSION, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.settings = settings
    app.state.store = open_store(settings.database)
    with app.state.store.writing() as db:
        finish_begun(db, settings)
    app.state.keys = Keys(settings, app.state.store)
    app.state.limits = Limits(settings)
    app.state.log = Watch()
    app.state.bearers = Bearers(app.state.store, app.state.limits)
    add_handlers(app)
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(Hosts, settings=settings)
    app.add_middleware(Headers, settings=settings)
    for router in routers(pages):
        app.include_router(router, include_in_schema=False)
    for router in routers(api):
        app.include_router(router, prefix=API, responses=_ERRORS)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    return app


def routers(package: ModuleType) -> list[APIRouter]:
    """The routers of all modules of a package, in the order of their names."""
    names = sorted(one.name for one in pkgutil.iter_modules(package.__path__))
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    return [one for module in modules for one in vars(module).values() if isinstance(one, APIRouter)]


def make_folder(path: Path) -> None:
    """A folder that nobody else may look into."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise InputError(f"The data folder '{path}' cannot be used: {error.strerror}.") from None
