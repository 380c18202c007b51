"""Work that is shared out among threads: every part once, and errors are not lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from shoal.kernels.cores import cores, share, share_rows, use_cores


@pytest.fixture(autouse=True, params=[1, 3])
def some(request: pytest.FixtureRequest) -> Iterator[None]:
    use_cores(request.param)
    yield
    use_cores(None)


@pytest.mark.parametrize("parts", [0, 1, 2, 100])
def test_every_part_is_done_once(parts: int) -> None:
    done: list[int] = []
    share(parts, done.append)
    assert sorted(done) == list(range(parts))


@pytest.mark.parametrize("rows, least", [(0, 1), (1, 1), (5, 1), (1000, 1), (1000, 300), (7, 100)])
def test_blocks_cover_all_rows(rows: int, least: int) -> None:
    blocks: list[tuple[int, int]] = []
    share_rows(rows, lambda start, stop: blocks.append((start, stop)), least)
    assert [row for block in sorted(blocks) for row in range(*block)] == list(range(rows))
    assert all(stop - start >= least or stop == rows for start, stop in blocks)


def test_an_error_comes_back_and_ends_the_work() -> None:
    done: list[int] = []

    def fail(part: int) -> None:
        if part == 3:
            raise ValueError(part)
        done.append(part)
        time.sleep(0.001)

    with pytest.raises(ValueError, match="3"):
        share(10_000, fail)
    assert len(done) < 5_000


def test_threads_are_as_many_as_asked_for() -> None:
    seen: set[str] = set()
    start = threading.Barrier(cores(), timeout=60)

    def meet(part: int) -> None:
        start.wait()
        seen.add(threading.current_thread().name)

    share(cores(), meet)
    assert len(seen) == cores()


def test_cores_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cores(None)
    monkeypatch.setenv("SHOAL_CORES", "5")
    assert cores() == 5
    for wrong in ("", "0", "many", "-1"):
        monkeypatch.setenv("SHOAL_CORES", wrong)
        assert cores() >= 1


def test_cores_where_a_process_cannot_be_bound_to_some(monkeypatch: pytest.MonkeyPatch) -> None:
    use_cores(None)
    monkeypatch.delenv("SHOAL_CORES", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores() == os.cpu_count()
