"""Read files for pages in the sandbox: remembered, once for those who ask together, and few at a time.

Reads take memory and time, and whoever waits for one holds a thread that others need. So the line of those who wait has
an end, none waits for long, and neither a project nor an account takes all the places.
"""

from __future__ import annotations

import atexit
import errno
import pickle
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from threading import Condition, Lock, Timer
from typing import IO, Any, Generic, TypeVar, cast, overload

from shoal.errors import InputError, InternalError, MissingExtraError, ShoalError
from shoal.web.jobs.sandbox import IDLE, PAGES, Sandbox, without_places

_T = TypeVar("_T")
READING = 2  # at a time, one of each project and of each account
WAITING, OF_ONE = 24, 16  # threads in line, of the forty that the server has; those of one project or account
PATIENCE = 15.0  # seconds
KEPT = 64 << 20  # bytes that the answers of one function take, and what they were asked by
_AGAIN = 300.0  # seconds after which what took too much is tried again
_RETRY = 5
clock = time.monotonic


ASKING: ContextVar[Callable[[], str]] = ContextVar("asking", default=str)
"""Gives the account that asks, known once it was let in; none where no request is answered."""
_ALL = ""


def _parties(whose: str) -> set[str]:
    """Among whose reads one is counted: all, those of a project, and those of an account."""
    return {_ALL, whose, ASKING.get()()}


class _Line:
    """Who reads and who waits."""

    def __init__(self) -> None:
        self.change = Condition()
        self._reading: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    def has_room(self, parties: set[str]) -> bool:
        return all(self._reading[one] < (READING if one == _ALL else 1) for one in parties)

    def wait(self, parties: set[str], ready: Callable[[], bool]) -> None:
        """Wait until it is so, with ``change`` held; refused where too many wait, or it takes too long."""
        if ready():
            return
        if any(self._waiting[one] >= (WAITING if one == _ALL else OF_ONE) for one in parties):
            raise _busy()
        self._waiting.update(parties)
        try:
            if not self.change.wait_for(ready, PATIENCE):
                raise _busy()
        finally:
            self._waiting.subtract(parties)

    @contextmanager
    def reading(self, parties: set[str]) -> Iterator[None]:
        """Have the place that was waited for; ``change`` is held at its beginning, and not within."""
        self._reading.update(parties)
        self.change.release()
        try:
            yield
        finally:
            self.change.acquire()
            self._reading.subtract(parties)
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
    parties = _parties(whose)
    with _LINE.change:
        _LINE.wait(parties, lambda: _LINE.has_room(parties))
        with _LINE.reading(parties):
            yield


class Remembered(Generic[_T]):
    """A function that remembers its last answers, and what it refused; its first argument is whose the file is."""

    def __init__(self, make: Callable[..., _T], most: int) -> None:
        self._make, self._most = make, most
        # Answers as bytes, so that somebody knows how many they are.
        self._known: OrderedDict[tuple[Hashable, ...], tuple[bytes, ShoalError | None, float]] = OrderedDict()
        self._under_way: set[Hashable] = set()

    def __call__(self, *given: Hashable) -> _T:
        parties = _parties(str(given[0]))
        with _LINE.change:
            _LINE.wait(
                parties, lambda: self._knows(given) or (given not in self._under_way and _LINE.has_room(parties))
            )
            if not self._knows(given):
                self._read(parties, given)
            found, error, _ = self._known[given]
            self._known.move_to_end(given)
        if error is not None:
            raise error.with_traceback(None)
        return pickle.loads(found)  # type: ignore[no-any-return]

    def forget(self, *given: Hashable) -> None:
        """Read it again when somebody asks next."""
        with _LINE.change:
            self._known.pop(given, None)

    def _knows(self, given: tuple[Hashable, ...]) -> bool:
        """Whether there is an answer that still holds."""
        if given in self._known and self._known[given][2] < clock():
            del self._known[given]
        return given in self._known

    def _read(self, parties: set[str], given: tuple[Any, ...]) -> None:
        answer: tuple[bytes, ShoalError | None, float]
        self._under_way.add(given)
        try:
            with _LINE.reading(parties):
                try:
                    answer = (pickle.dumps(self._make(*given)), None, float("inf"))
                except (InternalError, MissingExtraError, Unreadable):  # which somebody may put right
                    raise
                except ShoalError as error:
                    until = clock() + _AGAIN if isinstance(error, TooMuch) else float("inf")
                    answer = (b"", error, until)
        finally:
            self._under_way.discard(given)
        self._known[given] = answer
        while len(self._known) > self._most or (len(self._known) > 1 and self._taken() > KEPT):
            self._known.popitem(last=False)

    def _taken(self) -> int:
        """Bytes of what is remembered; recipes, by which answers are found, may be longer than these."""
        texts = (one for given in self._known for one in given if isinstance(one, bytes | str))
        return sum(map(len, texts)) + sum(len(answer) for answer, _, _ in self._known.values())


def remembered(most: int) -> Callable[[Callable[..., _T]], Remembered[_T]]:
    """Remember the last answers of a function, which asks no other that is remembered."""
    return lambda make: Remembered(make, most)


