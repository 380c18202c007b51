"""Frames of three libraries: what goes in comes out, and what cannot be published is refused."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from shoal.errors import InputError, MissingExtraError
from shoal.io.frames import Backend, native, to_polars

PLAIN = pl.DataFrame(
    {
        "text": ["x", None, ""],
        "whole": [1, None, 3],
        "full": [1, 2, 3],
        "small": pl.Series([1, None, 3], dtype=pl.UInt8),
        "truth": [True, None, False],
        "sure": [True, False, True],
        "real": [1.5, None, -0.5],
        "day": [dt.date(2020, 2, 29), None, dt.date(1899, 1, 1)],
        "time": [dt.datetime(2020, 1, 1, 3), None, dt.datetime(1999, 1, 1)],
        "gone": pl.Series([None, None, None], dtype=pl.String),
    }
)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_round_trip(library: str) -> None:
    frame = native(PLAIN, Backend(library=library))
    back, backend = to_polars(frame)
    assert backend == Backend(library=library)
    assert_frame_equal(back, PLAIN)
    assert type(native(back, backend)) is type(frame)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_decimals_keep_their_digits(library: str) -> None:
    frame = pl.DataFrame({"d": [Decimal("1.50"), None, Decimal("12345678901234567890.25")]})
    back, _ = to_polars(native(frame, Backend(library=library)))
    assert back["d"].to_list() == frame["d"].to_list()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_no_rows(library: str) -> None:
    back, _ = to_polars(native(PLAIN.clear(), Backend(library=library)))
    assert back.columns == PLAIN.columns
    assert back.height == 0


def test_lazy_frames_are_collected() -> None:
    frame, backend = to_polars(pl.LazyFrame({"a": [1]}))
    assert frame.rows() == [(1,)]
    assert backend == Backend(library="polars", lazy=True)
    with pytest.raises(InputError, match="cannot be collected") as caught:
        to_polars(pl.LazyFrame({"a": ["secret"]}).select(pl.col("a").str.to_integer()))
    assert "secret" not in str(caught.value)


def category(library: str) -> Any:
    levels, values = ["x", "y", "secret"], ["y", None, "x"]
    if library == "pandas":
        return pd.DataFrame({"a": pd.Categorical(values, categories=levels, ordered=True)})
    if library == "pyarrow":
        codes = pa.array([1, None, 0], pa.int32())
        return pa.table({"a": pa.DictionaryArray.from_arrays(codes, pa.array(levels))})
    return pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(levels))})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_levels_without_rows_do_not_leak(library: str) -> None:
    frame, backend = to_polars(category(library))
    assert frame.schema == {"a": pl.String}
    assert frame["a"].to_list() == ["y", None, "x"]
    back = native(frame, backend)
    if library == "pandas":
        assert back["a"].cat.categories.tolist() == ["x", "y"]
    elif library == "pyarrow":
        assert sorted(back["a"].combine_chunks().dictionary.to_pylist()) == ["x", "y"]
    else:
        assert back["a"].dtype == pl.Enum(["x", "y"])


def test_polars_categories_become_text() -> None:
    frame, _ = to_polars(pl.DataFrame({"a": pl.Series(["x", None], dtype=pl.Categorical)}))
    assert frame.schema == {"a": pl.String}


def test_times_of_day_become_text() -> None:
    frame = pl.DataFrame({"at": [dt.time(8, 30), None, dt.time(23, 0, 1, 500)]})
    assert to_polars(frame)[0]["at"].to_list() == ["08:30:00", None, "23:00:01.000500"]


def test_categories_of_numbers_stay_numbers() -> None:
    frame, _ = to_polars(pd.DataFrame({"a": pd.Categorical([3, None, 1])}))
    assert frame["a"].to_list() == [3, None, 1]


@pytest.mark.parametrize("dtype", ["str", "string[python]", "string[pyarrow]", "object"])
def test_pandas_text(dtype: str) -> None:
    frame, backend = to_polars(pd.DataFrame({"a": pd.Series(["x", None, "é"], dtype=dtype)}))
    assert frame.schema == {"a": pl.String}
    assert frame["a"].to_list() == ["x", None, "é"]
    assert native(frame, backend)["a"].dtype == ("str" if dtype == "object" else dtype)


def test_pandas_missing_in_every_guise() -> None:
    frame, _ = to_polars(
        pd.DataFrame(
            {
                "real": [1.0, float("nan")],
                "whole": pd.array([1, None], dtype="Int64"),
                "arrow": pd.array([1.0, float("nan")], dtype="double[pyarrow]"),
                "masked": pd.array([0.0, 1.0], dtype="Float64") / pd.array([0.0, 1.0], dtype="Float64"),
                "object": pd.Series(["x", pd.NA], dtype=object),
                "time": [pd.Timestamp("2020-01-01"), pd.NaT],
            }
        )
    )
    assert frame.null_count().row(0) == (1,) * 6
    assert frame.schema["whole"] == pl.Int64


def test_the_pandas_index_is_ignored_and_fresh() -> None:
    given = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["Ann", "Bob"], name="person"))
    given.attrs["note"] = "private"
    frame, backend = to_polars(given)
    assert frame.columns == ["a"]
    assert list(backend.index) == ["Ann", "Bob"]
    assert "Ann" not in repr(backend)
    back = native(frame, backend)
    assert list(back.index) == [0, 1]
    assert back.attrs == {}
    assert given.index.name == "person"


def test_arrow_metadata_is_dropped() -> None:
    given = pa.Table.from_pandas(pd.DataFrame({"a": ["x"]}, index=["Ann"]))
    frame, backend = to_polars(given)
    back = native(frame.select("a"), backend)
    assert back.schema.metadata is None


@pytest.mark.parametrize(
    "given, part",
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), "two columns"),
        (pd.DataFrame([[1, 2]], columns=["a", 2.5]), "column 2 is not text but float"),
        (pd.DataFrame([[1, 2]], columns=["2", 2]), "two columns of the same name"),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), "tuple"),
        (pd.DataFrame([[1]], columns=[" "]), "Column 1 of the frame has no name"),
        (pl.DataFrame({"": [1]}), "Column 1 of the frame has no name"),
        (pl.DataFrame(), "no columns"),
        (pd.DataFrame({"a": ["secret", 1]}), "Column 'a'"),
        (pd.DataFrame({"b": [1, 2], "a": [10**30, 1]}), "Column 'a'"),
        (pd.DataFrame({"a": [1j]}), "Column 'a'"),
        (pd.DataFrame({"a": [[1], [2]]}), "'a' of the frame holds list"),
        (pd.DataFrame({"a": [{"x": 1}]}), "'a' of the frame holds struct"),
        (pd.DataFrame({"a": [b"secret"]}), "'a' of the frame holds binary"),
        (pd.DataFrame({"a": [pd.Timedelta("1D")]}), "'a' of the frame holds duration"),
        (pd.DataFrame({"a": pd.interval_range(0, 2)}), "Column 'a'"),
        (pd.DataFrame({"a": pd.period_range("2020", "2021", freq="Y")}), "Column 'a'"),
        (pl.DataFrame({"a": [[1]]}), "holds list"),
        (pl.DataFrame({"a": [{"x": 1}]}), "holds struct"),
        (pl.DataFrame({"a": [object()]}), "holds object"),
        (pa.table({"a": [[1]]}), "holds list"),
        (pl.DataFrame({"a": [1.0, float("nan"), float("nan")]}), "'a' of the frame has 2 NaN"),
        (pa.table({"a": [1.0, float("nan")]}), "1 NaN"),
        (pl.DataFrame({"a": [1.0, float("inf")]}), "1 infinite"),
        (pd.DataFrame({"a": [1.0, float("-inf")]}), "1 infinite"),
        (pa.table({"a": [float("inf")]}), "1 infinite"),
        ({"a": [1]}, "dict is not a frame"),
        (pd.Series([1]), "Series is not a frame"),
        (None, "NoneType is not a frame"),
    ],
)
def test_refusals(given: Any, part: str) -> None:
    with pytest.raises(InputError) as caught:
        to_polars(given)
    assert part in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_input_is_not_changed() -> None:
    given = category("pandas")
    before = given.copy(deep=True)
    to_polars(given)
    pd.testing.assert_frame_equal(given, before)


def test_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shoal\[arrow\]'"):
        to_polars(pd.DataFrame({"a": [1]}))
    with pytest.raises(MissingExtraError, match="pyarrow"):
        native(PLAIN, Backend(library="pandas"))
