"""Releases whose writing can be killed anywhere, and what has to be true of the disk afterwards.

A release is anonymised in a warm process and written by a fork of it, which is killed or interrupted. What is looked at
afterwards is what somebody else would find: data and manifests, evidence, the vault, the registry, the log.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import ShoalError
from shoal.io import atomic
from shoal.io.evidence import read_evidence
from shoal.io.hash_chain import read_journal
from shoal.io.transaction import BOUND, Holder, digest_of, publish, resume
from shoal.recoding.secrets import SecretKey
from shoal.release import run
from shoal.release import write as output
from shoal.release.write import read_release
from shoal.vault import Key, Registry, contents, load, open_registry, save_registry, seal, store

STEPS = ("rename", "replace", "fsync", "mkdir", "rmdir", "unlink", "open")
IDS = [f"p{row}" for row in range(8) for _ in range(2)]
DISEASES = [("flu", "cold", "gout")[row % 3] for row in range(16)]
COMMON = """
acknowledge = ["W-TRAJECTORY", "W-UNMODELLED:disease", "W-PP-REV", "W-REPEAT", "W-NEUTRAL"]
[source]
name = "visits"
path = "visits.csv"
[roles]
quasi = ["age"]
sensitive = ["disease"]
"""
RECIPES = {
    "tokens": COMMON + 'subject = "patient"\npseudonym = ["patient"]\n[[models]]\nname = "k"\nk = 2\n'
    '[registry]\nfile = "visits.registry"\n',
    "mapping": COMMON + 'drop = ["patient"]\n[algorithm]\nname = "mapping"\n',
}  # fmt: skip
ROUNDS_A_PLACE, ATTEMPTS = 8, 5
HANGS = 120  # seconds that no writer takes
LAST_STEP = {False: 12, True: 130}  # about as many steps as storing a key and writing a release take
PARTS = ("release", "evidence")
PASSPHRASE = "a long and boring sentence"
KEY = Key.passphrase(PASSPHRASE)
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, eq=False, kw_only=True)
class Write:
    """Something that only has to be written.

    Attributes
    ----------
    name
        Of the folder, or of the entry of the vault.
    holders
        The files that change with a release.
    raw
        What is stored in the vault alone.
    """

    name: str
    act: Callable[[], Any]
    holders: Sequence[Holder] = ()
    raw: bytes | None = None


class Place:
    """A folder with a source, a vault, a registry and any number of releases: ``tokens-…`` and ``mapping-…``."""

    def __init__(self, root: Path) -> None:
        self.root, self.vault, self.registry = root, root / "keys.vault", root / "visits.registry"
        self.log = root / "releases.log"
        self.seen: set[str] = set()
        self.stored: dict[str, set[bytes]] = {}
        self.made = root.with_name(f"{root.name} made")  # releases that only have to be put in place
        for folder in (root, self.made):
            folder.mkdir(parents=True)
        rows = [f"{who},{20 + row % 4},{what}" for row, (who, what) in enumerate(zip(IDS, DISEASES, strict=True))]
        (root / "visits.csv").write_text("\n".join(["patient,age,disease", *rows, ""]))
        save_registry(self.registry, KEY, Registry(source="visits"))

    def release(self, name: str, *, replace: bool = False) -> Write:
        """A release that is made elsewhere and only has to be put in its place, which a fork can do without threads."""
        recipe = self.root / f"{name}.toml"
        text = RECIPES[name.partition("-")[0]]
        recipe.write_text(f'{text}\n[output]\nfolder = "{name}"\nvault = "keys.vault"\nlog = "releases.log"\n')
        caught: list[tuple[Any, ...]] = []
        kept, output.publish = output.publish, lambda *given, **named: caught.append((*given, named))  # type: ignore[assignment]
        try:
            run.run(recipe, replace=replace, key=KEY)
        finally:
            output.publish = kept
        ((folder, fill, check, named),) = caught
        made = Path(tempfile.mkdtemp(dir=self.made))
        for part in PARTS:
            (made / part).mkdir()
        digest = fill(*(made / part for part in PARTS))

        def copied(*places: Path) -> str:
            for part, place in zip(PARTS, places, strict=True):
                shutil.copytree(made / part, place, dirs_exist_ok=True)
            return str(digest)

        return Write(name=name, holders=named["holders"], act=lambda: publish(folder, copied, check, **named))

    def put(self, name: str, *, replace: bool = False) -> Write:
        """A key of random bytes for the vault."""
        raw = os.urandom(32)
        self.stored.setdefault(name, set()).add(raw)
        act = lambda: store(self.vault, KEY, name, [SecretKey("x", raw)], replace=replace)  # noqa: E731
        return Write(name=name, raw=raw, act=act)

    def folders(self) -> list[Path]:
        """Releases in their places."""
        return sorted(path for path in self.root.iterdir() if (path / "manifest.json").exists())

    def check(self) -> None:
        """Everything that a reader may rely on, before anybody has recovered anything."""
        folders = self.folders()
        entries = contents(self.vault, KEY) if self.vault.exists() else {}
        assert {path.name for path in folders} == set(entries) - set(self.stored), "an entry without its release"
        for folder in folders:
            read_release(folder)
            assert self._turned_back(folder), "secrets of another release"
        self.seen |= {str(digest_of(folder)) for folder in folders}
        registered = {note["digest"] for note in open_registry(self.registry, KEY)[0].listing()}
        tokens = {digest_of(folder) for folder in folders if folder.name.startswith("tokens")}
        assert tokens <= registered, "a release that the registry does not know"
        assert registered <= self.seen, "the registry lists a release that never was"
        assert len(self.logged()) == len(set(self.logged())), "a release is logged twice"
        for name in set(self.stored) & set(entries):
            (secret,) = load(self.vault, KEY, name)
            assert isinstance(secret, SecretKey)
            assert secret.raw() in self.stored[name], "a key that nobody stored"

    def check_done(self, write: Write) -> None:
        """That something whose writer reported success is there."""
        if write.raw is None:
            assert write.name in {path.name for path in self.folders()}, "a release is lost"
        else:
            (secret,) = load(self.vault, KEY, write.name)
            assert isinstance(secret, SecretKey)
            assert secret.raw() == write.raw, "a key is lost"

    def check_recovered(self) -> None:
        """The same after the next start, which leaves nothing of the one before."""
        for folder in self.folders():
            resume(folder)
            assert read_evidence(folder)[BOUND] == digest_of(folder), "evidence of another release"
            assert digest_of(folder) in self.logged(), "a release that is not in the log"
        self.check()

    def logged(self) -> list[str]:
        """Manifest digests that the log lists, after checking its chain."""
        lines = read_journal(self.log).entries if self.log.exists() else []
        return [line["release"]["manifest"] for line in lines]

    def remains(self) -> list[str]:
        """What a killed process left, but for the temporary name of a file, which its next write uses again."""
        return [path.name for path in self.root.iterdir() if path.name[0] == "." and not path.name.endswith(".new")]

    def _turned_back(self, folder: Path) -> bool:
        with (folder / "release.csv").open() as file:
            rows = list(csv.DictReader(file))
        (secret,) = load(self.vault, KEY, folder.name)
        if folder.name.startswith("tokens"):
            return sorted(row["patient"] for row in rows) == sorted(secret.encode(pl.Series(IDS)))
        return sorted(secret.decode(pl.Series([row["disease"] for row in rows]))) == sorted(DISEASES)


class Ended(BaseException):
    """Stands for a kill: whatever still runs after it changes nothing on disk."""


@contextmanager
def steps(act: Callable[[int], None]) -> Iterator[None]:
    """Call ``act`` with the number of each step on disk just before it."""
    done = [0]

    def counted(step: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            done[0] += 1
            act(done[0])
            return step(*given, **named)

        return call

    before = {name: getattr(os, name) for name in STEPS}
    exchange = atomic.exchange
    try:
        for name, step in before.items():
            setattr(os, name, counted(step))
        atomic.exchange = counted(exchange)
        yield
    finally:
        for name, step in before.items():
            setattr(os, name, step)
        atomic.exchange = exchange


def forked(write: Write, signal_at: tuple[int, int] | None = None) -> int:
    """Write in another process, which gets a signal just before one of its steps; returns its id."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # an early one would be lost, or run the rest here twice
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return process
    code = 1
    try:
        signal.alarm(HANGS)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        code = written(write, signal_at)
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)


