"""Running the points of a comparison, in this process or in several."""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.data.workload import Workload
from shoal.errors import InputError, InternalError, ParameterError, RecipeError
from shoal.io.evidence import input_hash
from shoal.io.private import write_private
from shoal.kernels.cores import use_cores
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import read_table
from shoal.registry import VERSION
from shoal.release.compare.points import FAILED, Outcome, Point, Task, run_point
from shoal.release.run import Progress as run_Progress
from shoal.release.run import anonymize, anonymize_table
from shoal.results import Release
from shoal.utility.classifiers import Classifiers
from shoal.utility.count_queries import answer, summarise
from shoal.utility.domains import Reading
from shoal.utility.features import Boundaries
from shoal.utility.queries import parse_queries
from shoal.utility.reading import read_release

# Points done, points in all, and the one that was done last.
Progress = Callable[[int, int, str], None]


class There(Protocol):
    """Rows that an engine keeps, of which it makes some points itself."""

    def serves(self, point: Point, task: Task) -> bool:
        """Whether it makes a point."""
        ...

    def run(self, point: Point, task: Task, keys: Keys) -> Outcome:
        """Make and measure one release of all rows."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """What every point works on: a table, and where an engine keeps the rows these, of which the table is a sample."""

    table: Table
    kept: pl.DataFrame | None
    task: Task
    keys: Keys
    there: There | None = None

    def run(self, point: Point) -> Outcome:
        """Make and measure one release."""
        if self.there is not None and self.there.serves(point, self.task):
            return self.there.run(point, self.task, self.keys)
        return run_point(self.table, self.kept, point, self.task, self.keys)


_scene: Scene | None = None


def _start(scene: Scene) -> None:
    """Prepare a worker: it gets the table once, and has one core."""
    global _scene
    use_cores(1)
    _scene = scene


def _work(point: Point) -> Outcome:
    assert _scene is not None
    return _scene.run(point)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Leave interrupts to this process: those that it starts meanwhile are ended by it, and in no other way."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has no such masks
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sweep(scene: Scene, points: Sequence[Point], processes: int) -> Generator[tuple[Point, Outcome], None, None]:
    """Every point with its outcome, as they get done."""
    there = scene.there
    if there is not None:
        # Whoever keeps the rows is in this process alone.
        for point in [one for one in points if there.serves(one, scene.task)]:
            yield point, scene.run(point)
        points = [one for one in points if not there.serves(one, scene.task)]
        scene = replace(scene, there=None)
    if processes == 1 or len(points) < 2:
        for point in points:
            yield point, scene.run(point)
        return
    before = set(multiprocessing.active_children())
    # Fresh processes: threads of polars and of compiled kernels do not survive a fork.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(processes, len(points)), context, _start, (scene,))
    try:
        with _deaf_children():
            waiting = {pool.submit(_work, point): point for point in points}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BrokenProcessPool:
        raise InternalError(
            "A process of the comparison ended before its time, perhaps for lack of memory: what is done is kept; "
            "run it again with fewer processes."
        ) from None
    except BaseException:
        # Nobody waits for what is under way: it would be computed for nothing.
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# ----------------------------------------
# What is done so far, on disk: one private file of JSON lines, so that a sweep that was stopped goes on.


_FORM = "shoal compare"


@dataclass(eq=False, kw_only=True)
class Work:
    """The outcomes of a sweep, in a file where there is one.

    Attributes
    ----------
    keys
        The secret of every point; kept in the file, so that a sweep that goes on repeats nothing by other draws.
    done
        Outcomes by the digest of their point.
    note
        Why outcomes of an earlier sweep are of no use, empty where there is nothing to say.
    """

    keys: Keys
    source: str
    path: Path | None = None
    done: dict[str, Outcome] = field(default_factory=dict)
    note: str = ""

    def digest(self, point: Point, task: Task, hold_out: float) -> str:
        """What names a point's outcome: all that it depends on, under the secret."""
        depends = [point.algorithm, list(point.models), asdict(task), hold_out, self.source, VERSION]
        text = json.dumps(depends, sort_keys=True, default=str)
        return hmac.new(self.keys.secret, text.encode(), hashlib.sha256).hexdigest()[:32]

    def add(self, digest: str, outcome: Outcome) -> None:
        """Keep an outcome: one line in one write. A fault of our own is not kept, so that it is tried again."""
        self.done[digest] = outcome
        if self.path is None or outcome.status == FAILED:
            return
        line = json.dumps({"point": digest, "outcome": asdict(outcome)}, default=float) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_work(
    path: Path | None, stamp: Callable[[Keys], str], *, seed: int | None, fresh: bool = False
) -> Work:
    """The work on a source so far.

    Parameters
    ----------
    path
        Where it is kept, None for nowhere.
    stamp
        Gives a keyed hash of the source.
    seed
        None for a fresh secret, or the one that an earlier sweep drew.
    fresh
        Begin anew, whatever is there.
    """
    found, lines, whole = ({}, [], True) if path is None or fresh else _read(path)
    note = ""
    if found and (found.get("version"), found.get("seed")) == (VERSION, seed):
        secret = bytes.fromhex(found["secret"])
        keys = Keys.from_seed(seed) if seed is not None else Keys(secret)
        source = stamp(keys)
        if source == found.get("source"):
            done = {line["point"]: Outcome(**line["outcome"]) for line in lines}
            if path is not None and not whole:
                write_private(path, _text([found, *lines]))
            return Work(keys=keys, source=source, path=path, done=done)
        note = f"The data have changed since {len(lines):,} points were computed, so these are computed anew."
    elif found:
        note = f"{len(lines):,} points are of another version or seed, so they are computed anew."
    keys = Keys.from_seed(seed)
    source = stamp(keys)
    if path is not None:
        header = {"form": _FORM, "version": VERSION, "seed": seed, "secret": keys.secret.hex(), "source": source}
        write_private(path, _text([header]))
    return Work(keys=keys, source=source, path=path, note=note)


