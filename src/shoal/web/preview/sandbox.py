"""Reading apart from the server: in a process that has an end of its memory and of its time, whatever a file holds.

Files are written by people, and what they unpack to, and what a library does with one that is damaged on purpose, is
known only once they were read.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import pickle
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread, Timer
from typing import IO, Any, TypeVar, cast

from shoal.errors import InputError, InternalError, ShoalError
from shoal.web.jobs.child import leave_no_core, limit_memory, without_places

# ----------------------------------------
# The process that reads files for pages: one after the other, in limited memory; what it read stays nowhere.
#
# It is told a function of the views and what to give it, and tells what that returned or raised. What a file does
# to the process that reads it, it does to this one: the server starts another. When the server is gone, its input
# ends, and it ends too.


IDLE = 900.0  # seconds after which a process that nobody asks ends
_KEPT = 768 << 20  # bytes that may stay taken when all is done: what is above goes back to the system with the process
_CPU = 600  # seconds of a processor for one read, of some threads, far behind those after which the server ends it
_HEAD = struct.Struct(">Q")
_LOADED = ("head", "looks", "hierarchy_view", "class_counts", "values_view")


def main(memory: int) -> None:
    """Do what is asked until nobody asks any more, in so many bytes of memory."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer of ours
    leave_no_core()
    limit_memory(memory)
    os.umask(0o077)
    asked: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(asked,), daemon=True).start()
    for name in _LOADED:
        import_module(f"shoal.web.preview.{name}")
    send(out, b"ready")
    with suppress(Empty):
        while True:
            given = asked.get(timeout=IDLE)
            _limit_time()
            answer = _done(given)
            more = _taken_reader() < _KEPT
            send(out, pickle.dumps((more, *answer)))
            if not more:
                break
    os._exit(0)  # threads of libraries need not be waited for


def _listen(asked: SimpleQueue[bytes]) -> None:
    """Take in what is asked; the end of it is the end of the process, whatever it does just then."""
    with suppress(OSError, EOFError):
        while True:
            asked.put(receive(sys.stdin.buffer))
    os._exit(1)


def _limit_time() -> None:
    """Have the system end what the server cannot any more, when it is gone and code does not let us listen."""
    with suppress(ImportError):  # Windows
        import resource

        used, (_, most) = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)
        now = int(used.ru_utime + used.ru_stime)
        with suppress(ValueError):  # the process may have less anyway
            resource.setrlimit(resource.RLIMIT_CPU, (now + _CPU, most))


def _done(asked: bytes) -> tuple[str, Any]:
    """What a function returned, or what it raised, without what hangs on it."""
    from shoal.errors import ShoalError

    try:
        function, given = pickle.loads(asked)
        return "done", function(*given)
    except MemoryError:
        return "memory", None
    except ShoalError as error:
        return "refused", (type(error), str(error))
    except OSError as error:
        return "failed", (error.errno, error.strerror)
    except BaseException as error:  # a panic of Polars is no Exception
        return "broken", type(error).__name__  # its words may hold cells


def _taken_reader() -> int:
    """Bytes of memory that are taken, 0 where the system does not tell."""
    gc.collect()
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def send(to: IO[bytes], content: bytes) -> None:
    """Write a message, its length before it."""
    to.write(_HEAD.pack(len(content)))
    to.write(content)
    to.flush()


def receive(source: IO[bytes], most: int | None = None) -> bytes:
    """Read a message; one of more than ``most`` bytes is an :class:`OverflowError`, an end an :class:`EOFError`."""
    (size,) = _HEAD.unpack(_exactly(source, _HEAD.size))
    if most is not None and size > most:
        raise OverflowError
    return _exactly(source, size)


def _exactly(source: IO[bytes], size: int) -> bytes:
    found = source.read(size)
    if len(found) < size:
        raise EOFError
    return found


_T = TypeVar("_T")
MEMORY = 2 << 30  # bytes that a read may take
SECONDS = 60.0  # likewise, on a machine that has other things to do, too
_START = 120.0
_MOST = 64 << 20  # bytes of an answer
# What libraries and the dynamic linker need; no secret that the server was started with, and none of a database.
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
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
    """What a function of a module returns or raises, called in another process.

    Refused where that takes more memory, or more time, than a page may.

    Parameters
    ----------
    within
        The folder of a project, from which paths start in what is raised: nobody is told where the server keeps it.
    """
    reader = _taken_apart()
    try:
        answer = reader.ask(pickle.dumps((function, given)), SECONDS if seconds is None else seconds)
    except BaseException:
        reader.end()
        raise
    if reader.more:
        with _guard:
            _idle.append(reader)
    else:
        reader.end()
    return cast(_T, _told(*answer, [] if within is None else [str(within)]))