def written(write: Write, signal_at: tuple[int, int] | None) -> int:
    """Write, and get a signal just before one of the steps; returns the exit code."""
    os.fsync = lambda _: None  # type: ignore[assignment]  # a killed process needs no disk that has caught up
    number, wanted = signal_at or (0, 0)
    try:
        with steps(lambda step: os.kill(os.getpid(), number) if step == wanted else None):
            write.act()
    except ShoalError:
        return 2
    return 0


def ended(process: int) -> int:
    """The exit code of a process, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Storm:
    """Operations at random, each killed or interrupted at a random moment, and the disk looked at after each."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.draw = root, random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.lasts = 0.2  # seconds that a write took lately
        self.rounds = 0

    def round(self) -> None:
        """One operation, or two at once, stopped several times from the same beginning."""
        if self.rounds % ROUNDS_A_PLACE == 0:
            self.place = Place(self.root / str(self.rounds))
        self.rounds += 1
        name, writes = self.draw.choice([self._first, self._replaced, self._two, self._put, self._two_puts])()
        root, kept = self.place.root, self.root / f"{self.rounds} kept"
        shutil.copytree(root, kept)
        for attempt in range(ATTEMPTS):
            if attempt:
                shutil.rmtree(root)
                shutil.copytree(kept, root)
            self._look(name, writes, self._stopped(writes))
        shutil.rmtree(kept)

    def _stopped(self, writes: list[Write]) -> list[int]:
        """Exit codes of writers that get a signal, half of them before a step on disk, half of them any time."""
        at = [None if self.draw.random() < 0.5 else self.draw.randint(1, LAST_STEP[one.raw is None]) for one in writes]
        numbers = [self.draw.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]) for _ in writes]
        signals = [None if step is None else (number, step) for step, number in zip(at, numbers, strict=True)]
        begun = time.monotonic()
        processes = [forked(write, signal_at) for write, signal_at in zip(writes, signals, strict=True)]
        for process, step, number in zip(processes, at, numbers, strict=True):
            if step is None:
                time.sleep(self.draw.uniform(0, self.lasts))
                os.kill(process, number)
        codes = [ended(process) for process in processes]
        if 0 in codes:
            self.lasts = 0.8 * self.lasts + 0.2 * (time.monotonic() - begun)
        return codes

    def _look(self, name: str, writes: list[Write], codes: list[int]) -> None:
        assert 1 not in codes, "a fault of our own"
        assert -signal.SIGALRM not in codes, "a writer hung"
        self.place.check()
        for write, code in zip(writes, codes, strict=True):
            if code == 0:
                self.place.check_done(write)
            how = {0: "done", 2: "refused", 130: "interrupted"}.get(code, f"signal {-code}")
            self.counts[f"{name}: {how}"] += 1
        if self.draw.random() < 0.5:
            self.place.check_recovered()

    @property
    def stops(self) -> int:
        """Writers that did not come to their end."""
        return sum(count for name, count in self.counts.items() if not name.endswith(("done", "refused")))

    def _first(self) -> tuple[str, list[Write]]:
        return "run", [self.place.release(self._new())]

    def _replaced(self) -> tuple[str, list[Write]]:
        there = self.place.folders()
        if not there:
            return self._first()
        return "run --replace", [self.place.release(self.draw.choice(there).name, replace=True)]

    def _two(self) -> tuple[str, list[Write]]:
        there = self.place.folders()
        if there and self.draw.random() < 0.5:
            name = self.draw.choice(there).name
            return "two run --replace", [self.place.release(name, replace=True) for _ in range(2)]
        name = self._new()
        return "two runs", [self.place.release(name) for _ in range(2)]

    def _put(self) -> tuple[str, list[Write]]:
        there = sorted(self.place.stored)
        if there and self.draw.random() < 0.5:
            return "vault put --replace", [self.place.put(self.draw.choice(there), replace=True)]
        return "vault put", [self.place.put(f"key {self.rounds}")]

    def _two_puts(self) -> tuple[str, list[Write]]:
        return "two vault put", [self.place.put(f"key {self.rounds} {which}") for which in "ab"]

    def _new(self) -> str:
        return f"{self.draw.choice(['tokens', 'mapping'])}-{self.rounds}"


