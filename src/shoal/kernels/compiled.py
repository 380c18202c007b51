"""The one decorator of compiled code: loaded when it is first called, compiled when it never was.

A kernel is looked for in the pack that a wheel brings, then in the user's cache. numba stamps a cached function by its
own file, so that a kernel that calls or inlines another module's would go on running the old code after that module
changed. Here the stamp is the content of the function's module and of every kernel module that it imports, directly or
through others, and it names the folder too: checkouts and versions that differ side by side never share or overwrite
what they compiled, and those that agree share it.

Importing a module of kernels loads no numba. Only what is called is made ready.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat as stat_of
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from shoal\.kernels\.([\w.]+) import", re.MULTILINE)
_HERE = Path(__file__).parent
_FIRST = threading.RLock()


class Kernel:
    """A function that runs compiled; its ``dispatcher`` is numba's."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._dispatcher or self.dispatcher)(*arguments)

    @property
    def dispatcher(self) -> Any:
        """numba's own object, made when it is first asked for."""
        with _FIRST:
            if self._dispatcher is None:
                from shoal.kernels.caching import dispatcher

                self._dispatcher = dispatcher(self.py_func, self._options)
            return self._dispatcher


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a function in nopython mode, without the interpreter's lock; options are those of ``numba.njit``."""
    if function is None:
        return functools.partial(kernel, **options)
    return Kernel(function, {"nogil": True, **options})


def unwrap(names: dict[str, Any]) -> None:
    """Put numba's objects in the place of ours in a module, and in those that it has them from.

    What is compiled has to know what it calls and inlines.
    """
    ours = {name: value for name, value in list(names.items()) if isinstance(value, Kernel)}
    # Those of other modules first: one that is interrupted begins again where it was.
    for value in ours.values():
        if value.py_func.__globals__ is not names:
            unwrap(value.py_func.__globals__)
    for name, value in ours.items():
        names[name] = value.dispatcher


@functools.cache
def stamp(path: Path) -> str:
    """A digest of a kernel module and of all kernel modules it imports."""
    digest = hashlib.sha256()
    for one in sorted(reached(path) | {Path(__file__).with_name("caching.py")}):  # which says in what form code is kept
        digest.update(f"{one.parent.name}/{one.name}".encode() + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()


@functools.cache
def reached(path: Path) -> frozenset[Path]:
    """A kernel module and all that it imports, directly or through others."""
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _imported(one)
    return frozenset(found)


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """The kernel modules that one imports by name."""
    return tuple(_HERE / f"{name.replace('.', '/')}.py" for name in _IMPORT.findall(path.read_text(encoding="utf-8")))


def cache_folder() -> Path:
    """Where compiled kernels are kept: ``SHOAL_CACHE``, or the user's cache folder."""
    given = os.environ.get("SHOAL_CACHE")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return _homeless() if home.startswith("~") else Path(home) / "shoal"


@functools.cache
def _homeless() -> Path:
    """For users without a home: a folder that nobody else can put code into, for this process alone if need be."""
    user = os.getuid()
    folder = Path(tempfile.gettempdir()) / f"shoal-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    with contextlib.suppress(OSError):
        found = folder.lstat()
        if stat_of.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077:
            return folder
    return Path(tempfile.mkdtemp(prefix="shoal-"))
