"""Running the points of a comparison, in this process or in several."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import polars as pl

from shoal.comparing.grid import Point
from shoal.comparing.points import Outcome, Task, run_point
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import InternalError
from shoal.kernels.cores import use_cores

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
