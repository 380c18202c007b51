"""One spelling a value, and tokens that look like tokens."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl
import pytest

from shoal.recoding.cell_text import format_interval, format_set
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check
from shoal.verify.spelling import check_spelling

TOKEN = "0123456789abcdef" * 2


def described(**column: Any) -> Column:
    given = {"name": "x", "role": "quasi", "type": "numeric", "cells": "value", "coded": None} | column
    return Column.model_construct(**({"hierarchy": None, "order": None, "domain": None, "non_answers": ()} | given))


def checked(cells: dict[str, list[Any]], apart: dict[str, list[Any]] | None, *columns: Column) -> list[Check]:
    claims = Claims.model_construct(columns=columns, models=(), suppressed="drop", order="shuffled", people=False)
    tables = [pl.DataFrame(table) for table in (cells, apart) if table is not None]
    return check_spelling([dict(zip(table.columns, table.get_columns(), strict=True)) for table in tables], claims)


def spelled(values: list[Any], **column: Any) -> dict[str, bool]:
    checks = checked({"x": values}, None, described(**column))
    assert not any(str(value) in check.detail for check in checks for value in values if value == "Ann Smith")
    return {check.name: check.passed for check in checks}


@pytest.mark.parametrize("other", ["30.0", "+30", "030", "30.", "3e1", " 30", "30 "])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "neutral"])
def test_one_number_in_two_spellings(other: str, role: str) -> None:
    assert not spelled(["30", "31", other], role=role)["spelling"]


@pytest.mark.parametrize("only", ["+30", "030", "30.", " 30"])
def test_a_spelling_that_no_cell_has(only: str) -> None:
    assert not spelled([only, only])["spelling"]


@pytest.mark.parametrize("values", [["30", "<missing>"], ["30.0", "30.5"], ["-1", "0", "1e+20", "1e-7"], [30, 31]])
def test_numbers_as_they_are_written(values: list[Any]) -> None:
    assert spelled(values)["spelling"]


def told(values: list[Any], **column: Any) -> str:
    """What is said about the spelling of one column."""
    return checked({"x": values}, None, described(**column))[0].detail


FOUND = "{} values of 'x' are spelled in a way that no release is."


@pytest.mark.parametrize("values, column, count", [
    (["30", "30.0", "3e1", "31"], {"role": "sensitive"}, 2),
    (["030", "031", "30"], {}, 2),
    (["+1", "1", "1.0", "1.00"], {}, 3),
    (["[30,30]", "[31,31]", "[03,9]"], {"cells": "interval"}, 3),
    (["[30,30]", "[4,9]"], {"cells": "interval"}, 1),
    (["[-0,5]", "[0,7]"], {"cells": "interval"}, 1),
    (["[1e41,2e41]", f"[1{41 * '0'},3e41]"], {"cells": "interval"}, 1),
    (["{a|b}", "{b|a}", "{c|c}", "x"], {"cells": "set", "type": "categorical"}, 2),
    (["HIV", "HIV ", "\tHIV", "flu"], {"role": "sensitive", "type": "categorical"}, 2),
])  # fmt: skip
def test_how_many_values(values: list[Any], column: dict[str, Any], count: int) -> None:
    assert told(values, **column) == FOUND.format(count)


def test_what_is_no_matter_of_spelling() -> None:
    """Labels are nodes of a hierarchy, what cannot be read fails elsewhere, and only sensitive texts add diversity."""
    right = "Every value is spelled in one way."
    assert told(["30", "30.0"], cells="label") == right
    assert told(["HIV", "HIV "], type="categorical", role="neutral") == right
    assert told(["HIV", "HIV "], type="categorical", role="sensitive", coded="token") == right
    assert told(["[a,b]", "{a"], cells="set", type="categorical") == right
    assert told(["[a,b]", "[b,a]"], cells="interval", type="ordinal") == right
    assert told([None, None], role="sensitive", type="categorical") == right
    assert told(["*", "<missing>"], role="sensitive", type="categorical") == right
    assert told([format_set(["[x"]), format_set(["<y"]), format_set(["[x", "<y", "*z"])], cells="set") == right


def test_both_tables_are_looked_at() -> None:
    columns = (
        described(),
        described(name="s", role="sensitive", type="categorical"),
        described(name="id", coded="token"),
    )
    cells = {"x": ["1", "2"], "id": [TOKEN, "Ann"]}
    spelling, tokens = checked(cells, {"s": ["HIV", "HIV "], "id": ["Bob", "Eve"]}, *columns)
    assert (spelling.passed, spelling.detail) == (False, "1 values of 's' are spelled in a way that no release is.")
    assert (tokens.passed, tokens.detail) == (False, "1 values of 'id' are no tokens; 2 values of 'id' are no tokens.")
    (spelling, tokens) = checked({"x": ["1", "1.0"], "id": [TOKEN] * 2}, {"s": ["HIV", "HIV "]}, *columns)
    way = "are spelled in a way that no release is"
    assert spelling.detail == f"1 values of 'x' {way}; 1 values of 's' {way}."
    assert (tokens.passed, tokens.detail) == (True, "Every token has the form of tokens.")
    (spelling,) = checked({"x": ["1", "2"]}, None, columns[0], columns[1])
    assert (spelling.name, spelling.passed, spelling.detail) == ("spelling", True, "Every value is spelled in one way.")


def test_dates() -> None:
    assert spelled(["2026-01-31", "2026-02-01"], type="date")["spelling"]
    assert not spelled(["2026-01-31", "2026-01-31T00:00:00"], type="date")["spelling"]


def test_texts_are_what_they_are() -> None:
    assert spelled(["30", "30.0", "+30"], type="categorical")["spelling"]


@pytest.mark.parametrize("cells, type, order", [
    ("interval", "numeric", None), ("interval", "date", None), ("interval", "ordinal", ["a", "b,c", "*d", "e{"]),
    ("set", "categorical", None),
])  # fmt: skip
def test_cells_as_they_are_written(cells: str, type: str, order: list[str] | None) -> None:
    texts = [order or ["a", "b,c", "*d", "e{", "\\f"], ["-5", "0", "0.05", "30", "1e300"], ["0001-01-01", "2026-01-31"]]
    values = texts[("numeric", "date").index(type) + 1 if type in ("numeric", "date") else 0]
    write = format_set if cells == "set" else lambda pair: format_interval(*pair)
    alone = [[one] if cells == "set" else [one, one] for one in values]
    written = [write(pair) for pair in (*combinations(values, 2), *alone)]
    assert spelled([*written, "*", "<missing>"], cells=cells, type=type, order=order)["spelling"]


@pytest.mark.parametrize("values, column", [
    (["[30,39]", "[30.0,39]"], {}), (["[30.0,39]"], {}), (["[30,39]", "[30,+39]"], {}), (["[30,30]"], {}),
    (["30", "[30.,39]"], {}), (["[03,9]"], {}), (["[3e1,39]"], {}), (["[30, 39]"], {}), (["[1E300,2e300]"], {}),
    (["[2026-01-31,2026-02-01]", "[2026-01-31T00:00:00,2026-02-01]"], {"type": "date"}),
    (["[2026-01-31,2026-01-31]"], {"type": "date"}), (["[ 2026-01-31,2026-02-01]"], {"type": "date"}),
    (["[*,b]", "[*,*]"], {"type": "ordinal"}),
    (["{a|b}", "{b|a}"], {"cells": "set"}), (["{a|a}"], {"cells": "set"}), (["{a|a|b}"], {"cells": "set"}),
])  # fmt: skip
def test_a_cell_in_another_spelling(values: list[str], column: dict[str, Any]) -> None:
    kind = {"cells": "interval"} | ({"type": "categorical"} if column.get("cells") == "set" else {})
    assert not spelled(values, **(kind | column))["spelling"]


@pytest.mark.parametrize(
    "other", ["HIV ", "HIV\u200b", "\u00adHIV", "HIV\u00a0", "H\u2060IV", "HIV\ufe0f", "\tHIV", "HIV\x07", "HIV\u2800"]
)
def test_texts_that_look_alike_are_no_diversity(other: str) -> None:
    assert not spelled(["HIV", "flu", other], role="sensitive", type="categorical")["spelling"]
    assert spelled(["HIV", "flu", "hiv", "H I V"], role="sensitive", type="categorical")["spelling"]


def test_composed_and_decomposed_letters_look_alike() -> None:
    assert not spelled(["caf\u00e9", "cafe\u0301"], role="sensitive", type="categorical")["spelling"]


@pytest.mark.parametrize("values, right", [
    ([TOKEN, TOKEN[::-1]], True), ([TOKEN, "<missing>"], True), ([TOKEN * 2], True), ([TOKEN, "Ann Smith"], False),
    ([TOKEN.upper()], False), ([TOKEN[:-1]], False), ([TOKEN + "\n"], False), ([""], False),
])  # fmt: skip
def test_tokens_look_like_tokens(values: list[Any], right: bool) -> None:
    assert spelled(values, role="pseudonym", type="categorical", coded="token")["tokens"] is right
