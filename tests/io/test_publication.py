"""Releases that are killed while they are written, or written twice at once: the old one or the new one, whole."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import multiprocessing
import operator
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import InputError, VerificationError
from shoal.io import atomic, hash_chain, transaction
from shoal.io.evidence import read_evidence
from shoal.io.hash_chain import log_release, read_journal
from shoal.io.transaction import BOUND, digest_of, evidence_of
from shoal.release import write
from shoal.release.write import read_release, write_release
from tests.conftest import many
from tests.io.test_output import FRAME, names, release

STEPS = ("rename", "replace", "fsync", "mkdir", "rmdir", "unlink", "open")
ROUNDS = many(3, 10)
STRIDE = many(4, 1)  # from a step that is the last one to the next that is tried
CONTEXT = multiprocessing.get_context("spawn")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process needs no disk that has caught up."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Killed(BaseException):
    """Stands for a kill: whatever still runs after it changes nothing on disk."""


def crash_at(monkeypatch: pytest.MonkeyPatch, wanted: int, *, interrupts: bool = False) -> list[int]:
    """Let nothing touch the disk any more from the given step on, or interrupt at that step once."""
    done = [0]

    def counted(step: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            done[0] += 1
            if interrupts and done[0] == wanted:
                signal.raise_signal(signal.SIGINT)
            if not interrupts and done[0] >= wanted:
                raise Killed
            return step(*given, **named)

        return call

    for name in STEPS:
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    monkeypatch.setattr(atomic, "exchange", counted(atomic.exchange))
    return done


def whole(folder: Path, heights: set[int]) -> int:
    """Rows of the release in a folder, after looking that it is whole and its evidence its own."""
    height = read_release(folder)[0].height
    assert height in heights
    evidence = read_evidence(folder)
    assert evidence[BOUND] == digest_of(folder)
    assert evidence["rows"] == height
    return height


def logged(folder: Path) -> list[str]:
    """Manifest digests of the log beside a release folder, in order, after checking its chain."""
    log = folder.with_name("x.log")
    return [entry["release"]["manifest"] for entry in read_journal(log).entries] if log.exists() else []


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_kill_at_any_step_leaves_the_old_release_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanges: bool
) -> None:
    """Every step of a replacement that touches the disk, or every second, is the last one once."""
    seen: list[int] = []
    (tmp_path / "kept").mkdir()
    first = write_release(release(rows=2, log=str(tmp_path / "kept" / "x.log")), tmp_path / "kept" / "out")
    old = logged(first)
    for step in range(1, 300, STRIDE):
        folder = tmp_path / str(step) / "out"
        log = folder.with_name("x.log")
        shutil.copytree(tmp_path / "kept", folder.parent)
        with monkeypatch.context() as patch:
            if not exchanges:
                patch.setattr(atomic, "exchange", lambda *_: False)
            done = crash_at(patch, step)
            with contextlib.suppress(Killed):
                write_release(release(FRAME[:1], rows=1, log=str(log)), folder, replace=True)
        if done[0] < step:
            break
        with pytest.raises(InputError, match="is not empty"):
            write_release(release(rows=3), folder)  # which begins with recovery
        seen.append(whole(folder, {1, 2}))
        assert logged(folder) == old + ([digest_of(folder)] if seen[-1] == 1 else [])
        assert names(folder.parent) == ["out", "out.evidence", "x.log"]
        write_release(release(FRAME[:1], rows=1), folder, replace=True)
        assert whole(folder, {1}) == 1
    assert len(seen) > 15 // STRIDE
    assert seen == sorted(seen, reverse=True)  # the old one up to some step, the new one from there
    assert set(seen) == {1, 2}


def test_a_kill_before_the_first_release_is_in_place_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(1, 300, STRIDE):
        folder = tmp_path / str(step) / "out"
        folder.parent.mkdir()
        log = folder.with_name("x.log")
        with monkeypatch.context() as patch:
            done = crash_at(patch, step)
            with contextlib.suppress(Killed):
                write_release(release(rows=2, log=str(log)), folder)
        if done[0] < step:
            return
        there = folder.exists()
        try:
            write_release(release(rows=2, log=str(log)), folder)
        except InputError:
            assert there
        assert whole(folder, {2}) == 2
        assert logged(folder) == [digest_of(folder)]
        assert names(folder.parent) == ["out", "out.evidence", "x.log"]
    pytest.fail("it never came to its end")


def _write(folder: Path, start: Any, answers: Any) -> None:
    given = release(rows=2)
    start.wait()
    try:
        write_release(given, folder)
        answers.put("written")
    except InputError as error:
        answers.put(str(error))


@pytest.mark.parametrize("first", [True, False])
def test_an_interrupt_at_any_step_leaves_nothing_but_a_whole_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """Also one that comes while what the release took is cleared away."""
    whole_ones = 0
    (tmp_path / "kept").mkdir()
    if not first:
        write_release(release(rows=2), tmp_path / "kept" / "out")
    for step in range(1, 300, STRIDE):
        folder = tmp_path / str(step) / "out"
        shutil.copytree(tmp_path / "kept", folder.parent)
        with monkeypatch.context() as patch:
            done = crash_at(patch, step, interrupts=True)
            with contextlib.suppress(KeyboardInterrupt):
                write_release(release(FRAME[:1], rows=1, log=str(folder.with_name("x.log"))), folder, replace=not first)
        assert not transaction.leftovers(folder)
        if not first or folder.exists():
            whole_ones += whole(folder, {1} if first else {1, 2}) == 1
            assert logged(folder) == ([digest_of(folder)] if read_evidence(folder)["rows"] == 1 else [])
        if done[0] < step:
            break
    assert 1 < whole_ones < step


def test_of_two_writers_at_once_one_is_refused(tmp_path: Path) -> None:
    """Both checked that the folder was free before either wrote; the second to come finds it taken."""
    start, answers = CONTEXT.Barrier(2), CONTEXT.Queue()
    workers = [CONTEXT.Process(target=_writes, args=(tmp_path, start, answers)) for _ in range(2)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=60) for _ in range(2 * ROUNDS)]
    for worker in workers:
        worker.join(60)
    assert found.count("written") == ROUNDS
    assert all(answer == "written" or "is not empty" in answer for answer in found)
    for number in range(ROUNDS):
        assert whole(tmp_path / str(number), {2}) == 2


def _writes(place: Path, start: Any, answers: Any) -> None:
    for number in range(ROUNDS):
        _write(place / str(number), start, answers)


def test_without_a_lock_a_second_writer_is_still_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems have no locks: the rename itself refuses a folder that is not empty."""
    folder, entered = tmp_path / "out", []

    def late(*given: Any) -> str:
        if not entered:
            entered.append(True)
            write_release(release(rows=2), folder)
        return digest(*given)

    digest = transaction.secrets.token_hex
    monkeypatch.setattr(atomic, "fcntl", None)
    monkeypatch.setattr(transaction.secrets, "token_hex", late)
    with pytest.raises(InputError, match="not empty"):
        write_release(release(FRAME[:1], rows=1), folder)
    assert whole(folder, {2}) == 2
    assert names(tmp_path) == ["out", "out.evidence"]


