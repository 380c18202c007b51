"""The options that are entries of a recipe, and the recipes that they stand for."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.cli.options import OPTIONS, recipe_data
from shoal.recipe.recipe import _SECTIONS, Recipe, entries_of


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_an_entry_of_a_recipe(name: str) -> None:
    section, _, key = OPTIONS[name].place.partition(".")
    assert section in Recipe.model_fields
    if key and section != "algorithm":  # whose entries are the parameters of a method
        assert key in entries_of(_SECTIONS[section])


@pytest.mark.parametrize(
    "options, data",
    [
        ({"file": "a.csv", "seed": 0, "columns": None, "missing_markers": [], "discard_secret": False},
         {"source": {"path": "a.csv"}, "seed": 0}),
        ({"file": "postgresql://host/db", "table": "people"},
         {"source": {"url": "postgresql://host/db", "table": "people"}, "engine": {"name": "postgres"}}),
        ({"file": "postgresql://host/db", "engine": "duckdb"},
         {"source": {"url": "postgresql://host/db"}, "engine": {"name": "duckdb"}}),
        ({"types": ["born=date %d.%m.%Y", "has=items |"], "code": ["has=mapping"]},
         {"columns": {"born": {"type": "date", "format": "%d.%m.%Y"}, "has": {"items": "|", "code": "mapping"}}}),
        ({"algorithm": "optimal", "settings": ["measure=ncp"], "separator": r"\t", "columns": "a, b"},
         {"algorithm": {"measure": "ncp", "name": "optimal"}, "source": {"columns": ["a", "b"], "separator": "\t"}}),
    ],
)  # fmt: skip
def test_options_stand_for_a_recipe(options: dict[str, Any], data: dict[str, Any]) -> None:
    assert recipe_data(options) == data
