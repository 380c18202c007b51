"""Batches that are made ready while the ones before them are looked at."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(batches: Iterator[T]) -> Generator[T]:
    """The same, the next of them made ready by a thread of its own.

    Whoever stops early, or is interrupted, waits until the thread has ended: nothing goes on behind the back of those
    who clear up.
    """
    try:
        with ThreadPoolExecutor(1, "shoal-ahead") as pool:
            coming = pool.submit(next, batches, None)
            while (batch := coming.result()) is not None:
                coming = pool.submit(next, batches, None)
                yield batch
    finally:
        if isinstance(batches, Generator):
            batches.close()
