"""Pages of the server under load: 200 readers at a time and five jobs, beside an empty route in the same run.

``python -m benchmarks.web --readers 200 --seconds 20`` starts a server on SQLite with a project, five jobs that wait,
and a second server of FastAPI that has nothing but an empty route. The same readers ask both in turns. It ends with 1
where any answer is an error or a job fails.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

PASSWORD = "a password for figures"
_EMPTY = """
import sys
import uvicorn
from fastapi import FastAPI
app = FastAPI()

@app.get("/")
def empty() -> dict[str, str]:
    return {}

uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False, timeout_keep_alive=75)
"""
_RECIPE = """
acknowledge = ["W-UNMODELLED:illness"]
[source]
path = "source/people.csv"
[roles]
quasi = ["age", "sex", "zip"]
sensitive = ["illness"]
[[models]]
name = "k"
k = 5
[algorithm]
name = "mondrian"
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(*command: str, port: int) -> Iterator[None]:
    """A server, until it is no longer needed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(30)


def prepared(folder: Path, rows: int, jobs: int) -> tuple[str, list[str]]:
    """A project with a source and a recipe, and jobs that wait; the project and the jobs."""
    from shoal.web.accounts.users import make_user
    from shoal.web.app import create_app
    from shoal.web.jobs import queue
    from shoal.web.projects.project import Workspace, folder_of, make_project
    from shoal.web.settings import Settings

    settings = Settings(folder=folder)
    app = create_app(settings)
    with app.state.store.writing() as db:
        user = make_user(db, "custodian", "custodian", PASSWORD)
        project = make_project(db, "People", user.id, settings)
        lines = [f"{20 + i * 7 % 60},{'fm'[i % 2]},{1000 + i * 11 % 97},ill{i % 9}" for i in range(rows)]
        table = "\n".join(["age,sex,zip,illness", *lines]) + "\n"
        (folder_of(project.id, settings) / "source" / "people.csv").write_text(table)
        Workspace.newest(db, project, settings).save(db, _RECIPE, base=0, author=user.id)
        made = [queue.add(db, project, "run", recipe=1, author=user.id, most=jobs).id for _ in range(jobs)]
    app.state.store.close()
    return project.id, made


async def measured(server: str, empty: str, project: str, jobs: list[str], args: Any) -> dict[str, Any]:
    """Times of all answers by page, and how many were errors."""
    times: dict[str, list[float]] = defaultdict(list)
    errors = 0
    limits = httpx.Limits(max_connections=args.readers, max_keepalive_connections=args.readers)
    async with httpx.AsyncClient(base_url=server, limits=limits, timeout=120) as client:
        fields = {"name": "custodian", "password": PASSWORD}
        signed = await client.post("/login", data=fields, headers={"origin": server})
        assert signed.status_code == 303, signed.text
        client.cookies.update(signed.cookies)
        pages = ["/", f"/projects/{project}/files", "/releases", f"/jobs/{jobs[0]}", f"/projects/{project}/recipe"]
        end = time.monotonic() + args.seconds

        async def reader(number: int) -> None:
            nonlocal errors
            turn = number
            while time.monotonic() < end:
                page = pages[turn % len(pages)]
                for name, address in ((page.replace(project, "ID").replace(jobs[0], "ID"), page), ("empty", empty)):
                    started = time.perf_counter()
                    answer = await client.get(address)
                    times[name].append(time.perf_counter() - started)
                    errors += answer.status_code != 200
                turn += 1

        await asyncio.gather(*(reader(number) for number in range(args.readers)))
        states = await _ended(client, jobs, args.patience)
    return {"times": times, "errors": errors, "jobs": states}


async def _ended(client: httpx.AsyncClient, jobs: list[str], patience: float) -> list[str]:
    """What became of the jobs."""
    until = time.monotonic() + patience
    while True:
        found = [(await client.get(f"/jobs/{one}/status")).text for one in jobs]
        states = ["done" if "Done." in one else "failed" if "problem" in one else "waits" for one in found]
        if "waits" not in states or time.monotonic() > until:
            return states
        await asyncio.sleep(1)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--patience", type=float, default=300, help="seconds that jobs have after the readers went")
    args = parser.parse_args()
    port, other = free_port(), free_port()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "data"
        project, jobs = prepared(folder, args.rows, args.jobs)
        serve = [sys.executable, "-m", "shoal.cli.main", "serve", "--data", str(folder), "--port", str(port)]
        with running(*serve, port=port), running(sys.executable, "-c", _EMPTY, str(other), port=other):
            server, empty = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{other}/"
            found = asyncio.run(measured(server, empty, project, jobs, args))
    print(f"{args.readers} readers at a time, {args.jobs} jobs, {args.seconds:g} s")
    for name, times in sorted(found["times"].items()):
        half, most = percentile(times, 0.5), percentile(times, 0.95)
        print(f"{name:28} {len(times):6} answers  p50 {half:6.3f} s  p95 {most:6.3f} s")
    print(json.dumps({"errors": found["errors"], "jobs": found["jobs"]}))
    return int(found["errors"] > 0 or set(found["jobs"]) != {"done"})


if __name__ == "__main__":
    sys.exit(main())
