"""Random tables of every awkward shape, for property tests."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
from hypothesis import strategies as st

AWKWARD = [
    "*",
    "[1,2]",
    "<missing>x",
    "{a|b}",
    "a|b",
    "\\",
    "\\*",
    " lead",
    "é漢",
    "",
    "a,b",
    '"q"',
    "line\nbreak",
    "-",
    "0",
]


def values(kind: str) -> st.SearchStrategy[Any]:
    """Cells of one kind of column."""
    if kind == "small":
        return st.integers(0, 3)
    if kind == "integer":
        return st.integers(-(10**6), 10**6)
    if kind == "huge":
        return st.integers(-(2**53), 2**53).map(str)
    if kind == "float":
        return st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))
    if kind == "date":
        return st.dates(dt.date(1900, 1, 1), dt.date(2030, 12, 31))
    if kind == "constant":
        return st.just("same")
    return st.sampled_from(AWKWARD)


KINDS = ["small", "integer", "huge", "float", "date", "constant", "text"]


@st.composite
def frames(draw: st.DrawFn, *, max_rows: int = 40, people: bool | None = None) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A frame and the arguments of ``shoal.read`` that fit it."""
    rows = draw(st.integers(1, max_rows))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    data: dict[str, Any] = {}
    for place, kind in enumerate(kinds):
        cells = draw(st.lists(values(kind), min_size=rows, max_size=rows))
        if draw(st.booleans()) and place == 0:
            holes = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
            cells = [None if hole else cell for cell, hole in zip(cells, holes, strict=True)]
        dtype = pl.String if kind in ("huge", "constant", "text") else None
        data[f"q{place}"] = pl.Series(cells, dtype=dtype if dtype else _dtype(kind))
    data["s"] = pl.Series(draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows)))
    roles: dict[str, Any] = {"quasi": [f"q{i}" for i in range(len(kinds))], "sensitive": ["s"], "missing": "value"}
    if people if people is not None else draw(st.booleans()):
        # Not bare numbers: a column that happens to follow them is refused by the gate, and rightly so.
        who = draw(st.lists(st.integers(0, max(1, rows // 2)), min_size=rows, max_size=rows))
        data["who"] = pl.Series([f"person {number}" for number in who])
        roles["subject"] = "who"
    return pl.DataFrame(data), roles


def _dtype(kind: str) -> Any:
    return {"float": pl.Float64, "date": pl.Date}.get(kind, pl.Int64)
