"""The log of releases, and every way to tamper with it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.errors import InputError, VerificationError
from shoal.io.hash_chain import _FACTS, START, as_line, check_journal, hash_of, link, log_release, read_journal


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pl.DataFrame({"sex": list("ffmm"), "town": list("abab")})
    made = shoal.anonymize(shoal.read(frame, quasi=["sex", "town"], name="people"), models="k=2", seed=1)
    return made.write(tmp_path_factory.mktemp("made") / "out")


@pytest.fixture
def log(tmp_path: Path, release: Path) -> Path:
    place = tmp_path / "releases.log"
    for event in ("released", "sent", "withdrawn", "released"):
        log_release(place, release, event=event)
    return place


def test_a_line_says_who_released_what_and_when(log: Path, release: Path) -> None:
    found = read_journal(log)
    first = found.entries[0]
    assert (first["entry"], first["event"], first["previous"]) == (1, "released", START)
    assert first["release"]["statement"] == "2-anonymous"
    assert first["release"]["rows"] == 4
    assert first["who"]
    assert first["time"].endswith("+00:00")
    assert found.head == found.entries[-1]["hash"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[bytes], bytes]:
    return lambda content: b"".join(change(content.splitlines(keepends=True)))


def rehashed(content: bytes) -> bytes:
    """A line changed together with its own hash, as somebody would who read how it is made."""
    import hashlib

    every = content.splitlines(keepends=True)
    entry = json.loads(every[1])
    entry["who"] = "somebody else"
    body = {key: value for key, value in entry.items() if key != "hash"}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    entry["hash"] = hashlib.sha256(text).hexdigest()
    every[1] = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    return b"".join(every)


def odd(**changes: object) -> bytes:
    """A first line whose hash is right, and whose content is not what any release writes."""
    facts = dict.fromkeys(_FACTS, "")
    entry = {"entry": 1, "time": "", "who": "", "event": "", "release": facts, "previous": START} | changes
    return as_line(entry | {"hash": hash_of(entry)})


TAMPERED: dict[str, Callable[[bytes], bytes]] = {
    "a word changed": lambda content: content.replace(b'"withdrawn"', b'"released!"'),
    "a digit of a hash": lambda content: content.replace(b'"hash":"', b'"hash":"0', 1),
    "a line dropped": lines(lambda every: [*every[:1], *every[2:]]),
    "the first dropped": lines(lambda every: every[1:]),
    "two lines moved": lines(lambda every: [every[0], every[2], every[1], every[3]]),
    "a line twice": lines(lambda every: [*every[:2], every[1], *every[2:]]),
    "a line of one's own": lines(lambda every: [*every, b'{"entry":5}\n']),
    "rehashed": rehashed,
    "spaces": lambda content: content.replace(b'{"entry":2,', b'{"entry": 2,'),
    "a key twice": lambda content: content.replace(b'{"entry":2,', b'{"entry":9,"entry":2,'),
    "cut": lambda content: content[:-5],
    "no newline": lambda content: content[:-1],
    "a blank line": lambda content: content + b"\n",
    "half a letter": lambda content: content.replace(b'"sent"', b'"\\ud800"'),
    "no time": lines(lambda every: [odd(time=5), *every[1:]]),
    "no facts": lines(lambda every: [odd(release={}), *every[1:]]),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_what_was_tampered_with_is_noticed_and_not_added_to(log: Path, release: Path, how: str) -> None:
    log.write_bytes(TAMPERED[how](log.read_bytes()))
    with pytest.raises(VerificationError, match="log"):
        read_journal(log)
    before = log.read_bytes()
    with pytest.raises(VerificationError):
        log_release(log, release)
    assert log.read_bytes() == before


def test_every_single_byte_counts(log: Path) -> None:
    content = log.read_bytes()
    for place in range(0, len(content), 23):
        log.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(VerificationError):
            read_journal(log)


def test_lines_dropped_at_the_end_show_by_the_head(log: Path) -> None:
    head = read_journal(log).head
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert len(read_journal(log).entries) == 3
    with pytest.raises(VerificationError, match="lines at its end were dropped"):
        read_journal(log, head=head)


def test_an_older_head_is_still_there(log: Path, release: Path) -> None:
    head = read_journal(log).head
    log_release(log, release)
    assert len(read_journal(log, head=head).entries) == 5


@pytest.mark.parametrize(
    "place, message", [("x.txt", "must end in .log"), ("out/x.log", "public"), ("no/x.log", "no folder")]
)
def test_places_that_are_refused(tmp_path: Path, release: Path, place: str, message: str) -> None:
    where = release / "x.log" if place.startswith("out/") else tmp_path / place
    with pytest.raises(InputError, match=message):
        check_journal(where, release=release)


def test_nobody_signs_with_another_name(tmp_path: Path, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "the director")
    assert log_release(tmp_path / "x.log", release)["who"] != "the director"


def test_a_log_that_nobody_can_add_to_is_told(
    log: Path, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(place: Path, line: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.io.hash_chain._add", full)
    with pytest.raises(InputError, match="is not in the log .*: No space left on device. Add it with 'shoal log add'"):
        log_release(log, release)
    monkeypatch.setattr("os.access", lambda place, mode: False)
    with pytest.raises(InputError, match="No line can be added"):
        check_journal(log)


def test_what_a_full_disk_took_of_a_line_is_cut_off(log: Path, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = log.read_bytes(), os.write
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda file, line: write(file, line[:100]))
        with pytest.raises(InputError, match="No space left on device. Add it with 'shoal log add'"):
            log_release(log, release)
    assert log.read_bytes() == before
    log_release(log, release)
    assert len(read_journal(log).entries) == 5


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A server's log as it is exported."""
    place, head = tmp_path / "server.log", START
    told = [("login", {}), ("question", {"of": "q1", "sha256": "ab"}), ("refusal", {"of": "q1"}), ("login", {})]
    with place.open("wb") as file:
        for number, (event, facts) in enumerate(told, 1):
            entry = link(number, head, who="ruth", event=event, facts=facts)
            head = entry["hash"]
            file.write(as_line(entry))
    return place


def test_a_server_s_log_is_the_same_chain(events: Path, log: Path) -> None:
    found = read_journal(events)
    assert [entry["event"] for entry in found.entries] == ["login", "question", "refusal", "login"]
    for how in ("a line dropped", "two lines moved", "a line twice", "rehashed", "spaces", "cut", "the first dropped"):
        events_before = events.read_bytes()
        events.write_bytes(TAMPERED[how](events_before))
        with pytest.raises(VerificationError, match="log"):
            read_journal(events)
        events.write_bytes(events_before)
    events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:-1]))
    assert len(read_journal(events).entries) == 3
    with pytest.raises(VerificationError, match="lines at its end were dropped"):
        read_journal(events, head=found.head)
    events.write_bytes(log.read_bytes().replace(b'"release":{', b'"facts":{'))
    with pytest.raises(VerificationError, match="was changed"):
        read_journal(events)
