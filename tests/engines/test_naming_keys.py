"""Keys that are somebody's number: named among the identifiers as well, they are looked for, whoever keeps the rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.engines.alike import outcome
from tests.engines.test_postgres import moved

RECIPE = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
path = "people.csv"
missing = "drop"
[roles]
key = "patient"
identifiers = ["patient"]
quasi = ["age"]
neutral = ["note"]
[[models]]
name = "k"
k = 5
[algorithm]
name = "mondrian"
"""
PATIENTS = [48_210_000 + 37 * row for row in range(60)]


def noted(folder: Path, notes: list[int | None]) -> Path:
    """A recipe for sixty patients, one of whom has no age, and in some of whose notes a number stands."""
    pl.DataFrame(
        {
            "patient": PATIENTS, "age": [None if row == 7 else 20 + row % 3 for row in range(60)],
            "note": ["ok" if one is None else f"see {one}" for one in [*notes, *[None] * 60][:60]],
        }
    ).write_csv(folder / "people.csv")  # fmt: skip
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE)
    return recipe


@pytest.mark.parametrize("notes", [PATIENTS[:6], [PATIENTS[7]] * 3], ids=["their own", "of one who was left out"])
@pytest.mark.parametrize("engine", ["memory", "duckdb", "postgres", "spark"])
def test_a_key_among_the_identifiers_is_looked_for(
    engine: str, notes: list[int | None], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recipe = noted(tmp_path, notes)
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    elif engine != "memory":
        server = request.getfixturevalue(engine)
        recipe = moved(recipe, server, {"patient": "bigint"}) if engine == "postgres" else recipe
    code, sentence, _ = outcome(recipe, engine)
    assert (code, "of 'note' hold somebody's 'patient'" in sentence) == (4, True), sentence


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_a_key_among_the_identifiers_is_a_key_like_any_other(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recipe = noted(tmp_path, [])
    there = recipe
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    else:
        server = request.getfixturevalue(engine)
        there = moved(recipe, server, {"patient": "bigint"}) if engine == "postgres" else recipe
    found = outcome(recipe, "memory")
    assert found[0] == 0
    assert outcome(there, engine) == found
