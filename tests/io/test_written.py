"""Numbers and missing cells as text files write them."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.data.schema import ColumnSpec, Schema
from shoal.errors import InputError, ParameterError, RecipeError, SchemaError
from shoal.io.cell_format import Notation, as_written
from shoal.recipe.recipe import load_recipe, parse_recipe
from shoal.release.capabilities import refuse_misplaced


def read_as(cells: list[str | None], notation: Notation = Notation(), **spec: object) -> list[object]:  # noqa: B008
    schema = Schema(quasi=["a"], specs={"a": ColumnSpec(**spec)})  # type: ignore[arg-type]
    return as_written(pl.DataFrame({"a": cells}, schema={"a": pl.String}), schema, notation)["a"].to_list()


@pytest.mark.parametrize(
    "decimal, thousands, cells, read",
    [
        (",", None, ["1,5", "-2", "3,25e2", None], ["1.5", "-2", "3.25e2", None]),
        (",", ".", ["1.234,5", "12", "1234"], ["1234.5", "12", "1234"]),
        (".", ",", ["1,234.5", "1,234,567"], ["1234.5", "1234567"]),
        (".", "'", ["1'234.5", "7"], ["1234.5", "7"]),
        (",", "\u00a0", ["1\u00a0234,5"], ["1234.5"]),
        # A column in which anything is no such number is left alone.
        (",", None, ["1,5", "unknown"], ["1,5", "unknown"]),
        (",", ".", ["1.5", "2,5"], ["1.5", "2,5"]),
        (",", ".", ["03.04.2020"], ["03.04.2020"]),
    ],
)
def test_a_source_says_how_its_numbers_are_written(
    decimal: str, thousands: str | None, cells: list[str | None], read: list[str | None]
) -> None:
    assert read_as(cells, Notation(decimal=decimal, thousands=thousands)) == read


def test_columns_of_another_type_are_not_read_as_numbers() -> None:
    comma = Notation(decimal=",")
    assert read_as(["1,5"], comma, type="categorical") == ["1,5"]
    assert read_as(["1,5"], comma, order=["1,5"]) == ["1,5"]


def test_a_column_has_its_own_notation_and_its_own_markers() -> None:
    assert read_as(["1,5", "k.A.", "999"], decimal=",", missing_markers=["k.A.", "999"]) == ["1.5", None, None]
    with pytest.raises(InputError, match=r"^Column 'a' has 2 numbers in another form than its 'decimal'"):
        read_as(["1,5", "1.5", "2.5"], decimal=",")


def test_markers_of_typed_columns_are_compared_as_values() -> None:
    frame = pl.DataFrame({"a": [1.0, 999.0], "b": [3, -9], "c": [True, False]})
    specs = {name: ColumnSpec(missing_markers=[marker]) for name, marker in (("a", "999"), ("b", "-9"), ("c", "true"))}
    found = as_written(frame, Schema(quasi=["a", "b", "c"], specs=specs), Notation())
    assert found.rows() == [(1.0, 3, None), (None, None, False)]


def test_times_that_are_declared_dates_lose_the_time_of_day() -> None:
    times = pl.DataFrame({"a": [datetime.datetime(2024, 5, 1, 9, 30)]})
    found = as_written(times, Schema(quasi=["a"], specs={"a": ColumnSpec(type="date")}), Notation())
    assert found["a"].to_list() == [datetime.date(2024, 5, 1)]


@pytest.mark.parametrize(
    "decimal, thousands, part", [(";", None, "'decimal' must"), (".", "x", "'thousands' must"), (",", ",", "are both")]
)
def test_impossible_notations_are_refused(decimal: str, thousands: str | None, part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        Notation(decimal=decimal, thousands=thousands)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_a_german_file_is_read(tmp_path: Path, encoding: str) -> None:
    text = "Größe;Ort;geb\n1.234,5;Köln;03.04.2020\n7;unbekannt;31.12.1999\n"
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    table = shoal.read(
        tmp_path / "a.csv", quasi=["Größe", "Ort", "geb"], separator=";", encoding=encoding, decimal=",", thousands=".",
        missing="value", settings={"Ort": {"missing_markers": ["unbekannt"]}, "geb": {"format": "%d.%m.%Y"}},
    )  # fmt: skip
    assert table.columns["Größe"].numbers.tolist() == [7.0, 1234.5]
    assert table.columns["geb"].type == "date"
    assert table.frame["Ort"].to_list() == ["Köln", None]


def test_a_file_without_a_header_says_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("39,Bachelors\n50,Masters\n")
    with pytest.raises(SchemaError) as caught:
        shoal.read(tmp_path / "a.csv", quasi=["age", "education"])
    assert str(caught.value) == (
        "'a.csv' has none of the columns that the roles name: if its first row is no header, give their names, as "
        "'columns' under [source] or by --columns."
    )


@pytest.mark.parametrize(
    "source, columns, part",
    [
        ('decimal = ","', "", "'decimal' and 'thousands'"),
        ("", '[columns.a]\nthousands = "."', "'decimal' and 'thousands'"),
        ("", '[columns.a]\nmissing_markers = ["9"]', "'missing_markers' of single columns"),
        ('sheet = "S"', "", "a 'sheet'"),
    ],
)
def test_engines_that_keep_rows_say_what_they_do_not_serve(source: str, columns: str, part: str) -> None:
    text = f'[source]\npath = "a.csv"\n{source}\n[roles]\nquasi = ["a"]\n{columns}\n[engine]\nname = "duckdb"'
    with pytest.raises(RecipeError, match=f"^The engine 'duckdb' does not serve .*{part}.*: use the engine 'memory'"):
        refuse_misplaced(parse_recipe(text))


MADE = "shoal start {} -o recipe.toml makes a recipe of data."


@pytest.mark.parametrize(
    "name, content, said",
    [
        ("a.csv", b"a;b\n1;2\n", f"'a.csv' is data, not a recipe: {MADE}"),
        ("a.xlsx", b"PK", f"'a.xlsx' is data, not a recipe: {MADE}"),
        ("a.data.gz", b"x", f"'a.data.gz' is data, not a recipe: {MADE}"),
        ("a.txt", b"a;b\n1;2\n", f"'a.txt' is no recipe, which is TOML: {MADE}"),
        ("export", "Größe;x".encode("latin-1"), f"'export' is no recipe: {MADE}"),
        ("a.toml", "ü".encode("latin-1"), "The recipe 'a.toml' is not UTF-8: save it as UTF-8."),
    ],
)
def test_data_in_the_place_of_a_recipe_is_told_what_to_do(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecipeError) as caught:
        load_recipe(tmp_path / name)
    assert str(caught.value) == said.format(tmp_path / name)
