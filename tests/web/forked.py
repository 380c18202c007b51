"""Processes of jobs that need not import everything anew: they are forked from one that has."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.connection import Connection
from typing import IO, Any

from shoal.web.jobs import child

_CONTEXT = multiprocessing.get_context("forkserver")
# What every kind of job needs, and what most runs of tests load on their way.
_LOADED = ("web.jobs.kinds", "algorithms.partition.mondrian", "kernels.partition.bestcut")
_CONTEXT.set_forkserver_preload(["jinja2", "scipy", *(f"shoal.{name}" for name in _LOADED)])
PIPE, DEVNULL = -1, -3


def _do(into: Connection, out: Connection, environment: dict[str, str]) -> None:
    """What ``python -m shoal.web.jobs.child`` does, between two pipes."""
    os.setsid()
    for given, place in ((into.fileno(), 0), (out.fileno(), 1), (os.open(os.devnull, os.O_WRONLY), 2)):
        os.dup2(given, place)
    into.close()
    out.close()
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    os.write(1, b"\n")
    child.main()


class Popen:
    """As much of ``subprocess.Popen`` as a worker uses."""

    def __init__(self, command: list[str], *, env: dict[str, str], **rest: Any) -> None:
        assert command[1:] == ["-m", child.__name__]
        assert rest == {"stdin": PIPE, "stdout": PIPE, "stderr": DEVNULL, "start_new_session": True}
        theirs, ours = _CONTEXT.Pipe(duplex=False)
        back, out = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(target=_do, args=(theirs, out, env), daemon=True)
        self._process.start()
        theirs.close()
        out.close()
        self.stdin: IO[bytes] = os.fdopen(os.dup(ours.fileno()), "wb")
        self.stdout: IO[bytes] = os.fdopen(os.dup(back.fileno()), "rb")
        ours.close()
        back.close()
        self.stdout.read(1)  # it has a session of its own now, which can be killed
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        self._process.join(timeout)
        return self.returncode
