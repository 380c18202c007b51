"""Styles: bounds cover every value in the column's own type, representatives are middles, and both verify."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.errors import InfeasibleError, SchemaError
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.recoding.snap import midpoints
from tests.strategies import frames

STYLES = ("bounds", "representative")
ORDER = ["none", "mild", "severe", "fatal"]
DAYS = [dt.date(1980, 1, 1) + dt.timedelta(days=9 * place) for place in range(60)]


def one_column(values: Any, dtype: Any = None, **settings: Any) -> Table:
    frame = pl.DataFrame({"q": pl.Series(values, dtype=dtype), "s": ["a"] * len(values)})
    return shoal.read(frame, quasi=["q"], sensitive=["s"], settings={"q": settings})


def released_in_groups(table: Table, ids: list[int]) -> Any:
    return apply_recoding(MemoryRows(table), Grouping(ids=np.array(ids, dtype=np.int32), groups=max(ids) + 1))


def anonymized(table: Table, **options: Any) -> shoal.Release:
    return shoal.anonymize(
        table, algorithm=shoal.Mondrian(k=2, suppression_limit=1.0), acknowledge=["W-UNMODELLED:s"], seed=3, **options
    )


def styled_settings(frame: pl.DataFrame, roles: dict[str, Any], style: str) -> dict[str, Any]:
    """The style for every quasi-identifier that can have it."""
    table = shoal.read(frame, **roles)
    fits = {column.name for column in table.quasi if column.kind == "interval" and column.missing < 0}
    return {name: {"style": style} for name in fits}


# Whole releases


@settings(max_examples=20)
@given(case=frames(max_rows=25), style=st.sampled_from(STYLES), star=st.booleans(), people=st.booleans())
def test_releases_of_every_style_cover_and_verify(case: Any, style: str, star: bool, people: bool) -> None:
    frame, roles = case
    options = styled_settings(frame, roles, style)
    table = shoal.read(frame, settings=options, **roles)
    try:
        release = anonymized(table, suppressed="star" if star else "drop")
    except InfeasibleError:
        return
    assert all(check.passed for check in release.checks)
    manifest = {**release.manifest, "data": {"rows": release.frame.height}}
    report = shoal.verify.recheck(release.frame, manifest)
    assert report.passed, [check for check in report.checks if not check.passed]
    kept = np.flatnonzero(table_classes(release)[release.source] >= 0)
    for name in options:
        check_column(release, name, style, kept)


def table_classes(release: shoal.Release) -> np.ndarray:
    return release.released.classes


def check_column(release: shoal.Release, name: str, style: str, kept: np.ndarray) -> None:
    """Exact arithmetic on what was published, row by row, against the values that went in."""
    column = release.table.columns[name]
    texts = column.texts.gather(release.table.codes[name][release.source[kept]])
    own = [_quantity(text) for text in texts.to_list()]
    files = [f"{name}_lo", f"{name}_hi"] if style == "bounds" else [name]
    shown = [[_quantity(cell) for cell in release.frame[file].gather(kept).to_list()] for file in files]
    cells = release.released.cells[name]
    ends = [_cell_ends(text) for text in cells.texts().gather(release.released.classes[release.source[kept]])]
    for place, value in enumerate(own):
        if ends[place] is None:
            assert [part[place] for part in shown] == [None] * len(shown)
            continue
        low, high = ends[place]
        assert low <= value <= high
        if style == "bounds":
            assert [part[place] for part in shown] == [low, high]
        else:
            middle = (low + high) / 2
            assert abs(shown[0][place] - (math.floor(middle) if column.whole else middle)) <= 1e-9 * max(abs(high), 1)


def _quantity(cell: Any) -> Fraction | None:
    if cell is None:
        return None
    if isinstance(cell, str) and len(cell) == 10 and cell[4] == cell[7] == "-":
        cell = dt.date.fromisoformat(cell)
    if isinstance(cell, dt.date):
        return Fraction(cell.toordinal())
    return Fraction(repr(cell) if isinstance(cell, float) else str(cell))


def _cell_ends(text: str) -> tuple[Any, Any] | None:
    if text == "*":
        return None
    low, comma, high = text.strip("[]").partition(",")
    return _quantity(low), _quantity(high if comma else low)


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("suppressed", ["drop", "star"])
@pytest.mark.parametrize("style", STYLES)
def test_written_releases_verify(style: str, suppressed: str, format: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(5)
    n = 240
    frame = pl.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "weight": np.round(rng.normal(70, 9, n), 2),
            "day": pl.Series(rng.integers(0, 9000, n).astype(np.int32)).cast(pl.Date),
            "long": [str(10**14 + int(x)) for x in rng.integers(0, 900, n)],
            "fee": [Decimal(int(x)) / 100 for x in rng.integers(0, 10**4, n)],
            "pain": rng.choice(ORDER, n),
            "s": rng.choice(list("abcd"), n),
        }
    )
    quasi = ["age", "weight", "day", "long", "fee", "pain"]
    options: dict[str, Any] = {name: {"style": style} for name in quasi}
    options["pain"] = {"order": ORDER, "style": "auto" if style == "bounds" else style}
    options["age"] |= {"snap": 2.5, "domain": [0, 120]}
    table = shoal.read(frame, quasi=quasi, sensitive=["s"], settings=options)
    models = [shoal.KAnonymity(k=3), shoal.DistinctL(l=2)]
    release = shoal.anonymize(
        table, algorithm=shoal.Mondrian(suppression_limit=0.5), models=models, suppressed=suppressed, seed=1
    )
    folder = release.write(tmp_path / "out", format=format)
    report = shoal.verify_release(folder)
    assert report.passed, [check for check in report.checks if not check.passed]
    if format == "parquet" and not release.evidence["counts"]["suppressed"]:
        back = pl.read_parquet(folder / "release.parquet").schema
        ends = "_lo" if style == "bounds" else ""
        kinds = {"age": pl.Int64, "weight": pl.Float64, "day": pl.Date, "long": pl.Int64, "fee": pl.Decimal}
        assert {name: back[name + ends].base_type() for name in kinds} == kinds
    entries = {entry["name"]: entry for entry in release.manifest["columns"]}
    assert entries["age"]["cells"] == style
    assert entries["age"]["null"] == "*"
    assert entries["age"].get("columns") == (["age_lo", "age_hi"] if style == "bounds" else None)


def test_a_recipe_with_styles(tmp_path: Any) -> None:
    frame = pl.DataFrame({"age": range(20, 60), "born": DAYS[:40], "s": ["a", "b"] * 20})
    frame.write_csv(tmp_path / "people.csv")
    recipe = tmp_path / "people.toml"
    recipe.write_text(
        """
