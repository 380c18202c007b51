"""Overlapping cells, against a reference that lists the values of every cell and compares all pairs."""

from __future__ import annotations

import datetime as dt
import json
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli.summary import release_data
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.recoding.cell_text import Interval, Label, Missing, Set, Star, Value, parse
from shoal.recoding.outcome import Overlap, overlap_report, recoding_kinds
from shoal.recoding.recoded import Released, apply_recoding
from shoal.recoding.recodings import FullDomain, Grouping

ORDER = ["low", "mid", "high", "top"]
TREE = [[leaf, f"{leaf[0]}*", "*"] for leaf in ("a1", "a2", "b1", "b2", "b3", "c1")]
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(days) for days in range(9)]
KINDS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "whole": (list(range(12)), {}),
    "snapped": (list(range(12)), {"snap": 5}),
    "middles": (list(range(12)), {"style": "representative"}),
    "bounds": (list(range(12)), {"style": "bounds"}),
    "date": (DAYS, {}),
    "ordinal": (ORDER, {"order": ORDER}),
    "tree": ([row[0] for row in TREE], {}),
    "flat": (list("pqrstu"), {}),
    "wide": ([f"v{place:03}" for place in range(70)], {}),  # two words of bits
}
NO_MISSING = ("middles", "bounds")


def values_of(cell: str, column: Any) -> set[Any]:
    """Every value of a finite column that a cell covers."""
    whole = {*column.texts.to_list(), "<missing>"}
    if column.type == "numeric":
        whole |= {str(place) for place in range(-10, 30)}
    match parse(cell, "label" if column.kind == "tree" else _cells(column), column.type):
        case Star():
            return whole
        case Missing():
            return {"<missing>"}
        case Value(text):
            return {text}
        case Set(values):
            return set(values)
        case Label(text):
            return {row[0] for row in TREE if text in row} | ({text} if text == "<missing>" else set())
        case Interval(low, high) if column.type == "date":
            return {day.isoformat() for day in DAYS if low <= day.isoformat() <= high}
        case Interval(low, high):
            return {str(place) for place in range(int(low), int(high) + 1)}
    raise AssertionError(cell)


def _cells(column: Any) -> str:
    return "interval" if column.type in ("numeric", "date") else "set"


def naive(released: Released, name: str) -> Overlap:
    cells = released.cells[name].texts().to_list()
    covered = {cell: values_of(cell, released.table.columns[name]) for cell in cells}
    bad = {cell for pair in combinations(covered, 2) if covered[pair[0]] & covered[pair[1]] for cell in pair}
    rows = sum(int(size) for cell, size in zip(cells, released.sizes, strict=True) if cell in bad)
    share = rows / max(int(released.sizes.sum()), 1)
    return Overlap(column=name, cells=len(covered), overlapping=len(bad), rows=rows, share=share, example=())


def table_of(kind: str, cells: list[Any]) -> Table:
    spec = KINDS[kind][1]
    frame = pl.DataFrame({"q": pl.Series(cells, dtype=None if kind != "date" else pl.Date), "s": ["x"] * len(cells)})
    trees = {"q": TREE} if kind == "tree" else {}
    settings = {"q": {"type": "numeric", **spec}} if isinstance(KINDS[kind][0][0], int) else {"q": spec}
    return shoal.read(
        frame, quasi=["q"], sensitive=["s"], settings=settings, hierarchies=trees, missing="value"
    )


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(list(KINDS)), data=st.data())
def test_the_report_is_that_of_all_pairs(kind: str, data: st.DataObject) -> None:
    known = st.sampled_from(KINDS[kind][0])
    cell = known if kind in NO_MISSING else st.one_of(known, known, known, st.none())
    cells = data.draw(st.lists(cell, min_size=1, max_size=30))
    if kind == "flat" or kind == "wide":
        cells = [str(one) if one is not None else None for one in cells]
    if all(one is None for one in cells):
        cells.append(KINDS[kind][0][0])
    ids = data.draw(st.lists(st.integers(-1, 8), min_size=len(cells), max_size=len(cells)))
    used = sorted({one for one in ids if one >= 0})
    ids = [used.index(one) if one >= 0 else -1 for one in ids]
    released = apply_recoding(
        MemoryRows(table_of(kind, cells)), Grouping(ids=np.array(ids, dtype=np.int32), groups=len(used))
    )
    (found,) = overlap_report(released)
    expected = naive(released, "q")
    assert (found.cells, found.overlapping, found.rows) == (expected.cells, expected.overlapping, expected.rows)
    assert found.share == pytest.approx(expected.share)
    column = released.table.columns["q"]
    if expected.overlapping:
        one, other = (values_of(text, column) for text in found.example)
        assert found.example[0] != found.example[1]
        assert one & other
    else:
        assert found.example == ()


@given(st.lists(st.sampled_from([row[0] for row in TREE]), min_size=1, max_size=20), st.integers(0, 2))
def test_cells_of_a_full_domain_recoding_never_overlap(cells: list[str], level: int) -> None:
    table = table_of("tree", cells)
    released = apply_recoding(MemoryRows(table), FullDomain(levels={"q": level}))
    (found,) = overlap_report(released)
    assert found.overlapping == 0
    shown = released.cells["q"].texts().gather(released.classes).to_list()
    order = [row[0] for row in TREE]
    assert "unordered-set-partition" in recoding_kinds(
        dict(zip(cells, shown, strict=True)), table.columns["q"].hierarchy, order
    )


def test_a_release_reports_its_overlaps_everywhere(tmp_path: Any, capsys: Any) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"a": rng.integers(0, 90, 400), "b": rng.integers(0, 90, 400), "s": ["x", "y"] * 200})
    release = shoal.anonymize(
        shoal.read(frame, quasi=["a", "b"], sensitive=["s"]),
        algorithm=shoal.Mondrian(k=10),
        acknowledge=["W-UNMODELLED:s"],
        seed=1,
    )
    report = release.overlap_report()
    assert [entry.column for entry in report] == ["a", "b"]
    assert max(entry.share for entry in report) > 0
    assert release_data(release, None)["overlaps"] == report
    release.write(tmp_path / "out")
    written = json.loads((tmp_path / "out.evidence" / "evidence.json").read_text("utf-8"))["overlaps"]
    assert [entry["overlapping"] for entry in written] == [entry.overlapping for entry in report]
    assert "overlaps" not in release.manifest
    from shoal.cli.summary import show_release

    show_release(release, None)
    assert "Overlapping cells in a, b" in capsys.readouterr().out
