"""Microaggregation: sizes, centroids, what it refuses, and Adult."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.links.microaggregation import Microaggregation
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.recipe.source import read
from shoal.recoding.recodings import Averaged
from tests.algorithms.lattice.lattices import Case
from tests.strategies import frames
from tests.test_adult import COLUMNS
from tests.verify.whole import check_microaggregated

SIX = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def run(table: Table, **parameters: Any) -> Averaged:
    """What it makes of a table, with what is published of every row in the place of every group."""
    algorithm = Microaggregation(**parameters)
    found = algorithm.run(Case(table, [model.parameters() for model in algorithm.models()]).problem())
    return replace(found, columns={name: values.gather(found.ids) for name, values in found.columns.items()})


def table_of(data: dict[str, Any], **roles: Any) -> Table:
    """Every column a quasi-identifier, and a sensitive one beside them."""
    rows = len(next(iter(data.values())))
    frame = pl.DataFrame(data | {"s": ["a", "b"] * (rows // 2) + ["a"] * (rows % 2)})
    return read(frame, **({"quasi": list(data), "sensitive": ["s"], "missing": "value"} | roles))


def verified(table: Table, found: Averaged) -> bool:
    """What the verifier says of the rows as they would be released."""
    columns = [
        {"name": one.name, "role": one.role, "type": one.type, "order": one.spec.order, "hierarchy": one.hierarchy}
        for one in table.columns.values()
    ]
    released = table.frame.select(table.schema.released).with_columns(**found.columns)
    checks = check_microaggregated(table.frame, released, np.arange(table.n), {"columns": columns})
    return all(check.passed for check in checks)


@settings(max_examples=20)
@given(frames(people=False), st.integers(2, 5))
def test_every_group_publishes_its_centroid(case: Any, k: int) -> None:
    frame, roles = case
    numbers = [one.name for one in read(frame, **roles).quasi if one.type in ("numeric", "date")]
    kept = frame.drop_nulls(numbers)
    if kept.height < k:
        return
    table = read(kept, **roles)
    found = run(table, k=k)
    assert found.ids is not None
    sizes = np.bincount(found.ids)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1 or table.n < 2 * k
    assert list(found.columns) == list(roles["quasi"])
    for column in found.columns.values():
        assert all(column.filter(pl.Series(found.ids == g)).n_unique() == 1 for g in range(sizes.size))
    assert verified(table, found)


def test_means_of_numbers_are_kept() -> None:
    rng = np.random.default_rng(3)
    table = table_of({"x": rng.normal(50, 9, 300), "y": rng.integers(0, 99, 300)})
    found = run(table, k=4)
    for name in ("x", "y"):
        assert found.columns[name].mean() == pytest.approx(table.frame[name].mean(), rel=1e-12)
        assert found.columns[name].dtype == pl.Float64


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(4, 60), st.integers(2, 4), st.sampled_from([0.0, 1e9]))
def test_the_share_of_variance_lost(seed: int, n: int, k: int, far: float) -> None:
    """SSE / SST of standardised columns, by their definition; categories and constants do not count."""
    rng = np.random.default_rng(seed)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 900, n)]
    data = {"x": far + rng.normal(0, 3, n), "d": days, "c": rng.choice(["u", "v"], n), "one": [7] * n}
    found = run(table_of(data), k=k)
    true = np.stack([data["x"], np.array(days, dtype="datetime64[D]").astype(float)])
    made = np.stack([found.columns["x"].to_numpy(), found.columns["d"].to_physical().to_numpy()])
    mean, deviation = true.mean(axis=1, keepdims=True), true.std(axis=1, keepdims=True)
    kept = deviation[:, 0] > 0
    z, centroids = ((cells - mean)[kept] / deviation[kept] for cells in (true, made))
    assert found.notes["sse_share"] == pytest.approx(((z - centroids) ** 2).sum() / (z**2).sum(), rel=1e-5)


def test_shares_of_variance_at_the_ends() -> None:
    pairs = run(table_of({"x": [1, 1, 5, 5, 9, 9]}), k=2)
    assert pairs.notes["sse_share"] == 0.0
    assert run(table_of({"x": [1, 2, 5, 9]}), k=4).notes["sse_share"] == pytest.approx(1.0)
    assert run(table_of({"c": ["u", "v", "u", "v"]}), k=2).notes["sse_share"] is None


def test_cells_by_type() -> None:
    """Two far-apart groups of three: mean, day of the mean, lower median, mode."""
    table = table_of(
        {
            "x": [1, 2, 6, 1001, 1002, 1006], "day": [dt.date(2020, 1, day) for day in (1, 2, 5, 20, 21, 28)],
            "size": ["S", "L", "M", "L", "L", "S"], "town": ["Aby", "Aby", "Ry", "Vik", None, None],
        },
        settings={"size": {"type": "ordinal", "order": ["S", "M", "L"]}},
    )  # fmt: skip
    found = run(table, k=3)
    assert found.columns["x"].to_list() == [3.0] * 3 + [1003.0] * 3
    assert found.columns["day"].to_list() == [dt.date(2020, 1, 3)] * 3 + [dt.date(2020, 1, 23)] * 3
    assert found.columns["size"].to_list() == ["M"] * 3 + ["L"] * 3
    assert found.columns["town"].to_list() == ["Aby"] * 3 + [None] * 3
    assert found.kind.name == "microaggregated"
    assert verified(table, found)


def test_a_hierarchy_brings_categories_together() -> None:
    """Without it four towns are equally far apart; with it east goes with east."""
    towns = [["Aby", "east", "*"], ["Eke", "east", "*"], ["Ry", "west", "*"], ["Vik", "west", "*"]]
    table = table_of({"town": ["Aby", "Ry", "Eke", "Vik"]}, hierarchies={"town": towns})
    found = run(table, k=2)
    assert found.ids is not None
    assert found.ids[0] == found.ids[2] != found.ids[1] == found.ids[3]


def test_weights_decide_what_alike_means() -> None:
    data = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
    for heavy in data:
        found = run(table_of(data, weights={heavy: 9.0}), k=2)
        column = np.array(data[heavy])
        assert found.ids is not None
        assert all(np.ptp(column[found.ids == g]) == 0 for g in range(2))


def test_univariate_is_never_worse_than_mdav() -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        values = rng.exponential(10, 60).round(2)
        table = table_of({"x": values})
        found = [run(table, k=3, method=method).columns["x"].to_numpy() for method in ("univariate", "mdav")]
        best, other = (float(((means - values) ** 2).sum()) for means in found)
        assert best <= other + 1e-9
        assert verified(table, run(table, k=3, method="univariate"))


def test_numbers_with_a_hierarchy_are_numbers() -> None:
    ages = [[str(age), f"{age // 10}x", "*"] for age in range(20, 40)]
    table = table_of({"age": [21, 22, 38, 39]}, hierarchies={"age": ages})
    assert run(table, k=2).columns["age"].to_list() == [21.5, 21.5, 38.5, 38.5]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"k": 1}, "at least 2"), ({"k": 2.5}, "whole number"), ({"k": 3, "method": "mdaf"}, "Did you mean 'mdav'")],
)
def test_bad_parameters(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Microaggregation(**parameters)


def test_bad_tables() -> None:
    with pytest.raises(ParameterError, match="1 missing cells of 'x'"):
        run(table_of({"x": [1, None, 3, 4]}), k=2)
    with pytest.raises(ParameterError, match="needs to know k"):
        run(table_of({"x": [1, 2, 3, 4]}))
    with pytest.raises(InfeasibleError, match="only 3 rows"):
        run(table_of({"x": [1, 2, 3]}), k=4)
    with pytest.raises(ParameterError, match="not k-anonymous together"):
        run(table_of({"x": [1, 2, 3, 4], "y": [1, 2, 3, 4]}), k=2, method="univariate")
    with pytest.raises(ParameterError, match="0 of them numbers"):
        run(table_of({"x": list("abcd")}), k=2, method="univariate")
    people = pl.DataFrame({"x": [1, 2, 3, 4], "who": list("ppqq"), "s": list("abab")})
    with pytest.raises(ParameterError, match="about 2 people"):
        run(read(people, quasi=["x"], sensitive=["s"], subject="who"), k=2)


def test_adult(adult: Path) -> None:
    table = read(
        adult, columns=COLUMNS, missing_markers=["?"], missing="drop", quasi=SIX, sensitive=["occupation"],
        drop=[name for name in COLUMNS if name not in (*SIX, "occupation")],
    )  # fmt: skip
    found = run(table, k=10)
    assert found.ids is not None
    sizes = np.bincount(found.ids)
    assert set(sizes.tolist()) <= set(range(10, 20))
    assert verified(table, found)
    # Of all that distinguishes the records, little is lost within groups.
    lost = total = 0.0
    for name in SIX:
        values = table.frame[name].cast(pl.Float64).to_numpy()
        lost += float(((found.columns[name].to_numpy() - values) ** 2).mean() / values.var())
        total += 1.0
    assert lost / total < 0.03