[source]
path = "people.csv"
[roles]
quasi = ["age", "born"]
sensitive = ["s"]
[columns.age]
style = "bounds"
[columns.born]
style = "representative"
[[models]]
name = "k"
k = 4
[[models]]
name = "distinct-l"
l = 2
[output]
format = "parquet"
"""
    )
    release = shoal.run(recipe)
    assert 'style = "bounds"' in release.evidence["recipe"]
    assert shoal.verify_release(tmp_path / "out").passed
    back = pl.read_parquet(tmp_path / "out" / "release.parquet")
    assert back.schema == {"age_lo": pl.Int64, "age_hi": pl.Int64, "born": pl.Date, "s": pl.String}
    assert "age_lo, age_hi" in release.gated.report.decode()


def test_a_hierarchy_label_is_its_own_representative() -> None:
    frame = pl.DataFrame({"q": ["a", "b", "c", "d"], "s": ["x", "y", "x", "y"]})
    tree = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
    table = shoal.read(
        frame, quasi=["q"], sensitive=["s"], hierarchies={"q": tree}, settings={"q": {"style": "representative"}}
    )
    release = anonymized(table)
    assert set(release.frame["q"]) == {"ab", "cd"}
    assert release.manifest["columns"][0]["cells"] == "label"


def test_missing_ordinal_cells_stay_apart_from_stars() -> None:
    values = [None, None, None, "mild", "mild", "none", "severe"]
    frame = pl.DataFrame({"q": values, "s": ["a", "b"] * 3 + ["a"]})
    settings = {"q": {"order": ORDER, "style": "representative"}}
    table = shoal.read(frame, quasi=["q"], sensitive=["s"], settings=settings, missing="value")
    released = released_in_groups(table, [0, 0, 1, 1, 2, 2, 2])
    from shoal.recoding.publish import styled

    (cells,) = styled(released.cells["q"], pl.String())
    assert cells.gather(released.classes).to_list() == ["<missing>"] * 2 + ["*"] * 2 + ["mild"] * 3


# Representatives


def test_groups_with_one_representative_are_one_class_whose_cell_covers_all() -> None:
    table = one_column([10, 20, 12, 18, 11, 20, 30, 40], style="representative")
    released = released_in_groups(table, [0, 0, 1, 1, 2, 2, 3, 3])
    assert released.classes.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    assert released.cells["q"].texts().to_list() == ["[10,20]", "[30,40]"]


@pytest.mark.parametrize("name", ["set-partition", "k-optimize", "genetic"])
def test_blocks_are_published_by_representatives(name: str) -> None:
    frame = pl.DataFrame({"q": [1, 2, 3, 4, 5, 6, 7, 8] * 3, "s": ["x", "y", "z"] * 8})
    settings = {"q": {"style": "representative", "snap": "off"}}
    table = shoal.read(frame, quasi=["q"], sensitive=["s"], settings=settings)
    release = shoal.anonymize(table, algorithm=name, models=["k=5", "distinct-l=2"], seed=1, acknowledge=["W-TIGHT"])
    assert 1 < release.frame["q"].n_unique() < 8


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12))
def test_the_widest_interval_of_a_class_has_the_class_s_representative(pairs: list[tuple[int, int]]) -> None:
    ends = [sorted(pair) for pair in pairs]
    table = one_column([end for pair in ends for end in pair], style="representative")
    released = released_in_groups(table, [place // 2 for place in range(2 * len(ends))])
    shown = released.cells["q"].representatives()
    for place, (low, high) in enumerate(ends):
        own = released.classes[2 * place]
        assert shown[own] == (low + high) // 2
        assert table.columns["q"].numbers[released.cells["q"].low[own]] <= low
        assert table.columns["q"].numbers[released.cells["q"].high[own]] >= high
    assert np.unique(shown).size == shown.size == released.n_classes


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@given(data=st.data())
def test_midpoints_are_those_of_exact_arithmetic(dtype: Any, data: st.DataObject) -> None:
    numbers = {
        np.int64: st.integers(-(2**52), 2**52 - 1).map(lambda x: x * 2048),
        np.float64: st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) >= 1e-100),
    }[dtype]
    pairs = data.draw(st.lists(st.tuples(numbers, numbers).map(sorted), min_size=1, max_size=9))
    low, high = (np.array([pair[end] for pair in pairs], dtype=dtype) for end in (0, 1))
    known = sorted({x for pair in pairs for x in pair})
    column = one_column([str(x) for x in known], type="numeric", style="representative").columns["q"]
    if column.numbers.dtype != dtype:  # such as decimals that are all whole
        return
    found = midpoints(column, low, high)
    for a, b, middle in zip(low.tolist(), high.tolist(), found.tolist(), strict=True):
        exact = (Fraction(a) + Fraction(b)) / 2
        if column.whole:
            exact = Fraction(math.floor(exact))
        slack = Fraction(1, 10**14) * max(abs(Fraction(a)), abs(Fraction(b))) if dtype is np.float64 else 0
        assert a <= middle <= b
        assert abs(Fraction(middle) - exact) <= slack


# What cannot be


@pytest.mark.parametrize(
    "values, settings, says",
    [
        (["a", "b"], {"style": "bounds"}, "categorical"),
        (["a", "b"], {"style": "representative"}, "no order"),
        (["mild", "fatal"], {"style": "bounds", "order": ORDER}, "ordinal"),
    ],
)
def test_styles_that_a_column_cannot_have(values: Any, settings: Any, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        one_column(values, **settings)


@pytest.mark.parametrize("style", STYLES)
def test_missing_numbers_are_refused_and_counted(style: str) -> None:
    frame = pl.DataFrame({"q": [1, None, None], "s": ["a"] * 3})
    roles = {"quasi": ["q"], "sensitive": ["s"], "settings": {"q": {"style": style}}}
    with pytest.raises(SchemaError, match="2 missing cells.*'\\*'"):
        shoal.read(frame, missing="value", **roles)
    assert shoal.read(frame, missing="drop", **roles).n == 1


@pytest.mark.parametrize("role", ["quasi", "sensitive", "neutral", "identifiers", "drop"])
def test_a_published_name_that_is_taken(role: str) -> None:
    frame = pl.DataFrame({"age": [1, 2], "age_hi": ["x", "y"]})
    roles: dict[str, Any] = {"quasi": ["age"]}
    roles[role] = [*roles.get(role, []), "age_hi"]
    with pytest.raises(SchemaError, match="'age_hi'"):
        shoal.read(frame, settings={"age": {"style": "bounds"}}, **roles)


def test_a_style_is_for_quasi_identifiers_of_the_right_kind() -> None:
    frame = pl.DataFrame({"q": [1, 2], "s": [3, 4]})
    with pytest.raises(SchemaError, match="'s' is no quasi-identifier"):
        shoal.read(frame, quasi=["q"], sensitive=["s"], settings={"s": {"style": "bounds"}})
    tree = [["1", "*"], ["2", "*"]]
    with pytest.raises(SchemaError, match='use = "interval"'):
        shoal.read(
            frame, quasi=["q"], sensitive=["s"], settings={"q": {"style": "bounds"}}, hierarchies={"q": tree}
        )
