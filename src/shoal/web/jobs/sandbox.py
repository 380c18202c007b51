"""The sandbox: a process that works on files of people, for a page or a job, in limited memory and without secrets.

Files may be made to harm whoever reads them, and what a library does with one is known only once it was read. The
process knows neither the database nor the keyring. It is asked to call functions, one after the other, and tells what
they return or raise as plain data. When whoever started it is gone, its input ends, and it ends too.
"""

from __future__ import annotations

import ctypes
import gc
import io
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any, cast

from shoal.errors import InternalError, ShoalError, name_no_values

PAGES, JOB = "pages", "job"  # what a process is for; one for a job ends with it
IDLE = 900.0  # seconds after which a process that nobody asks ends
NICE = 10  # of jobs
MOST = 256 << 20  # bytes of an answer
_KEPT = 768 << 20  # bytes that may stay taken when all is done: what is above goes back to the system with the process
_CPU = 600  # seconds of a processor for one page, of some threads, far behind those after which the server ends it
_HEAD = struct.Struct(">Q")
_PDEATHSIG = 1  # of Linux's prctl
# What libraries and the dynamic linker need; no secret that the server was started with, and none of a database.
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_LOADED = ("head", "looks", "hierarchy_view", "class_counts", "values_view")  # before a page asks
# What answers hold beside our own data classes and errors.
_PLAIN = {
    ("builtins", "set"), ("builtins", "frozenset"),
    ("datetime", "date"), ("datetime", "datetime"), ("datetime", "time"),
    ("numpy", "dtype"), ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"),
    ("polars.dataframe.frame", "DataFrame"),
}  # fmt: skip


class Sandbox:
    """A process that was started to do untrusted work."""

    def __init__(self, use: str, memory: int, environment: Mapping[str, str]) -> None:
        known = {key: os.environ[key] for key in _PASSED if key in os.environ}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal.web.jobs.sandbox", use, str(memory)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, env={**known, **environment},
        )  # fmt: skip

    def ask(self, function: Callable[..., Any], *given: Any) -> None:
        """Have a function of a module called, which may be given data classes and plain data."""
        send(cast(IO[bytes], self.process.stdin), pickle.dumps((function, given)))

    def told(self, most: int = MOST) -> tuple[Any, ...]:
        """Wait for the next message; an end is an :class:`EOFError`, a longer one an :class:`OverflowError`.

        Messages are ``("ready",)``, ``("progress", step)``, and as an answer ``("done", found, more)``,
        ``("refused", (kind, message), more)``, ``("memory", None, more)``, ``("failed", (number, words), more)`` of the
        system or ``("broken", name, more)``, where ``more`` says whether the process goes on.
        """
        content = receive(cast(IO[bytes], self.process.stdout), most)
        try:
            found: tuple[Any, ...] = _Answer(io.BytesIO(content)).load()
        except Exception:
            raise InternalError("An answer has something in it that no answer has.") from None
        return found

    def kill(self) -> None:
        """End the process and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class _Answer(pickle.Unpickler):
    """Reads plain data, our data classes and kinds of our errors, since who took the process over may send anything."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "shoal" or (module, name) in _PLAIN:
            found = super().find_class(module, name)
            if (module, name) in _PLAIN or (
                isinstance(found, type) and (is_dataclass(found) or issubclass(found, ShoalError))
            ):
                return found
        raise pickle.UnpicklingError


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


# ----------------------------------------
# In the process.


