"""A log of many lines: a page reads few of them, all are checked on request, and a file of them is sent bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import delete, event, insert, update
from sqlalchemy.orm import Session as Db

from shoal.cli.main import execute
from shoal.io.hash_chain import link
from shoal.web.errors import API
from shoal.web.questions import log_chain
from shoal.web.store.tables import LogEntry
from tests.web.conftest import Browser, program, sign_in
from tests.web.test_trust import log_of

LINES = 400


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a page checked 150 lines at a time, and read 50."""
    monkeypatch.setattr(log_chain, "AT_ONCE", 150)
    monkeypatch.setattr(log_chain, "_BATCH", 50)


@pytest.fixture
def auditor(app: FastAPI) -> Browser:
    """Somebody who may read the log, which has many lines."""
    browser = sign_in(app, "auditor")
    last = log_of(app)[-1]
    number, previous = last.number, last.hash
    rows: list[dict[str, Any]] = []
    while number < LINES:
        made = link(number + 1, previous, who="researcher", event="downloaded", facts={"file": "a"})
        number, previous = made["entry"], made["hash"]
        rows.append({"number": made.pop("entry"), **made})
    with app.state.store.writing() as db:
        db.execute(insert(LogEntry), rows)
    return browser


def test_a_page_reads_a_part_of_a_long_log(app: FastAPI, auditor: Browser) -> None:
    read: list[int] = []

    @event.listens_for(LogEntry, "load")
    def count(one: LogEntry, _: object) -> None:
        read.append(one.number)

    try:
        assert f"first 150 of {LINES}" in auditor.get("/log").text
        assert len(read) <= 150 + 101 + 50
        assert f"first 300 of {LINES}" in auditor.get("/log").text
        assert "The chain of its lines holds: those" in auditor.get("/log").text
        read.clear()
        assert "The chain of its lines holds: those" in auditor.get("/log").text
        assert len(read) == 101
    finally:
        event.remove(LogEntry, "load", count)
    assert "The chain of its lines holds. Lines" in auditor.get("/log?check=all").text


def test_an_old_line_that_was_changed_is_found_on_request(app: FastAPI, auditor: Browser) -> None:
    assert "The chain of its lines holds" in auditor.get("/log?check=all").text
    with app.state.store.writing() as db:
        db.execute(update(LogEntry).where(LogEntry.number == 7).values(who="nobody"))
    assert "Line 7 of the log" in auditor.get("/log?check=all").text
    assert "Line 7 of the log" in auditor.get("/log?before=20").text


def test_lines_dropped_while_the_server_runs_are_noticed(app: FastAPI, auditor: Browser) -> None:
    assert "The chain of its lines holds" in auditor.get("/log?check=all").text
    with app.state.store.writing() as db:
        db.execute(delete(LogEntry).where(LogEntry.number > LINES - 3))
    assert f"had {LINES} lines when it was looked at before" in auditor.get("/log").text


def test_nothing_is_dropped_where_another_page_was_quicker(app: FastAPI, auditor: Browser) -> None:
    watch, quick = log_chain.Watch(), app.state.store.reading
    assert watch.look(quick, every=True).whole
    others: list[log_chain.Checked] = []

    @contextmanager
    def slow() -> Iterator[Db]:
        with quick() as db:
            yield db
        if not others:
            sign_in(app, "custodian")  # which is one more line
            others.append(watch.look(quick))

    assert watch.look(slow).problem is None
    assert others[0].problem is None
    assert watch.look(quick).whole


def test_one_whole_check_at_a_time(app: FastAPI, auditor: Browser) -> None:
    with app.state.log._busy:
        assert auditor.get("/log?check=all").status_code == 429
        assert auditor.get("/log").status_code == 200


@pytest.mark.parametrize("programs", [False, True])
def test_all_of_it_is_sent_batch_by_batch(app: FastAPI, auditor: Browser, programs: bool, tmp_path: Path) -> None:
    client = program(app, "auditor") if programs else auditor
    place, address = tmp_path / "server.log", f"{API}/log" if programs else "/log/file"
    answer = client.get(address)
    assert "content-length" not in answer.headers
    place.write_bytes(answer.content)
    assert execute(["log", "verify", str(place), "--head", log_of(app)[-1].hash]) == 0
    assert answer.text.count("\n") == len(log_of(app))


def test_heads_kept_elsewhere_find_lines_dropped_at_the_end(
    app: FastAPI, auditor: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client, heads, place = program(app, "auditor"), tmp_path / "heads.json", tmp_path / "server.log"
    told = client.get(f"{API}/log/head")
    assert told.json()["entry"] == len(log_of(app))
    sign_in(app, "custodian")
    heads.write_text(f"{told.text}\n{client.get(f'{API}/log/head').text}")  # as somebody appends them day by day
    place.write_bytes(client.get(f"{API}/log").content)
    assert execute(["log", "verify", str(place), "--head", str(heads)]) == 0
    place.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:-1]))
    assert execute(["log", "verify", str(place), "--head", str(heads)]) == 4
    assert "lines at its end were dropped" in capsys.readouterr().err
    for content in ("", "{}", '{"head": 3}', '{"head": "abc"}', "[1]", '{"head": '):
        heads.write_text(content)
        assert execute(["log", "verify", str(place), "--head", str(heads)]) == 2
        assert "something else than heads of a log" in capsys.readouterr().err
    assert execute(["log", "verify", str(place), "--head", str(tmp_path / "none")]) == 2
    assert "no file of heads that can be read" in capsys.readouterr().err
