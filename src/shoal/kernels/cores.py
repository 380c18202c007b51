"""How many cores kernels use at a time."""

from __future__ import annotations

from numba import get_num_threads, set_num_threads


def cores() -> int:
    """Threads that parallel kernels run on; those that share work out themselves use as many."""
    return int(get_num_threads())


def use_one_core() -> None:
    """Let parallel kernels of this thread run on one core, where other processes have the rest."""
    set_num_threads(1)
