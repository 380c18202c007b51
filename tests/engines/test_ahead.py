"""Batches made ready by a thread of its own: same batches, same errors, and nobody left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator

import pytest

from shoal.engines.prefetch import ahead, begun, go_on


class Made:
    """Numbers from a generator that knows how far it went, and whether it was closed."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.made: list[int] = []
        self.closed = False
        self.threads: set[str] = set()
        self._fails_at = fails_at

    def numbers(self, count: int) -> Generator[int]:
        try:
            for number in range(count):
                if number == self._fails_at:
                    raise ValueError("broken")
                self.threads.add(threading.current_thread().name)
                self.made.append(number)
                yield number
        finally:
            self.closed = True


def test_all_batches_come_in_order_from_another_thread() -> None:
    source = Made()
    assert list(ahead(source.numbers(50))) == list(range(50))
    assert source.closed
    assert threading.main_thread().name not in source.threads


def test_one_batch_is_made_ahead_and_no_more() -> None:
    source = Made()
    batches = ahead(source.numbers(50))
    assert next(batches) == 0
    batches.close()
    assert source.made in ([0], [0, 1])
    assert source.closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("shoal-ahead")]


def test_what_fails_there_fails_here() -> None:
    source = Made(fails_at=3)
    batches = ahead(source.numbers(9))
    assert [next(batches) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(batches)
    assert source.closed


def test_whoever_is_interrupted_waits_for_the_thread() -> None:
    source = Made()
    batches = ahead(source.numbers(50))
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        batches.throw(KeyboardInterrupt)
    assert source.closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("shoal-ahead")]


def test_the_first_batch_is_begun_before_it_is_asked_for() -> None:
    source, started = Made(), threading.Event()

    def numbers() -> Generator[int]:
        started.set()
        yield from source.numbers(3)

    with begun(numbers()) as coming:
        assert started.wait(10)
        assert list(coming) == [0, 1, 2]
    assert source.closed


def test_whoever_fails_before_that_waits_for_the_thread_too() -> None:
    source = Made()
    with pytest.raises(KeyboardInterrupt), begun(source.numbers(3)):
        raise KeyboardInterrupt
    assert source.made == [0]
    assert source.closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("shoal-ahead")]


def test_a_long_first_step_ends_when_nobody_waits_for_it() -> None:
    steps, began = [], threading.Event()

    def batches() -> Iterator[int]:
        for step in range(10_000):
            go_on()
            steps.append(step)
            began.set()
            time.sleep(0.001)
        yield 1

    with begun(batches()):
        began.wait()
    assert len(steps) < 1000
    go_on()  # which is nothing to anybody else
