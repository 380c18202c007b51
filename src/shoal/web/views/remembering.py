"""What was read of a file for a page: remembered, read once by those who ask together, and by few at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import BoundedSemaphore, Lock
from typing import TypeVar
from weakref import WeakValueDictionary

_T = TypeVar("_T")
_ROOM = BoundedSemaphore(2)  # reads take memory, and the server has others to answer


def remembered(most: int) -> Callable[[Callable[..., _T]], Callable[..., _T]]:
    """Remember the last answers of a function, which asks no other that is remembered."""

    def wrap(make: Callable[..., _T]) -> Callable[..., _T]:
        guard, locks = Lock(), WeakValueDictionary[Hashable, Lock]()

        @lru_cache(maxsize=most)
        def kept(*given: Hashable) -> _T:
            with _ROOM:
                return make(*given)

        @wraps(make)
        def ask(*given: Hashable) -> _T:
            with guard:
                lock = locks.setdefault(given, Lock())
            with lock:
                return kept(*given)

        return ask

    return wrap