def killed_runs(root: Path, number: int, seed: int) -> Counter[str]:
    """The command line itself, `run --replace`, stopped at any moment of its whole life so many times; how each ended.

    The next one starts from what the one before left, and the last one comes to its end.
    """
    place, draw = Place(root), random.Random(seed)
    place.release("mapping-out").act()
    place.check()
    command = [sys.executable, "-m", "shoal.cli.main", "run", str(root / "mapping-out.toml"), "--replace"]
    environment = {**os.environ, "SHOAL_PASSPHRASE": PASSPHRASE, "PYTHONPATH": str(ROOT / "src")}

    def started() -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)

    begun = time.monotonic()
    assert started().wait(HANGS) == 0
    lasts = time.monotonic() - begun
    counts: Counter[str] = Counter()
    for _ in range(number):
        process = started()
        time.sleep(draw.uniform(0, lasts))
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        counts["done" if process.wait(HANGS) == 0 else "stopped"] += 1
        place.check()
        if draw.random() < 0.5:
            place.check_recovered()
    assert started().wait(HANGS) == 0, "the run after a stopped one is refused"
    place.check_recovered()
    assert not place.remains(), "something is left"
    return counts


def main() -> None:
    """So many writers that are stopped on their way, and how all of them ended."""
    parser = argparse.ArgumentParser(description="Kill and interrupt writers at random moments, and look at the disk.")
    parser.add_argument("stops", type=int, nargs="?", default=1000)
    parser.add_argument("--runs", type=int, default=0, help="stop so many runs of the command line as well")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if os.environ.get("POLARS_MAX_THREADS") != "1":  # a fork has but one thread
        again = [sys.executable, "-m", "tests.interrupts", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "POLARS_MAX_THREADS": "1", "SHOAL_CORES": "1"})
    seal.MEMORY = 10  # one MiB to derive a key instead of 64
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(Path(folder), given.seed)
        while storm.stops < given.stops:
            storm.round()
            if storm.rounds % 20 == 0:
                print(f"{storm.stops} of {storm.counts.total()} writers stopped", file=sys.stderr)
        if given.runs:
            runs = killed_runs(Path(folder) / "runs", given.runs, given.seed)
            print(f"{runs['stopped']} of {given.runs} runs of the command line stopped on their way: nothing lost")
    for name, count in sorted(storm.counts.items()):
        print(f"{count:6} {name}")
    print(f"{storm.stops} of {storm.counts.total()} writers stopped on their way: nothing lost")


if __name__ == "__main__":
    main()
