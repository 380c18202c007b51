"""A server's process that is killed at its n-th step on the disk or in the database, for every n there is."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import event

from shoal.vault import seal
from shoal.web.app import create_app
from shoal.web.settings import Settings
from tests.conftest import many
from tests.web.forked import _CONTEXT

_STEPS = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.truncate"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_KILLED, _DONE, _MOST = 9, 0, 200


def every_end(
    folder: Path, act: Callable[[FastAPI], None], look: Callable[[Path], None] = lambda _: None
) -> Iterator[FastAPI]:
    """The application as a new start finds it, after ``act`` on a copy of the data was killed at each of its steps.

    The last one is after all of them; a regular run tries every third. Steps are those that change something below the
    data folder, and commits. ``act`` can be sent to another process; ``look`` is given the folder before the new start.
    """
    if not (folder / "shoal.db").exists():
        pytest.skip("a copy of the data folder has to have the database in it, which PostgreSQL is not")
    for at in range(1, _MOST, many(3, 1)):
        settings = Settings(folder=folder.with_name(f"{folder.name}-{at}"))
        shutil.copytree(folder, settings.folder, symlinks=True)
        code = _ended(settings, act, at)
        assert code in (_KILLED, _DONE), "it ended by itself"
        look(settings.folder)
        app = create_app(settings)
        yield app
        app.state.store.close()
        shutil.rmtree(settings.folder)
        if code == _DONE:
            return
    raise AssertionError("it takes more steps than anybody expects")


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
