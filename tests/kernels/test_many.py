"""Many cells: what groups cost is what their published cells cost, with each of some values and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.prices import ColumnPrices, prices_of, quasi_columns
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.kernels import _native
from shoal.kernels.prices import Prices, widest_columns
from shoal.recipe.source import read
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from tests.table.random_tables import crowded_table


def price_groups(p: Prices, codes: np.ndarray, ids: np.ndarray, count: int) -> tuple:
    """Cost of every group, of every group with the first, of the first after joining the last, and with each value."""
    own, joint = np.empty((2, count), dtype=np.int64)
    grown = np.empty(ids.size, dtype=np.int64)
    joined = _native.probe_groups(p, codes, ids.astype(np.int64), own, joint, grown)
    return own, joint, joined, grown


def published(table: Table, ids: np.ndarray, loss: str) -> np.ndarray:
    """Weighted price of a record of each group, as the cells that would be published cost it."""
    groups = int(ids.max()) + 1
    released = apply_recoding(MemoryRows(table), Grouping(ids=ids.astype(np.int32), groups=groups))
    first = np.array([released.classes[np.flatnonzero(ids == group)[0]] for group in range(groups)])
    total = np.zeros(groups)
    for name, weight in zip(table.schema.quasi, table.domain.quasi_weights, strict=True):
        cells = released.cells[name]
        total += weight * (cells.spread() if loss == "spread" else cells.penalty())[first]
    return total


def make_table(rng: np.random.Generator, n: int, missing: bool) -> Table:
    """Wide sets, a wide tree, numbers whose intervals are snapped, a constant."""
    data: dict[str, Any] = {
        "set": rng.choice([f"v{i}" for i in range(150)], n), "small": rng.choice(list("abc"), n),
        "tree": rng.choice([f"t{i}" for i in range(130)], n), "number": rng.normal(0, 100, n).round(3),
        "same": np.full(n, "x"),
    }  # fmt: skip
    frame = pl.DataFrame(data)
    if missing:
        holes = [pl.when(pl.Series(rng.random(n) < 0.7)).then(pl.col(name)).alias(name) for name in data]
        frame = frame.with_columns(holes)
    rows = [[f"t{i}", f"g{i // 8}", f"h{i // 40}", "*"] for i in range(130)]
    table = read(
        frame, quasi=list(data), hierarchies={"tree": rows}, weights={"set": 2.0, "number": 0.5}, missing="value"
    )
    return crowded_table(table, 3)


@pytest.mark.reference("probe_groups")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 999), n=st.sampled_from([5, 40, 400]), groups=st.sampled_from([2, 5, 200]),
    missing=st.booleans(), loss=st.sampled_from(["spread", "penalty"]),
)  # fmt: skip
def test_costs_are_those_of_published_cells(seed: int, n: int, groups: int, missing: bool, loss: str) -> None:
    rng = np.random.default_rng(seed)
    table = make_table(rng, n, missing)
    ids = np.unique(rng.integers(0, groups, n), return_inverse=True)[1]
    count = int(ids.max()) + 1
    prices = prices_of(table.domain, loss)
    codes = np.ascontiguousarray(table.quasi_codes)
    own, joint, joined, grown = price_groups(prices, codes, ids, count)
    unit = prices.one / table.domain.quasi_weights.sum()
    near = {"rel": 0, "abs": 1e-9}
    assert own / unit == pytest.approx(published(table, ids, loss), **near)
    for other in {0, count // 2, count - 1}:
        merged = published(table, np.unique(np.where(ids == other, 0, ids), return_inverse=True)[1], loss)[0]
        assert joint[other] / unit == pytest.approx(merged, **near)
        if other == count - 1:
            assert joined / unit == pytest.approx(merged, **near)
    row = int(rng.integers(n))
    alone = np.where(np.arange(n) == row, 0, np.where(ids == 0, 0, 1))
    assert grown[row] / unit == pytest.approx(published(table, alone, loss)[0], **near)


@pytest.mark.reference("widest_columns")
def test_the_widest_column_is_the_one_that_costs_most() -> None:
    table = make_table(np.random.default_rng(5), 300, False)
    starts = np.array([0, 1, 8, 100, 300])
    prices = prices_of(table.domain, "penalty")
    found = widest_columns(prices, np.ascontiguousarray(table.quasi_codes), starts)
    ids = np.repeat(np.arange(4), np.diff(starts)).astype(np.int32)
    released = apply_recoding(MemoryRows(table), Grouping(ids=ids, groups=4))
    costs = np.stack(
        [
            np.rint(weight * released.cells[name].penalty()[released.classes[starts[:-1]]] * 1e6)
            for name, weight in zip(table.schema.quasi, table.domain.quasi_weights, strict=True)
        ]
    )
    assert found.tolist() == costs.argmax(axis=0).tolist()


def test_heights_are_levels_over_the_trees_height() -> None:
    rows = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]]
    table = read(pl.DataFrame({"x": list("abc")}), quasi=["x"], hierarchies={"x": rows})
    (one,) = quasi_columns(table.domain, "height")
    assert isinstance(one, ColumnPrices)
    assert one.steps.reshape(3, 3).tolist() == [[0.0] * 3, [0.5] * 3, [1.0] * 3]
    (one,) = quasi_columns(table.domain, "spread")
    assert one.steps.reshape(3, 3).tolist() == [[0.0] * 3, [0.5, 0.5, 0.0], [1.0] * 3]
