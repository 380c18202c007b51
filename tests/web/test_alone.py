"""One server to a data folder: a second one is refused before it touches anything, and a kill leaves no lock."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from shoal.cli.main import execute
from shoal.errors import InputError
from shoal.web import app as module
from shoal.web import app as serving
from shoal.web.app import LOCK, WORKER_LOCK, alone, create_app
from shoal.web.settings import Settings
from tests.web.kills import ending, free_port, kill, start, worker_of


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """An address of an empty database, or none, which is SQLite in the folder."""
    if request.param == "sqlite":
        yield ""
        return
    server, name = request.getfixturevalue("postgres"), f"a{secrets.token_hex(6)}"
    server.do(f"CREATE DATABASE {name}")
    yield str(server.url(name))
    server.do(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE", {LOCK: 0.0, WORKER_LOCK: 0.0})


@pytest.fixture
def _served_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes as far as to listen has failed the test."""

    def listen(self: object) -> None:
        raise AssertionError("it would have served")

    monkeypatch.setattr(uvicorn.Server, "run", listen)


@pytest.mark.sample(1)
@pytest.mark.usefixtures("_served_by_nobody", "_impatient")
def test_a_second_server_is_refused_and_one_after_a_kill_starts_at_once(
    tmp_path: Path, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the first is just making, such as half an upload and a project without its row, is not swept up."""
    folder, more = tmp_path / "data", ["--database", database] if database else []
    with ending() as servers:
        first = start(folder, free_port(), database, among=servers)
        half, made = folder / "incoming" / ".incoming-0", folder / "projects" / ("0" * 32) / ".unmade"
        for one in (half, made):
            one.parent.mkdir(parents=True, exist_ok=True)
            one.touch()
        assert execute(["serve", "--data", str(folder), "--port", str(free_port()), *more]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "A server is at work in the data folder" in told
        assert "stop it first" in told
        assert (half.exists(), made.exists()) == (True, True)
        worker = worker_of(first)
        assert worker is not None
        os.kill(worker, signal.SIGSTOP)  # as if it were just writing
        assert kill(first.pid)
        first.wait(10)
        with pytest.raises(InputError, match="worker of a server that has ended is still at work"), alone(folder):
            pass
        os.kill(worker, signal.SIGCONT)
        start(folder, free_port(), database, among=servers)  # while the worker of the first is still ending
        assert (half.exists(), made.exists()) == (False, False)


@pytest.mark.usefixtures("_impatient")
def test_a_server_that_has_stopped_has_its_folder_until_its_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads go on for a while that answer requests, and write."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda self: None)
    monkeypatch.setattr(serving, "_keep_working", lambda *given: None)
    serving.serve(Settings(folder=tmp_path / "data"), lambda address, link: None)
    with pytest.raises(InputError, match="A server is at work"), alone(tmp_path / "data"):
        pass


@pytest.mark.usefixtures("_impatient")
def test_a_folder_is_had_by_one_at_a_time_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(tmp_path / "data")
    (tmp_path / "data").mkdir()
    with alone(tmp_path / "data"), pytest.raises(InputError, match="A server is at work"), alone(tmp_path / "other"):
        pass
    with alone(tmp_path / "other"):
        assert (tmp_path / "data" / LOCK).stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("command", ["rotate", "accept"])
def test_secrets_of_a_server_that_runs_are_not_turned_over(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would go on sealing under a key that is forgotten."""
    app = create_app(Settings(folder=tmp_path / "data"))
    assert app.state.keys.keyring.generation == 1
    app.state.store.close()
    with alone(tmp_path / "data"):
        assert execute(["vault", command, str(tmp_path / "data")]) == 2
    assert "A server is at work" in " ".join(capsys.readouterr().err.split())
    assert execute(["vault", command, str(tmp_path / "data")]) == 0
