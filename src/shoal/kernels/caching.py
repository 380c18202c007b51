"""Where numba finds and keeps compiled kernels: the pack of a wheel, the user's cache, or nowhere.

Each is looked for under two keys: compiled for this processor's tier, as packs are and what ``shoal warm`` makes, or
for the processor itself, as whatever a run compiles on its way.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from shoal.kernels.compiled import cache_folder, stamp, unwrap
from shoal.kernels.tiers import served, tier

PACK = Path(__file__).with_name("pack")


def dispatcher(function: Any, options: dict[str, Any]) -> Any:
    """numba's object for a function, with our cache."""
    made = numba.njit(**options)(function)
    made._cache = _Cache(function)
    return made


@functools.cache
def pack() -> Path | None:
    """The folder of the pack, None where there is none that serves here."""
    try:
        found = json.loads((PACK / "pack.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    here = served(numba.__version__)
    other = [f"{name} {value}" for name, value in found.items() if here.get(name) != value]
    if other:
        _say(f"The kernels of this installation were compiled for {', '.join(other)}: others are compiled here, once.")
        return None
    return PACK


@functools.cache
def _say(line: str) -> None:
    """Say something, once in a process."""
    print(line, file=sys.stderr, flush=True)


class _Tier:
    """Stands for what numba calls a code generator, of which only the key counts."""

    @staticmethod
    def magic_tuple() -> tuple[str, str, str]:
        return binding.get_process_triple(), tier(), ""


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
        return cls(function, file)


class _Results(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _Cache(FunctionCache):
    """What is found nowhere is compiled, and kept in the user's cache if that can be."""

    _impl_class = _Results

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        for folder in self._folders():
            base, source = self._impl.filename_base, self._impl.locator.get_source_stamp()
            file = IndexDataCacheFile(cache_path=str(folder), filename_base=base, source_stamp=source)
            for machine in (_Tier, target_context.codegen()):
                with contextlib.suppress(OSError):
                    found = file.load(self._index_key(sig, machine))
                    if found is not None:
                        return self._impl.rebuild(target_context, found)
        _say("Compiling kernels, once: this can take a minute ...")
        unwrap(self._py_func.__globals__)
        return None

    def _folders(self) -> Iterator[Path]:
        mine = Path(self._cache_path)
        shipped = pack()
        if shipped is not None:
            yield shipped / mine.name
        yield mine

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._save_overload(sig, data)
        except OSError:
            _say(f"'{cache_folder()}' cannot be written, so kernels are compiled in every run: set SHOAL_CACHE.")
