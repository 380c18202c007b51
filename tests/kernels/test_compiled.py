"""A compiled function is thrown away as soon as any kernel code that it uses has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal.kernels import compiled


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    (tmp_path / "outer.py").write_text("from shoal.kernels.middle import twice\n")
    (tmp_path / "middle.py").write_text("import math\nfrom shoal.kernels.inner import one\n")
    (tmp_path / "inner.py").write_text("one = 1\n")
    (tmp_path / "other.py").write_text("one = 1\n")
    return tmp_path


def stamped(folder: Path) -> str:
    compiled.stamp.cache_clear()
    compiled._imported.cache_clear()
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


def test_what_is_compiled_is_kept_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_CACHE", str(tmp_path))

    @compiled.kernel
    def add(left: int, right: int) -> int:
        return left + right

    assert add(1, 2) == 3
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


def test_a_folder_that_cannot_be_written_costs_time_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("SHOAL_CACHE", str(blocked))

    @compiled.kernel
    def total(values: np.ndarray) -> float:
        return values.sum()

    assert total(np.ones(3)) == 3