def _told(what: str, found: Any, places: Sequence[str]) -> Any:
    """What an answer says, in the words of this process."""
    if what == "done":
        return found
    if what == "memory":
        raise too_large()
    if what == "refused":
        kind, message = found
        # Some are made from more than their message.
        error: ShoalError = kind.__new__(kind, without_places(message, places))
        raise error
    if what == "failed":
        raise unreadable(OSError(*found))
    raise InternalError(f"{found} while a file was read for a page: tell whoever runs the server.")


def unreadable(error: OSError) -> Exception:
    """What is raised where the system refuses a file: a sentence, but for a full disk, which every answer tells."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return error
    why = f" ({error.strerror})" if error.strerror else ""  # which libraries do not always tell
    return Unreadable(
        f"The data of this project, or a file beside them, cannot be read{why}: upload it again, or tell whoever runs "
        "the server."
    )


def too_large(what: str = "To show this takes", do: str = "") -> TooMuch:
    """The refusal of what needs too much memory."""
    return TooMuch(
        f"{what} more than the {MEMORY >> 20:,} MiB of memory that pages have, though jobs have more: {do}save the "
        "data as CSV or Parquet, of which pages show the beginning."
    )


def _ended() -> TooMuch:
    """The same of a process that is gone, of which nobody knows by what."""
    what = "What reads this for pages ended on the way, perhaps because it takes"
    return too_large(what, "try it again in some minutes, or ")


def _too_slow(seconds: float) -> TooMuch:
    return TooMuch(
        f"To show this takes longer than the {seconds:g} seconds that pages have, though jobs have more: try it again "
        "in some minutes, or with fewer columns."
    )


def _taken_apart() -> Reader:
    """A process that waits for work, the one that did some last; a new one where there is none."""
    with _guard:
        waiting = [one for one in _idle if one.waits]
        gone = [one for one in _idle if one not in waiting]
        found = waiting.pop() if waiting else None
        _idle[:] = waiting
    for one in gone:
        one.end()
    return found or Reader()


class Reader:
    """A process that reads, started anew; ``more`` tells that it goes on."""

    def __init__(self) -> None:
        environment = {key: os.environ[key] for key in _PASSED if key in os.environ} | _FEW_THREADS
        self.more, self._since, self._late = True, time.monotonic(), False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "shoal.web.preview.sandbox", str(MEMORY)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, env=environment,
        )  # fmt: skip
        try:
            self._answer(b"", _START)
        except BaseException as error:
            self.end()
            if not isinstance(error, EOFError):
                raise
            raise InternalError("What reads files for pages does not start: tell whoever runs the server.") from None

    @property
    def waits(self) -> bool:
        """Whether it is there, and will be for a while."""
        return self._process.poll() is None and time.monotonic() - self._since < IDLE / 2

    def ask(self, asked: bytes, seconds: float) -> tuple[str, Any]:
        """What it answers, within so many seconds; it is of no use after that."""
        try:
            self.more, what, found = pickle.loads(self._answer(asked, seconds))
        except OverflowError:
            raise too_large() from None
        except (EOFError, BrokenPipeError):
            raise (_too_slow(seconds) if self._late else _ended()) from None
        self.more = self.more and not self._late  # it may have been ended just after its answer
        self._since = time.monotonic()
        return what, found

    def _answer(self, asked: bytes, seconds: float) -> bytes:
        into, out = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
        timer = Timer(seconds, self._stop)
        timer.start()
        try:
            if asked:
                send(into, asked)
            return receive(out, _MOST)
        finally:
            timer.cancel()

    def _stop(self) -> None:
        self._late = True
        self._process.kill()

    def end(self) -> None:
        """End it, and give back what it held."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # of what was not sent any more
                cast(IO[bytes], pipe).close()


@atexit.register
def end_all() -> None:
    """End the processes that wait for work."""
    with _guard:
        while _idle:
            _idle.pop().end()


if __name__ == "__main__":
    main(int(sys.argv[1]))