def source_hash(table: Table, keys: Keys) -> str:
    """A keyed hash of the rows and of how their columns are coded."""
    digest = hmac.new(keys.secret, input_hash(table.frame, keys.secret).encode(), hashlib.sha256)
    known = [table.schema, table.domain.weights, table.domain.workload]
    digest.update(json.dumps(known, sort_keys=True, default=str).encode())
    for column in table.columns.values():
        tree, policy = column.hierarchy, column.policy
        digest.update(json.dumps([column.name, column.kind, column.declared], default=str).encode())
        digest.update(table.codes[column.name].tobytes())
        if tree is not None:
            digest.update(json.dumps(tree.labels).encode() + tree.ancestors.tobytes())
        if policy is not None:
            digest.update(policy.axis.tobytes() + policy.low.tobytes() + policy.high.tobytes())
    return digest.hexdigest()


def _text(lines: list[Any]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def _read(path: Path) -> tuple[dict[str, Any], list[Mapping[str, Any]], bool]:
    """The header, the outcomes, and whether every line was whole; an interrupted write leaves a torn last line."""
    try:
        texts = path.read_text("utf-8").split("\n")
    except FileNotFoundError:
        return {}, [], True
    except (OSError, UnicodeDecodeError):
        texts = [""]
    try:
        header, *lines = [json.loads(text) for text in texts[:-1]]
    except ValueError:
        header, lines = {}, []
    if not isinstance(header, dict) or header.get("form") != _FORM:
        raise InputError(f"'{path}' is in the way and is no work of a comparison: move it, or choose another output.")
    return header, lines, texts[-1] == ""


# ----------------------------------------
# What a declared workload is worth: the same release with it and without it, side by side.


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One figure of two releases.

    Attributes
    ----------
    figure
        ``"query error"`` (median relative error), ``"boundaries kept"``, ``"accuracy LEARNER"``, or ``"lm"``, the loss
        that the workload costs where nobody looks.
    before, after
        Without the workload and with it; None where the figure does not exist.
    better
        ``"up"`` where a larger one is better, else ``"down"``.
    """

    figure: str
    before: float | None
    after: float | None
    better: str


_LEARNERS = ("naive-bayes",)


def workload_gain(table: Table, *, learners: tuple[str, ...] = _LEARNERS, **options: Any) -> list[Gain]:
    """Anonymise a table without and with its workload, and measure what the workload is about on both.

    Parameters
    ----------
    learners
        Classifiers of the target (see the evaluation ``classifiers``).
    options
        As for :func:`shoal.anonymize`; with a ``seed`` the figures repeat.
    """
    workload = table.domain.workload
    if workload is None:
        raise ParameterError("The table has no workload to gain by: give read() one.")
    plain, aware = (anonymize(one, **options) for one in (table.knowing(workload=None), table))
    return _gains(plain, aware, workload, learners)


def recipe_gain(recipe: Recipe, release: Release, *, progress: run_Progress = lambda step: None) -> list[Gain]:
    """The same of a recipe and its release, which is made once more without the workload."""
    table = read_table(recipe)
    if table.domain.workload is None:
        raise RecipeError("The recipe has no [workload] to gain by: add one.")
    plain = anonymize_table(recipe, table.knowing(workload=None), progress=progress)
    return _gains(plain, release, table.domain.workload, _LEARNERS)


def _gains(plain_release: Release, aware_release: Release, workload: Workload, learners: tuple[str, ...]) -> list[Gain]:
    plain, aware = (_figures(one, workload, learners) for one in (plain_release, aware_release))
    return [
        Gain(figure=name, before=plain[name][0], after=value, better=better) for name, (value, better) in aware.items()
    ]


def _figures(release: Release, workload: Workload, learners: tuple[str, ...]) -> dict[str, tuple[float | None, str]]:
    reading: Reading = read_release(release)
    found: dict[str, tuple[float | None, str]] = {}
    if workload.queries:
        answers = answer(reading, parse_queries(workload.queries, reading))
        found["query error"] = summarise(answers, reading.keys).median, "down"
    if workload.boundaries:
        found["boundaries kept"] = Boundaries(boundaries=workload.boundaries).run(reading)[0].value, "up"
    if workload.target is not None:
        for one in Classifiers(target=workload.target, learners=learners).run(reading):
            found[one.name.replace("classifiers", "accuracy")] = one.value, "up"
    found["lm"] = release.measure("lm").value, "down"
    return found
