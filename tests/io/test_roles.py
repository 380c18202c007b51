"""Roles by pattern, and of columns that nobody named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.data.schema import LIST_ROLES, ColumnSpec
from shoal.errors import RecipeError, SchemaError
from shoal.recipe.recipe import parse_recipe
from shoal.recipe.source import settled, settled_roles

NAMES = ["id", "born", "seen", "zip", "lab_a", "lab_b", "lab_note", "ward"]


def roles(specs: dict[str, ColumnSpec] | None = None, **given: Any) -> dict[str, list[str]]:
    found = settled_roles({role: [] for role in LIST_ROLES} | given, NAMES, specs or {})
    return {role: found[role] for role in LIST_ROLES if found[role]}


def test_patterns_stand_for_what_they_match() -> None:
    found = roles(quasi=["zip"], sensitive=["lab_?"], drop=["lab_*", "born"])
    assert found == {"quasi": ["zip"], "sensitive": ["lab_a", "lab_b"], "drop": ["lab_a", "lab_b", "lab_note", "born"]}
    assert roles(sensitive=["lab_*"], drop=["lab_note"]) == {"sensitive": ["lab_a", "lab_b"], "drop": ["lab_note"]}


def test_the_rest_is_dropped() -> None:
    assert roles(quasi=["zip"], key="id", rest="drop")["drop"] == [n for n in NAMES if n not in ("zip", "id")]


def test_columns_that_others_are_derived_from_are_dropped_unless_they_have_a_role() -> None:
    age = {"age": ColumnSpec(derive={"years": ["born", "seen"]})}
    assert roles(age, quasi=["age"], neutral=["seen"]) == {"quasi": ["age"], "neutral": ["seen"], "drop": ["born"]}
    assert "age" in roles(age, quasi=["zip"], rest="drop")["drop"]


@pytest.mark.parametrize("given, words", [
    ({"neutral": ["lab_*"]}, "'lab_*' is a pattern under 'neutral', whose columns are published: name each of them"),
    ({"pseudonym": ["i?"]}, "'i?' is a pattern under 'pseudonym'"),
    ({"identifiers": ["name_*"]}, "No column matches 'name_*' under 'identifiers'"),
])  # fmt: skip
def test_patterns_that_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError) as caught:
        roles(**given)
    assert words in str(caught.value)


def test_a_new_column_is_not_published(tmp_path: Path) -> None:
    """What a recipe with a rest does once the source has one column more."""
    text = """
    acknowledge = ["W-UNMODELLED:ill"]
    seed = 1
    [source]
    path = "people.csv"
    [roles]
    quasi = ["age"]
    sensitive = ["ill"]
    rest = "drop"
    [[models]]
    name = "k"
    k = 2
    """
    recipe = parse_recipe(text, tmp_path)
    people = pl.DataFrame({"age": [1, 1, 2, 2], "ill": list("abab"), "name": ["Ann", "Bob", "Cy", "Di"]})
    people.write_csv(tmp_path / "people.csv")
    release = shoal.run(recipe)
    assert release.frame.columns == ["age", "ill"]
    assert settled(recipe).roles.drop == ["name"]
    frame = shoal.read(people, quasi=["a*"], sensitive=["ill"], rest="drop")
    assert (list(frame.schema.quasi), list(frame.schema.drop)) == (["age"], ["name"])


def test_a_database_has_to_be_listed() -> None:
    recipe = parse_recipe('[source]\nurl = "postgresql://db/x"\ntable = "t"\n[roles]\nquasi = ["a"]\nrest = "drop"')
    with pytest.raises(RecipeError, match="name every column of this one under"):
        settled(recipe)
