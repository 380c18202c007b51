"""Values that look alike are refused where they are counted, with the count and without the values."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.errors import InputError

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


@pytest.mark.parametrize("blank", ["  ", "\u00a0", "\u2009", "\n", "\t", "\u3000"])
def test_kinds_of_white_space(blank: str) -> None:
    with pytest.raises(InputError, match="has 2 values"):
        read(["heart failure", f"heart{blank}failure", "flu"])


def test_case_and_letters_are_visible() -> None:
    assert read(["HIV", "hiv", "H\u0399V", "H-I-V"]).columns["s"].card == 4