class once(Generic[_T]):
    """A property that is made when it is first asked for.

    ``functools.cached_property`` of Python 3.11 has one lock for all objects of a class: a page that waits for its
    source would let every other page wait. Here, those who ask one object at the same time may make it twice.
    """

    def __init__(self, make: Callable[[Any], _T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type) -> once[_T]: ...
    @overload
    def __get__(self, one: object, owner: type) -> _T: ...
    def __get__(self, one: object | None, owner: type) -> once[_T] | _T:
        if one is None:
            return self
        known: dict[str, Any] = vars(one)
        if self._name not in known:
            known[self._name] = self._make(one)
        return known[self._name]  # type: ignore[no-any-return]


# ----------------------------------------
# Processes that read for pages, one file after the other.


MEMORY = 2 << 30  # bytes that a read may take
SECONDS = 60.0  # likewise, on a machine that has other things to do, too
_START = 120.0
_MOST = 96 << 20  # bytes of an answer, in which bytes take a third more
# Threads have stacks, which count as memory; a file for a page needs few of them.
_FEW_THREADS = {"POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_idle: list[Reader] = []
_guard = Lock()


class TooMuch(InputError):
    """What takes more memory or time than a page may."""


class Unreadable(InputError):
    """What the system refuses, which it may grant the next time."""


def apart(
    function: Callable[..., _T], *given: Any, within: Path | str | None = None, seconds: float | None = None
) -> _T:
    """Call a function of a module in the sandbox; return what it returns, and raise what it raises.

    Refused where that takes more memory, or more time, than a page may.

    Parameters
    ----------
    within
        The folder of a project, from which paths start in what is raised: nobody is told where the server keeps it.
    """
    reader = _taken_apart()
    try:
        what, found, more = reader.answer(function, given, SECONDS if seconds is None else seconds)
    except BaseException:
        reader.close()
        raise
    if more:
        with _guard:
            _idle.append(reader)
    else:
        reader.close()
    if what == "done":
        return cast(_T, found)
    if what == "memory":
        raise too_large()
    if what == "refused":
        kind, message = found
        # Some are made from more than their message.
        error: ShoalError = kind.__new__(kind, without_places(message, [] if within is None else [str(within)]))
        raise error
    if what == "failed":
        raise unreadable(OSError(*found))
    raise InternalError(f"{found} while a file was read for a page: tell whoever runs the server.")


def apart_in_turn(folder: Path, function: Callable[..., _T], *given: Any) -> _T:
    """Call a function in the sandbox when it is a project's turn, for a form of which nothing is remembered."""
    with turn(str(folder)):
        return apart(function, *given, within=folder)


def unreadable(error: OSError) -> Exception:
    """Make the refusal of a file that the system refuses: a sentence, but for a full disk, which every answer tells."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error
    why = f" ({error.strerror})" if error.strerror else ""  # which libraries do not always tell
    return Unreadable(
        f"The data of this project, or a file beside them, cannot be read{why}: upload it again, or tell whoever runs "
        "the server."
    )


def too_large(what: str = "To show this takes", do: str = "") -> TooMuch:
    """Make the refusal of what needs too much memory."""
    return TooMuch(
        f"{what} more than the {MEMORY >> 20:,} MiB of memory that pages have, though jobs have more: {do}save the "
        "data as CSV or Parquet, of which pages show the beginning."
    )


def _taken_apart() -> Reader:
    """Take the process that worked last from those that wait, or start one."""
    with _guard:
        waiting = [one for one in _idle if one.waits]
        gone = [one for one in _idle if one not in waiting]
        found = waiting.pop() if waiting else None
        _idle[:] = waiting
    for one in gone:
        one.close()
    return found or Reader()


class Reader(Sandbox):
    """A process that reads for pages, started anew."""

    def __init__(self) -> None:
        super().__init__(PAGES, MEMORY, _FEW_THREADS)
        self._since, self._late = time.monotonic(), False
        try:
            self._told(_START)
        except BaseException as error:
            self.close()
            if not isinstance(error, EOFError):
                raise
            raise InternalError("What reads files for pages does not start: tell whoever runs the server.") from None

    @property
    def waits(self) -> bool:
        """Whether it is there, and will be for a while."""
        return self.process.poll() is None and time.monotonic() - self._since < IDLE / 2

    def answer(self, function: Callable[..., Any], given: Sequence[Any], seconds: float) -> tuple[str, Any, bool]:
        """Ask for an answer within so many seconds, and whether the process can be asked again."""
        try:
            what, found, more = self._told(seconds, function, *given)
        except OverflowError:
            raise too_large() from None
        except (EOFError, BrokenPipeError):
            if self._late:
                raise TooMuch(
                    f"To show this takes longer than the {seconds:g} seconds that pages have, though jobs have more: "
                    "try it again in some minutes, or with fewer columns."
                ) from None
            what = "What reads this for pages ended on the way, perhaps because it takes"
            raise too_large(what, "try it again in some minutes, or ") from None
        self._since = time.monotonic()
        return what, found, more and not self._late  # it may have been ended just after its answer

    def _told(self, seconds: float, *asked: Any) -> tuple[Any, ...]:
        timer = Timer(seconds, self._stop)
        timer.start()
        try:
            if asked:
                self.ask(*asked)
            return self.told(_MOST)
        finally:
            timer.cancel()

    def _stop(self) -> None:
        self._late = True
        self.process.kill()

    def close(self) -> None:
        """End it, and give back what it held."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # of what was not sent any more
                cast(IO[bytes], pipe).close()


@atexit.register
def end_all() -> None:
    """End the processes that wait for work."""
    with _guard:
        while _idle:
            _idle.pop().close()
