"""How many cores kernels use at a time."""

from __future__ import annotations

from numba import get_num_threads


def cores() -> int:
    """Threads that parallel kernels run on; those that share work out themselves use as many."""
    return int(get_num_threads())
