"""The command itself: what it prints and refuses, and that its processes can be killed."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from shoal.cli.main import execute
from shoal.errors import InputError
from shoal.web.app import create_app
from shoal.web.serving import dumped, loaded, refuse_open
from shoal.web.settings import Offer, Settings
from tests.web.conftest import add_people
from tests.web.kills import below, free_port, kill, left, settled, start, states, worker_of
from tests.web.working import add_job, add_project


def test_killed_servers_and_workers_lose_no_job(tmp_path: Path) -> None:
    app = create_app(Settings(folder=tmp_path / "data"))
    add_people(app)
    project = add_project(app)
    port = free_port()
    server = start(tmp_path / "data", port)
    first = worker_of(server)
    jobs = [add_job(app, project, "run") for _ in range(2)]
    end = time.monotonic() + 60
    while not (first and below(first)):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert kill(first)
    while (second := worker_of(server)) in (None, first):
        assert time.monotonic() < end, "no other worker was started"
        time.sleep(0.05)
    assert kill(server.pid)
    server.wait(10)
    while Path(f"/proc/{second}").exists():
        assert time.monotonic() < end, "the worker stays behind"
        time.sleep(0.05)
    again = start(tmp_path / "data", port)
    assert httpx.get(f"http://127.0.0.1:{port}/api/v1/health").json()["status"] == "ok"
    assert settled(app, 120) == {"done": len(jobs)}
    again.terminate()
    again.wait(30)
    assert left(app) == []
    assert states(app)["done"] == 2
    app.state.store.close()


def test_the_first_start_gives_a_link(tmp_path: Path) -> None:
    port = free_port()
    server = start(tmp_path / "data", port)
    server.terminate()
    told = server.communicate(timeout=30)[0]
    assert f"http://127.0.0.1:{port}" in told
    assert "/setup/" in told
    assert server.returncode in (0, -15)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"host": "0.0.0.0"}, "unprotected"),
        ({"host": "192.0.2.1"}, "unprotected"),
        ({"host": "0.0.0.0", "tls_certificate": Path("c"), "tls_key": Path("k")}, "know its name"),
    ],
)
def test_passwords_cross_no_network_unprotected(tmp_path: Path, settings: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        refuse_open(Settings(folder=tmp_path, **settings))  # type: ignore[arg-type]


def test_settings_go_from_process_to_process_unchanged(tmp_path: Path) -> None:
    offer = Offer(name="o", place="postgresql://u:secret@db/x", table="t")
    made = Settings(folder=tmp_path, address="https://x.example", offers=(offer,), job_memory=1 << 30)
    assert loaded(dumped(made)) == made
    assert "secret" not in repr(made)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--set", "job-memory=lots"], "an amount such as 4GiB"),
        (["--set", "jobs-at-one=2"], "Did you mean 'jobs-at-once'"),
        (["--set", "minimum-count=0"], "above 0"),
        (["--offer", "a=nowhere.csv"], "not there"),
        (["--offer", "a=postgresql://db/x"], "names no table"),
        (["--set", "tls-key=key.pem"], "both a certificate and its key"),
        (["--database", "mysql://x"], "The database"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert execute(["serve", "--data", str(tmp_path / "data"), *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.split())
