"""People whose classes leave too few values possible are suppressed on every engine, with the same bytes."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.data.classes import Cells, RowIds
from shoal.data.keys import Keys
from shoal.data.stats import Possible, attribute
from shoal.engines.external_rows import KeptRows
from shoal.engines.store import StoredRows
from shoal.recipe.recipe import load_recipe
from shoal.release.entry import opened
from tests.conftest import many
from tests.engines.alike import outcome
from tests.engines.server import Server
from tests.engines.test_postgres import moved
from tests.models.test_across_classes import drawn

RECIPE = """
seed = 1
[source]
path = "people.csv"
name = "visits"
missing = "value"
[roles]
quasi = ["age", "zip", "sex"]
sensitive = ["diagnosis"]
subject = "id"
key = "key"
[columns.age]
type = "numeric"
[columns.zip]
type = "numeric"
[columns.diagnosis]
non_answers = ["refused"]
[hierarchies]
age = {{ widths = [20] }}
zip = {{ widths = [2] }}
[[models]]
name = "k"
k = 2
[[models]]
name = "distinct-l"
l = 2
[algorithm]
suppression_limit = 1.0
{algorithm}
"""
# Tables in which people are suppressed, and others are left.
CASES = [
    ('name = "none"\nlevels = { age = 0, zip = 0, sex = 0 }', 20),
    ('name = "mondrian"', 1),
    ('name = "set-partition"', 6),
]


def written(folder: Path, seed: int, algorithm: str, slips: float = 0.0) -> Path:
    drawn(seed, slips)[0].with_row_index("key", offset=101).write_csv(folder / "people.csv")
    (folder / "recipe.toml").write_text(RECIPE.format(algorithm=algorithm), encoding="utf-8")
    return folder / "recipe.toml"


def in_memory(recipe: Path) -> tuple[int, str, dict[str, bytes]]:
    """What is written in memory, with people suppressed."""
    made = outcome(recipe, "memory")
    assert made[0] == 0, made[1]
    manifest = json.loads(made[2]["manifest.json"])
    rows = len((recipe.parent / "people.csv").read_text("utf-8").splitlines()) - 1
    assert manifest["across_classes"] == ["diagnosis"]
    assert manifest["data"]["rows"] < rows
    return made


@pytest.mark.parametrize("slips", [0.0, 0.2])
@pytest.mark.parametrize("algorithm, seed", CASES)
def test_duckdb_suppresses_the_same_people(algorithm: str, seed: int, slips: float, tmp_path: Path) -> None:
    recipe = written(tmp_path, seed, algorithm, slips)
    here = in_memory(recipe)
    assert outcome(recipe, "duckdb") == here


@pytest.mark.parametrize("slips", [0.0, 0.2])
@pytest.mark.parametrize("algorithm, seed", CASES[:2])
def test_postgres_suppresses_the_same_people(
    algorithm: str, seed: int, slips: float, tmp_path: Path, postgres: Server
) -> None:
    recipe = written(tmp_path, seed, algorithm, slips)
    here = in_memory(recipe)
    assert outcome(moved(recipe, postgres, {"age": "smallint", "zip": "smallint", "key": "bigint"}), "postgres") == here


@pytest.mark.parametrize("slips", [0.0, 0.2])
@pytest.mark.parametrize("algorithm, seed", CASES[:1])
def test_spark_suppresses_the_same_people(algorithm: str, seed: int, slips: float, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    recipe = written(tmp_path, seed, algorithm, slips)
    here = in_memory(recipe)
    assert outcome(recipe, "spark") == here


@pytest.mark.parametrize("seed", range(many(4, 250)))
@pytest.mark.parametrize("names", [["diagnosis"], ["diagnosis", "ward"]])
def test_queries_and_arrays_find_whom_plain_loops_find(names: list[str], seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = written(tmp_path, seed, 'name = "optimal"\n[engine]\nname = "duckdb"', slips=rng.choice([0.0, 0.1, 0.5]))
    frame = pl.read_csv(tmp_path / "people.csv")
    wards = ["north" if rng.random() < 0.9 else "south" for _ in range(frame.height)]
    frame.with_columns(ward=pl.Series(wards)).write_csv(tmp_path / "people.csv")
    path.write_text(path.read_text("utf-8").replace('["diagnosis"]', '["diagnosis", "ward"]'), encoding="utf-8")
    with opened(load_recipe(path), Keys.from_seed(1), lambda step: None) as rows:
        assert isinstance(rows, StoredRows)
        cells = rows.n_cells()
        gone = np.flatnonzero(rng.random(rows.domain.n) < 0.1)
        joint = {tuple(names): rows.joined(tuple(names))} if len(names) > 1 else {}
        rows = rows.knowing(replace(rows.domain, joint=joint))
        assert isinstance(rows, KeptRows)
        one = attribute(rows.domain, names)
        codes, people = rows._codes(one), rows._people
        for classes in (
            Cells(rng.integers(-1, 3, cells).astype(np.int32), 3),
            Cells(rng.integers(-1, 3, cells).astype(np.int32), 3, gone),
            RowIds(rng.integers(-1, 3, rows.domain.n).astype(np.int32), 3),
        ):
            given = RowIds(rows.row_classes(classes), 3)
            asked, counted = rows._asked(classes, [one]), rows.stats(given, [one])
            assert asked.rows.tolist() == counted.rows.tolist()
            for least in (2, 3):
                possible = Possible.of(counted.histograms[one.key], one, np.full(one.card, 1.0 / least))
                found = KeptRows.narrowed(rows, classes, one, possible)
                assert found.tolist() == rows.narrowed(classes, one, possible).tolist()
                assert found.tolist() == by_loops(people, given.ids, codes, one.unknown, least)
                left = classes.without(found)
                assert rows.row_classes(left).tolist() == given.without(found).ids.tolist()


def by_loops(people: np.ndarray, ids: np.ndarray, codes: np.ndarray, unknown: np.ndarray, least: int) -> list[int]:
    """Rows of people whose known values agree, and of whose classes too few known values are in all."""
    held, mine, own = defaultdict(set), defaultdict(set), defaultdict(set)
    for who, group, code in zip(people.tolist(), ids.tolist(), codes.tolist(), strict=True):
        if group >= 0:
            mine[who].add(group)
            if not unknown[code]:
                held[group].add(code)
                own[who].add(code)
    narrow = set()
    for who, groups in mine.items():
        several = [held[group] for group in groups if held[group]]
        if several and len(own[who]) < 2:
            enough = min(least, *map(len, several))
            if len(set.intersection(*several)) < enough:
                narrow.add(who)
    return [row for row, who in enumerate(people.tolist()) if who in narrow]
