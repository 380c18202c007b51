"""Texts of bounds and representatives, and how far from its middle a representative may stand."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import VerificationError
from shoal.verify.cells import Inputs, read_cells
from shoal.verify.coverage import cell_texts, exact_texts, misrepresented, value_texts
from shoal.verify.manifest_column import Column
from shoal.verify.values import Held, encode, read_values
from tests.verify.test_cells import column

# Texts


@pytest.mark.parametrize(
    "given, kept",
    [
        (["100", "1e2", "+100.0", " 100"], "100"), (["0.5", ".50", "5e-1"], "0.5"), (["1e39"], "1" + "0" * 39),
        (["1e45", "1" + "0" * 45], "1E+45"), (["-0", "0.00"], "0"), (["1e40", "10e39"], "1E+40"),
        (["0.12345678901234567890"], "0.1234567890123456789"), (["x", " x "], "?x"), (["None"], "?None"),
        (["1e9999999"], "?1e9999999"), (["[1,2]"], "?[1,2]"), (["*"], "?*"), (["<missing>"], None), ([None], None),
    ],
)  # fmt: skip
def test_numbers_in_one_spelling(given: list[str | None], kept: str | None) -> None:
    """Numbers in plain digits up to forty of them; what is none cannot be read, whatever it says."""
    assert exact_texts(pl.Series(given, dtype=pl.String), "numeric").to_list() == [kept] * len(given)


@pytest.mark.parametrize("number", [0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.125, 2 / 3, -1e16])
def test_floats_are_what_they_are_written_as(number: float) -> None:
    found = exact_texts(pl.Series([number, None]), "numeric")
    assert found.to_list() == exact_texts(pl.Series([repr(number), None]), "numeric").to_list()


def test_floats_that_are_no_numbers() -> None:
    found = exact_texts(pl.Series([float("nan"), float("inf")]), "numeric").to_list()
    assert all(text.startswith("?") for text in found)


def test_dates_in_one_spelling() -> None:
    texts = pl.Series(["2020-01-05", "2020-01-05T00:00:00", "soon", None, "<missing>"])
    assert exact_texts(texts, "date").to_list() == ["2020-01-05", "2020-01-05", "?soon", None, None]
    assert exact_texts(pl.Series([date(2020, 1, 5), None]), "date").to_list() == ["2020-01-05", None]


def test_values_in_one_spelling() -> None:
    held = Held(*encode(pl.Series(["3.0", "x", None, "3"])))
    assert value_texts(held, "numeric").to_list() == ["3", "x", "<missing>", "3"]


def test_cells_of_bounds() -> None:
    frame = pl.DataFrame({"lo": [1, 2, None, None, 5], "hi": [3, 2, None, 4, None]})
    bounds = column("bounds", "numeric", columns=("lo", "hi"))
    assert cell_texts(frame, bounds).to_list() == ["[1,3]", "2", "*", "[,4]", "[5,]"]
    assert cell_texts(frame, bounds).name == "q"


def test_cells_of_representatives_and_texts() -> None:
    numbers = pl.DataFrame({"q": [1.5, None, 2.0]})
    assert cell_texts(numbers, column("representative", "numeric")).to_list() == ["1.5", "*", "2"]
    days = pl.DataFrame({"q": [date(2020, 1, 5), None]})
    assert cell_texts(days, column("representative", "date")).to_list() == ["2020-01-05", "*"]
    texts = pl.DataFrame({"q": ["low", None, "*"]})
    for cells in ("representative", "set"):
        assert cell_texts(texts, column(cells, "ordinal", order=["low"])).to_list() == ["low", "<missing>", "*"]


@pytest.mark.parametrize("cells, kind", [("interval", "numeric"), ("set", "ordinal"), ("representative", "ordinal")])
def test_other_cells_are_texts(cells: str, kind: str) -> None:
    message = "^The quasi-identifier 'q' must hold text cells, not Int64.$"
    with pytest.raises(VerificationError, match=message):
        cell_texts(pl.DataFrame({"q": [1, 2]}), column(cells, kind))


# Middles


def wrong(shown: list[Any], behind: list[str | None], truth: list[Any], kind: str = "numeric", **more: Any) -> Any:
    """What is said about representatives of rows whose cells and true values are known."""
    described = column("representative", kind, **more)
    code, texts = encode(cell_texts(pl.DataFrame({"q": shown}), described))
    values = read_values(pl.Series(truth), kind)
    cells = pl.Series(behind, dtype=pl.String)
    found = misrepresented(described, read_cells(described, texts), code, values, cells, whole=whole(described, truth))
    return found.told("q")


def whole(described: Column, truth: list[Any]) -> bool:
    """Whether the numbers of an input are whole, as the gate finds out."""
    inputs = Inputs([described])
    inputs.read(pl.DataFrame({"q": truth}), None)
    return inputs.whole("q")


NOT_MIDDLE = "1 representatives of 'q', not in the middle of their cells,"


@pytest.mark.parametrize(
    "shown, cell, truth, fine",
    [
        # whole numbers: up to 1 from the middle, never outside the cell
        (24, "[20,29]", [20, 29], True), (25, "[20,29]", [20, 29], True), (26, "[20,29]", [20, 29], False),
        (23, "[20,29]", [20, 29], False), (20, "20", [20, 20], True), (21, "20", [20, 20], False),
        (19, "20", [20, 20], False), (20, "[20,21]", [20, 21], True), (22, "[20,21]", [20, 21], False),
        (20, "[20,22]", [20, 22], True),
        # other numbers: up to rounding
        (0.5, "[0,1]", [0.25, 1], True), (0.8, "[0,1]", [0.25, 1], False), (0.0, "0", [0.0, 0.0, 0.5], True),
        (1.2, "[0.5,1.5]", [0.5, 1], False), (0.5 + 5e-10, "[0,1]", [0.25, 1], True),
        (0.5 + 2e-9, "[0,1]", [0.25, 1], False), (500000.5 + 5e-4, "[0.5,1000000.5]", [0.5, 7], True),
        (-500000.5 - 5e-4, "[-1000000.5,-0.5]", [-0.5, -7], True), (500000.503, "[0.5,1000000.5]", [0.5, 7], False),
        # nothing at all
        (None, "*", [1.5, 2], True), (None, "[1,2]", [1.5, 2], False), (1.5, "*", [1.5, 2], False),
    ],
)  # fmt: skip
def test_the_middle_of_an_interval(shown: Any, cell: str, truth: list[Any], fine: bool) -> None:
    """The first row is the one with the cell; the others are suppressed and only tell what numbers there are."""
    values = read_values(pl.Series(truth[:1]), "numeric")
    described = column("representative", "numeric")
    cells = read_cells(described, cell_texts(pl.DataFrame({"q": pl.Series([shown], dtype=pl.Float64)}), described))
    rest = {"whole": whole(described, truth)}
    found = misrepresented(described, cells, np.array([0]), values, pl.Series([cell]), **rest).told("q")
    assert found == (None if fine else NOT_MIDDLE)


ORDER = {"order": ["a", "b", "c", "d"]}


@pytest.mark.parametrize(
    "shown, cell, truth, fine",
    [
        ("b", "{a|b|c}", "a", True), ("a", "{a|b|c}", "a", False), ("c", "{a|b|c}", "a", False),
        ("b", "{a|d}", "a", True), ("c", "{a|d}", "a", True), ("a", "{a|d}", "a", False), ("a", "{a|b}", "a", True),
        ("b", "{a|b}", "a", True), ("d", "{c|b}", "b", False), ("d", "d", "d", True), ("c", "d", "d", False),
        ("<missing>", "<missing>", None, True), ("b", "<missing>", None, False), ("<missing>", "b", "b", False),
        ("<missing>", "*", "b", False), ("*", "<missing>", None, False), ("*", "*", "b", True), ("b", "*", "b", False),
    ],
)  # fmt: skip
def test_the_middle_of_an_order(shown: str, cell: str, truth: str | None, fine: bool) -> None:
    """Within half a place of it; ``*`` stands for ``*`` alone and ``<missing>`` for ``<missing>``."""
    found = wrong([shown], [cell], pl.Series([truth], dtype=pl.String), "ordinal", **ORDER)
    assert found == (None if fine else NOT_MIDDLE)


def test_cells_behind_must_cover() -> None:
    assert wrong([24, 24], ["[20,28]", "[20,28]"], [20, 29]) == "1 cells behind 'q'"
    assert wrong([24, 24], ["[20,29]", None], [20, 29]) == "1 cells behind 'q'"
    assert wrong(["b"], ["a"], ["b"], "ordinal", **ORDER) == "1 cells behind 'q'"
