"""The process that reads files for pages: one after the other, in limited memory; what it read stays nowhere.

It is told a function of the views and what to give it, and tells what that returned or raised. What a file does to the
process that reads it, it does to this one: the server starts another. When the server is gone, its input ends, and it
ends too.
"""

from __future__ import annotations

import gc
import os
import pickle
import struct
import sys
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from shoal.web.jobs.child import leave_no_core, limit_memory

IDLE = 900.0  # seconds after which a process that nobody asks ends
_KEPT = 768 << 20  # bytes that may stay taken when all is done: what is above goes back to the system with the process
_CPU = 600  # seconds of a processor for one read, of some threads, far behind those after which the server ends it
_HEAD = struct.Struct(">Q")
_LOADED = ("beginnings", "looks", "trees", "counting", "values")


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
        import_module(f"shoal.web.views.{name}")
    send(out, b"ready")
    with suppress(Empty):
        while True:
            given = asked.get(timeout=IDLE)
            _limit_time()
            answer = _done(given)
            more = _taken() < _KEPT
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


def _taken() -> int:
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


if __name__ == "__main__":
    main(int(sys.argv[1]))
