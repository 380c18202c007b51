"""A server's process that is killed at its n-th step on the disk or in the database, for every n there is."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from sqlalchemy import NullPool, create_engine, event, text
from sqlalchemy.engine import URL, make_url

from shoal.vault import seal
from shoal.web.app import create_app
from shoal.web.settings import Settings
from tests.conftest import many
from tests.web.forked import _CONTEXT

_STEPS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.truncate"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_KILLED, _DONE, _MOST = 9, 0, 200


def every_end(
    app: FastAPI, act: Callable[[FastAPI], None], look: Callable[[Path], None] = lambda _: None
) -> Iterator[FastAPI]:
    """The application as a new start finds it, after ``act`` on a copy of the data was killed at each of its steps.

    The last one is after all of them; a regular run tries every sixth. Steps are those that change something below the
    data folder, and commits. ``act`` can be sent to another process; ``look`` is given the folder before the new start.
    """
    for at in range(1, _MOST, many(6, 1)):
        with _copied(app, at) as settings:
            code = _ended(settings, act, at)
            assert code in (_KILLED, _DONE), "it ended by itself"
            look(settings.folder)
            begun = create_app(settings)
            yield begun
            begun.state.store.close()
        if code == _DONE:
            return
    raise AssertionError("it takes more steps than anybody expects")


@contextmanager
def _copied(app: FastAPI, at: int) -> Iterator[Settings]:
    """A copy of the data folder, and of the database where that is elsewhere."""
    given: Settings = app.state.settings
    made = replace(given, folder=given.folder.with_name(f"{given.folder.name}-{at}"), database="")
    shutil.copytree(given.folder, made.folder, symlinks=True)
    if app.state.store.sqlite:
        yield made
    else:
        url = make_url(given.database)
        name = f"{url.database}_{at}"
        app.state.store.close()  # which nobody may be connected to that is copied
        _do_there(url, f"CREATE DATABASE {name} TEMPLATE {url.database}")
        yield replace(made, database=url.set(database=name).render_as_string(hide_password=False))
        _do_there(url, f"DROP DATABASE {name} WITH (FORCE)")
    shutil.rmtree(made.folder)


def _do_there(url: URL, statement: str) -> None:
    engine = create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(statement))


def _ended(settings: Settings, act: Callable[[FastAPI], None], at: int) -> int | None:
    """How a process of its own ended that was to do all of it."""
    process = _CONTEXT.Process(target=_do, args=(settings, act, at, seal.MEMORY))
    process.start()
    process.join(120)
    process.kill()
    return process.exitcode


def _do(settings: Settings, act: Callable[[FastAPI], None], at: int, memory: int) -> None:
    seal.MEMORY = memory
    app = create_app(settings)
    _arm(app, settings.folder, at)
    act(app)
    os._exit(_DONE)


def _arm(app: FastAPI, folder: Path, at: int) -> None:
    """End this process without a word before its n-th step."""
    left, below = [at], os.fsencode(folder)

    def step() -> None:
        left[0] -= 1
        if left[0] == 0:
            os._exit(_KILLED)

    def seen(name: str, given: tuple[Any, ...]) -> None:
        writes = name in _STEPS or (name == "open" and isinstance(given[2], int) and given[2] & _WRITES)
        if writes and isinstance(given[0], str | bytes | Path) and os.fsencode(given[0]).startswith(below):
            step()

    @event.listens_for(app.state.store.engine, "commit")
    def before(_: object) -> None:
        step()

    sys.addaudithook(seen)
