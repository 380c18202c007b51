"""Tables in PostgreSQL: the same recipe gives the same release as a file of the same rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.catalogue import make as made
from shoal.io.files import read_frame
from shoal.io.recipes import parse_recipe, update_recipe
from tests.engines.alike import RECIPE, outcome
from tests.engines.server import Server
from tests.soak.cases import make

TYPES = {"age": "smallint", "visits": "integer", "income": "numeric(12,2)", "birth_date": "date", "key": "bigint"}


def keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that are told apart by a column, in an order of its own."""
    return frame.with_row_index("key", offset=101).with_columns(pl.col("key").cast(pl.Int64))


def census(folder: Path, rows: int = 600, **changed: str) -> Path:
    """A recipe for some of the synthetic census, read from a file."""
    people = keyed(shoal.example_census(rows))
    (people if changed.get("subject") else people.drop("person")).write_csv(folder / "people.csv")
    given = {"missing": "value", "subject": "", "algorithm": "optimal", "format": "csv", "suppressed": "drop"}
    recipe = folder / "recipe.toml"
    text = RECIPE.format(**given | changed).replace("[roles]", '[roles]\nkey = "key"')
    recipe.write_text(text, encoding="utf-8")
    return recipe


def moved(recipe: Path, server: Server, types: dict[str, str] | None = None) -> Path:
    """The same recipe for the same rows in the database."""
    text = recipe.read_text(encoding="utf-8")
    given = parse_recipe(text).source
    frame = read_frame(recipe.parent / given.file, separator=given.separator)
    server.fill("public.people", frame.sample(fraction=1.0, shuffle=True, seed=3), types)
    address = {"path": None, "url": server.url(), "table": "public.people", "name": given.title}
    there = recipe.with_name("there.toml")
    there.write_text(update_recipe(text, {"source": address}), encoding="utf-8")
    return there


def both(recipe: Path, server: Server, types: dict[str, str] | None = None) -> tuple[object, object]:
    return outcome(moved(recipe, server, types), "postgres"), outcome(recipe, "memory")


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"missing": "drop"},
        {"suppressed": "star"},
        {"subject": 'subject = "person"'},
        {"subject": 'subject = "person"', "missing": "drop"},
        {"algorithm": "top-down-subtree"},
        {"algorithm": "mondrian"},
        {"missing": "error"},
    ],
    ids=str,
)
def test_the_census_gives_the_same_files(changed: dict[str, str], tmp_path: Path, postgres: Server) -> None:
    there, here = both(census(tmp_path, **changed), postgres)
    assert here[0] == (2 if changed.get("missing") == "error" else 0), here[1]
    assert there == here


def generated() -> list[int]:
    """Cases whose methods look at the frequency table."""
    cases = ((seed, make(seed)) for seed in range(240))
    return [seed for seed, case in cases if made("algorithm", case.algorithm).from_cells and not case.again]


@pytest.mark.parametrize("seed", generated()[:30])
def test_generated_tables_give_the_same_files_or_the_same_sentence(
    seed: int, tmp_path: Path, postgres: Server
) -> None:
    recipe = make(seed).write(tmp_path)
    source = tmp_path / "source.csv"
    keyed(pl.read_csv(source, infer_schema=False)).write_csv(source)
    recipe.write_text(update_recipe(recipe.read_text("utf-8"), {"roles": {"key": "key"}}), "utf-8")
    there, here = both(recipe, postgres)
    assert there == here


def test_typed_columns_give_the_same_rows(tmp_path: Path, postgres: Server) -> None:
    there, here = both(census(tmp_path), postgres, TYPES)
    assert there[:2] == here[:2] == (0, "")
    assert sorted(there[2]["release.csv"].splitlines()) == sorted(here[2]["release.csv"].splitlines())
    assert len(there[2]["release.csv"]) > 1000
    assert json.loads(there[2]["manifest.json"]) == json.loads(here[2]["manifest.json"])


def test_several_batches_and_buckets_make_no_difference(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = census(tmp_path, subject='subject = "person"')
    expected = outcome(recipe, "memory")
    monkeypatch.setattr("shoal.engines.postgres._BATCH", 13)
    monkeypatch.setattr("shoal.engines.postgres._PIECE", 5)
    monkeypatch.setattr("shoal.engines.shuffled._BUCKET", 40)
    monkeypatch.setattr("shoal.engines.shuffled._TOGETHER", 3)
    assert expected[0] == 0, expected[1]
    assert outcome(moved(recipe, postgres), "postgres") == expected


def test_the_release_goes_into_a_new_table_too(tmp_path: Path, postgres: Server) -> None:
    postgres.do("DROP TABLE IF EXISTS public.released")
    recipe = moved(census(tmp_path), postgres, TYPES)
    text = recipe.read_text("utf-8").replace('neutral = ["visits"]', 'neutral = ["visits", "admitted", "birth_date"]')
    text = text.replace('drop = ["birth_date", ', "drop = [").replace(', "admitted"]', "]")
    recipe.write_text(text.replace("[output]", '[output]\ntable = "public.released"'), "utf-8")
    code, sentence, files = outcome(recipe, "postgres")
    assert (code, sentence) == (0, "")
    types = dict(
        postgres.rows(
            "SELECT column_name::text, data_type::text FROM information_schema.columns WHERE table_name = 'released'"
        )
    )
    assert types == {
        "age": "text", "sex": "text", "region": "text", "diagnosis": "text", "income": "text", "visits": "bigint",
        "admitted": "text", "birth_date": "date",
    }  # fmt: skip
    frame = read_frame(tmp_path / "out-postgres" / "release.csv")
    rows = postgres.rows(f"SELECT {', '.join(f'{name}::text' for name in frame.columns)} FROM public.released")
    assert sorted(map(str, rows)) == sorted(map(str, frame.rows()))
    assert frame.height > 100
    again = outcome(recipe.with_name("there.toml"), "postgres")
    assert again[0] == 2
    assert "not empty" in again[1]
    shutil.rmtree(tmp_path / "out-postgres")
    shutil.rmtree(tmp_path / "out-postgres.evidence")
    code, sentence, _ = outcome(recipe, "postgres")
    assert code == 2
    assert "is there already" in sentence
    assert not (tmp_path / "out-postgres").exists()