def test_evidence_of_another_release_is_an_error(tmp_path: Path) -> None:
    one, two = (write_release(release(FRAME[:rows], rows=rows), tmp_path / str(rows)) for rows in (1, 2))
    assert [evidence_of(folder)["rows"] for folder in (one, two)] == [1, 2]
    assert atomic.exchange(one, two)
    for folder in (one, two):
        with pytest.raises(VerificationError, match="another release"):
            evidence_of(folder)


def test_whoever_waits_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "PATIENCE", 0.05)
    with atomic.locked(tmp_path / "out"), pytest.raises(InputError, match="being written by another process"):
        write_release(release(), tmp_path / "out")
    assert names(tmp_path) == []


def test_folders_made_on_the_way_are_on_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(transaction, "sync", synced.append)
    write_release(release(rows=2), tmp_path / "deep" / "er" / "new")
    assert {tmp_path, tmp_path / "deep", tmp_path / "deep" / "er"} <= set(synced)


@pytest.mark.parametrize("target", ["empty", "full", "nowhere"])
def test_evidence_that_would_go_through_a_link_is_refused_before_anything_is_written(
    tmp_path: Path, target: str
) -> None:
    folder = tmp_path / "out"
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "evidence.json").write_text("{}")
    (tmp_path / "out.evidence").symlink_to(tmp_path / target)
    before = sorted(tmp_path.rglob("*"))
    for replace in (True, False):
        with pytest.raises(InputError, match="'.*out.evidence' is a symbolic link.*: remove it, or choose another"):
            write_release(release(rows=2), folder, replace=replace)
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "out.evidence").unlink()
    write_release(release(rows=2), folder)
    assert whole(folder, {2}) == 2


