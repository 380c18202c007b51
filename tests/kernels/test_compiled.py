"""Compiled code: thrown away as soon as kernel code that it uses has changed, else found where it was put."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from shoal.kernels import caching, compiled


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "_HERE", tmp_path)
    (tmp_path / "outer.py").write_text("from shoal.kernels.middle import twice\n")
    (tmp_path / "middle.py").write_text("import math\nfrom shoal.kernels.inner import one\n")
    (tmp_path / "inner.py").write_text("one = 1\n")
    (tmp_path / "other.py").write_text("one = 1\n")
    return tmp_path


def stamped(folder: Path) -> str:
    for one in (compiled.stamp, compiled.reached, compiled._imported):
        one.cache_clear()
    return compiled.stamp(folder / "outer.py")


def test_a_module_that_is_imported_through_another_counts(modules: Path) -> None:
    before = stamped(modules)
    assert stamped(modules) == before
    (modules / "inner.py").write_text("one = 2\n")
    assert stamped(modules) != before


def test_a_module_that_is_not_used_does_not_count(modules: Path) -> None:
    before = stamped(modules)
    (modules / "other.py").write_text("one = 2\n")
    assert stamped(modules) == before


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[str]]:
    """A cache of its own, and what was said."""
    said: list[str] = []
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(caching, "_say", said.append)
    return lambda: said


def add(left: int, right: int) -> int:
    return left + right


def test_what_is_compiled_is_kept_and_found_again(tmp_path: Path, quiet: Callable[[], list[str]]) -> None:
    assert compiled.kernel(add)(1, 2) == 3
    (line,) = quiet()
    assert line.startswith("Compiling kernels, once")
    assert len(list(tmp_path.rglob("*.nbc"))) == 1
    assert compiled.kernel(add)(3, 4) == 7
    assert quiet() == [line]


def test_each_signature_has_a_file_of_its_own(tmp_path: Path, quiet: Callable[[], list[str]]) -> None:
    """Processes that compile at the same time share no file, so that none loses what another made."""
    assert compiled.kernel(add)(1, 2) == 3
    assert compiled.kernel(add)(1.0, 2.5) == 3.5
    assert len(list(tmp_path.rglob("*.nbi"))) == 2
    assert compiled.kernel(add)(3, 4) == 7
    assert compiled.kernel(add)(0.5, 4.0) == 4.5
    assert len(quiet()) == 2


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_compiled_anew(tmp_path: Path, quiet: Callable[[], list[str]], suffix: str) -> None:
    assert compiled.kernel(add)(1, 2) == 3
    (file,) = tmp_path.rglob(f"*{suffix}")
    whole = file.read_bytes()
    places = np.linspace(0, len(whole) - 1, 24).astype(int).tolist()
    changed = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in places]
    for content in (whole[:20], b"", b"something else", *changed):
        file.write_bytes(content)
        assert compiled.kernel(add)(3, 4) == 7
        said = len(quiet())
        assert compiled.kernel(add)(5, 6) == 11
        assert len(quiet()) == said
    assert len(quiet()) >= 4


def test_nobody_else_can_put_code_where_the_homeless_keep_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOAL_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(compiled.tempfile, "tempdir", str(tmp_path))
    found = []
    for step in (lambda own: None, lambda own: own.chmod(0o777), lambda own: (own.rmdir(), own.symlink_to(tmp_path))):
        own = tmp_path / f"shoal-{os.getuid()}"
        step(own)
        compiled._homeless.cache_clear()
        found.append(compiled.cache_folder() == own)
        assert compiled.cache_folder().stat().st_mode & 0o077 == 0
    compiled._homeless.cache_clear()
    assert found == [True, False, False]


def test_threads_may_call_one_for_the_first_time_together(quiet: Callable[[], list[str]]) -> None:
    fresh = compiled.kernel(add)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: (fresh(number, 1), fresh.dispatcher), range(64)))
    assert [value for value, _ in found] == list(range(1, 65))
    assert len({id(one) for _, one in found}) == 1


TOTAL = """
import sys
import numpy as np
from shoal.kernels import compiled
from total import total
assert total(np.array([2.0, 1.0])) == 3.5
sys.exit(any(name in sys.modules for name in ("scipy.linalg", "numba.np.arraymath")))
"""


def test_what_is_found_loads_no_more_of_numba_than_runs_it(tmp_path: Path) -> None:
    """Half of the time that a small run takes would go into modules that only compiling needs."""
    code = "return values.sum() + values[np.argsort(values)][0] / 2"
    lines = ["import numpy as np", "from shoal.kernels.compiled import kernel", "@kernel", "def total(values):"]
    (tmp_path / "total.py").write_text("\n".join([*lines, f"    {code}", ""]))
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    known = os.environ | {"SHOAL_CACHE": str(tmp_path / "cache"), "PYTHONPATH": paths}
    ends = [subprocess.run([sys.executable, "-c", TOTAL], env=known, check=False).returncode for _ in range(2)]
    assert ends == [1, 0]


def test_a_folder_that_cannot_be_written_costs_time_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: Callable[[], list[str]]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("SHOAL_CACHE", str(blocked))

    @compiled.kernel
    def total(values: np.ndarray) -> float:
        return values.sum()

    assert total(np.ones(3)) == 3
    assert [line for line in quiet() if "cannot be written" in line] == [
        f"'{blocked}' cannot be written, so kernels are compiled in every run: set SHOAL_CACHE."
    ]


@pytest.mark.parametrize("pack", ['{"numba": "0.1", "python": "CPython 2.7"}', "{", None])
def test_a_pack_for_another_numba_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet: Callable[[], list[str]], pack: str | None
) -> None:
    if pack is not None:
        (tmp_path / "pack.json").write_text(pack)
    monkeypatch.setattr(caching, "PACK", tmp_path)
    caching.pack.cache_clear()
    try:
        assert caching.pack() is None
    finally:
        caching.pack.cache_clear()
    wrong = "numba 0.1, python CPython 2.7"
    told = f"The kernels of this installation were compiled for {wrong}: others are compiled here, once."
    assert quiet() == ([told] if pack and "0.1" in pack else [])


def test_importing_kernels_loads_no_compiler() -> None:
    """Whatever does not call one pays nothing for them."""
    code = "import shoal.pipeline, shoal.kernels.partition.mondrian, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@compiled.kernel(inline="always")
def _once(value: float) -> float:
    return value + 1


@compiled.kernel
def _twice(value: float) -> float:
    return _once(_once(value))


def test_kernels_call_and_inline_each_other() -> None:
    assert _twice(1.0) == 3.0
    assert _twice.py_func(1.0) == 3.0


def test_every_import_of_a_kernel_module_is_seen() -> None:
    """What a module has from another counts towards its stamp, in whatever way it is written."""
    for path in Path(compiled.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # Native kernels are built beforehand, and no part of what numba compiles.
        named = [
            node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module and [one.name for one in node.names] != ["_native"]
        ]
        plain = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
        assert not [name for name in (*plain, *named) if name == "shoal.kernels" or name in plain and "shoal" in name]
        ours = {name.removeprefix("shoal.kernels.") for name in named if name.startswith("shoal.kernels.")}
        seen = {one.relative_to(compiled._HERE).with_suffix("").as_posix() for one in compiled._imported(path)}
        assert seen == {name.replace(".", "/") for name in ours}
