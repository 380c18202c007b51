"""A process that has the tests collected and runs some of them on one mutant after another.

A mutant inside a function is put into the imported module by giving the live function the changed code, and taken out
again afterwards; one outside needs a process of its own, into which the changed module is imported.
"""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.mutants import Mutant, mutate

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src" / "shoal" / "verify"
_EXAMPLES = 10  # of every property: each mutant is tried by many tests, and a hundred examples of each take too long
_MEMORY = 6 << 30
_WAITS = 10  # times its processor time that a test may take; longer, and it waits for what never comes


class Overdue(BaseException):
    """A test takes far longer than it did without the mutant."""


@dataclass(frozen=True)
class Ran:
    """What one test did without a mutant: its seconds of processor time and the lines that it reached, by file."""

    seconds: float
    lines: dict[str, set[int]]


def serve(pipe: Connection, tests: Sequence[str], cold: Mutant | None) -> None:
    """Collect the tests and answer requests until there are no more; with the mutant imported if there is one."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGPROF, _overdue)
    signal.signal(signal.SIGALRM, _overdue)
    if cold is not None:
        sys.meta_path.insert(0, _Finder(cold))
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "--capture", "no", "--rootdir", str(ROOT)]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        pytest.main([*options, *tests], plugins=[_Plugin(pipe)])


class _Finder:
    """Imports one module with a mutant in it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != module_name(self.mutant.file):
            return None
        file = FOLDER / self.mutant.file
        return importlib.util.spec_from_file_location(name, file, loader=_Loader(self.mutant, name, str(file)))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, mutant: Mutant, name: str, path: str) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        return changed_code(self.mutant)


def module_name(file: str) -> str:
    """The module of a file below the mutated folder."""
    return "shoal.verify." + file.removesuffix(".py").replace("/", ".")


def changed_code(mutant: Mutant) -> CodeType:
    """The compiled module with a mutant in it."""
    file = FOLDER / mutant.file
    return compile(mutate(file.read_text(encoding="utf-8"), mutant), str(file), "exec")


class _Plugin:
    """Answers requests in place of pytest's own loop over the tests."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutation", settings(), max_examples=_EXAMPLES, derandomize=True, database=None, phases=phases
        )
        settings.load_profile("mutation")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        gc.freeze()
        self.pipe.send(session.testsfailed)
        while True:
            try:
                request = self.pipe.recv()
            except EOFError:
                return True
            if request is None:
                return True
            if request == 0:
                self.pipe.send(list(items))
            elif isinstance(request, str):
                self.pipe.send(_traced(items[request]))
            else:
                mutant, wanted = request
                with _swapped(mutant) if mutant is not None else _nothing():
                    self.pipe.send(_first_failure(items, wanted))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            print(report.longreprtext, file=sys.stderr)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _swapped(mutant: Mutant) -> Iterator[None]:
    """Give the live function the changed code, and its own code again in the end."""
    module = sys.modules[module_name(mutant.file)]
    function = live(module, mutant.function)
    own = function.__code__
    function.__code__ = _find(changed_code(mutant), mutant.function, own.co_firstlineno)
    try:
        yield
    finally:
        function.__code__ = own
        _forget()


def live(module: ModuleType, name: str) -> FunctionType:
    """The function of a module by its qualified name, out of what wraps it."""
    value: Any = module
    for part in name.split("."):
        value = vars(value)[part]
    if isinstance(value, property):
        value = value.fget
    elif isinstance(value, cached_property):
        value = value.func
    elif isinstance(value, staticmethod | classmethod):
        value = value.__func__
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value


def _find(code: CodeType, name: str, line: int) -> CodeType:
    """The code of a function within that of its module."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == name and constant.co_firstlineno == line:
                return constant
            if name.startswith(constant.co_qualname + "."):
                return _find(constant, name, line)
    raise LookupError(name)


def _forget() -> None:
    """Empty what tests and verifier keep between calls: it may have been made with a mutant."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("tests.", "shoal.verify")):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _first_failure(items: dict[str, pytest.Item], wanted: Sequence[tuple[str, float]]) -> str | None:
    """Run tests, each within a time, until one fails; gives its name."""
    for name, seconds in wanted:
        if not _passes(items[name], seconds):
            return name
    return None


def _passes(item: pytest.Item, seconds: float) -> bool:
    item._initrequest()  # type: ignore[attr-defined]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, _WAITS * seconds)
    try:
        reports = runtestprotocol(item, log=False, nextitem=None)
    except Overdue:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return not any(report.failed for report in reports)


def _overdue(number: int, frame: FrameType | None) -> None:
    raise Overdue


def _traced(item: pytest.Item) -> Ran | None:
    """Run one test and note the lines of the verifier that it reaches; None when it fails."""
    lines: dict[str, set[int]] = {}
    root = str(FOLDER) + "/"

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        lines.setdefault(frame.f_code.co_filename[len(root) :], set()).add(frame.f_lineno)
        return local

    def calls(frame: FrameType, event: str, argument: Any) -> Any:
        return local(frame, event, argument) if frame.f_code.co_filename.startswith(root) else None

    began = time.process_time()
    sys.settrace(calls)
    try:
        passed = _passes(item, 600)
    finally:
        sys.settrace(None)
    return Ran(time.process_time() - began, lines) if passed else None
