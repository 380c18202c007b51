"""Worked figures of graded grouping: Poovammal & Ponnavaikko, Table 8 and Sec. 6."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from shoal.errors import ParameterError
from shoal.recoding.grading import GradingTable, correlation
from tests.golden import data

VALUES = [15, 25, 30, 37, 40, 58, 70, 73, 90]
# The bounds that reproduce Table 8; its step 2 would not allow the first two to meet at 30.
PRINTED = [(15, 30), (30, 45), (46, 61), (61, 76), (76, 91)]
EQUAL = [(15, 30), (30, 45), (45, 60), (60, 75), (75, 90)]
ONES, EVENS = [1, 2, 3, 4, 5], [2, 4, 6, 8, 10]
THIRD = 2 / 3
GRADED = {
    "PP-09": (PRINTED, ONES, "table8", [1, 1 + THIRD, 2, 2 + 7 / 15, 2 + THIRD, 3.8, 4.6, 4.8, 5 + 14 / 15]),
    "PP-10": (PRINTED, EVENS, "table8", [2, 2 + THIRD, 3, 4 + 7 / 15, 4 + THIRD, 6.8, 8.6, 8.8, 10 + 14 / 15]),
    "PP-11": (PRINTED, ONES, "paper", [1, 1 + THIRD, 1.999, 2 + 7 / 15, 2 + THIRD, 3.8, 4.6, 4.8, 5 + 14 / 15]),
    "PP-12": (
        EQUAL, ONES, "paper",
        [1, 1 + THIRD, 1.999, 2 + 7 / 15, 2 + THIRD, 3 + 13 / 15, 4 + THIRD, 4 + 13 / 15, 5.999],
    ),
}  # fmt: skip
CORRELATIONS = {"PP-13": (ONES, 0.99995911), "PP-14": (EVENS, 0.99702131)}
DIFFERENCES = {"PP-15": (ONES, 0.8), "PP-16": (EVENS, 1.8)}
COVERED = {"PP-08", "PP-17", *GRADED, *CORRELATIONS, *DIFFERENCES}


def grading(bounds: list[tuple[int, int]], names: list[int], rule: str) -> GradingTable:
    pairs = [(Decimal(low), Decimal(high)) for low, high in bounds]
    return GradingTable("age", bounds=pairs, names=names, rule=rule, shared=True, decimals=0)


def table_8(names: list[int]) -> np.ndarray:
    return grading(PRINTED, names, "table8").encode_numbers(np.array(VALUES))


def test_pp_08_an_income_contradicts_the_first_table() -> None:
    """Anand earns 22000 in Table 3, and 15000, the income of the line above, in Table 4."""
    assert data.PP_TABLE_4["income"][4] == data.PP_TABLE_4["income"][3] == 15000
    assert data.PP_TABLE_3.filter(pl.col("disease") == "flu")["income"].to_list() == [22000, 23000]


@pytest.mark.parametrize("name", GRADED)
def test_graded_codes(name: str) -> None:
    bounds, names, rule, expected = GRADED[name]
    table = grading(bounds, names, rule)
    assert table.encode_numbers(np.array(VALUES)) == pytest.approx(expected, abs=1e-12)
    assert table.decode(pl.Series(expected, dtype=pl.Float64)).to_list() == VALUES


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlation(name: str) -> None:
    names, expected = CORRELATIONS[name]
    assert correlation(np.array(VALUES, dtype=float), table_8(names)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_difference_of_58_and_70(name: str) -> None:
    names, expected = DIFFERENCES[name]
    codes = dict(zip(VALUES, table_8(names), strict=True))
    assert codes[70] - codes[58] == pytest.approx(expected, abs=1e-12)


def test_pp_17_the_printed_rule_breaks_the_order() -> None:
    """A value just below the maximum gets the larger code, so the rule is refused there."""
    table = grading([(0, 100_000)], [1], "paper")
    assert table.place(np.array([99_999, 100_000]))[1] == pytest.approx([1.99999, 1.999], abs=1e-12)
    with pytest.raises(ParameterError, match="breaks the order"):
        table.encode_numbers(np.array([99_999, 100_000]))
    assert (np.diff(grading([(0, 100_000)], [1], "scaled").encode_numbers(np.array([99_999, 100_000]))) > 0).all()

