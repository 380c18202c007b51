"""Commands on sources that an engine keeps: the same answers as of rows in memory, and no rows loaded for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from tests.engines.server import Server

pytest.importorskip("duckdb", reason="needs duckdb: pip install 'shoal[duckdb]'")

RECIPE = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
{source}
missing = "value"
[roles]
identifiers = ["name"]
quasi = ["age", "sex", "region"]
sensitive = ["diagnosis", "income"]
neutral = ["visits"]
key = "id"
{who}
[research]
rules = [{{ column = "age", boundary = 40 }}]
[hierarchies]
age = {{ widths = [5, 10, 20] }}
sex = {{ prefix = [1] }}
region = {{ prefix = [1] }}
[columns.income]
type = "numeric"
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "optimal"
suppression_limit = 0.6
[engine]
name = "{engine}"
"""
WHO = {"rows": 'drop = ["person"]', "people": 'subject = "person"'}
Said = Callable[..., Any]


@pytest.fixture
def people(tmp_path: Path) -> pl.DataFrame:
    """Some of the census, as a CSV file, a Parquet file and a folder of three."""
    columns = ["name", "person", "age", "sex", "region", "diagnosis", "income", "visits"]
    found = shoal.example_census(500, seed=3).select(columns).with_row_index("id")
    found.write_csv(tmp_path / "people.csv")
    found.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(found.iter_slices(180)):
        part.write_parquet(tmp_path / "parts" / f"people-{number}.parquet")
    return found


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """What a command says in JSON, run in the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Any:
        code = execute([*map(str, words), "--json"])
        found = json.loads(capsys.readouterr().out)
        assert code == 0, found
        return found

    return run


def recipe(folder: Path, source: str, engine: str, who: str = "rows") -> str:
    """The name of a recipe of ours."""
    name = f"{engine}.toml"
    (folder / name).write_text(RECIPE.format(source=source, engine=engine, who=WHO[who]), encoding="utf-8")
    return name


def both(folder: Path, who: str, path: str = "people.csv") -> tuple[str, str]:
    """The same recipe in memory and on disk; where the file need not be one."""
    return recipe(folder, 'path = "people.csv"', "memory", who), recipe(folder, f'path = "{path}"', "duckdb", who)


def told(found: Any) -> Any:
    """Without what says where a file is."""
    return {key: value for key, value in found.items() if key not in ("target", "file", "html")}


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("path", ["people.csv", "people.parquet", "parts", "parts/*.parquet"])
def test_levels_have_the_same_values_and_nodes_the_same_prices(
    people: pl.DataFrame, said: Said, tmp_path: Path, path: str, who: str
) -> None:
    here, there = both(tmp_path, who, path)
    assert said("values", here) == said("values", there)
    assert told(said("explore", here)) == told(said("explore", there))


def test_a_table_of_a_database_is_explored_there(
    people: pl.DataFrame, said: Said, tmp_path: Path, postgres: Server
) -> None:
    kinds = {"id": "bigint", "age": "bigint", "visits": "bigint"}
    postgres.fill("people", people, kinds)
    here = recipe(tmp_path, 'path = "people.csv"', "memory")
    there = recipe(tmp_path, f'url = "{postgres.url()}"\ntable = "people"', "postgres")
    assert said("values", here) == said("values", there)
    assert told(said("explore", here)) == told(said("explore", there))


def test_whoever_reads_files_only_names_the_engine_that_reads_databases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = recipe(tmp_path, 'url = "postgresql://nobody@localhost/none"\ntable = "people"', "memory")
    assert execute(["values", str(tmp_path / name)]) == 2
    assert "which the engine 'postgres' reads and no other" in capsys.readouterr().err
