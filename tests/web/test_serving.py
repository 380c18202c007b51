"""The command itself: what it prints and refuses, and that its processes can be killed."""

from __future__ import annotations

import errno
import re
import secrets
import subprocess
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from shoal.cli.main import execute
from shoal.cli.server import _SETTINGS, _value
from shoal.errors import InputError
from shoal.web import app as serving
from shoal.web.app import create_app, dumped, loaded, refuse_open
from shoal.web.settings import Offer, Settings
from tests.web.conftest import add_people
from tests.web.kills import below, ending, free_port, kill, left, settled, start, states, worker_of
from tests.web.working import add_job, add_project


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address of an empty database, or none, which is SQLite in the folder."""
    if request.param == "sqlite":
        yield ""
        return
    server, name = request.getfixturevalue("postgres"), f"k{secrets.token_hex(6)}"
    server.do(f"CREATE DATABASE {name}")
    yield str(server.url(name))
    server.do(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def servers() -> Iterator[list[subprocess.Popen[str]]]:
    """Servers that end with the test."""
    with ending() as found:
        yield found


@pytest.mark.sample(1)
def test_killed_servers_and_workers_lose_no_job(
    tmp_path: Path, database: str, servers: list[subprocess.Popen[str]]
) -> None:
    app = create_app(Settings(folder=tmp_path / "data", database=database))
    add_people(app)
    project = add_project(app)
    port = free_port()
    server = start(tmp_path / "data", port, database, among=servers)
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
    again = start(tmp_path / "data", port, database, among=servers)
    assert httpx.get(f"http://127.0.0.1:{port}/api/v1/health").json()["status"] == "ok"
    assert settled(app, 120) == {"done": len(jobs)}
    again.terminate()
    again.wait(30)
    assert left(app) == []
    assert states(app)["done"] == 2
    app.state.store.close()


def test_a_server_that_a_test_has_left_is_ended_with_its_worker(tmp_path: Path) -> None:
    started: list[int] = []

    def fails() -> None:
        with ending() as servers:
            server = start(tmp_path / "data", free_port(), among=servers)
            started.extend([server.pid, *below(server.pid)])
            kill(server.pid)  # so that its worker is nobody's child
            raise AssertionError("by the test")

    with pytest.raises(AssertionError, match="by the test"):
        fails()
    assert len(started) > 1
    assert [pid for pid in started if Path(f"/proc/{pid}/exe").exists()] == []


def test_a_worker_that_does_not_start_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, tried = Event(), []

    def start_one(*given: Any, **more: Any) -> None:
        tried.append(more)
        if len(tried) == 3:
            stop.set()
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(serving.subprocess, "Popen", start_one)
    monkeypatch.setattr(stop, "wait", lambda seconds: stop.is_set())
    serving._keep_working(Settings(folder=tmp_path), stop, 0)
    assert len(tried) == 3


def test_the_first_start_gives_a_link(tmp_path: Path, servers: list[subprocess.Popen[str]]) -> None:
    port = free_port()
    server = start(tmp_path / "data", port, among=servers)
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


def test_every_setting_is_documented_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"`--set ([a-z-]+)=([^`]+)`", page.partition("## Settings")[2].partition("\n## ")[0]))
    assert sorted(said) == sorted(_SETTINGS)
    known = {one.name: one.default for one in fields(Settings)}
    for key, kind in _SETTINGS.items():
        assert said[key] == "FILE" if kind == "path" else _value(key, said[key]) == known[key.replace("-", "_")], key


@pytest.mark.parametrize("setting", ["master-key", "passphrase-file"])
def test_a_secret_that_others_can_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], setting: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a passphrase of more than thirty-two characters")
    secret.chmod(0o640)
    assert execute(["serve", "--data", str(tmp_path / "data"), "--set", f"{setting}={secret}"]) == 2
    told = capsys.readouterr()
    assert "can be read by others than its owner: run chmod 600" in " ".join(told.err.split())
    assert "passphrase of" not in told.out + told.err


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
