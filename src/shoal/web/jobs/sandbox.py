"""The sandbox: a process that works on files of people, for a page or a job, in limited memory and without secrets.

Files may be made to harm whoever reads them, and what a library does with one is known only once it was read. The
process knows neither the database nor the keyring. It is asked to call functions, one after the other, and tells what
they return or raise as JSON, since whoever took it over may send anything. When whoever started it is gone, its input
ends, and it ends too.
"""

from __future__ import annotations

import base64
import ctypes
import gc
import json
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime
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
_LONGEST_STEP = 500  # characters
_PDEATHSIG = 1  # of Linux's prctl
# What libraries and the dynamic linker need; no secret that the server was started with, and none of a database.
_PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_LOADED = ("head", "looks", "hierarchy_view", "class_counts", "values_view")  # before a page asks
_KINDS = {"dict": dict, "tuple": tuple, "set": set, "frozenset": frozenset}  # of what is written as lists
# Where data classes of answers are.
_OURS = ("shoal.data.hierarchy_edits", "shoal.io.cell_format", "shoal.recipe.", "shoal.web.preview.")


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
            return _read_message(json.loads(content))
        except Exception:  # whatever it stumbles over
            raise InternalError("An answer has something in it that no answer has.") from None

    def kill(self) -> None:
        """End the process and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def write_plain(value: Any) -> Any:
    """Write an answer as JSON, in which every object is one entry: a kind and what is of it."""
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, str):
        return str(value)
    if type(value) is list:
        return [write_plain(one) for one in value]
    if type(value).__module__ == "numpy":
        return write_plain(value.item())  # type: ignore[attr-defined]
    if type(value) is dict:
        return {"dict": [[write_plain(key), write_plain(one)] for key, one in value.items()]}
    for name, kind in _KINDS.items():
        if type(value) is kind:
            return {name: [write_plain(one) for one in value]}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if type(value) in (date, datetime):
        return {type(value).__name__: value.isoformat()}
    if type(value).__name__ == "DataFrame":
        return {"frame": write_plain(value.to_dict(as_series=False))}
    if not is_dataclass(type(value)) or not type(value).__module__.startswith(_OURS):
        raise TypeError
    told = [[one.name, write_plain(getattr(value, one.name))] for one in fields(value)]
    return {"class": [type(value).__module__, type(value).__name__, told]}


def read_plain(value: Any) -> Any:
    """Read an answer; nothing is called that it names, and no data class of another place is made."""
    if isinstance(value, list):
        return [read_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    if kind in _KINDS:
        return _KINDS[kind](read_plain(content))
    if kind == "bytes":
        return base64.b64decode(content, validate=True)
    if kind in ("date", "datetime"):
        return {"date": date, "datetime": datetime}[kind].fromisoformat(content)
    if kind == "frame":
        import polars as pl  # which the worker does without

        return pl.DataFrame(read_plain(content))
    if kind != "class":
        raise ValueError
    module, name, told = content
    found = getattr(import_module(module), name) if module.startswith(_OURS) else None
    given = {key: read_plain(one) for key, one in told}
    if not (isinstance(found, type) and is_dataclass(found) and found.__module__ == module):
        raise ValueError
    if set(given) != {one.name for one in fields(found)}:
        raise ValueError
    made = object.__new__(found)  # without what its class does when one is made
    for key, one in given.items():
        object.__setattr__(made, key, one)
    return made


def _read_message(message: Any) -> tuple[Any, ...]:
    """Check a message, and read what it holds."""
    what, *rest = message
    if what == "ready":
        () = rest
        return (what,)
    if what == "progress":
        [step] = rest
        return what, str(step)[:_LONGEST_STEP]
    found, more = rest
    if what == "done":
        found = read_plain(found)
    elif what == "refused":
        module, name, said = found
        kind = getattr(import_module(module), name) if module.startswith("shoal.") else None
        if not (isinstance(kind, type) and issubclass(kind, ShoalError) and kind.__module__ == module):
            raise ValueError
        found = kind, str(said)
    elif what == "failed":
        number, words = found
        found = None if number is None else int(number), None if words is None else str(words)
    else:
        found = {"memory": None, "broken": str(found)}[what]
    return what, found, more is True


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
            send(out, json.dumps(message).encode())

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
        return "done", write_plain(function(*given, *more))
    except MemoryError:
        return "memory", None
    except ShoalError as error:
        return "refused", (type(error).__module__, type(error).__name__, str(error))
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