def test_a_disk_mounted_as_the_evidence_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_mount", lambda path: path.name == "out.evidence")
    with pytest.raises(InputError, match="is a mounted disk"):
        write_release(release(rows=2), tmp_path / "out")
    assert names(tmp_path) == []


def test_evidence_that_a_killed_run_left_waits_for_a_link_to_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link was made after the run began; the next one says what to do about it, and the one after that recovers."""
    folder, link = tmp_path / "out", tmp_path / "out.evidence"
    killed_in_place(folder, monkeypatch)
    link.symlink_to(tmp_path)
    with pytest.raises(InputError, match="is a symbolic link"):
        transaction.resume(folder)
    link.unlink()
    transaction.resume(folder)
    assert whole(folder, {2}) == 2
    assert names(tmp_path) == ["out", "out.evidence"]


@pytest.mark.parametrize("part", ["write_frame", "check_staged", "refuse_leaks", "write_evidence"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_whatever_ends_the_staging_leaves_the_disk_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, error: type[BaseException]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    out, new = tmp_path / "out", tmp_path / "deep" / "er" / "new"
    write_release(release(rows=2), out)
    with monkeypatch.context() as patch:
        patch.setattr(write, part, fail)
        for folder, replace in ((out, True), (new, False)):
            with pytest.raises(error):
                write_release(release(FRAME[:1], rows=1), folder, replace=replace)
    assert whole(out, {2}) == 2
    assert names(tmp_path) == ["out", "out.evidence"]


def interrupted_twice() -> None:
    """Raise an interrupt as compiled code does that has noticed it, so that Python raises it again a moment later."""
    raised = functools.partial(ctypes.pythonapi.PyErr_SetNone, ctypes.py_object(KeyboardInterrupt))
    list(map(operator.call, [ctypes.pythonapi.PyErr_SetInterrupt, raised]))


def test_an_interrupt_that_is_raised_twice_leaves_nothing(tmp_path: Path) -> None:
    def fill(staged: Path, private: Path) -> str:
        (staged / "release.csv").write_text("a\n1\n")
        interrupted_twice()
        raise AssertionError

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            transaction.publish(tmp_path / "out", fill, lambda: None, replace=False)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["put", "then", "fails", "twice"])
def test_what_goes_with_a_release_is_there_when_it_is(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended just behind the step that counts, or in the next."""
    done: list[str] = []

    def fill(staged: Path, private: Path) -> str:
        (staged / "manifest.json").write_text("{}")
        return hashlib.sha256(b"{}").hexdigest()

    def then() -> None:
        if step == "then" and not done:
            done.append("begun")
            signal.raise_signal(signal.SIGINT)
        done.append("then")

    def put(*given: Any) -> None:
        atomic.put(*given)
        if given[1] == tmp_path / "out":
            if step == "fails":
                raise MemoryError
            if step == "twice":
                interrupted_twice()
            if step == "put":
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(transaction, "put", put)
    with pytest.raises((KeyboardInterrupt, MemoryError)):
        transaction.publish(tmp_path / "out", fill, lambda: None, replace=False, then=then)
    assert (tmp_path / "out" / "manifest.json").exists()
    assert done[-1] == "then"
    assert not transaction.leftovers(tmp_path / "out")


def test_an_interrupt_before_the_release_is_made_ends_it(tmp_path: Path) -> None:
    made: list[Path] = []

    def fill(staged: Path, private: Path) -> str:
        made.append(staged)
        return ""

    with pytest.raises(KeyboardInterrupt):
        transaction.publish(tmp_path / "out", fill, lambda: signal.raise_signal(signal.SIGINT), replace=False)
    assert not made
    assert not list(tmp_path.iterdir())


