"""All cuts of a set of rows, each priced by what both sides would cost."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.prices import prices_of
from shoal.kernels import _native
from shoal.kernels.prices import Prices
from shoal.recipe.source import read
from tests.conftest import many
from tests.measures.naive import NaiveColumn, record_price
from tests.table.random_tables import ORDER, Case, cases


def cuts(codes: np.ndarray, lo: int, hi: int, p: Prices, k: int, weights: np.ndarray | None) -> tuple:
    """All cuts."""
    return _native.probe_best_cuts(codes.astype(np.int32), lo, hi, p, k, weights)


def assert_priced(case: Case, k: int) -> None:
    """Every cut that leaves k rows on both sides costs what a plain reference says of both."""
    table = case.table()
    p = prices_of(table.domain)
    columns = [NaiveColumn(case, name) for name in case.quasi]
    codes = np.ascontiguousarray(table.quasi_codes.T)
    # Rows outside the part must not matter.
    padded = np.concatenate([codes, codes, codes])
    losses, found, values = cuts(padded, case.n, 2 * case.n, p, k, None)
    expected = {}
    for a in range(len(columns)):
        for value in np.unique(codes[:, a])[:-1].tolist():
            left, right = (
                np.flatnonzero(side).tolist() for side in (codes[:, a] <= value, codes[:, a] > value)
            )
            if len(left) >= k and len(right) >= k:
                expected[a, value] = sum(len(side) * record_price(columns, side) for side in (left, right))
    whole = sum(column.weight for column in columns)
    allowed = {
        (int(a), int(value)): float(loss) / p.one * whole for loss, a, value in zip(losses, found, values, strict=True)
    }
    assert allowed == pytest.approx(expected, abs=1e-9)


@pytest.mark.reference("probe_best_cuts")
@settings(max_examples=many(8, 50))
@given(cases(rows=(1, 14), sensitive=(0, 0)), st.integers(1, 4))
def test_best_cuts_price_every_cut_between_two_values(case: Case, k: int) -> None:
    assert_priced(case, k)


@settings(max_examples=many(8, 50))
@given(cases(rows=(1, 14), sensitive=(0, 0)), st.integers(1, 4))
def test_cells_are_cut_as_their_rows_are(case: Case, k: int) -> None:
    table = case.table()
    p = prices_of(table.domain)
    rows = np.ascontiguousarray(table.quasi_codes.T)
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    expected = cuts(rows, 0, case.n, p, k, None)
    found = cuts(np.ascontiguousarray(cells), 0, counts.size, p, k, counts)
    assert [one.tolist() for one in found] == [one.tolist() for one in expected]


def test_best_cuts_of_a_wide_column() -> None:
    """Codes far apart take the sorting path instead of the dense one."""
    frame = pl.DataFrame({"a": np.arange(2000), "b": np.arange(2000) % 7})
    table = read(frame, quasi=["a", "b"], settings={"a": {"snap": "off"}})
    p = prices_of(table.domain)
    rows = np.array([0, 5, 900, 1999, 1999 - 7])
    codes = np.ascontiguousarray(table.quasi_codes.T[rows])
    losses, columns, values = cuts(codes, 0, 5, p, 2, None)
    allowed = columns == 0
    assert sorted(values[allowed].tolist()) == [5, 900]
    # Two rows on one side and three on the other, each priced by the ranges of both columns.
    (loss,) = losses[allowed & (values == 5)]
    assert loss / p.one == pytest.approx((2 * (5 / 1999 + 5 / 6) + 3 * (1099 / 1999)) / 2)


@pytest.mark.parametrize("missing", [False, True])
def test_columns_of_more_values_than_a_word_has_bits(missing: bool) -> None:
    rng = np.random.default_rng(3)
    leaves = [f"{place // 10}.{place}" for place in range(90)]
    choices = {
        "integer": [*range(0, 200, 2)], "flat": [f"v{place:03}" for place in range(80)], "tree": leaves,
        "ordinal": ORDER,
    }  # fmt: skip
    data = {
        f"q{place}": [values[at] for at in rng.integers(0, len(values), 240)] + [None if missing else values[0]] * 2
        for place, values in enumerate(choices.values())
    }
    kinds = dict(zip(data, choices, strict=True))
    paths = {"q2": [[leaf, leaf.partition(".")[0], "*"] for leaf in leaves]}
    case = Case(data=data, kinds=kinds, quasi=list(data), sensitive=[], hierarchies=paths, weights={"q1": 2.0})
    assert_priced(case, 5)
