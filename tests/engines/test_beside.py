"""Rows of a release beside those that they were made of, where an engine keeps them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.recipe.recipe import load_recipe
from shoal.release.attack_case import some_beside
from shoal.release.entry import judged_release

RECIPE = """
seed = 3
[source]
path = "people.csv"
[roles]
quasi = ["age"]
sensitive = ["disease"]
neutral = ["ward"]
[hierarchies]
age = {{ widths = [10] }}
[[models]]
name = "k"
k = 4
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "none"
levels = {{ age = 1 }}
suppression_limit = 0.5
[engine]
name = "duckdb"
[output]
folder = "out"
suppressed = "{suppressed}"
"""


@pytest.mark.parametrize("suppressed", ["drop", "star"])
def test_each_row_stands_beside_its_own_and_suppressed_ones_beside_nothing(tmp_path: Path, suppressed: str) -> None:
    pytest.importorskip("duckdb")
    ages = [20 + i % 20 for i in range(40)] + [71, 72]  # the last two are alone in their decade
    people = pl.DataFrame({
        "age": ages, "disease": [("flu", "gout", "asthma")[i % 3] for i in range(42)],
        "ward": [f"w{i % 7}" for i in range(42)],
    })  # fmt: skip
    people.write_csv(tmp_path / "people.csv")
    (tmp_path / "recipe.toml").write_text(RECIPE.format(suppressed=suppressed), "utf-8")
    with judged_release(load_recipe(tmp_path / "recipe.toml"), lambda step: None) as (judged, _):
        rows, before, after = some_beside(judged, 100)
        few = some_beside(judged, 5)
    assert sorted(rows.tolist()) == list(range(42))
    assert rows.tolist() != sorted(rows.tolist())  # in the order of the release
    read = people[rows.tolist()]
    assert before["age"].cast(pl.String).to_list() == read["age"].cast(pl.String).to_list()
    for number, old, ward, age in zip(rows, read["ward"], after["ward"], after["age"], strict=True):
        expected = (None, None) if number >= 40 else (old, f"[{ages[number] // 10 * 10},{ages[number] // 10 * 10 + 9}]")
        assert (ward, age) == expected
    assert few[0].tolist() == rows[:5].tolist()
    assert few[2].height == 5