def main(use: str, memory: int) -> None:
    """Do what is asked until nobody asks any more, in so many bytes of memory."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no message of ours
    leave_no_core()
    if use == JOB:
        _end_with_the_thread()
    asked: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(asked,), daemon=True).start()
    limit_memory(memory)
    os.umask(0o077)
    if use == JOB:
        os.nice(NICE)
        name_no_values()  # which would be kept in the database
    for name in () if use == JOB else _LOADED:
        import_module(f"shoal.web.preview.{name}")

    def tell(*message: Any) -> None:
        with suppress(BrokenPipeError):
            send(out, pickle.dumps(message))

    tell("ready")
    with suppress(Empty):
        more = True
        while more:
            content = asked.get(timeout=IDLE)
            if use == PAGES:
                _limit_time()
            answer = _done(content, [] if use == PAGES else [lambda step: tell("progress", step)])
            more = use == PAGES and _taken() < _KEPT
            tell(*answer, more)
    os._exit(0)  # threads of libraries need not be waited for


def do_job(asked: Mapping[str, Any], progress: Callable[[str], None]) -> dict[str, Any]:
    """Do a job."""
    progress("loading")
    try:
        from shoal.web.jobs.kinds import do  # which the worker does without
    except ImportError:  # a library that has no room
        raise MemoryError from None
    return do(asked, progress)


def _listen(asked: SimpleQueue[bytes]) -> None:
    """Take in what is asked; the end of it is the end of the process, whatever it does just then."""
    with suppress(OSError, EOFError):
        while True:
            asked.put(receive(sys.stdin.buffer))
    os._exit(1)


def _done(asked: bytes, more: Sequence[Any]) -> tuple[str, Any]:
    """Tell what a function returned, or what it raised without what hangs on it."""
    try:
        function, given = pickle.loads(asked)
        return "done", function(*given, *more)
    except MemoryError:
        return "memory", None
    except ShoalError as error:
        return "refused", (type(error), str(error))
    except OSError as error:
        return "failed", (error.errno, error.strerror)
    except BaseException as error:  # a panic of Polars is no Exception
        return "broken", type(error).__name__  # its words may hold cells


def _taken() -> int:
    """Bytes of memory that are taken, 0 where the system does not tell."""
    gc.collect()
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _limit_time() -> None:
    """Have the system end what the server cannot any more, when it is gone and code does not let us listen."""
    with suppress(ImportError):  # Windows
        import resource

        used, (_, most) = resource.getrusage(resource.RUSAGE_SELF), resource.getrlimit(resource.RLIMIT_CPU)
        now = int(used.ru_utime + used.ru_stime)
        with suppress(ValueError):  # the process may have less anyway
            resource.setrlimit(resource.RLIMIT_CPU, (now + _CPU, most))


def _end_with_the_thread() -> None:
    """Have the process killed with the thread that started it, which is the worker's first, where the system can."""
    # While code holds Python's lock, nobody here hears that the input has ended.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def limit_memory(memory: int) -> None:
    """Let the process have no more memory than this."""
    with suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def leave_no_core() -> None:
    """Let a process that is broken off write its memory, and so data and keys, to no file."""
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# ----------------------------------------
# Messages that do not say where the server keeps things.


def without_places(message: str, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]] = ()) -> str:
    """Let paths in a message start from a project, and call what is offered by its name.

    Parameters
    ----------
    folders
        Those of the project and of the server, the innermost first.
    """
    for one in offers:
        place = one.get("place") or "://"
        for known in {os.path.abspath(place), os.path.realpath(place)} if "://" not in place else ():
            message = _called(message, known, str(one["name"]), f"{one['name']}{os.sep}")
    for folder in folders:
        for known in {os.path.abspath(folder), os.path.realpath(folder)}:
            message = _called(message, known, "the project", "")
    return message


def _called(message: str, place: str, name: str, before: str) -> str:
    """Call a place by a name, and by another before what is in it.

    Its letters in a longer name stay: places may be as short as '/data', and a text may be a label of values.
    """
    pattern = rf"(?<!\w){re.escape(place)}(?!\w)({re.escape(os.sep)}?)"
    return re.sub(pattern, lambda found: before if found[1] else name, message)


def found_without_places(found: Any, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]]) -> Any:
    """Clean all texts in what a job found, of which some are messages."""
    if isinstance(found, str):
        return without_places(found, folders, offers)
    if isinstance(found, dict):
        return {key: found_without_places(one, folders, offers) for key, one in found.items()}
    return [found_without_places(one, folders, offers) for one in found] if isinstance(found, list) else found


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
