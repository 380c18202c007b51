"""Columns of every type, name and role: what an engine that keeps the rows gives back is what was read."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.io.evidence import read_evidence
from tests.engines.alike import outcome

pytest.importorskip("duckdb")

ROWS = 120
RECIPE = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
path = "people.parquet"
missing = "{missing}"
[roles]
quasi = ["age", "sex"]
sensitive = ["disease"]
{roles}
{columns}
[hierarchies]
age = {{ widths = [5, 10, 20] }}
sex = {{ prefix = [1] }}
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
on = "disease"
[algorithm]
name = "{algorithm}"
suppression_limit = 0.5
[output]
format = "{format}"
suppressed = "{suppressed}"
"""
DAYS = [datetime.datetime(2020, 6, 1 + row % 3, 12, 30) for row in range(ROWS)]
COLUMNS = {
    "milliseconds": pl.Series(DAYS, dtype=pl.Datetime("ms")),
    "microseconds": pl.Series(DAYS, dtype=pl.Datetime("us")),
    "nanoseconds": pl.Series(DAYS, dtype=pl.Datetime("ns")),
    "zoned": pl.Series(DAYS, dtype=pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin"),
    "wide": pl.Series([row % 3 for row in range(ROWS)], dtype=pl.Int128),
    "bytes": pl.Series([row % 3 for row in range(ROWS)], dtype=pl.UInt8),
    "large": pl.Series([(1 << 63) + row % 3 for row in range(ROWS)], dtype=pl.UInt64),
    "short": pl.Series([row % 3 / 7 for row in range(ROWS)], dtype=pl.Float32),
    "zeros": pl.Series([[0.0, -0.0, 0.5][row % 3] for row in range(ROWS)]),
    "truth": pl.Series([[True, False, None][row % 3] for row in range(ROWS)]),
    "days": pl.Series([day.date() for day in DAYS]),
    "empty": pl.Series([None] * ROWS, dtype=pl.Null),
    "kinds": pl.Series(["a", "b", None] * (ROWS // 3), dtype=pl.Categorical),
}


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row * 7 % 40 for row in range(ROWS)],
            "sex": ["m" if row % 3 else "f" for row in range(ROWS)],
            "disease": [("flu", "cold", "asthma")[row // 3 % 3] for row in range(ROWS)],
        }
    )


def written(folder: Path, frame: pl.DataFrame, **changed: str) -> Path:
    frame.write_parquet(folder / "people.parquet")
    given = {"missing": "value", "roles": "", "columns": "", "algorithm": "optimal"}
    given |= {"format": "csv", "suppressed": "drop"}
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(**given | changed), encoding="utf-8")
    return recipe


def typed(folder: Path, name: str, **changed: str) -> Path:
    """A recipe for a column that is published as it is."""
    frame = people().with_columns(COLUMNS[name].alias(name))
    times = isinstance(COLUMNS[name].dtype, pl.Datetime)  # which are published only where somebody says so
    columns = f'[columns.{name}]\ntype = "categorical"' if times else ""
    return written(folder, frame, **{"roles": f'neutral = ["{name}"]', "columns": columns, **changed})


@pytest.mark.sample(13)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("changed", [{}, {"roles": 'identifiers = ["{}"]'}], ids=str)
def test_types_come_back_as_they_were_read(name: str, changed: dict[str, str], tmp_path: Path) -> None:
    recipe = typed(tmp_path, name, **{key: text.format(name) for key, text in changed.items()})
    text = recipe.read_text("utf-8").replace('"W-NEUTRAL"', '"W-NEUTRAL", "W-ROWS"')  # three values tell nobody apart
    recipe.write_text(text, encoding="utf-8")
    found = outcome(recipe, "duckdb")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", COLUMNS)
def test_parquet_keeps_them(name: str, tmp_path: Path) -> None:
    recipe = typed(tmp_path, name, format="parquet")
    found, expected = outcome(recipe, "duckdb"), outcome(recipe, "memory")
    assert found[:2] == expected[:2] == (0, "")
    one, other = (pl.read_parquet(each[2]["release.parquet"]) for each in (found, expected))
    assert one.schema == other.schema
    assert one.equals(other)


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    recipe = typed(tmp_path, "zeros", roles="")
    text = recipe.read_text().replace('["disease"]', '["disease", "zeros"]')
    recipe.write_text(text.replace('["W-NEUTRAL"]', '["W-UNMODELLED:zeros"]'))
    found = outcome(recipe, "duckdb")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")
    assert b"-0" not in found[2]["release.csv"]


def test_a_key_of_times_orders_the_rows_alike(tmp_path: Path) -> None:
    start = datetime.datetime(2020, 1, 1)
    times = pl.Series([start + datetime.timedelta(hours=row) for row in range(ROWS)], dtype=pl.Datetime("ns"))
    recipe = written(tmp_path, people().with_columns(times.alias("at")), roles='key = "at"')
    found = outcome(recipe, "duckdb")
    assert found[0] == 0, found[1]
    assert found == outcome(recipe, "memory")


def test_subjects_may_be_all_that_is_read_beside_codes(tmp_path: Path) -> None:
    frame = people().with_columns(pl.Series("who", [f"person {row // 2}" for row in range(ROWS)]))
    recipe = written(tmp_path, frame, roles='subject = "who"')
    found = outcome(recipe, "duckdb")
    assert found[0] == 0, found[1]
    assert found == outcome(recipe, "memory")


def test_people_who_cannot_be_told_apart_are_refused_by_the_name_of_their_column(tmp_path: Path) -> None:
    hidden = [f"person {row // 2}" + ("\u200b" if row % 2 else "") for row in range(ROWS)]
    recipe = written(tmp_path, people().with_columns(pl.Series("who", hidden)), roles='subject = "who"')
    found = outcome(recipe, "duckdb")
    assert found == outcome(recipe, "memory")
    assert "'who'" in found[1]


def test_batches_may_lose_all_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.io.batches.BATCH", 10)
    monkeypatch.setattr("shoal.io.batches.BATCH", 10)
    gone = pl.when(pl.int_range(pl.len()) < 30).then(None).otherwise(pl.col("disease")).alias("disease")
    recipe = written(tmp_path, people().with_columns(gone), missing="drop")
    found = outcome(recipe, "duckdb")
    assert found[0] == 0, found[1]
    assert found == outcome(recipe, "memory")


@pytest.mark.parametrize(
    "changed",
    [{}, {"algorithm": "mondrian"}, {"algorithm": "k-members"}, {"format": "parquet"}, {"suppressed": "star"}],
    ids=str,
)
def test_evidence_says_the_same(changed: dict[str, str], tmp_path: Path) -> None:
    rare = pl.when(pl.int_range(pl.len()) % 40 == 0).then(pl.lit(90)).otherwise(pl.col("age")).alias("age")
    recipe = written(tmp_path, people().with_columns(rare), **changed)
    for engine in ("duckdb", "memory"):
        assert outcome(recipe, engine)[0] == 0
    here, there = (read_evidence(tmp_path / f"out-{engine}") for engine in ("memory", "duckdb"))
    own = {"seconds", "recipe", "source_path", "manifest_sha256", "search", "vault", "input_hash"}
    assert {name: fact for name, fact in there.items() if name not in own} == {
        name: fact for name, fact in here.items() if name not in own
    }


def hashed(folder: Path, name: str, cells: list[str], **more: Any) -> str:
    """The keyed hash of a source, of which one column is given."""
    source = pl.DataFrame({"age": [str(20 + at % 3) for at in range(len(cells))], "disease": cells})
    source.write_csv(folder / f"{name}.csv")
    recipe = {
        "seed": 1, "source": {"path": str(folder / f"{name}.csv")},
        "roles": {"quasi": ["age"], "sensitive": ["disease"]}, "models": [{"name": "k", "k": 2}],
        "acknowledge": ["W-UNMODELLED:disease"], "engine": {"name": "duckdb"},
        "output": {"folder": str(folder / name)}, **more,
    }  # fmt: skip
    shoal.run(recipe)
    return str(read_evidence(folder / name)["input_hash"])


def test_the_hash_of_a_source_is_of_its_cells_and_of_nothing_else(tmp_path: Path) -> None:
    cells = ["flu", "cold", "asthma", "cold", "flu", "flu"]
    once = hashed(tmp_path, "once", cells)
    coarser = {"hierarchies": {"age": {"widths": [2, 10]}}, "columns": {"age": {"type": "numeric"}}}
    assert hashed(tmp_path, "again", cells, **coarser) == once
    others = [[*cells[:4], "cold", "flu"], cells[::-1], ["gout" if cell == "cold" else cell for cell in cells]]
    assert len({once, *(hashed(tmp_path, f"other-{at}", other) for at, other in enumerate(others))}) == 4
