"""What `shoal warm` compiles: every kernel that is called from outside, so that no run of anybody's has to."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import shoal
from shoal.kernels.compiled import Kernel, cache_folder, stamp
from shoal.kernels.packing import _serves as for_tier

HOME = Path(shoal.__file__).parent


def _called(tree: ast.Module) -> set[str]:
    """Names that are used by code that is not itself compiled."""
    compiled = {
        node
        for top in tree.body
        if isinstance(top, ast.FunctionDef) and top.decorator_list
        for node in ast.walk(top)
    }
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in compiled}


def _entries() -> Iterator[Kernel]:
    """Kernels that plain code calls."""
    for path in sorted(HOME.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "shoal.kernels" not in text:
            continue
        name = ".".join(("shoal", *path.relative_to(HOME).with_suffix("").parts))
        module = importlib.import_module(name)
        found = (getattr(module, one, None) for one in sorted(_called(ast.parse(text))))
        yield from (one for one in found if isinstance(one, Kernel))


def test_every_kernel_that_is_called_is_compiled_ahead() -> None:
    kept = cache_folder() / "kernels" / version("numba")
    if not kept.is_dir():
        pytest.skip("Nothing was compiled ahead: run shoal warm.")
    missing = set()
    for one in _entries():
        code = one.py_func.__code__
        folder = kept / stamp(Path(code.co_filename))[:24]
        # What a test before this one compiled on its way is for this processor alone.
        if not any(map(for_tier, folder.glob(f"*.{one.__qualname__}-{code.co_firstlineno}.*.nbi"))):
            missing.add(f"{one.__module__}.{one.__qualname__}")
    assert sorted(missing) == [], "shoal warm compiles none of these, or was not run since they were changed"
