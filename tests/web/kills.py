"""Kill the server, its worker or a job's process at random moments, and look at what is left.

``python -m tests.web.kills 20`` starts a server with jobs that wait, kills one of the three processes at 20 random
moments, starting the server again where it was the one, and then lets the rest be done. Every job must have ended, done
or with a sentence; every release must pass the verifier; and nothing private may be left in a plain file. With
``--postgresql`` the store is a PostgreSQL of its own, in the place of SQLite.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastapi import FastAPI
from sqlalchemy import select

from shoal.release.entry import verify_release
from shoal.web.app import create_app
from shoal.web.settings import Settings
from shoal.web.store.tables import Job, Release
from tests.engines.server import binaries, running
from tests.web.conftest import add_people
from tests.web.working import add_job, add_project

LEASE = 3


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def ending() -> Iterator[list[subprocess.Popen[str]]]:
    """Servers that are put in here are ended, with whatever they have started, however the test goes."""
    servers: list[subprocess.Popen[str]] = []
    try:
        yield servers
    finally:
        for one in servers:
            with suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.communicate()  # until nobody has its output open any more


def start(
    folder: Path, port: int, database: str = "", *, among: list[subprocess.Popen[str]]
) -> subprocess.Popen[str]:
    """A server by the command, once it answers; ``among`` those that are ended in any case."""
    known = {**os.environ, "SHOAL_DATABASE": database} if database else None
    command = [sys.executable, "-m", "shoal.cli.main", "serve", "--data", str(folder), "--port", str(port)]
    limits = ["--set", f"lease-seconds={LEASE}", "--set", "jobs-at-once=2"]
    server = subprocess.Popen(
        [*command, *limits], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=known,
        start_new_session=True,
    )  # fmt: skip
    among.append(server)
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return server
        assert server.poll() is None, "the server has ended"
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


def below(pid: int) -> list[int]:
    """The processes that one has started, by whichever of its threads."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += [int(one) for one in (task / "children").read_text().split()]
    return found


def worker_of(server: subprocess.Popen[str]) -> int | None:
    """The worker of a server."""
    return next(iter(below(server.pid)), None)


def started(server: subprocess.Popen[str], seconds: float = 30) -> int | None:
    """A job's process, once there is one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        worker = worker_of(server)
        if worker is not None and below(worker):
            return below(worker)[0]
        time.sleep(0.02)
    return None


def kill(pid: int | None) -> bool:
    """Whether there was something to kill."""
    if pid is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def states(app: FastAPI) -> Counter[str]:
    with app.state.store.reading() as db:
        return Counter(db.scalars(select(Job.state)))


def settled(app: FastAPI, seconds: float) -> Counter[str]:
    """The states of all jobs once they have ended."""
    until = time.monotonic() + seconds
    while (found := states(app))["queued"] + found["running"]:
        assert time.monotonic() < until, f"jobs do not end: {dict(found)}"
        time.sleep(0.2)
    return found


def left(app: FastAPI) -> list[str]:
    """What is wrong with what is left: releases that do not verify, or private files."""
    with app.state.store.reading() as db:
        releases, jobs = list(db.scalars(select(Release))), list(db.scalars(select(Job)))
    folder = app.state.settings.projects
    wrong = [one.id for one in releases if not verify_release(folder / one.project / one.folder).passed]
    done = {one.id for one in jobs if one.state == "done"}
    wrong += [f"{one} is done and has no release" for one in done ^ {one.id for one in releases}]
    wrong += [f"{one.id} failed without a word" for one in jobs if one.state == "failed" and not one.message]
    kept = {(folder / one.project / one.folder) for one in releases}
    for path in folder.glob("*/releases/*"):
        if path not in kept and ".lock" not in path.name:
            wrong.append(f"{path.name} is left")
    return wrong


def main(kills: int = 20, jobs: int = 12, seed: int = 0, database: str = "") -> int:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as made, ending() as servers:
        folder, port = Path(made) / "data", free_port()
        app = create_app(Settings(folder=folder, database=database))
        add_people(app)
        project = add_project(app)
        for _ in range(jobs):
            add_job(app, project, "run")
        hit: Counter[str] = Counter()
        server = start(folder, port, database, among=servers)
        while hit.total() < kills:
            time.sleep(chance.uniform(0.2, 4))
            what = chance.choice(["server", "worker", "child"])
            worker = worker_of(server)
            child = started(server) if what == "child" else None
            if kill({"server": server.pid, "worker": worker, "child": child}[what]):
                hit[what] += 1
            if what == "server":
                server.wait()
                server = start(folder, port, database, among=servers)
            if not states(app)["queued"]:
                for _ in range(3):
                    add_job(app, project, "run")
        found = settled(app, 600)
        server.terminate()
        server.wait(60)
        wrong = left(app)
        app.state.store.close()
    print(f"killed: {dict(hit)}; jobs: {dict(found)}; wrong: {wrong or 'nothing'}")
    return int(bool(wrong))


def on_postgresql(*numbers: int) -> int:
    """The same where the store is a PostgreSQL."""
    programs = binaries()
    assert programs is not None, "there is no PostgreSQL here"
    with running(programs) as server:
        server.do("CREATE DATABASE shoal")
        return main(*numbers, database=server.url("shoal"))


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if one != "--postgresql"]
    sys.exit((on_postgresql if given != sys.argv[1:] else main)(*(int(one) for one in given)))
