"""Texts as people read them: spellings that meet, and those that stay apart."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from shoal.verify.folded import fold, joined_words, number_key, numbers, plain_texts, words


def read(function: Callable[[pl.Expr], pl.Expr], text: str) -> object:
    return pl.select(function(pl.lit(text))).item() if function in (fold, number_key) else listed(function, text)


def listed(function: Callable[[pl.Expr], pl.Expr], text: str) -> list[str]:
    return pl.select(function(pl.lit(text))).to_series().to_list()[0]


def test_plain_texts() -> None:
    given = pl.Series("name", [" Ann ", "*", "<missing>", "", "  ", None, "* "])
    found = plain_texts(given)
    assert (found.name, found.to_list()) == ("name", ["Ann", None, None, None, None, None, None])
    assert plain_texts(pl.Series("n", [1, None])).to_list() == ["1", None]


@pytest.mark.parametrize("texts, folded", [
    (["Müller", "Mueller", "MULLER", "Mu\u0308ller", "Mül\u00adler"], "muller"),
    (["Groß", "GROSS"], "gross"),
    (["Łódź", "Lodz"], "lodz"),
    (["Ærø", "Aero"], "aro"),
    (["Æsa", "Aesa"], "asa"),
    (["Þór", "Thor"], "thor"),
])  # fmt: skip
def test_spellings_of_one_name_meet(texts: list[str], folded: str) -> None:
    assert {read(fold, text) for text in texts} == {folded}


def test_words() -> None:
    assert listed(words, "Dr. O'Reilly-Smith, 42b") == ["dr", "o", "reilly", "smith", "42", "b"]
    assert listed(joined_words, "Dr. O'Reilly-Smith, 42b") == ["dr", "oreillysmith", "42", "b"]


@pytest.mark.parametrize("text, key", [
    ("12345", None), ("123456", "123456"), ("123456789", "123456789"), ("0123456789", "123456789"),
    ("+49 123 456 789", "123456789"), ("1002345678", "2345678"), ("000012", "12"), ("", None), ("a1b2c3", None),
    ("99123456789", "123456789"),
])  # fmt: skip
def test_a_number_is_known_by_its_last_nine_digits(text: str, key: str | None) -> None:
    assert read(number_key, text) == key


@pytest.mark.parametrize("text, found", [
    ("call 0171 234567 now", ["171234567", "234567"]),
    ("on 2026-01-31 at 12", []),
    ("31.01.2026 and 31/1/26", []),
    ("no. 1234567 of 2026-01-31", ["1234567"]),
    ("01.02.03.4567", ["102034567"]),
    ("123456 / 123456", ["456123456", "123456"]),
    ("１２３４５６７", ["1234567"]),
    ("12345", []),
    ("ref 123456\u20137890", ["234567890", "123456"]),
])  # fmt: skip
def test_long_numbers_of_a_text(text: str, found: list[str]) -> None:
    assert sorted(listed(numbers, text)) == sorted(found)
