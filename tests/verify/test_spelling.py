"""One spelling a value, and tokens that look like tokens."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from shoal.verify.claims import Claims, Column
from shoal.verify.spelling import check_spelling

TOKEN = "0123456789abcdef" * 2


def spelled(values: list[Any], **column: Any) -> dict[str, bool]:
    given = {"name": "x", "role": "quasi", "type": "numeric", "cells": "value", "coded": None} | column
    entry = Column(hierarchy=None, order=None, domain=None, non_answers=(), **given)
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


@pytest.mark.parametrize("values, right", [
    ([TOKEN, TOKEN[::-1]], True), ([TOKEN, "<missing>"], True), ([TOKEN * 2], True), ([TOKEN, "Ann Smith"], False),
    ([TOKEN.upper()], False), ([TOKEN[:-1]], False), ([TOKEN + "\n"], False), ([""], False),
])  # fmt: skip
def test_tokens_look_like_tokens(values: list[Any], right: bool) -> None:
    assert spelled(values, role="pseudonym", type="categorical", coded="token")["tokens"] is right