def killed_in_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch, holders: list[Any] | None = None, **evidence: Any
) -> None:
    """Publish a release, and die as soon as it is in its place."""

    def put(staged: Path, place: Path, aside: Path | None = None) -> None:
        atomic.put(staged, place, aside)
        if place == folder:
            for name in STEPS:
                patch.setattr(os, name, dead)
            raise Killed

    def dead(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(transaction, "put", put)
        with pytest.raises(Killed):
            write_release(release(rows=2, **evidence), folder, holders=holders or [])
    assert folder.exists()


def test_a_line_that_a_kill_left_out_is_added_once_whoever_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may add lines meanwhile, and somebody may add this very one by hand."""
    one, two, log = tmp_path / "one", tmp_path / "two", tmp_path / "x.log"
    for folder in (one, two):
        killed_in_place(folder, monkeypatch, log=str(log))
        assert digest_of(folder) not in logged(folder)
    log_release(log, two)
    for folder in (one, two, one):
        transaction.resume(folder)
    lines = read_journal(log).entries
    assert [Path(line["release"]["folder"]).name for line in lines] == ["two", "one"]
    assert names(tmp_path) == ["one", "one.evidence", "two", "two.evidence", "x.log"]


def test_a_line_that_a_kill_left_out_goes_to_the_log_where_it_was_moved_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another name of the parent folder, as in a container."""
    (tmp_path / "before").mkdir()
    write_release(release(rows=2, log=str(tmp_path / "before" / "x.log")), tmp_path / "before" / "other")
    killed_in_place(tmp_path / "before" / "out", monkeypatch, log=str(tmp_path / "before" / "x.log"))
    folder = (tmp_path / "before").rename(tmp_path / "after") / "out"
    transaction.resume(folder)
    assert len(logged(folder)) == 2
    assert names(tmp_path) == ["after"]


def test_a_log_that_lost_lines_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, log = tmp_path / "out", tmp_path / "x.log"
    write_release(release(rows=2, log=str(log)), tmp_path / "other")
    killed_in_place(folder, monkeypatch, log=str(log))
    kept = log.rename(tmp_path / "kept.log")
    with pytest.raises(InputError, match="lacks lines that it had: restore the log, and run again"):
        transaction.resume(folder)
    assert not log.exists()
    kept.rename(log)
    transaction.resume(folder)
    assert len(logged(folder)) == 2
    assert not transaction.leftovers(folder)


def test_a_log_that_cannot_be_written_is_told_and_gets_its_line_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(place: Path, line: bytes) -> None:
        raise OSError(28, "No space left on device")

    folder = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(hash_chain, "_add", full)
        with pytest.raises(InputError, match="is not in the log"):
            write_release(release(rows=2, log=str(tmp_path / "x.log")), folder)
    assert whole(folder, {2}) == 2
    transaction.resume(folder)
    assert logged(folder) == [digest_of(folder)]
    assert names(tmp_path) == ["out", "out.evidence", "x.log"]


class Vault:
    """A holder that counts how often it is settled."""

    def __init__(self, place: Path) -> None:
        self.place, self.settled = place, 0

    def stage(self, bond: transaction.Bond) -> None:
        pass

    def settle(self, folder: Path) -> None:
        self.settled += 1


def test_a_log_that_is_out_of_reach_does_not_keep_secrets_from_coming_into_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, log, vault = tmp_path / "out", tmp_path / "x.log", Vault(tmp_path / "x.vault")
    write_release(release(rows=2, log=str(log)), tmp_path / "other")
    killed_in_place(folder, monkeypatch, log=str(log), holders=[vault])
    before = vault.settled
    log.unlink()
    with pytest.raises(InputError, match="lacks lines"):
        transaction.recover(folder, [vault])
    assert vault.settled == before + 1


def test_a_line_that_was_added_is_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal is kept for the vault after the line is in the log, and somebody may begin a new log meanwhile."""
    folder, log, vault = tmp_path / "out", tmp_path / "x.log", Vault(tmp_path / "x.vault")
    write_release(release(rows=2, log=str(log)), tmp_path / "other")
    killed_in_place(folder, monkeypatch, log=str(log), holders=[vault])
    transaction.resume(folder)
    assert len(logged(folder)) == 2
    assert transaction.leftovers(folder)
    log.unlink()
    transaction.recover(folder, [vault])
    assert not transaction.leftovers(folder)
    assert not log.exists()


def test_what_an_older_version_left_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its journals have no word about a log."""
    folder = tmp_path / "out"
    killed_in_place(folder, monkeypatch)
    (staging,) = transaction.leftovers(folder)
    plain = json.loads((staging / transaction.JOURNAL).read_bytes())
    del plain["line"]
    (staging / transaction.JOURNAL).write_text(json.dumps(plain))
    transaction.resume(folder)
    assert whole(folder, {2}) == 2
    assert names(tmp_path) == ["out", "out.evidence"]
