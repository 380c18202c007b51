"""Values that look alike are refused where they are counted, with the count and without the values."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InputError, ParameterError
from shoal.table.stats import unknown_flags

HIDDEN = ["\u200b", "\u200c", "\u00ad", "\u2060", "\ufe0f", "\u034f", "\x01", "\u180e", "\U000e0041", "\u200e"]


def read(values: list[str], role: str = "sensitive") -> shoal.Table:
    frame = pl.DataFrame({"a": [str(i % 2) for i in range(len(values))], "s": values})
    return shoal.read(frame, quasi=["a"], **{role: "s" if role == "subject" else ["s"]})


@pytest.mark.parametrize("mark", HIDDEN)
@pytest.mark.parametrize("role", ["sensitive", "subject"])
def test_invisible_characters(mark: str, role: str) -> None:
    with pytest.raises(InputError, match="Column 's' has 2 values that differ .* only in invisible") as caught:
        read(["HIV", f"HI{mark}V", "flu"], role)
    assert "HI" not in str(caught.value).replace("which", "")
    assert read(["HIV", f"fl{mark}u"], role).n == 2
    assert read(["HIV", f"HI{mark}V"], "neutral").n == 2


@pytest.mark.parametrize("blank", ["  ", "\u00a0", "\u2009", "\n", "\t", "\u3000", "\u2800"])
def test_kinds_of_white_space(blank: str) -> None:
    with pytest.raises(InputError, match="has 2 values"):
        read(["heart failure", f"heart{blank}failure", "flu"])


def test_case_and_letters_are_visible() -> None:
    assert read(["HIV", "hiv", "H\u0399V", "H-I-V"]).columns["s"].card == 4


@pytest.mark.parametrize("mark", [*HIDDEN, "\u200b \u200d", "\u2800"])
def test_an_answer_that_nobody_sees_is_none(mark: str) -> None:
    for value in (mark, f"*{mark}"):
        with pytest.raises(InputError, match="has 1 values that differ .* an empty cell only in invisible"):
            read(["HIV", value])


def read_with(settings: dict[str, Any], values: list[str]) -> shoal.Table:
    frame = pl.DataFrame({"a": [str(i % 2) for i in range(len(values))], "s": values})
    return shoal.read(frame, quasi=["a"], sensitive=["s"], settings={"s": settings})


def test_a_non_answer_is_one_however_it_was_typed() -> None:
    """The cells are composed and without blanks at their edges, so what is declared of them is too."""
    for declared in ("re\u0301fuse\u0301", "r\u00e9fus\u00e9", " r\u00e9fus\u00e9\u00a0"):
        column = read_with({"non_answers": [declared]}, ["HIV", "r\u00e9fus\u00e9"]).columns["s"]
        assert dict(zip(column.texts, unknown_flags(column), strict=True)) == {"HIV": 0, "r\u00e9fus\u00e9": 1}
    with pytest.raises(InputError, match="has 1 values that differ .* a non-answer"):
        read_with({"non_answers": ["refused"]}, ["HIV", "re\u200bfused"])
    with pytest.raises(ParameterError, match="'non_answers' of a column must be a list"):
        read_with({"non_answers": "refused"}, ["HIV", "refused"])


def test_orders_and_hierarchies_meet_their_values_however_they_were_typed() -> None:
    assert read_with({"order": ["low", "e\u0301leve\u0301 "]}, ["low", "\u00e9lev\u00e9"]).columns["s"].card == 2
    tree = shoal.Hierarchy.from_rows("s", [["e\u0301 ", "e\u0301 ", "*"], ["b", "c", "*"]])
    assert tree.labels[0] == ("\u00e9", "b")
