"""Strict JSON at its edges: the last thing that is read, and the first that is refused."""

from __future__ import annotations

import re

import pytest

from shoal.errors import VerificationError
from shoal.verify.manifest import read_json

DEEP = "The manifest is nested more than 32 levels deep."
LONG = "The manifest has a number of more than 40 digits."
HALF = "The manifest has half of a character, which no text holds."


def refused(text: str, message: str) -> None:
    with pytest.raises(VerificationError, match=f"^{re.escape(message)}$"):
        read_json(text.encode())


def test_what_is_read_is_what_stands_there() -> None:
    text = '{"a": [1, -2.5, 1e3, "\\u00e9", "\\ud83d\\ude00", true, null], "b": {}, "c": {"a": 0}}'
    assert read_json(text.encode()) == {
        "a": [1, -2.5, 1000.0, "\u00e9", "\U0001f600", True, None], "b": {}, "c": {"a": 0},
    }  # fmt: skip
    assert isinstance(read_json(b"3"), int)


@pytest.mark.parametrize("open, close", [("[", "]"), ('{"a": ', "}")])
def test_the_deepest_nesting(open: str, close: str) -> None:
    """A text within 31 lists is on the 32nd level."""
    assert read_json((open * 31 + "1" + close * 31).encode())
    refused(open * 32 + "1" + close * 32, DEEP)
    refused(open * 200_000 + "1" + close * 200_000, DEEP)


@pytest.mark.parametrize("number", ["1" + "0" * 39, "0." + "1" * 38, "1e" + "0" * 37 + "1"])
def test_the_longest_number(number: str) -> None:
    """Zeros in an exponent count as well, however small the number is."""
    assert read_json(number.encode()) > 0
    refused(number.replace("e", "e0") if "e" in number else number + "0", LONG)


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"a": {"k": 1, "b": 2, "k": 1}}', "The manifest has the key 'k' twice in one object."),
        ("[Infinity]", "The manifest has Infinity in place of a number."),
        ("[NaN]", "The manifest has NaN in place of a number."),
        ("[-1e400]", "The manifest has a number that is too large for a float."),
        ('["\\ud800"]', HALF),
        ('{"a": {"x\\udfffy": 1}}', HALF),
        ('{"a": {"x": "\\udc00 "}}', HALF),
        ('"\\ude00\\ud83d"', HALF),
    ],
)
def test_refusals_in_their_own_words(text: str, message: str) -> None:
    refused(text, message)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"{'a': 1}", b"[1] 2"])
def test_what_is_no_json(raw: bytes) -> None:
    with pytest.raises(ValueError, match="."):
        read_json(raw)
