"""Where numba finds and keeps compiled kernels: the pack of a wheel, the user's cache, or nowhere.

Each is looked for under two keys: compiled for this processor's tier, as packs are and what ``shoal warm`` makes, or
for the processor itself, as whatever a run compiles on its way.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import pickle
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from shoal.kernels.compiled import cache_folder, stamp, unwrap
from shoal.kernels.tiers import served, tier

PACK = Path(__file__).with_name("pack")
_rebuild: Any = CompileResult._rebuild
# What reading a file ends in that is not there, is cut short or holds something else.
_DAMAGED = (
    OSError, EOFError, ValueError, TypeError, LookupError, AttributeError, ImportError, pickle.UnpicklingError,
    ArithmeticError, MemoryError,
)  # fmt: skip


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
        return str(cache_folder() / "kernels" / numba.__version__ / self._stamp[:24])

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        return cls(function, file)


class _Results(CompileResultCacheImpl):
    """What is kept of a compiled function: all but the modules of numba's that it was made with.

    Rebuilding one the way numba does imports whatever module of numba's a function was inlined from, and SciPy with it.
    A sum stands beside it: machine code of which a bit has changed stops the process, or does something else.
    """

    _locator_classes = [_Locator]

    def reduce(self, data: Any) -> tuple[Any, ...]:
        *most, environments = data._reduce()
        kept = dumps((*most, [(one.globals["__name__"], one.consts, one.env_name) for one in environments]))
        return zlib.crc32(kept), kept

    def rebuild(self, target_context: Any, payload: tuple[Any, ...]) -> CompileResult:
        found, kept = payload
        if zlib.crc32(kept) != found:
            raise ValueError("the file of a kernel is damaged")
        *most, environments = pickle.loads(kept)
        made: CompileResult = _rebuild(target_context, *most, [_environment(*one) for one in environments])
        return made


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """The objects that a function refers to; of the names of its module it needs none."""
    made = lookup_environment(name)
    if made is None:
        made = Environment({"__name__": module})
        made.consts[:] = constants
        made.env_name = name
        Environment._memo[name] = made
    return made


class _Cache(FunctionCache):
    """What is found nowhere is compiled, and kept in the user's cache if that can be."""

    _impl_class = _Results

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        for folder in self._folders():
            for machine in (_Tier, target_context.codegen()):
                key = self._index_key(sig, machine)
                with contextlib.suppress(*_DAMAGED):
                    found = self._file(folder, key).load(key)
                    if found is not None:
                        rtsys.initialize(target_context)
                        return self._impl.rebuild(target_context, found)
        target_context.refresh()
        _say("Compiling kernels, once: this can take a minute ...")
        unwrap(self._py_func.__globals__)
        return None

    def _file(self, folder: Path, key: Any) -> IndexDataCacheFile:
        """A file for each key: processes that compile at the same time never write into one another's."""
        name = f"{self._impl.filename_base}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"
        source = self._impl.locator.get_source_stamp()
        return IndexDataCacheFile(cache_path=str(folder), filename_base=name, source_stamp=source)

    def _folders(self) -> Iterator[Path]:
        mine = Path(self._cache_path)
        shipped = pack()
        if shipped is not None:
            yield shipped / mine.name
        yield mine

    def save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        key = self._index_key(sig, data.codegen)
        file = self._file(Path(self._cache_path), key)
        try:
            self._impl.locator.ensure_cache_path()
            Path(file._index_path).unlink(missing_ok=True)  # it holds this key alone, and may be damaged
            file.save(key, self._impl.reduce(data))
        except OSError:
            _say(f"'{cache_folder()}' cannot be written, so kernels are compiled in every run: set SHOAL_CACHE.")
