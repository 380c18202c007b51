"""What memory does not hold is refused before it is asked for, with how much it needs, on every engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.external_rows import SizedRows
from shoal.errors import RecipeError
from shoal.release import capabilities
from tests.engines.alike import outcome

RECIPE = """
seed = 1
acknowledge = ["W-ROWS"]
[source]
path = "people.csv"
[roles]
key = "row"
identifiers = ["name"]
quasi = ["age"]
sensitive = ["disease"]
{subject}
[hierarchies]
age = {{ widths = [5, 10, 20] }}
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "optimal"
suppression_limit = 0.5
"""


def people(folder: Path, rows: int, *, names: int, subject: bool = False) -> Path:
    """A recipe of rows with so many different names, of half as many people as rows."""
    draw = np.random.default_rng(2)
    name = [f"Q{at % names:06d}" for at in range(rows)]
    pl.DataFrame(
        {"row": range(rows), "name": name, "age": draw.integers(20, 60, rows), "disease": draw.choice(["a", "b"], rows)}
        | ({"who": [f"w{at // 2}" for at in range(rows)]} if subject else {})
    ).write_csv(folder / "people.csv")
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(subject='subject = "who"' if subject else ""), encoding="utf-8")
    return recipe


def opened(engine: str, request: pytest.FixtureRequest) -> None:
    """What an engine needs, or a skip."""
    if engine == "spark":
        request.getfixturevalue("spark")
    else:
        pytest.importorskip(engine)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize("subject", [False, True])
def test_names_and_people_that_memory_does_not_hold(
    engine: str, subject: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    opened(engine, request)
    recipe = people(tmp_path, 900, names=300, subject=subject)
    monkeypatch.setattr("shoal.engines.external_rows._NAME", 5 * 10**6)
    monkeypatch.setattr("shoal.engines.external_rows._PERSON", 4 * 10**6)
    code, sentence, _ = outcome(recipe, engine, more='memory = "1GB"')
    whose = " of 450 people need 3.3GB" if subject else " need 1.5GB"
    assert (code, sentence) == (
        2,
        f"The gate looks for every identifier in what is published, and some 300 different ones{whose}: give 'memory' "
        "under [engine] as much, or cut the table into releases of their own.",
    )
    assert not (tmp_path / f"out-{engine}").exists()
    assert outcome(recipe, engine, more='memory = "3.3GB"')[:2] == (0, "")


@pytest.mark.parametrize("how", ["drop", "sample"])
def test_names_of_those_who_take_no_part_are_held_too(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    recipe = people(tmp_path, 300, names=300)
    text = recipe.read_text()
    if how == "drop":
        rows = pl.read_csv(tmp_path / "people.csv")
        rows.with_columns(age=pl.when(pl.col("row") < 60).then("age")).write_csv(tmp_path / "people.csv")
        text = text.replace('path = "people.csv"', 'path = "people.csv"\nmissing = "drop"')
    else:
        text += "[sample]\nshare = 0.5\n"
    recipe.write_text(text)
    monkeypatch.setattr("shoal.engines.external_rows._NAME", 5 * 10**6)
    sentence = outcome(recipe, "duckdb", more='memory = "1.2GB"')[1]
    assert "some 300 different ones need 1.5GB" in sentence


def test_names_that_some_share_who_take_no_part_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    recipe = people(tmp_path, 300, names=100)
    recipe.write_text(f"{recipe.read_text()}[sample]\nshare = 0.5\n")
    monkeypatch.setattr("shoal.engines.external_rows._NAME", 5 * 10**6)
    assert outcome(recipe, "duckdb", more='memory = "0.5GB"')[:2] == (0, "")


def test_names_of_people_who_take_no_part_are_counted_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    recipe = people(tmp_path, 300, names=100, subject=True)
    recipe.write_text(f"{recipe.read_text()}[sample]\nshare = 0.5\n")
    monkeypatch.setattr("shoal.engines.external_rows._NAME", 5 * 10**6)
    monkeypatch.setattr("shoal.engines.external_rows._PERSON", 1)
    assert "different ones of" in outcome(recipe, "duckdb", more='memory = "0.6GB"')[1]


def test_what_is_no_table_of_a_recipe_is_told() -> None:
    pytest.importorskip("pyspark")
    from shoal.release.spark import _recipe

    with pytest.raises(RecipeError, match="must be a table"):
        _recipe({"roles": {"quasi": ["age"]}, "engine": "duckdb"}, None)


def test_a_frame_of_spark_may_have_its_memory() -> None:
    pytest.importorskip("pyspark")
    from shoal.release.spark import _recipe

    given = {"roles": {"quasi": ["age"]}, "engine": {"memory": "64GB"}}
    assert _recipe(given, None).engine.memory == "64GB"


def test_different_names_are_estimated_whatever_their_number(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    recipe = people(tmp_path, 40_000, names=20_000)
    recipe.write_text(f'{recipe.read_text()}[engine]\nname = "duckdb"\n')
    with shoal.open_rows(recipe) as rows:
        assert capabilities._different(rows, "name") == pytest.approx(20_000, rel=0.06)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_frequency_table_that_memory_does_not_hold(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    opened(engine, request)
    monkeypatch.setattr(SizedRows, "most_cells", lambda rows, memory: 20)
    code, sentence, _ = outcome(people(tmp_path, 900, names=30), engine)
    assert code == 2
    assert "searches the frequency table, and its 40 combinations need, with the values in them, 0.0GB" in sentence
    assert ("use the engine 'duckdb'." in sentence) == (engine == "spark")
