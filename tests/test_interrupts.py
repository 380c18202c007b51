"""A release, its evidence, its secrets and what is remembered of it change together, whenever the process ends."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import InputError, VerificationError
from shoal.io import atomic
from shoal.io.atomic import locked
from shoal.io.transaction import digest_of, recover
from shoal.recoding.secrets import MappingTable
from shoal.vault import contents, load, seal, store
from tests.conftest import many
from tests.interrupts import KEY, ROOT, Ended, Place, killed_runs, steps

STOPS, STORED, KILLS = 12, 8, 2
STRIDE = many(3, 1)  # from a step on disk that is the last one to the next that is tried


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """One MiB to derive a key instead of 64, and no disk that has to catch up."""
    monkeypatch.setattr(seal, "MEMORY", 10)
    monkeypatch.setattr(os, "fsync", lambda _: None)


Ending = Callable[[int], Callable[[int], None]]


def kill_from(last: int) -> Callable[[int], None]:
    def act(step: int) -> None:
        if step >= last:
            raise Ended

    return act


def interrupt_at(last: int) -> Callable[[int], None]:
    def act(step: int) -> None:
        if step == last:
            signal.raise_signal(signal.SIGINT)

    return act


@pytest.mark.parametrize(
    "kind, end, exchanges, first",
    [
        ("tokens", kill_from, True, 1),
        ("tokens", interrupt_at, True, 2),
        ("mapping", kill_from, False, 3),
    ],
)
def test_wherever_a_replacement_ends_secrets_are_those_of_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, end: Ending, exchanges: bool, first: int
) -> None:
    """Steps on disk of `run --replace`, with vault, registry and evidence: every one, or every third, is the last."""
    if not exchanges:
        monkeypatch.setattr(atomic, "exchange", lambda *_: False)
    place = Place(tmp_path / "place")
    place.release(f"{kind}-out").act()
    place.check()
    write, folder = place.release(f"{kind}-out", replace=True), place.root / f"{kind}-out"
    before = digest_of(folder)
    shutil.copytree(place.root, tmp_path / "kept")
    outcomes: list[bool] = []
    for last in range(min(first, STRIDE), 1000, STRIDE):
        shutil.rmtree(place.root)
        shutil.copytree(tmp_path / "kept", place.root)
        try:
            with steps(end(last)):
                write.act()
        except (Ended, KeyboardInterrupt):
            pass
        else:
            break
        if exchanges:
            place.check()
        with locked(folder, *(holder.place for holder in write.holders)):
            recover(folder, write.holders)  # as every run begins
        place.check_recovered()
        assert not place.remains()
        outcomes.append(digest_of(folder) != before)
        assert place.logged() == [before] + ([digest_of(folder)] if outcomes[-1] else [])
    assert len(outcomes) > 60 // STRIDE
    assert outcomes == sorted(outcomes)  # the old one up to some step, the new one from there
    assert len(set(outcomes)) == 2
    shutil.rmtree(place.root)
    shutil.copytree(tmp_path / "kept", place.root)
    place.release(f"{kind}-out", replace=True).act()
    place.check_recovered()


def test_a_storm_of_signals(tmp_path: Path) -> None:
    """The small profile of `scripts/interrupts`, in a process of its own, because it forks."""
    command = [sys.executable, "-m", "tests.interrupts", str(STOPS), "--seed", "7"]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    assert "stopped on their way: nothing lost" in done.stdout


def test_the_command_line_killed_at_any_moment_of_its_life(tmp_path: Path) -> None:
    assert killed_runs(tmp_path / "place", KILLS, seed=3).total() == KILLS  # one that was quicker may be done


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Two releases, each with its entry."""
    place = Place(tmp_path / "place")
    for name in ("mapping-a", "mapping-b"):
        place.release(name).act()
    return place


def test_secrets_of_another_release_are_an_error_and_no_answer(place: Place) -> None:
    one, two = place.root / "mapping-a", place.root / "mapping-b"
    for folder in (one, two):
        load(place.vault, KEY, folder.name)
        load(place.vault, KEY, folder.name, release=folder / "manifest.json")
    with pytest.raises(VerificationError, match="another release"):
        load(place.vault, KEY, "mapping-a", release=two)
    with pytest.raises(InputError, match="no release"):
        load(place.vault, KEY, "mapping-a", release=place.root)
    atomic.exchange(one, two)
    for folder, other in ((one, two), (two, one)):
        with pytest.raises(VerificationError, match="another release"):
            load(place.vault, KEY, folder.name)
        load(place.vault, KEY, folder.name, release=other)
    shutil.rmtree(one)
    load(place.vault, KEY, "mapping-a")  # nothing there contradicts it


def _store(path: Path, who: str, start: Any) -> None:
    seal.MEMORY = 10
    start.wait()
    for number in range(STORED):
        store(path, KEY, f"{who} {number}", [MappingTable("d", {"a": "d_1"})])


def test_two_processes_lose_none_of_each_others_entries(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    workers = [context.Process(target=_store, args=(tmp_path / "k.vault", who, start)) for who in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(contents(tmp_path / "k.vault", KEY)) == 2 * STORED
    assert [path.name for path in tmp_path.iterdir()] == ["k.vault"]
