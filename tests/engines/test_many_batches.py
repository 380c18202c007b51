"""More rows than one batch holds: what was right of one batch is right of many, whatever stands in them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.cli.main import execute
from shoal.data.table import spilling
from tests.engines.alike import keyed, outcome
from tests.engines.server import Server
from tests.engines.test_duckdb import census
from tests.engines.test_postgres import moved

pytest.importorskip("duckdb")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few rows, wherever they are made."""
    for name, rows in {
        "shoal.io.batches._BYTES": 5000,
        "shoal.io.batches.BATCH": 97,
        "shoal.engines.store._BUCKET": 40,
        "shoal.engines.store._TOGETHER": 3,
        "shoal.engines.postgres._BATCH": 13,
        "shoal.engines.postgres._PIECE": 5,
    }.items():
        monkeypatch.setattr(name, rows)


@pytest.mark.sample(1)
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_suppressed_rows_may_be_stars(format: str, tmp_path: Path) -> None:
    recipe = census(tmp_path, missing="drop", suppressed="star", format=format)
    there, here = outcome(recipe, "duckdb"), outcome(recipe, "memory")
    assert here[:2] == there[:2] == (0, "")
    if format == "csv":
        assert there[2] == here[2]
        assert b"*,*,*,*" in here[2]["release.csv"]
    else:
        frames = [pl.read_parquet(files["release.parquet"]) for _, _, files in (there, here)]
        assert frames[0].equals(frames[1])
        assert (frames[0]["age"] == "*").any()


@pytest.mark.usefixtures("small")
def test_suppressed_rows_of_a_database_may_be_stars(tmp_path: Path, postgres: Server) -> None:
    recipe = keyed(census(tmp_path, missing="drop", suppressed="star"), tmp_path / "people.csv")
    expected = outcome(recipe, "memory")
    assert expected[:2] == (0, "")
    assert b"*,*,*,*" in expected[2]["release.csv"]
    assert outcome(moved(recipe, postgres), "postgres") == expected


SPELLED = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
path = "people.csv"
[roles]
key = "key"
quasi = ["age", "sex"]
sensitive = ["illness"]
[columns.age]
type = "numeric"
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
[algorithm]
name = "mondrian"
"""


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_numbers_of_several_spellings_may_outgrow_a_byte(engine: str, tmp_path: Path, postgres: Server) -> None:
    ages = ["1", "1.0", "2", "3"] * 100 + [str(age) for age in range(400)] * 3 + ["5.0"]
    rows = pl.DataFrame({"key": range(1, len(ages) + 1), "age": ages, "sex": ["f", "m", "f"] * 533 + ["m", "f"]})
    rows.with_columns(illness=pl.col("key").mod(4).replace_strict(list(range(4)), list("abcd"))).write_csv(
        tmp_path / "people.csv"
    )
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(SPELLED, "utf-8")
    expected = outcome(recipe, "memory")
    assert expected[:2] == (0, "")
    assert outcome(recipe if engine == "duckdb" else moved(recipe, postgres), engine) == expected


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (pl.exceptions.SchemaError("'Jane' is of no Enum"), 1, "internal: SchemaError"),
        (pl.exceptions.ComputeError("No space left on device (os error 28)"), 2, "the disk is full"),
        (OSError("it went away"), 2, "cannot be written to"),
    ],
)
def test_only_what_the_system_refuses_is_told_as_its_refusal(
    error: Exception,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> None:
        raise error

    recipe = census(tmp_path, 200)
    text = recipe.read_text("utf-8").replace("[output]", '[engine]\nname = "duckdb"\n[output]\nfolder = "out"')
    recipe.write_text(text, "utf-8")
    monkeypatch.setattr("shoal.release.write._write_table", fail)
    assert execute(["run", str(recipe)]) == code
    told = capsys.readouterr().err
    assert said in told
    assert "Jane" not in told
    assert not (tmp_path / "out").exists()


def test_a_fault_of_ours_is_no_full_scratch_disk() -> None:
    with pytest.raises(pl.exceptions.SchemaError), spilling():
        raise pl.exceptions.SchemaError("columns differ")
