"""Columns that hierarchies are made for, and what goes with their values."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.recipe.recipe import parse_recipe
from shoal.release import hierarchy_columns

RECIPE = '[source]\npath = "a.csv"\n[roles]\nquasi = ["zip", "town", "sex", "age"]\n'


def test_what_goes_with_values_is_counted_only_where_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of every value by every other would be gigabytes of a column of many."""
    lines = [f"{at},town-{at % 400},{'fm'[at % 2]},{at % 90}" for at in range(1200)]
    (tmp_path / "a.csv").write_text("\n".join(["zip,town,sex,age", *lines]) + "\n")
    counted, inner = [], hierarchy_columns._crossed

    def crossed(rows: object, column: object, other: object, ordered: object) -> object:
        counted.append(other.name)  # type: ignore[attr-defined]
        return inner(rows, column, other, ordered)  # type: ignore[arg-type]

    monkeypatch.setattr(hierarchy_columns, "_crossed", crossed)
    recipe = parse_recipe(RECIPE, tmp_path)
    (found,) = hierarchy_columns.recipe_columns(recipe, ["zip"], ["town", "sex", "age"])
    assert {name: table.shape for name, table in found.beside.items()} == {"sex": (1200, 2), "age": (1200, 8)}
    assert counted == ["sex", "age"]  # of four hundred towns nothing is counted
    monkeypatch.setattr(hierarchy_columns, "_MOST_CELLS", 1200 * 4)
    (found,) = hierarchy_columns.recipe_columns(recipe, ["zip"], ["town", "sex", "age"])
    assert list(found.beside) == ["sex"]
