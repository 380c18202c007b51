"""(eps,m) and (k,e) enforced by Mondrian: children are judged on both sides, and what is released holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.grouping import by_rows
from shoal.errors import InfeasibleError
from shoal.recipe.source import read
from shoal.registry import make
from tests.algorithms.lattice.lattices import Case

MODELS: list[dict[str, Any]] = [
    {"name": "eps-m", "eps": 1, "m": 2},
    {"name": "eps-m", "eps": 0, "m": 3},
    {"name": "eps-m", "eps": 0.3, "m": 2, "relative": True},
    {"name": "k-e", "k": 2, "e": 5},
    {"name": "k-e", "k": 4, "e": 0},
]


def holds(values: np.ndarray, model: dict[str, Any]) -> bool:
    """The predicate on one class, pair by pair."""
    if model["name"] == "k-e":
        return bool(np.unique(values).size >= model["k"] and np.ptp(values) >= model["e"])
    reach = model["eps"] * np.abs(values) if model.get("relative") else np.full(values.size, float(model["eps"]))
    near = (np.abs(values[:, None] - values[None]) <= reach[:, None] + 1e-9).sum(axis=1)
    return bool((near * model["m"] <= values.size).all())


def table_of(seed: int, n: int, spread: int) -> Any:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"q": rng.integers(0, 12, n), "r": rng.integers(0, 4, n), "s": rng.integers(0, spread, n)})
    return read(frame, quasi=["q", "r"], sensitive=["s"])


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from([3, 30, 300]), st.sampled_from(MODELS))
@pytest.mark.parametrize("cut", ["widest", "best"])
def test_groups_hold_where_all_do(cut: str, seed: int, n: int, spread: int, model: dict[str, Any]) -> None:
    """From a table that satisfies the model, only cuts that keep it on both sides are made."""
    table = table_of(seed, n, spread)
    values = table.frame["s"].to_numpy()
    problem = Case(table, [model]).problem()
    found = by_rows(problem, make("algorithm", {"name": "mondrian", "cut": cut}).run(problem))
    judged = [holds(values[found.ids == g], model) for g in range(found.groups)]
    if holds(values, model):
        assert all(judged)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from([3, 30, 300]), st.sampled_from(MODELS))
@example(0, 5, 30, {"name": "k-e", "k": 4, "e": 0})  # its k counts values, not people who share an end
def test_released_classes_hold(seed: int, n: int, spread: int, model: dict[str, Any]) -> None:
    table = table_of(seed, n, spread)
    try:
        release = shoal.anonymize(
            table, algorithm=make("algorithm", {"name": "mondrian", "suppression_limit": 0.4}), seed=seed,
            models=[make("model", model)], acknowledge=["W-NO-K", "W-UNMODELLED:s"],
        )  # fmt: skip
    except InfeasibleError:
        return
    classes = release.frame.group_by("q", "r").agg("s")["s"].to_list()
    assert all(holds(np.array(values, dtype=np.float64), model) for values in classes)


def test_good_children_of_a_bad_parent_are_found() -> None:
    """Merged, 0 has three of eight within 1 of it; apart, none of either side's four has a neighbour."""
    frame = pl.DataFrame({"q": [0] * 4 + [1] * 4, "s": [0, 50, 150, 250, -1, 1, 100, 200]})
    table = read(frame, quasi=["q"], sensitive=["s"])
    found = make("algorithm", {"name": "mondrian"}).run(Case(table, [{"name": "eps-m", "eps": 1, "m": 4}]).problem())
    assert found.groups == 2
