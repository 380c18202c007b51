"""The one decorator of compiled code: cached under a stamp of all the kernel code that a function uses.

numba stamps a cached function by its own file, so a kernel that inlines or calls another module's would go on running
the old code after that module changed. Here the stamp is the content of the function's module and of every kernel
module that it imports, directly or through others, and it names the folder too: checkouts and versions that differ
side by side never share or overwrite what they compiled, and those that agree share it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

_PACKAGE = "shoal.kernels."


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a function in nopython mode; options are those of ``numba.njit``."""
    if function is None:
        return functools.partial(kernel, **options)
    dispatcher = njit(**options)(function)
    with contextlib.suppress(OSError):  # a folder that cannot be written: compiled anew in every process
        dispatcher._cache = _Cache(function)
    return dispatcher


@functools.cache
def stamp(path: Path) -> str:
    """A digest of a kernel module and of all kernel modules it imports."""
    digest = hashlib.sha256()
    for one in sorted(_reached(path)):
        digest.update(one.name.encode() + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()


def _reached(path: Path) -> set[Path]:
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _imported(one)
    return found


@functools.cache
def _imported(path: Path) -> tuple[Path, ...]:
    """The kernel modules that one imports by name."""
    tree = ast.parse(path.read_bytes())
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    kernels = [name.removeprefix(_PACKAGE) for name in names if name.startswith(_PACKAGE)]
    return tuple(path.parent / f"{name}.py" for name in kernels)


def cache_folder() -> Path:
    """Where compiled kernels are kept: ``SHOAL_CACHE``, or the user's cache folder."""
    given = os.environ.get("SHOAL_CACHE")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "shoal"


class _Locator(_CacheLocator):
    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._stamp = stamp(Path(file))
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_folder() / "kernels" / self._stamp[:24])

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        found = cls(function, file)
        found.ensure_cache_path()
        return found


class _Results(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Cache(FunctionCache):
    _impl_class = _Results
