"""Several cores at a time: threads over kernels, which run without the interpreter's lock.

Who gets which part must not matter to the result. Parts are handed out as threads become free.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Lock

_BLOCKS = 8  # of rows for each core, so that none waits long for the last
_limit: int | None = None


def cores() -> int:
    """How many cores may be used: ``SHOAL_CORES``, or as many as this process may run on."""
    if _limit is not None:
        return _limit
    given = os.environ.get("SHOAL_CORES", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_cores(count: int | None) -> None:
    """Use so many cores in this process, or with None again as many as there are."""
    global _limit
    _limit = count


def share(parts: int, work: Callable[[int], object]) -> None:
    """Do a piece of work for every part from 0 on."""
    workers = min(cores(), parts)
    if workers < 2:
        for part in range(parts):
            work(part)
        return
    waiting, lock = iter(range(parts)), Lock()

    def following() -> int | None:
        with lock:
            return next(waiting, None)

    def take() -> None:
        while (part := following()) is not None:
            work(part)

    with ThreadPoolExecutor(workers) as pool:
        try:
            for done in wait([pool.submit(take) for _ in range(workers)], return_when=FIRST_EXCEPTION).done:
                done.result()
        except BaseException:
            while following() is not None:  # nobody begins another part
                pass
            raise


def share_rows(rows: int, work: Callable[[int, int], object], least: int = 1) -> None:
    """Do a piece of work for blocks of rows, given by where they begin and end, of at least so many."""
    size = max(least, -(-rows // (_BLOCKS * cores())), 1)
    share(-(-rows // size), lambda block: work(block * size, min(rows, (block + 1) * size)))
