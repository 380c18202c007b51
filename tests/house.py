"""Figures of the house: how long, wide and branched its functions are, and how often one run crosses its walls.

``python -m tests.house`` prints them for the package that ``import shoal`` finds, so that the same command with
another ``PYTHONPATH`` gives those of another revision. ``tests/test_architecture.py`` holds them to its ceilings.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

import shoal

SOURCE = Path(str(shoal.__file__)).parent
PAPERS = SOURCE.parents[1] / "papers" / "src" / "shoal_papers"  # the other distribution
FILES = sorted(SOURCE.rglob("*.py")) + sorted(PAPERS.rglob("*.py"))
# Open to every package, so that calling them crosses no wall.
OPEN = {"errors", "grammar", "params", "registry"}
# What tells the paths through a function apart, beside the operands of `and` and `or`.
BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case, ast.Assert,
)  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


def where(path: Path) -> str:
    """A file of ours, as messages and tables name it."""
    return path.relative_to(SOURCE).as_posix() if SOURCE in path.parents else f"papers/{path.relative_to(PAPERS)}"


def package(path: Path) -> str:
    """The line of the import table that a file falls under; ``""`` for the top level, which gathers names."""
    first = Path(where(path)).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def lines(path: Path) -> int:
    """How long a file is."""
    return len(path.read_text(encoding="utf-8").splitlines())


def functions() -> Iterator[tuple[str, Function]]:
    """Every function and method, with its file and name."""
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, Function):
                yield f"{where(path)}:{node.name}", node


def length(function: Function) -> int:
    """Lines of a function, its docstring among them."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def arguments(function: Function) -> int:
    """Parameters that a caller may give."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def complexity(function: Function) -> int:
    """Independent paths: one, and one for every branch and every further operand of a condition."""
    nodes = list(ast.walk(function))
    operands = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + operands + sum(isinstance(node, BRANCHES) for node in nodes)


@cache
def offenders() -> dict[str, list[str]]:
    """What is larger than it should be, by rule."""
    every = list(functions())

    def above(measure: Callable[[Function], int], most: int) -> list[str]:
        return [f"{name} ({measure(one)})" for name, one in every if measure(one) > most]

    return {
        "files over 400 lines": [f"{where(path)} ({lines(path)})" for path in FILES if lines(path) > 400],
        "functions over 60 lines": above(length, 60),
        "functions of more than 8 arguments": above(arguments, 8),
        "functions of a complexity over 20": above(complexity, 20),
    }


@cache
def _room(code: CodeType) -> str | None:
    """The package that code is in, None for code of others."""
    path = Path(code.co_filename)
    if not path.is_relative_to(SOURCE):
        return None
    return package(path)


def crossings() -> int:
    """Calls from one of our packages into another while Mondrian releases a hundred rows, not counting imports.

    Who called is the nearest of our functions, whatever library stands between.
    """
    import polars as pl

    rows = range(100)
    frame = pl.DataFrame(
        {"age": [20 + 7 * i % 40 for i in rows], "sex": [i % 2 for i in rows], "zip": [11 * i % 37 for i in rows]}
    ).with_columns(illness=pl.Series(["flu", "gout", "cold", "none"] * 25))
    table = shoal.read(frame, quasi=["age", "sex", "zip"], sensitive=["illness"])

    def release() -> None:
        shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), seed=1, acknowledge=["W-UNMODELLED:illness"])

    count = 0

    def see(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event != "call" or (into := _room(frame.f_code)) is None or into in OPEN:
            return
        caller = frame.f_back
        while caller is not None and _room(caller.f_code) is None:
            caller = caller.f_back
        count += caller is not None and _room(caller.f_code) != into

    release()  # loads what it needs
    sys.setprofile(see)
    try:
        release()
    finally:
        sys.setprofile(None)
    return count


def figures() -> dict[str, int]:
    """All of them, by what they count; the reproductions of papers are left out of files and lines."""
    own = [path for path in FILES if package(path) != "papers"]
    return {
        "files": len(own),
        "lines": sum(map(lines, own)),
        **{rule: len(found) for rule, found in offenders().items()},
        "calls that cross packages in one run of mondrian": crossings(),
    }


if __name__ == "__main__":
    for what, figure in figures().items():
        print(f"{figure:7,}  {what}")
