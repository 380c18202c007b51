"""Which small changes to the verifier no test notices: what ``scripts/mutate`` runs."""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
import os
import pickle
import random
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock, local

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.worker import FOLDER, ROOT, Ran, serve

KEPT = ROOT / ".mutation"
HERE = Path(__file__).parent
EQUIVALENT = HERE / "equivalent.txt"
_LEAST = 0.97
_SLACK = 3.0  # seconds of processor time that every test may take, however short it is without a mutant
_FACTOR = 10.0
_BRIEF = 0.05  # seconds below which it makes no difference how long a test takes
_SPAWN = multiprocessing.get_context("spawn")


class Uncollected(Exception):
    """The tests cannot even be imported."""


@dataclass
class Worker:
    """A process that runs tests, started when first needed and again after it died."""

    tests: Sequence[str]
    cold: Mutant | None = None
    process: BaseProcess | None = None
    pipe: Connection | None = None

    def ask(self, request: object, seconds: float) -> object:
        """Send a request and wait for its answer; TimeoutError or EOFError when there is none."""
        if self.pipe is None:
            self._start()
        assert self.pipe is not None
        self.pipe.send(request)
        if not self.pipe.poll(seconds):
            self.stop()
            raise TimeoutError
        return self.pipe.recv()

    def _start(self) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=serve, args=(theirs, self.tests, self.cold), daemon=True)
        self.process.start()
        theirs.close()
        if self.pipe.recv():
            raise Uncollected

    def died(self) -> int:
        """How the process ended; it is started anew when it is needed again."""
        assert self.process is not None
        self.process.join()
        code = self.process.exitcode or 0
        self.process = self.pipe = None
        return code

    def stop(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
        self.process = self.pipe = None


@dataclass
class Hunt:
    """Runs tests against mutants: first those that soon show what killed neighbours, or go where few do."""

    tests: Sequence[str]
    reach: dict[str, Ran]
    budget: float
    marks: Sequence[str] = ()
    kills: dict[str, Counter[str]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    mine: local = field(default_factory=local)

    @cached_property
    def rarity(self) -> dict[str, Counter[str]]:
        """For each file, how much of what a test reaches there few others reach: it looks at what they pass by."""
        found: dict[str, Counter[str]] = {}
        often = Counter((file, line) for ran in self.reach.values() for file in ran.lines for line in ran.lines[file])
        for name, ran in self.reach.items():
            for file, lines in ran.lines.items():
                found.setdefault(file, Counter())[name] = sum(1 / often[file, line] for line in lines)  # type: ignore
        return found

    def killer(self, mutant: Mutant) -> str | None:
        """The test that notices a mutant, ``"timeout"``, ``"import"`` or ``"crash"``; None when none does."""
        wanted = self._wanted(mutant)
        if not wanted:
            return None
        # A process of its own takes long to start, and need not know of other tests.
        files = sorted({name.split("::")[0] for name, _ in wanted})
        worker = self._worker() if mutant.inside else Worker([*files, *self.marks], mutant)
        try:
            found = worker.ask((mutant if mutant.inside else None, wanted), 600 + 10 * sum(time for _, time in wanted))
        except TimeoutError:
            found = "timeout"
        except Uncollected:
            if mutant.inside:
                raise
            found = "import"
        except EOFError:
            if worker.died() >= 0:  # of an error of our own, not of a signal that the mutant brought about
                raise
            found = "crash"
        finally:
            if not mutant.inside:
                worker.stop()
        if isinstance(found, str):
            with self.lock:
                for place in (mutant.file, mutant.file + mutant.function):
                    self.kills.setdefault(place, Counter())[found] += 1
            return found
        return None

    def _worker(self) -> Worker:
        if not hasattr(self.mine, "worker"):
            self.mine.worker = Worker(self.tests)
        return self.mine.worker

    def _wanted(self, mutant: Mutant) -> list[tuple[str, float]]:
        first, last = mutant.lines
        changed = set(range(first, last + 1))
        reaching = [
            name
            for name, ran in self.reach.items()
            if (changed & ran.lines.get(mutant.file, set()) if mutant.inside else mutant.file in ran.lines)
        ]
        with self.lock:
            near = Counter(self.kills.get(mutant.file + mutant.function, {}))
            kills = Counter(self.kills.get(mutant.file, {}))
        rare = self.rarity[mutant.file]
        hope = {name: 10 * near[name] + kills[name] + rare[name] for name in reaching}
        reaching.sort(key=lambda name: -hope[name] / (_BRIEF + self.reach[name].seconds))
        left, wanted = self.budget, []
        for name in reaching:
            seconds = self.reach[name].seconds
            if seconds <= left:  # one that is too long for what is left keeps none of the others out
                left -= seconds
                wanted.append((name, _SLACK + _FACTOR * seconds))
        return wanted


def known_reach(tests: Sequence[str], jobs: int) -> dict[str, Ran]:
    """What each test reaches; of test files that are as they were in an earlier run, what was found then."""
    names = collected(tests)
    common = hashlib.sha256()
    shared = {path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")}
    for path in sorted({*FOLDER.rglob("*.py"), *shared} - {*HERE.rglob("*.py")}):
        common.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    KEPT.mkdir(exist_ok=True)
    places: dict[Path, list[str]] = {}
    for name in names:
        file = name.split("::")[0]
        digest = common.copy()
        digest.update(file.encode() + (ROOT / file).read_bytes())
        places.setdefault(KEPT / f"{digest.hexdigest()}.pickle", []).append(name)
    found: dict[str, Ran] = {}
    workers = [Worker(tests) for _ in range(jobs)]
    for place, mine in places.items():
        known: dict[str, Ran] = pickle.loads(place.read_bytes()) if place.is_file() else {}
        lacking = [name for name in mine if name not in known]
        if lacking:
            known |= find_reach(lacking, workers)
            place.write_bytes(pickle.dumps(known))
        found |= {name: known[name] for name in mine if known[name].lines}
    for worker in workers:
        worker.stop()
    return found


def find_reach(names: Sequence[str], workers: Sequence[Worker]) -> dict[str, Ran]:
    """Run tests once; those that fail as things are can tell nothing, and so reach nothing."""

    def trace(place: int) -> dict[str, Ran]:
        found = {}
        for name in names[place :: len(workers)]:
            ran = workers[place].ask(name, 900)
            if not isinstance(ran, Ran):
                print(f"left out, as it fails without any mutant: {name}", file=sys.stderr, flush=True)
            found[name] = ran if isinstance(ran, Ran) else Ran(0.0, {})
        return found

    with ThreadPoolExecutor(len(workers)) as pool:
        return {name: ran for part in pool.map(trace, range(len(workers))) for name, ran in part.items()}


def collected(tests: Sequence[str]) -> list[str]:
    """The names of the tests, as pytest gives them."""
    worker = Worker(tests)
    try:
        names = worker.ask(0, 900)
    finally:
        worker.stop()
    assert isinstance(names, list)
    return names


def all_mutants(only: Sequence[str]) -> list[Mutant]:
    """The mutants of every file of the verifier, or of some."""
    found = []
    for path in sorted(FOLDER.rglob("*.py")):
        file = path.relative_to(FOLDER).as_posix()
        if not only or file in only:
            found += mutants(path.read_text(encoding="utf-8"), file)
    return found


def sampled(found: Sequence[Mutant], size: int, seed: int) -> list[Mutant]:
    """Some of the mutants, from every file in proportion and from none less than one."""
    draw = random.Random(seed)
    share = size / max(len(found), 1)
    kept = []
    for file in dict.fromkeys(mutant.file for mutant in found):
        mine = [mutant for mutant in found if mutant.file == file]
        kept += draw.sample(mine, min(len(mine), max(1, round(share * len(mine)))))
    draw.shuffle(kept)  # so that what is known half-way is a sample too
    return kept


def equivalents() -> dict[str, str]:
    """Mutants that change nothing a caller could see, and why: a name, a tab and a reason on each line."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))  # type: ignore[misc]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("tests", nargs="*", default=["tests/verify"], help="tests that have to notice (tests/verify)")
    parser.add_argument("--file", action="append", default=[], help="mutate only this file below src/shoal/verify")
    parser.add_argument("--function", help="mutate only this function")
    parser.add_argument("--sample", type=int, help="try about this many mutants, from all files")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--again", type=Path, help="try only those that a former run, whose output this file is, listed"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--budget", type=float, default=math.inf, help="leave out tests of a mutant above so many seconds in all"
    )
    parser.add_argument("--quick", action="store_true", help="leave out properties that are tried on drawn examples")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    return parser.parse_args()


def main() -> int:
    """Try the mutants, print those that survive and the score."""
    asked = options()
    os.chdir(ROOT)
    os.environ["POLARS_MAX_THREADS"] = "1"
    every = all_mutants(asked.file)
    same = equivalents()
    gone = sorted(set(same) - {mutant.name for mutant in every}) if not asked.file else []
    found = [mutant for mutant in every if asked.function in (None, mutant.function)]
    if asked.again is not None:
        listed = asked.again.read_text(encoding="utf-8").splitlines()
        found = [mutant for mutant in found if f"survived  {mutant.name}" in listed]
    if asked.sample is not None:
        found = sampled(found, asked.sample, asked.seed)
    tried = [mutant for mutant in found if mutant.name not in same]
    if asked.list:
        print("\n".join(mutant.name for mutant in tried))
        return 0
    marks = ["-m", "not hypothesis"] if asked.quick else []
    survivors = hunt(tried, asked.tests, marks, asked.jobs, asked.budget)
    score = 1 - len(survivors) / max(len(tried), 1)
    for mutant in survivors:
        print(f"survived  {mutant.name}")
    for name in gone:
        print(f"listed as equivalent, but there is no such mutant: {name}")
    print(
        f"{len(tried) - len(survivors):,} of {len(tried):,} mutants killed ({score:.1%}), and "
        f"{len(found) - len(tried):,} listed as equivalent left out."
    )
    return 0 if score >= _LEAST and not gone else 1


def hunt(
    tried: Sequence[Mutant], given: Sequence[str], marks: Sequence[str], jobs: int, budget: float
) -> list[Mutant]:
    """The mutants that no test notices."""
    tests = [*given, *marks]
    hunting = Hunt(tests, known_reach(tests, jobs), budget, marks)
    _ = hunting.rarity  # before there are threads
    survivors = []
    with ThreadPoolExecutor(jobs) as pool:
        for done, (mutant, killer) in enumerate(zip(tried, pool.map(hunting.killer, tried), strict=True), start=1):
            if killer is None:
                survivors.append(mutant)
                print(f"{mutant.lines[0]}: {mutant.name}", file=sys.stderr, flush=True)
            if done % 50 == 0:
                print(f"{done:,} of {len(tried):,}, {len(survivors):,} survived", file=sys.stderr, flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(main())
