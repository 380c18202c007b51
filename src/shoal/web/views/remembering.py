"""What was read of a file for a page: remembered, read once by those who ask together, and by few at a time.

Reads take memory and time, and whoever waits for one holds a thread that others need. So the line of those who wait has
an end, none waits for long, and no project takes all the places.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any, Generic, TypeVar

from shoal.errors import InternalError, MissingExtraError, ShoalError
from shoal.web.views.apart import TooMuch

_T = TypeVar("_T")
READING = 2  # at a time, one of each project
WAITING, OF_ONE = 24, 16  # threads in line, of the forty that the server has; those of one project
PATIENCE = 15.0  # seconds
_AGAIN = 300.0  # seconds after which what took too much is tried again
_RETRY = 5


class _Line:
    """Who reads and who waits."""

    def __init__(self) -> None:
        self.change = Condition()
        self._reading: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    def has_room(self, whose: str) -> bool:
        return self._reading.total() < READING and not self._reading[whose]

    def wait(self, whose: str, ready: Callable[[], bool]) -> None:
        """Wait until it is so, with ``change`` held; refused where too many wait, or it takes too long."""
        if ready():
            return
        if self._waiting.total() >= WAITING or self._waiting[whose] >= OF_ONE:
            raise _busy()
        self._waiting[whose] += 1
        try:
            if not self.change.wait_for(ready, PATIENCE):
                raise _busy()
        finally:
            self._waiting[whose] -= 1

    @contextmanager
    def reading(self, whose: str) -> Iterator[None]:
        """Have the place that was waited for; ``change`` is held at its beginning, and not within."""
        self._reading[whose] += 1
        self.change.release()
        try:
            yield
        finally:
            self.change.acquire()
            self._reading[whose] -= 1
            self._reading, self._waiting = +self._reading, +self._waiting  # who has no part in it is forgotten
            self.change.notify_all()


_LINE = _Line()


def _busy() -> Exception:
    from shoal.web.errors import Refused  # which the process that reads does without

    message = "The server reads other files for pages just now: try again in a few seconds."
    return Refused(503, "busy", message, headers={"retry-after": str(_RETRY)})


@contextmanager
def turn(whose: str) -> Iterator[None]:
    """Read something that nobody remembers; ``whose`` is the folder of the project."""
    with _LINE.change:
        _LINE.wait(whose, lambda: _LINE.has_room(whose))
        with _LINE.reading(whose):
            yield


class Remembered(Generic[_T]):
    """A function that remembers its last answers, and what it refused; its first argument is whose the file is."""

    def __init__(self, make: Callable[..., _T], most: int) -> None:
        self._make, self._most = make, most
        self._known: OrderedDict[Hashable, tuple[_T | None, ShoalError | None, float]] = OrderedDict()
        self._under_way: set[Hashable] = set()

    def __call__(self, *given: Hashable) -> _T:
        whose = str(given[0])
        with _LINE.change:
            _LINE.wait(whose, lambda: self._knows(given) or (given not in self._under_way and _LINE.has_room(whose)))
            if not self._knows(given):
                self._read(whose, given)
            found, error, _ = self._known[given]
            self._known.move_to_end(given)
        if error is not None:
            raise error.with_traceback(None)
        return found  # type: ignore[return-value]

    def forget(self, *given: Hashable) -> None:
        """Read it again when somebody asks next."""
        with _LINE.change:
            self._known.pop(given, None)

    def _knows(self, given: Hashable) -> bool:
        """Whether there is an answer that still holds."""
        if given in self._known and self._known[given][2] < time.monotonic():
            del self._known[given]
        return given in self._known

    def _read(self, whose: str, given: tuple[Any, ...]) -> None:
        answer: tuple[_T | None, ShoalError | None, float]
        self._under_way.add(given)
        try:
            with _LINE.reading(whose):
                try:
                    answer = (self._make(*given), None, float("inf"))
                except (InternalError, MissingExtraError):  # which somebody may put right
                    raise
                except ShoalError as error:
                    until = time.monotonic() + _AGAIN if isinstance(error, TooMuch) else float("inf")
                    answer = (None, error, until)
        finally:
            self._under_way.discard(given)
        self._known[given] = answer
        while len(self._known) > self._most:
            self._known.popitem(last=False)


def remembered(most: int) -> Callable[[Callable[..., _T]], Remembered[_T]]:
    """Remember the last answers of a function, which asks no other that is remembered."""
    return lambda make: Remembered(make, most)
