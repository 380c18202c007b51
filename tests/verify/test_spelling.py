"""One spelling a value, and tokens that look like tokens."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl
import pytest

from shoal.recoding.cells import format_interval, format_set
from shoal.verify.claims import Claims, Column
from shoal.verify.spelling import check_spelling

TOKEN = "0123456789abcdef" * 2


def spelled(values: list[Any], **column: Any) -> dict[str, bool]:
    given = {"name": "x", "role": "quasi", "type": "numeric", "cells": "value", "coded": None} | column
    entry = Column(**({"hierarchy": None, "order": None, "domain": None, "non_answers": ()} | given))
    claims = Claims((entry,), (), "drop", "shuffled", False, len(values))
    checks = check_spelling(pl.DataFrame({"x": values}), None, claims)
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
    (["[\\a,b]"], {"type": "ordinal"}), (["[\\*,b]", "[\\*,\\*]"], {"type": "ordinal"}),
    (["{a|b}", "{b|a}"], {"cells": "set"}), (["{a|a}"], {"cells": "set"}), (["{a|a|b}"], {"cells": "set"}),
    (["a\\*"], {"cells": "set"}), (["{a|b\\[}", "x"], {"cells": "set"}), (["a[", "a\\["], {"cells": "set"}),
])  # fmt: skip
def test_a_cell_in_another_spelling(values: list[str], column: dict[str, Any]) -> None:
    kind = {"cells": "interval"} | ({"type": "categorical"} if column.get("cells") == "set" else {})
    assert not spelled(values, **(kind | column))["spelling"]


@pytest.mark.parametrize(
    "other", ["HIV ", "HIV\u200b", "\u00adHIV", "HIV\u00a0", "H\u2060IV", "HIV\ufe0f", "\tHIV", "HIV\x07"]
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
