"""Processes of jobs that need not import everything anew: they are forked from one that has."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Any

from shoal.web.jobs import sandbox

_CONTEXT = multiprocessing.get_context("forkserver")
# What every kind of job needs, and what most runs of tests load on their way.
_LOADED = ("shoal.web.jobs.kinds", "shoal.algorithms.mondrian", "shoal.kernels.mondrian")
_CONTEXT.set_forkserver_preload(["jinja2", "scipy", "shoal.web.app", *_LOADED])
PIPE, DEVNULL = -1, -3


def _do(into: Connection, out: Connection, told: Connection, memory: int, environment: dict[str, str]) -> None:
    """Have a process do what ``python -m shoal.web.jobs.sandbox job`` does, between two pipes, and tell of its end.

    Its number is nobody else's while somebody may signal it: it is waited for once the other end of ``told`` is closed.
    """
    pid = os.fork()
    if not pid:
        try:
            _job(into, out, memory, environment)
        finally:
            os._exit(1)
    into.close()
    out.close()
    told.send(pid)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    with suppress(OSError, EOFError):
        told.send(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
        told.recv()
    os.waitpid(pid, 0)


def _job(into: Connection, out: Connection, memory: int, environment: dict[str, str]) -> None:
    os.setsid()
    for given, place in ((into.fileno(), 0), (out.fileno(), 1), (os.open(os.devnull, os.O_WRONLY), 2)):
        os.dup2(given, place)
    into.close()
    out.close()
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    os.write(1, b"\n")
    sandbox.main(sandbox.JOB, memory)


def Popen(command: list[str], **given: Any) -> Any:
    """What a sandbox is started by: a process of its own for pages, one that is forked for a job."""
    assert command[1:3] == ["-m", sandbox.__name__]
    return Forked(int(command[4]), **given) if command[3] == sandbox.JOB else subprocess.Popen(command, **given)


class Forked:
    """As much of ``subprocess.Popen`` as a worker uses; its process is there, if only as a zombie, as long as it is."""

    def __init__(self, memory: int, *, env: dict[str, str], **rest: Any) -> None:
        assert rest == {"stdin": PIPE, "stdout": PIPE, "stderr": DEVNULL, "start_new_session": True}
        theirs, ours = _CONTEXT.Pipe(duplex=False)
        back, out = _CONTEXT.Pipe(duplex=False)
        self._told, told = _CONTEXT.Pipe()
        _CONTEXT.Process(target=_do, args=(theirs, out, told, memory, env), daemon=True).start()
        theirs.close()
        out.close()
        told.close()
        self.stdin: IO[bytes] = os.fdopen(os.dup(ours.fileno()), "wb")
        self.stdout: IO[bytes] = os.fdopen(os.dup(back.fileno()), "rb")
        ours.close()
        back.close()
        self.returncode: int | None = None
        self.stdout.read(1)  # it has a session of its own now, which can be killed
        self.pid: int = self._told.recv()

    def poll(self) -> int | None:
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        if self.returncode is None and self._told.poll(timeout):
            self.returncode = self._told.recv()
        return self.returncode
