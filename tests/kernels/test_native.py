"""Arguments that native kernels refuse: each TypeError names the argument, what it should be and what came."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from shoal.kernels import _native
from shoal.kernels.prices import Prices

KEY = np.array([1, 2], dtype=np.uint64)
ROWS = np.arange(4, dtype=np.uint64)
EXPECTED = "must be a contiguous array of uint64, shape (n,)"


def frozen() -> np.ndarray:
    out = np.empty(4, dtype=np.uint64)
    out.flags.writeable = False
    return out


def unaligned() -> np.ndarray:
    return np.frombuffer(bytearray(33), dtype=np.uint64, offset=1)


@pytest.mark.parametrize(
    "change,message",
    [
        ({"rows": None}, f"'rows' {EXPECTED}. Got None."),
        ({"rows": [1, 2]}, f"'rows' {EXPECTED}. Got list."),
        ({"rows": "abcd"}, f"'rows' {EXPECTED}. Got str."),
        ({"rows": ROWS.astype(np.int64)}, f"'rows' {EXPECTED}. Got array of int64, shape (4,)."),
        ({"rows": ROWS[:, None]}, f"'rows' {EXPECTED}. Got array of uint64, shape (4, 1)."),
        ({"rows": np.arange(8, dtype=np.uint64)[::2]}, f"'rows' {EXPECTED}. Got strided array of uint64, shape (4,)."),
        ({"rows": ROWS.astype(">u8")}, f"'rows' {EXPECTED}. Got array of >u8, shape (4,)."),
        ({"rows": np.array(["a"] * 4)}, f"'rows' {EXPECTED}. Got array of <U1, shape (4,)."),
        ({"out": frozen()}, "'out' must be a writable contiguous array of uint64, shape (n,). Got read-only array of"),
        ({"rows": unaligned()}, f"'rows' {EXPECTED}. Got unaligned array of uint64, shape (4,)."),
        ({"rows": pl.Series([1, 2], dtype=pl.UInt64)}, f"'rows' {EXPECTED}. Got Series."),
        ({"rows": SimpleNamespace(dtype=1, flags=1, shape=1)}, f"'rows' {EXPECTED}. Got SimpleNamespace."),
        ({"draw": -1}, "'draw' must be an int of at least 0. Got -1."),
        ({"draw": 1 << 64}, "'draw' must be an int of at least 0. Got an int beyond 64 bits."),
        ({"draw": 1.0}, "'draw' must be an int of at least 0. Got float."),
        ({"stop": None}, "'stop' must be an int. Got None."),
        ({"stop": 1 << 64}, "'stop' must be an int. Got an int beyond 64 bits."),
        ({"stop": 1 << 100_000}, "'stop' must be an int. Got an int beyond 64 bits."),
    ],
)
def test_refused_arguments(change: dict[str, object], message: str) -> None:
    arguments = {"key": KEY, "rows": ROWS, "draw": 0, "out": np.empty(4, dtype=np.uint64), "start": 0, "stop": 4}
    _native.draw_block(*arguments.values())
    with pytest.raises(TypeError, match=f"^draw_block: {re.escape(message)}"):
        _native.draw_block(*(arguments | change).values())


def test_wrong_number_of_arguments() -> None:
    with pytest.raises(TypeError, match=r"^draw_block takes 6 arguments. Got 1\.$"):
        _native.draw_block(KEY)


def test_a_wrong_field_of_a_named_tuple_is_named() -> None:
    prices = Prices(*[np.zeros(1, dtype=np.int64)] * 17)._replace(one=1)
    with pytest.raises(TypeError, match=r"^list_pairs: 'prices\.scale' must be .* of float64, .* Got array of int64"):
        _native.list_pairs(prices, KEY, KEY)
    with pytest.raises(TypeError, match=r"^list_pairs: 'prices' must be a tuple of 17 \(one, kind, .* Got None\.$"):
        _native.list_pairs(None, KEY, KEY)


def test_all_types_that_fit_are_named() -> None:
    secrets = [np.zeros((1, 1)), *[None] * 6]
    with pytest.raises(TypeError, match=r"^fill_near: 'secrets\.codes' must be .* int16, .* or .* int32, .* float64"):
        _native.fill_near(tuple(secrets))


@pytest.mark.parametrize("codes", [np.int16, np.int32])
def test_a_wrong_field_is_named_whatever_type_another_has(codes: type) -> None:
    secrets = [np.zeros((1, 1), dtype=codes), np.zeros(1, dtype=np.int64), *(None for _ in range(5))]
    with pytest.raises(TypeError, match=r"^fill_near: 'secrets\.whole' must be .* of int64, .* Got .*, shape \(1,\)"):
        _native.fill_near(tuple(secrets))


def test_only_optional_arguments_may_be_none() -> None:
    codes = np.array([[3], [1], [2]], dtype=np.int32)
    assert _native.probe_median(codes, 0, 3, 1, 3, None) == (2, 1)
    with pytest.raises(TypeError, match=r"'weights' must be .* of int64, shape \(n,\), or None\. Got array of float64"):
        _native.probe_median(codes, 0, 3, 1, 3, np.ones(3))
    with pytest.raises(TypeError, match="'codes' must be .* Got None"):
        _native.probe_median(None, 0, 3, 1, 3, None)


@pytest.mark.parametrize("card", [1 << 45, 1 << 62])
def test_memory_that_runs_out_is_an_error(card: int) -> None:
    pytest.importorskip("duckdb")  # bound with nanobind too, it must not translate our exceptions
    rows, offsets = np.zeros(2, dtype=np.int32), np.array([0, 2])
    with pytest.raises(MemoryError):
        _native.histograms(rows, offsets, rows, card, np.zeros(2, dtype=np.int64))
