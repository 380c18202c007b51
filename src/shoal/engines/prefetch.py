"""Batches that are made ready while the ones before them are looked at."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
_HERE = threading.local()


class _Over(Exception):
    """Nobody waits any more for what a thread makes ready."""


def ahead(batches: Iterator[T]) -> Generator[T]:
    """The same, the next of them made ready by a thread of its own.

    Whoever stops early, or is interrupted, waits until the thread has ended: nothing goes on behind the back of those
    who clear up.
    """
    with begun(batches) as coming:
        yield from coming


@contextmanager
def begun(batches: Iterator[T]) -> Iterator[Iterator[T]]:
    """The same, the first of them begun at once, whatever is done before it is asked for."""
    over = threading.Event()
    try:
        with ThreadPoolExecutor(1, "shoal-ahead", _begin, (over,)) as pool:
            try:
                yield _following(batches, pool, pool.submit(next, batches, None))
            finally:
                over.set()
    finally:
        if isinstance(batches, Generator):
            batches.close()


def go_on() -> None:
    """Called between two steps of something long: ends it in a thread that nobody waits for any more."""
    over = getattr(_HERE, "over", None)
    if over is not None and over.is_set():
        raise _Over


def _begin(over: threading.Event) -> None:
    _HERE.over = over


def _following(batches: Iterator[T], pool: ThreadPoolExecutor, coming: Future[T | None]) -> Iterator[T]:
    while (batch := coming.result()) is not None:
        coming = pool.submit(next, batches, None)
        yield batch
