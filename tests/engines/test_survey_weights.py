"""A survey weight tells the journalist's risk: the evidence has the same figures whoever keeps the rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.engines.alike import outcome
from tests.engines.test_postgres import moved

RECIPE = """
acknowledge = ["W-UNMODELLED:illness"]
seed = 1
[source]
path = "people.csv"
name = "people"
missing = "drop"
[roles]
key = "line"
quasi = ["age", "zip"]
sensitive = ["illness"]
weight = "weight"
[hierarchies]
age = {{ widths = [5, 10, 20] }}
zip = {{ prefix = [2, 1] }}
[[models]]
name = "k"
k = 3
[algorithm]
name = "{method}"
suppression_limit = 0.6
"""


def weighed(folder: Path, method: str) -> Path:
    """A recipe for people of a survey, one of whom has no age."""
    rows = range(240)
    pl.DataFrame(
        {
            "line": [1000 + row for row in rows], "age": [None if row == 9 else 20 + row * row % 61 for row in rows],
            "zip": [f"{100 + row * 7 % 13}" for row in rows], "illness": [["flu", "gout"][row % 2] for row in rows],
            "weight": [round(1 + row * 37 % 101 / 10, 1) for row in rows],
        }
    ).write_csv(folder / "people.csv")  # fmt: skip
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(method=method))
    return recipe


def figures(recipe: Path, engine: str) -> dict[str, dict[str, Any]]:
    """The values of all risks before and after, by the private evidence of a run."""
    code, sentence, _ = outcome(recipe, engine)
    assert code == 0, sentence
    found = json.loads((recipe.parent / f"out-{engine}.evidence" / "evidence.json").read_text(encoding="utf-8"))
    return {when: {name: one["value"] for name, one in found["risk"][when].items()} for when in ("before", "after")}


TRIED = [(engine, method) for engine in ("duckdb", "postgres", "spark") for method in ("mondrian", "optimal")]


@pytest.mark.parametrize(("engine", "method"), [*TRIED, ("duckdb", "k-members")])
def test_weights_tell_the_same_risk_on_every_engine(
    engine: str, method: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recipe = there = weighed(tmp_path, method)
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    else:
        server = request.getfixturevalue(engine)
        if engine == "postgres":
            there = moved(recipe, server, {"line": "bigint", "age": "smallint", "weight": "numeric(6,1)"})
    expected, found = figures(recipe, "memory"), figures(there, engine)
    for when in ("before", "after"):
        assert "journalist-max" in expected[when]
        assert found[when] == pytest.approx(expected[when], rel=1e-9)
