"""Rows that are left out for a missing cell: nothing published names their people, whoever keeps the rows."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from shoal.engines.spark_files import LeftOut
from tests.engines.alike import outcome
from tests.engines.test_postgres import moved

RECIPE = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
path = "people.csv"
missing = "drop"
[roles]
key = "line"
identifiers = ["name"]
quasi = ["age"]
sensitive = ["illness"]
neutral = ["ward"]
[[models]]
name = "k"
k = 5
[algorithm]
name = "mondrian"
"""


def named(folder: Path) -> Path:
    """A recipe for sixty people, one of whom has no age, and stands in the ward of another."""
    letters = [chr(97 + row // 26) + chr(97 + row % 26) for row in range(60)]
    names = [f"Given{letter} Family{letter}" for letter in letters]
    pl.DataFrame(
        {
            "line": range(60), "name": names, "age": [None if row == 7 else 20 + row % 3 for row in range(60)],
            "illness": ["flu", "gout", "kuru"] * 20, "ward": [names[7] if row == 8 else "north" for row in range(60)],
        }
    ).write_csv(folder / "people.csv")  # fmt: skip
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.replace('["W-NEUTRAL"]', '["W-NEUTRAL", "W-UNMODELLED:illness"]'))
    return recipe


@pytest.mark.parametrize("engine", ["memory", "duckdb", "postgres", "spark"])
def test_no_cell_names_somebody_who_was_left_out(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    recipe = named(tmp_path)
    if engine == "duckdb":
        pytest.importorskip("duckdb")
    elif engine != "memory":
        server = request.getfixturevalue(engine)
        recipe = moved(recipe, server) if engine == "postgres" else recipe
    code, sentence, _ = outcome(recipe, engine)
    assert (code, "1 cells of 'ward' hold somebody's 'name'" in sentence) == (4, True), sentence


def test_somebody_who_was_left_out_is_one_person_in_however_many_files(tmp_path: Path) -> None:
    noon = dt.datetime(2024, 7, 1, 12)
    part = pl.DataFrame({"d0": ["Ann", None, "Ann"], "d1": [noon, noon, None], "d2": [1, 2, 3]})
    files = [tmp_path / f"part-[{at}]" for at in range(7)]
    for path in files:
        with path.open("wb") as file:
            part.write_ipc(file)
    rows = LeftOut(files=files, columns=["name", "seen", "age"], zones={"seen": "Asia/Tokyo"})
    found = rows.different(["seen", "name"])
    assert {name: cells.to_list() for name, cells in found.items()} == {
        "seen": [noon.replace(tzinfo=dt.UTC)], "name": ["Ann"]
    }  # fmt: skip
    assert found["seen"].dtype == pl.Datetime("us", "Asia/Tokyo")
    assert pl.concat(rows.frames()).columns == ["name", "seen", "age"]
    assert rows.different([]) == {}
