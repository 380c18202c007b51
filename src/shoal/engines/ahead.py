"""Batches that are made ready while the ones before them are looked at."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


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
    try:
        with ThreadPoolExecutor(1, "shoal-ahead") as pool:
            yield _following(batches, pool, pool.submit(next, batches, None))
    finally:
        if isinstance(batches, Generator):
            batches.close()


def _following(batches: Iterator[T], pool: ThreadPoolExecutor, coming: Future[T | None]) -> Iterator[T]:
    while (batch := coming.result()) is not None:
        coming = pool.submit(next, batches, None)
        yield batch
