"""Rows in the order of their random bits, however they are dealt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.engines import store


@pytest.mark.parametrize("bucket", [1 << 19, 64, 7])
def test_rows_come_by_their_bits_and_those_of_the_same_by_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket: int
) -> None:
    monkeypatch.setattr(store, "_BUCKET", bucket)
    random = np.random.default_rng(1)
    bits = random.integers(0, 1 << 63, 300, dtype=np.uint64) * np.uint64(2)
    bits[100:200] = bits[:100]  # as two rows in 2^64 would have
    rows = pl.DataFrame({"b": bits, "r": np.arange(300), "t": pl.Series(["x", None, "y"] * 100)})
    found = pl.concat(store.by_bits(rows.iter_slices(25), rows.height, tmp_path))
    assert found.equals(rows.sort("b", "r"))
    assert not list(tmp_path.iterdir())


def test_no_rows_are_none(tmp_path: Path) -> None:
    assert list(store.by_bits(iter(()), 0, tmp_path)) == []
