"""Tables in PostgreSQL: the same recipe gives the same release as a file of the same rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.io.files import read_frame
from shoal.recipe.edit import update_recipe
from shoal.recipe.recipe import parse_recipe
from tests.engines.alike import RECIPE, every_method, outcome, with_gaps_recipe
from tests.engines.server import Server
from tests.soak.cases import make

TYPES = {"age": "smallint", "visits": "integer", "income": "numeric(12,2)", "birth_date": "date", "key": "bigint"}


def keyed(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that are told apart by a column, in an order of its own."""
    return frame.with_row_index("key", offset=101).with_columns(pl.col("key").cast(pl.Int64))


def census(folder: Path, rows: int = 600, **changed: str) -> Path:
    """A recipe for some of the synthetic census, read from a file."""
    people = keyed(shoal.example_census(rows))
    alone = people.unique("person", keep="first", maintain_order=True).drop("person")
    (people if changed.get("subject") else alone).write_csv(folder / "people.csv")
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


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "changed",
    [
        {"missing": "drop", "suppressed": "star"},
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


def test_dropped_and_suppressed_rows_decide_nothing(tmp_path: Path, postgres: Server) -> None:
    there, here = both(with_gaps_recipe(tmp_path), postgres, {"id": "bigint", "pay": "bigint"})
    assert here[0] == 0, here[1]
    assert there == here


@pytest.mark.parametrize("seed", every_method(1))
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
    monkeypatch.setattr("shoal.engines.store._BUCKET", 40)
    monkeypatch.setattr("shoal.engines.store._TOGETHER", 3)
    assert expected[0] == 0, expected[1]
    assert outcome(moved(recipe, postgres), "postgres") == expected


@pytest.mark.parametrize("name", ["markers", "cells", "coded", "classes", "d0"])
def test_a_query_reads_the_tables_of_the_database_whatever_they_are_called(
    name: str, tmp_path: Path, postgres: Server
) -> None:
    """Temporary tables of ours would be found first."""
    there = moved(census(tmp_path, 60), postgres, TYPES)
    postgres.do(f"DROP TABLE IF EXISTS public.{name}", f"CREATE TABLE public.{name} AS SELECT * FROM public.people")
    try:
        asked = update_recipe(there.read_text("utf-8"), {"source": {"table": None, "query": f"SELECT * FROM {name}"}})
        (tmp_path / "asked").mkdir()
        (tmp_path / "asked" / "recipe.toml").write_text(asked, "utf-8")
        assert outcome(tmp_path / "asked" / "recipe.toml", "postgres") == outcome(there, "postgres")
    finally:
        postgres.do(f"DROP TABLE public.{name}")


def test_the_release_goes_into_a_new_table_too(tmp_path: Path, postgres: Server) -> None:
    postgres.do("DROP TABLE IF EXISTS public.released")
    recipe = moved(census(tmp_path), postgres, TYPES)
    text = recipe.read_text("utf-8").replace('neutral = ["visits"]', 'neutral = ["visits", "admitted", "birth_date"]')
    text = text.replace('drop = ["birth_date", ', "drop = [").replace(', "admitted"]', "]")
    text = text.replace('"W-NEUTRAL"', '"W-NEUTRAL", "W-DETERMINES:birth_date"')
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


NASTY = [
    "two\nlines", "\\.", "a\n\\.\nb", "\\N", "a\tb", 'quo"te', "a,b", " edges\u00a0", "cafe\u0301", "é漢",
    "back\\slash", "", "<missing>", "?", "%s %(x)s", "'; DROP TABLE people; --", "carriage\rreturn", "\u200bhidden",
    "x" * 5000,
]  # fmt: skip
NASTY_RECIPE = """
acknowledge = ["W-NEUTRAL", "W-EXACT-QI", "W-NO-K"]
seed = 1
[source]
path = "people.parquet"
missing = "value"
missing_markers = ["?"]
[roles]
key = "the key"
quasi = [{quasi}]
neutral = ["percent %s", "n", "x"]
[[models]]
name = "k"
k = 2
[algorithm]
name = "none"
[output]
format = "{format}"
"""


def nasty(folder: Path, format: str) -> tuple[Path, pl.DataFrame]:
    """A recipe for texts that mean something to somebody on the way, and names that do."""
    texts = [text for text in NASTY if format == "parquet" or "\r" not in text]  # no CSV file is released with one
    quasi, rows = 'qua"si, "" it\'s', 3 * len(texts)
    frame = pl.DataFrame(
        {
            "the key": [f"{texts[row % len(texts)][:20].strip()}~{row}" for row in range(rows)],
            quasi: [texts[row % len(texts)] for row in range(rows)],
            "percent %s": [texts[row * 7 % len(texts)] for row in range(rows)],
            "n": [f"{row // 2}" for row in range(rows)],
            "x": [None if row % 4 else "here" for row in range(rows)],
        }
    )
    frame.write_parquet(folder / "people.parquet")
    recipe = folder / "recipe.toml"
    recipe.write_text(NASTY_RECIPE.format(quasi=json.dumps(quasi), format=format), "utf-8")
    return recipe, frame


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_no_text_is_taken_for_anything_else(format: str, tmp_path: Path, postgres: Server) -> None:
    recipe, frame = nasty(tmp_path, format)
    expected = outcome(recipe, "memory")
    assert expected[:2] == (0, "")
    there = update_recipe(recipe.read_text("utf-8"), {
        "source": {"path": None, "url": postgres.url(), "table": '"odd schema"."%s"', "name": "people"},
        "output": {"table": '"odd schema"."new %s"'},
    })  # fmt: skip
    recipe.write_text(there, "utf-8")
    postgres.do('DROP SCHEMA IF EXISTS "odd schema" CASCADE', 'CREATE SCHEMA "odd schema"')
    postgres.fill('"odd schema"."%s"', frame)
    found = outcome(recipe, "postgres")
    assert found[:2] == (0, "")
    if format == "csv":
        assert sorted(found[2]["release.csv"]) == sorted(expected[2]["release.csv"])
    data = tmp_path / "out-postgres" / f"release.{format}"
    released = read_frame(data)
    assert released.sort(pl.all()).equals(read_frame(tmp_path / "out-memory" / data.name).sort(pl.all()))
    rows = postgres.rows('SELECT * FROM "odd schema"."new %s"')
    assert sorted(map(str, rows)) == sorted(map(str, released.rows()))
    assert len(rows) > 30
    postgres.do('DROP SCHEMA "odd schema" CASCADE')


KINDS_RECIPE = """
acknowledge = ["W-NEUTRAL", "W-UNMODELLED:amount"]
seed = 1
[source]
path = "kinds.parquet"
missing = "value"
missing_markers = ["-9"]
[roles]
key = "id"
quasi = ["small", "short", "yes", "day"]
sensitive = ["amount"]
neutral = ["real", "exact", "at", "nothing", "flag"]
[columns.at]
type = "categorical"
[columns.yes]
type = "categorical"
[[models]]
name = "k"
k = 3
[algorithm]
name = "mondrian"
[output]
"""
KINDS = """CREATE TABLE public.kinds AS SELECT
    i::bigint AS id, (CASE WHEN i % 11 = 0 THEN -9 ELSE i % 17 END)::smallint AS small, (i % 5 / 10.0)::real AS short,
    i % 2 = 0 AS yes, date '2020-02-27' + i % 40 AS day, (i % 7) * 1.50 AS amount, i / 3.0::float8 AS real,
    nullif(i * 0.10, 0.30)::numeric(30, 20) AS exact, timestamp '2020-01-01 10:00:00.25' + i * interval '1 day' AS at,
    NULL::text AS nothing, nullif(i % 3, 0) = 1 AS flag FROM generate_series(1, 200) AS i"""


def test_every_type_is_read_and_written_back(tmp_path: Path, postgres: Server) -> None:
    postgres.do("DROP TABLE IF EXISTS public.kinds, public.kinds_out", KINDS)
    recipe = tmp_path / "recipe.toml"
    source = {"path": None, "url": postgres.url(), "query": "SELECT * FROM kinds -- all", "name": "kinds"}
    changes = {"source": source, "output": {"table": "kinds_out"}}
    recipe.write_text(update_recipe(KINDS_RECIPE, changes), "utf-8")
    found = outcome(recipe, "postgres")
    assert found[:2] == (0, "")
    rows = dict(
        postgres.rows("SELECT column_name::text, udt_name::text FROM information_schema.columns "
                      "WHERE table_name = 'kinds_out'")
    )  # fmt: skip
    assert rows == {
        "small": "text", "short": "text", "yes": "text", "day": "text", "amount": "text", "real": "float8",
        "exact": "numeric", "at": "timestamp", "nothing": "text", "flag": "bool",
    }  # fmt: skip
    kept = "real, exact, at, nothing, flag"
    same = f"SELECT {kept} FROM kinds EXCEPT ALL SELECT {kept} FROM kinds_out"
    left = postgres.rows(same)
    assert len(left) == postgres.rows("SELECT 200 - count(*) FROM kinds_out")[0][0]
    assert postgres.rows("SELECT count(*) FROM kinds_out WHERE small LIKE '%-9%'") == [(0,)]
    assert postgres.rows("SELECT count(*) > 100 FROM kinds_out") == [(True,)]
    # The same rows from a file whose columns have the same types.
    columns = "id, nullif(small, -9), short::text, yes, day, amount::text, real, exact::text, at, nothing, flag"
    names = ["id", "small", "short", "yes", "day", "amount", "real", "exact", "at", "nothing", "flag"]
    frame = pl.DataFrame(postgres.rows(f"SELECT {columns} FROM kinds"), names, orient="row", infer_schema_length=None)
    frame = frame.with_columns(pl.col("nothing").cast(pl.String))
    frame.with_columns(pl.col("short").cast(pl.Float32)).write_parquet(tmp_path / "kinds.parquet")
    recipe.write_text(KINDS_RECIPE, "utf-8")
    expected = outcome(recipe, "memory")
    assert expected[:2] == (0, "")
    assert expected[2] == found[2]
    postgres.do("DROP TABLE public.kinds, public.kinds_out")


def test_a_recipe_is_checked_without_being_run(
    tmp_path: Path, postgres: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = moved(census(tmp_path), postgres)
    recipe.write_text(recipe.read_text("utf-8") + '[engine]\nname = "postgres"\n', "utf-8")
    assert execute(["check", str(recipe)]) == 0
    assert "501 rows" in capsys.readouterr().out
    assert execute(["explore", str(recipe)]) == 0
    assert "in a database" not in " ".join(capsys.readouterr().err.split())
