"""Running the points of a comparison, in this process or in several."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from shoal.data.table import Table
from shoal.data.workload import Workload
from shoal.errors import InternalError, ParameterError, RecipeError
from shoal.kernels.cores import use_cores
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import read_table
from shoal.release.compare.points import Outcome, Point
from shoal.release.compare.source import Scene
from shoal.release.entry import anonymize, anonymize_table
from shoal.release.prepare import Progress as run_Progress
from shoal.release.prepare import silent
from shoal.results import Release
from shoal.utility.classifiers import Classifiers
from shoal.utility.count_queries import answer, summarise
from shoal.utility.domains import Reading
from shoal.utility.features import Boundaries
from shoal.utility.queries import parse_queries
from shoal.utility.reading import read_release

# Points done, points in all, and the one that was done last.
Progress = Callable[[int, int, str], None]


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
    if scene.rows is not None:
        # Rows that an engine keeps are open in this process alone.
        for point in [one for one in points if scene.serves(one)]:
            yield point, scene.run(point)
        points = [one for one in points if not scene.serves(one)]
        scene = replace(scene, rows=None, recipe=None, step=silent)
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
            "A process of the comparison ended before its time, perhaps for lack of memory: run it again with "
            "fewer processes."
        ) from None
    except BaseException:
        # Nobody waits for what is under way: it would be computed for nothing.
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


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


def recipe_gain(recipe: Recipe, release: Release, *, progress: run_Progress = silent) -> list[Gain]:
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
