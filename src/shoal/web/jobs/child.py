"""The process that does one job: it is told everything on its standard input, and tells what came of it, line by line.

It knows neither the database nor the keyring. When the worker is gone, its input ends, and it ends too. Its memory is
limited, and what goes wrong is told in one sentence of Shoal's that holds no cell.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO, Any

# ----------------------------------------
# What is told of a job: how much of a step is done, and messages that do not say where the server keeps things.


_NUMBER = r"(?P<done>\d[\d,]*) of (?P<all>\d[\d,]*)"
# What is done of something, at the end of a sentence or all of it; and the number of what has begun.
_DONE = re.compile(rf"(?:^|: ){_NUMBER}(?: rows| points)?$")
_BEGUN = re.compile(rf"\b(?:point|part|key) {_NUMBER}\b")


def share_of(step: str) -> float | None:
    """How much of a step is done by what its words say, None where they do not."""
    for pattern, before in ((_DONE, 0), (_BEGUN, 1)):
        if found := pattern.search(step):
            done, of = (int(found[name].replace(",", "")) for name in ("done", "all"))
            if of and before <= done <= of:
                return (done - before) / of
    return None


def without_places(message: str, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]] = ()) -> str:
    """A message in which paths start from a project, and what is offered has its name.

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
    """A message that calls a place by a name, and by another before what is in it.

    Its letters in a longer name stay: places may be as short as '/data', and a text may be a label of values.
    """
    pattern = rf"(?<!\w){re.escape(place)}(?!\w)({re.escape(os.sep)}?)"
    return re.sub(pattern, lambda found: before if found[1] else name, message)


def found_without_places(found: Any, folders: Sequence[str], offers: Sequence[Mapping[str, str | None]]) -> Any:
    """The same of all texts in what a job found, of which some are messages."""
    if isinstance(found, str):
        return without_places(found, folders, offers)
    if isinstance(found, dict):
        return {key: found_without_places(one, folders, offers) for key, one in found.items()}
    return [found_without_places(one, folders, offers) for one in found] if isinstance(found, list) else found


NICE = 10
_PDEATHSIG = 1  # of Linux's prctl
_FULL = "The server's disk is full: make room, then start the job again."


def main() -> None:
    """Do the job that the first line of the input describes."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no message of ours
    leave_no_core()
    _let_the_system_end_it()
    asked = json.loads(sys.stdin.readline())
    Thread(target=_end_with_the_worker, daemon=True).start()
    limit_memory(asked["memory"])
    os.nice(NICE)
    os.umask(0o077)

    def progress(step: str) -> None:
        _tell(out, {"progress": step, "share": share_of(step)})

    _tell(out, _ended(asked, progress))
    out.close()
    os._exit(0)  # threads of libraries need not be waited for


def _ended(asked: dict[str, Any], progress: Any) -> dict[str, Any]:
    """What came of the job, or why nothing did."""
    try:
        progress("loading")
        from shoal.errors import ShoalError, name_no_values
        from shoal.web.jobs.kinds import do
    except MemoryError:
        return {"failed": _too_small(asked)}
    name_no_values()
    try:
        return {"done": do(asked, progress)}
    except ShoalError as error:
        return {"failed": str(error)}
    except MemoryError:
        return {"failed": _too_small(asked)}
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return {"failed": _FULL if full else f"A file of the project cannot be used: {error.strerror}."}
    except Exception as error:
        return {"failed": f"internal: {type(error).__name__}; tell whoever runs the server."}


def _too_small(asked: dict[str, Any]) -> str:
    return (
        f"The job needs more memory than the {asked['memory'] >> 20:,} MiB that jobs have here: use the engine "
        "'duckdb', or ask whoever runs the server for more."
    )


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


def _let_the_system_end_it() -> None:
    """Have the process killed with the thread that started it, which is the worker's first, where the system can."""
    # While code holds Python's lock, nobody here hears that the input has ended.
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def _end_with_the_worker() -> None:
    with suppress(OSError):
        while os.read(0, 1024):
            pass
    os._exit(1)


def _tell(out: IO[str], what: dict[str, Any]) -> None:
    with suppress(BrokenPipeError):
        out.write(json.dumps(what) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
