"""Hierarchies cover every value, and the recipe is complete TOML that fits the data."""

from __future__ import annotations

import tomllib

import polars as pl
import pytest

from shoal.data.hierarchy_files import build
from shoal.io.census import COLUMNS, generate
from shoal.io.census_hierarchies import EDUCATION, hierarchies, leaves, recipe_text


@pytest.mark.parametrize("column", [name for name, spec in hierarchies().items() if "nested" in spec])
def test_nested_hierarchies_cover_the_data_once(column: str) -> None:
    values = leaves(hierarchies()[column]["nested"]["*"])
    assert len(values) == len(set(values))
    assert set(generate(20_000)[column].drop_nulls()) <= set(values)


@pytest.mark.parametrize("column", list(hierarchies()))
def test_every_entry_builds_a_hierarchy_over_the_data(column: str) -> None:
    values = generate(20_000)[column].drop_nulls().unique().cast(pl.String).to_list()
    built = build(column, hierarchies()[column], values)
    assert set(values) <= set(built.leaf_code)
    assert built.height >= 2


def test_a_label_never_names_a_group_and_a_value() -> None:
    for spec in hierarchies().values():
        groups = spec.get("nested", {}).get("*", {})
        assert not set(groups) & set(leaves(groups))


def test_widths_nest() -> None:
    widths = hierarchies()["age"]["widths"]
    assert all(wide % narrow == 0 for narrow, wide in zip(widths, widths[1:], strict=False))


def test_the_recipe_gives_every_column_one_role() -> None:
    recipe = tomllib.loads(recipe_text("census.csv", "out"))
    roles = recipe["roles"]
    named = [roles["subject"], *(name for role in roles.values() if isinstance(role, list) for name in role)]
    assert sorted(named) == sorted(COLUMNS)


def test_the_recipe_says_what_it_was_given() -> None:
    recipe = tomllib.loads(recipe_text('odd "name" \\ é.csv', "out", seed=3))
    assert recipe["source"]["path"] == 'odd "name" \\ é.csv'
    assert recipe["output"]["folder"] == "out"
    assert recipe["seed"] == 3
    assert "seed" not in tomllib.loads(recipe_text("census.csv", "out"))


def test_the_recipe_holds_the_hierarchies_and_the_order() -> None:
    recipe = tomllib.loads(recipe_text("census.csv", "out"))
    specs = hierarchies()
    assert recipe["hierarchies"] == {name: specs[name] for name in recipe["roles"]["quasi"] if name in specs}
    assert recipe["columns"]["education"]["order"] == leaves(EDUCATION)


def test_every_sensitive_column_has_a_model() -> None:
    recipe = tomllib.loads(recipe_text("census.csv", "out"))
    assert {model.get("on") for model in recipe["models"]} - {None} == set(recipe["roles"]["sensitive"])
