"""Every native kernel has a test that compares it with plain Python."""

from __future__ import annotations

import ast
from pathlib import Path

from shoal.kernels import _native

TESTS = Path(__file__).resolve().parents[1]


def marked(path: Path) -> set[str]:
    """List the kernels that a file has references of; `tests/conftest.py` fails tests that do not call theirs."""
    source = path.read_text(encoding="utf-8")
    if "pytest.mark.reference(" not in source:
        return set()
    return {
        ast.literal_eval(name)
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef)
        for mark in function.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.reference"
        for name in mark.args
    }


def test_every_kernel_has_a_reference() -> None:
    kernels = {name for name in dir(_native) if not name.startswith("_")}
    assert set().union(*map(marked, TESTS.rglob("test_*.py"))) == kernels
