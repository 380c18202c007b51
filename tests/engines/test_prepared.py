"""Columns that are made and changed before a run are the same on an engine that keeps rows, batch by batch."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from shoal.algorithms.lattice.optimal import Optimal
from shoal.errors import ParameterError, RecipeError
from shoal.io import batches
from shoal.recipe.recipe import parse_recipe
from shoal.release.capabilities import require
from tests.engines.alike import outcome

pytest.importorskip("duckdb")

RECIPE = """
acknowledge = ["W-UNMODELLED:cost", "W-NEUTRAL"]
seed = 1
[source]
path = "stays.csv"
[roles]
quasi = ["age", "area"]
sensitive = ["cost", "ill*"]
neutral = ["stay", "state"]
rest = "drop"
[columns.born]
format = "%d.%m.%Y"
[columns.age]
derive = { years = ["born", "came"] }
top = { at = 70, as = 70 }
[columns.stay]
derive = { days = ["came", "went"] }
top = 3
[columns.area]
derive = { first = "zip", length = 2 }
[columns.cost]
round = 50
[columns.state]
recode = { widowed = "alone", single = "alone" }
recode_else = "keep"
[hierarchies]
age = { widths = [10, 20] }
area = { prefix = [1] }
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
on = "illness"
[algorithm]
name = "optimal"
suppression_limit = 0.5
[output]
format = "csv"
"""


def stays(folder: Path, text: str = RECIPE) -> Path:
    rows = range(200)
    pl.DataFrame({
        "born": [f"{1 + row % 28:02}.{1 + row % 12:02}.{1930 + row * 7 % 70}" for row in rows],
        "came": [f"2024-0{1 + row % 9}-10" for row in rows],
        "went": [f"2024-0{1 + row % 9}-1{row % 6}" for row in rows],
        "zip": [f"{10 + row % 4}{row:03}" for row in rows], "cost": [100 + row * 37 % 900 for row in rows],
        "state": [("widowed", "single", "married")[row % 3] for row in rows],
        "illness": [("flu", "gout", "cold")[row * 5 % 11 % 3] for row in rows],
        "new": [f"person {row}" for row in rows],
    }).write_csv(folder / "stays.csv")  # fmt: skip
    recipe = folder / "recipe.toml"
    recipe.write_text(text, encoding="utf-8")
    return recipe


def test_both_engines_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_BYTES", 1 << 11)
    recipe = stays(tmp_path)
    found = outcome(recipe, "duckdb")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")
    manifest = json.loads(found[2]["manifest.json"])
    done = {column["name"]: column.get("prepared") for column in manifest["columns"]}
    assert done == {
        "age": ["derived", "top-coded"], "area": ["derived"], "cost": ["rounded"], "illness": None,
        "stay": ["derived", "top-coded"], "state": ["recoded"],
    }  # fmt: skip
    released = pl.read_csv(found[2]["release.csv"])
    assert set(released["state"]) == {"alone", "married"}
    assert set(released["stay"]) <= {"-0", "0", "1", "2", "3+"}
    assert (released["cost"] % 50 == 0).all()


def test_what_engines_do_not_do_is_refused() -> None:
    mean = RECIPE.replace("top = 3", 'top = { at = 3, as = "mean" }').replace('"ill*"', '"illness"')
    mean = mean.replace('rest = "drop"', 'drop = ["born", "came", "went", "zip", "new"]')
    with pytest.raises(ParameterError, match="The mean of column 'stay' beyond its end needs all rows at once"):
        require(parse_recipe(f'{mean}[engine]\nname = "duckdb"'), Optimal())
    database = '[source]\nurl = "postgresql://db/x"\ntable = "t"\n[roles]\nquasi = ["a"]\nkey = "b"\n'
    database += '[columns.a]\nround = 5\n[engine]\nname = "postgres"\n'
    with pytest.raises(RecipeError, match="The engine 'postgres' reads columns as they are, and 'a' is to be rounded"):
        require(parse_recipe(database), Optimal())
