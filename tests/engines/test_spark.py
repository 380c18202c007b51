"""Rows on Spark: the same recipe gives the same bytes, a DataFrame goes in and out, and no rows come to the driver."""

from __future__ import annotations

import ast
import datetime as dt
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.spark
from shoal.engines.spark import rows_in
from shoal.engines.spark_files import Coder, Coding, files_of
from shoal.engines.spark_session import collected
from shoal.errors import InputError, RecipeError
from tests.engines.alike import keyed, outcome, with_gaps_recipe
from tests.engines.test_duckdb import census
from tests.house import SOURCE
from tests.soak.cases import make

pytest.importorskip("pyspark")

# Methods that other tests here do not run, and what makes their searches short.
SERVED = ["incognito", "rv-global", "rv-local", "rv-hybrid", "rv-distributed", "k-optimize", "set-partition", "genetic",
          "none"]  # fmt: skip
CASES = [12, 13, 14, 16]  # Samarati, Incognito, optimal and rv-global, on tables of their own
SHORT: dict[str, dict[str, Any]] = {"k-optimize": {"nodes": 5}, "genetic": {"population": 6, "evaluations": 20}}
# What brings rows to the driver. One of them is used, in one place, for what is small.
COLLECTING = {
    "collect", "toPandas", "toLocalIterator", "toArrow", "take", "head", "tail", "first", "show", "foreach",
    "foreachPartition", "rdd", "localCheckpoint", "collectAsArrow",
}  # fmt: skip


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str]]]:
    """Rows and columns of everything that comes to the driver by the one way that is used; others are refused."""
    from pyspark.sql.classic.dataframe import DataFrame

    found: list[tuple[int, list[str]]] = []
    real = DataFrame.toArrow

    def counted(frame: Any) -> Any:
        table = real(frame)
        found.append((table.num_rows, table.column_names))
        return table

    def refused(*given: object, **named: object) -> None:
        raise AssertionError("rows were brought to the driver")

    monkeypatch.setattr(DataFrame, "toArrow", counted)
    for name in ("collect", "toPandas", "toLocalIterator", "take", "head", "tail", "first", "show", "foreach"):
        monkeypatch.setattr(DataFrame, name, refused)
    return found


WEIGHED = {"subject": 'subject = "person"\nweight = "industry"\n[weights]\nage = 3.0'}


def of_people(folder: Path, rows: int = 200, **changed: str) -> Path:
    """A recipe for some of the census, in which a column says what a row weighs, if asked for."""
    recipe = keyed(census(folder, rows, **changed), folder / "people.csv")
    if "weight =" in changed.get("subject", ""):
        people = pl.read_csv(folder / "people.csv", infer_schema=False)
        people.with_columns(industry=pl.col("person").str.len_chars().cast(pl.String)).write_csv(folder / "people.csv")
        text = recipe.read_text("utf-8").replace("widths = [5, 10, 20]", "widths = [20]")  # few levels, few questions
        recipe.write_text(text.replace('"occupation", "industry"', '"occupation"'), "utf-8")
    return recipe


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "changed",
    [
        WEIGHED,
        {"algorithm": "mondrian", "format": "parquet"},
        {"missing": "drop", "suppressed": "star", "algorithm": "top-down-subtree"},
    ],
    ids=str,
)
def test_the_census_gives_the_same_files(changed: dict[str, str], tmp_path: Path, spark: Any) -> None:
    recipe = of_people(tmp_path, **changed)
    found, memory = outcome(recipe, "spark"), outcome(recipe, "memory")
    assert memory[:2] == (0, "")
    for files in (found[2], memory[2]):
        if "release.parquet" in files:  # row groups may differ, and so the hash of the file
            files["release.parquet"] = pl.read_parquet(files.pop("release.parquet")).write_csv().encode()
            files["manifest.json"] = re.sub(rb'"sha256": "\w+"', b"", files["manifest.json"])
    assert found == memory


@pytest.mark.parametrize("name", SERVED)
def test_every_method_that_it_serves_gives_the_same_files(name: str, tmp_path: Path, spark: Any) -> None:
    recipe = of_people(tmp_path, 60, algorithm=name)
    more = "".join(f"\n{key} = {value}" for key, value in SHORT.get(name, {}).items())
    text = re.sub(r"\[\[models]].*(?=\[algorithm])", '[[models]]\nname = "k"\nk = 2\n', recipe.read_text(), flags=re.S)
    text = text.replace("suppression_limit = 0.6", f"suppression_limit = 1.0{more}")
    recipe.write_text(text.replace('"W-NEUTRAL"', '"W-NEUTRAL", "W-UNMODELLED:diagnosis", "W-UNMODELLED:income"'))
    found = outcome(recipe, "spark")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "memory")


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", CASES)
def test_generated_tables_do_too_or_give_the_same_sentence(seed: int, tmp_path: Path, spark: Any) -> None:
    recipe = keyed(make(seed).write(tmp_path), tmp_path / "source.csv")
    assert outcome(recipe, "spark") == outcome(recipe, "memory")


def test_dropped_and_suppressed_rows_decide_nothing(tmp_path: Path, spark: Any) -> None:
    recipe = with_gaps_recipe(tmp_path)
    here = outcome(recipe, "memory")
    assert here[0] == 0, here[1]
    assert outcome(recipe, "spark") == here


def visits(rows: int = 3000) -> pl.DataFrame:
    """Typed rows, in which nothing but key, name and the time of writing tells many rows apart."""
    row = pl.int_range(rows, eager=True)
    return pl.DataFrame(
        {
            "visit": row * 7919 % 1_000_003, "name": "person " + row.cast(pl.String), "Age": 20 + row % 10 * 5,
            "sex": pl.select(pl.when(row % 2 == 0).then(pl.lit("f")).otherwise(pl.lit("m"))).to_series(),
            "born": pl.Series([dt.date(1950 + number % 8, 1, 1) for number in row]), "cost": row * 31 % 7 / 4,
            "ill.ness": pl.Series([None if number % 97 == 0 else f"d{number * 13 % 5}" for number in row]),
            "paid": row % 3 == 0, "note": pl.Series([" x " if number % 2 else "y" for number in row]),
        }
    )  # fmt: skip


VISITS: dict[str, Any] = {
    "seed": 5, "acknowledge": ["W-NEUTRAL", "W-UNMODELLED:cost"], "source": {"path": "", "missing": "drop"},
    "roles": {
        "key": "visit", "identifiers": ["name"], "quasi": ["Age", "sex", "born"], "sensitive": ["ill.ness", "cost"],
        "neutral": ["paid", "note"],
    },
    "hierarchies": {"Age": {"widths": [10, 20]}, "sex": {"prefix": [1]}, "born": {"dates": ["year"]}},
    "models": [{"name": "k", "k": 40}, {"name": "distinct-l", "l": 3, "on": "ill.ness"}],
    "algorithm": {"name": "optimal", "suppression_limit": 0.1},
}  # fmt: skip


def test_a_dataframe_goes_in_and_out_and_only_counts_come_to_the_driver(
    spark: Any, tmp_path: Path, brought: list[tuple[int, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.engines.spark_files._RUN", 500)  # rows of a run, for several runs and buckets
    monkeypatch.setattr("shoal.engines.sql_rows.PAIRS", 150)  # fewer than cells have costs, and more than illnesses
    monkeypatch.setattr("shoal.data.classes._ROWS", 100)
    rows, recipe = visits(), {**VISITS, "roles": {**VISITS["roles"], "sensitive": ["cost", "ill.ness"]}}
    frame = spark.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    with shoal.spark.anonymize(frame, recipe, scratch=tmp_path) as release:
        pairs = [count for count, names in brought if {"k0", "v0"} <= set(names)]
        assert pairs == [40, 98, 98, 84]  # of cell and illness, and of cell and cost, which come in pieces
        assert len([names for _, names in brought if "k0" in names and "v0" not in names]) == 1  # cells, once for all
        assert max(count for count, _ in brought) <= 600  # rows are 3,000
        release.frame.write.parquet((tmp_path / "public").as_uri())
        assert release.evidence["counts"]["dropped"] == rows["ill.ness"].null_count()
    assert [path.name for path in tmp_path.iterdir()] == ["public"]
    table = shoal.read(
        rows, **recipe["roles"], missing="drop", hierarchies=VISITS["hierarchies"], name="frame"
    )
    models = [shoal.KAnonymity(k=40), shoal.DistinctL(l=3, on="ill.ness")]
    memory = shoal.anonymize(
        table, algorithm=shoal.Optimal(suppression_limit=0.1), models=models, seed=5, acknowledge=VISITS["acknowledge"]
    )
    found = pl.read_parquet(tmp_path / "public" / "*.parquet")
    assert found.sort(pl.all()).equals(memory.frame.sort(pl.all()))
    assert release.manifest == memory.manifest
    assert [verdict.holds for verdict in release.verdict] == [True, True]


def test_a_run_of_few_rows_has_files_without_any(spark: Any, tmp_path: Path) -> None:
    coding = Coding(
        coder=Coder(values={}, codes={}, spelled=[], places={}), read=tmp_path, folder=tmp_path, runs=[["0-0", "0-1"]],
        starts=[7], bits=4, task=lambda: (0, 1),
    )  # fmt: skip
    pl.DataFrame().write_ipc(tmp_path / "0")
    for at in (0, 1):
        pl.DataFrame({"b": [at, at + 1], "o0": ["x", "y"]}).write_ipc(tmp_path / f"0-{at}")
    (told,) = coding(iter([pl.DataFrame({"id": [0]})]))
    files = files_of(tmp_path / told["name"].item(), 4)
    assert [pq.ParquetFile(path).num_row_groups for path in files] == [0, 0, 1, 0]
    found = collected(rows_in(spark, files)).sort("r")
    assert found["r"].to_list() == [7, 8, 9, 10]
    assert found["o0"].to_list() == ["x", "y", "x", "y"]


def test_one_function_brings_anything_to_the_driver() -> None:
    used, files = [], ("spark", "spark_tasks", "spark_files", "spark_session")
    for name in (*(f"engines/{one}.py" for one in files), "release/spark.py"):
        for node in ast.walk(ast.parse((SOURCE / name).read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                inside = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)} & COLLECTING
                # Frames of Polars and batches, which are in the driver or with executors, have some of these, too.
                used += [(name, node.name, attribute) for attribute in inside - {"head", "collect", "take"}]
    assert used == [("engines/spark_session.py", "collected", "toArrow")]


def test_a_table_of_the_catalogue_is_a_source(spark: Any, tmp_path: Path) -> None:
    few = visits(400).drop("born")
    spark.createDataFrame(few.to_arrow(compat_level=pl.CompatLevel.oldest())).createOrReplaceTempView("some_visits")
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        'acknowledge = ["W-NEUTRAL"]\n[source]\ntable = "some_visits"\n[engine]\nname = "spark"\n'
        '[roles]\nkey = "visit"\nidentifiers = ["name"]\nquasi = ["Age"]\ndrop = ["ill.ness", "cost"]\n'
        'neutral = ["sex", "paid", "note"]\n[hierarchies]\nAge = { widths = [10, 20] }\n'
        '[[models]]\nname = "k"\nk = 50\n[algorithm]\nname = "samarati"\n[output]\nformat = "parquet"\n'
    )
    shoal.run(recipe)
    assert shoal.verify_release(tmp_path / "out").passed
    assert pl.read_parquet(tmp_path / "out" / "release.parquet").height == 400


@pytest.mark.parametrize(
    "change, words",
    [
        (("visit", pl.lit(1)), "The key column 'visit' repeats values"),
        (("cost", pl.lit(float("nan"))), "Column 'cost' of the frame has 40 NaN cells"),
        (("note", pl.lit("a\0b")), "Column 'note' of the frame has 40 cells with a zero byte"),
        (("visit", pl.lit(None, dtype=pl.Int64)), "The key column 'visit' has 40 missing cells"),
    ],
)
def test_rows_that_cannot_be_taken_are_refused_as_in_memory(change: tuple[str, Any], words: str, spark: Any) -> None:
    name, given = change
    rows = visits(40).with_columns(given.alias(name))
    with pytest.raises(InputError) as refused:
        shoal.spark.anonymize(spark.createDataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest())), VISITS)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "content, words",
    [
        ("line,age,sex\n1,2,m\n2,3\n", "1 rows of 'people.csv' have more or fewer cells than its header"),
        ("line,age,sex\n1,2,m\n2,3,m,hidden\n", "1 rows of 'people.csv' have more or fewer cells than its header"),
        ("line,age,sex\n1,2,m\n \x01\n2,3,f\n", "1 lines of the source have nothing but white space"),
        ('line,age,sex\n1,30,"m\n2,31,f"\n3,32,m\n', "2 lines of the source have an odd number of quotes"),
        ("line,age,age\n1,2,3\n", "'people.csv' has two columns called 'age'"),
        ("line,age,sex\n", "The table has no rows"),
        ("", "'people.csv' is empty"),
        ("line,age,sex\n1,2,\udce4\n", "Column 'sex' of 'people.csv' has 1 cells that are not UTF-8"),
        ("line,age,sex\n1,2,m\n1,3,f\n", "The key column 'line' repeats values"),
    ],
)
def test_text_that_cannot_be_read_is_refused(content: str, words: str, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(content.encode("utf-8", "surrogateescape"))
    code, sentence, _ = outcome(small(tmp_path), "spark")
    assert (code, words in sentence) == (2, True), sentence


ODD = """\ufeffline, age ,sex\r
1,"30",m\r
\r
\t \r
2, 31 ,"with ""quotes"", and a comma"\r
3,"32","m"\r
4,"",f\r
5,33,?\r
6,33,back\\slash\r
"""


def test_odd_text_and_several_files_are_read_as_in_memory(spark: Any, tmp_path: Path) -> None:
    recipe = small(tmp_path, 'missing = "value"\nmissing_markers = ["?"]')
    (tmp_path / "people.csv").write_text(ODD, newline="")
    found = outcome(recipe, "spark")
    assert found == outcome(recipe, "memory")
    assert found[:2] == (0, "")
    parts = tmp_path / "parts"
    parts.mkdir()
    for at, rows in enumerate((ODD.splitlines(keepends=True)[1:5], ODD.splitlines(keepends=True)[5:])):
        (parts / f"{at}.csv").write_text("line,age,sex\n" + "".join(rows), newline="")
    recipe.write_text(recipe.read_text().replace('path = "people.csv"', 'name = "people"\npath = "parts/*.csv"'))
    for engine in ("spark", "memory"):
        shutil.rmtree(tmp_path / f"out-{engine}")
        shutil.rmtree(tmp_path / f"out-{engine}.evidence")
    assert outcome(recipe, "spark") == found
    shutil.rmtree(tmp_path / "out-spark")
    shutil.rmtree(tmp_path / "out-spark.evidence")
    (parts / "2.csv").write_text("line,sex,age\n7,m,30\n")
    assert "'2.csv' has other columns than '0.csv'" in outcome(recipe, "spark")[1]
    recipe.write_text(recipe.read_text().replace("parts/*", "parts/none-*"))
    assert "No file matches" in outcome(recipe, "spark")[1]


def test_a_row_of_missing_cells_that_spark_would_leave_out_is_refused(spark: Any, tmp_path: Path) -> None:
    recipe = small(tmp_path, 'separator = "\\t"\nmissing = "value"')
    (tmp_path / "people.csv").write_text("age\tline\tsex\n30\t1\tm\n\t\t\n30\t2\tm\n")
    assert "key column 'line' has 1 missing cells" in outcome(recipe, "memory")[1]
    assert "1 lines of the source have nothing but white space" in outcome(recipe, "spark")[1]


def small(folder: Path, source: str = "") -> Path:
    """A recipe for three columns."""
    recipe = folder / "recipe.toml"
    recipe.write_text(
        f'seed = 3\n[source]\npath = "people.csv"\n{source}\n[roles]\nkey = "line"\nquasi = ["age", "sex"]\n'
        '[[models]]\nname = "k"\nk = 2\n[algorithm]\nname = "mondrian"\n'
    )
    return recipe


def test_times_of_a_zone_are_those_of_the_file(spark: Any, tmp_path: Path) -> None:
    recipe = small(tmp_path)
    text = 'acknowledge = ["W-NEUTRAL"]\n' + recipe.read_text().replace("people.csv", "people.parquet")
    neutral = '"sex"]\nneutral = ["day", "time"]\n[columns.time]\ntype = "categorical"\n'
    recipe.write_text(text.replace('"sex"]\n', neutral))
    days = pl.Series([dt.datetime(2024, 3, 30) + dt.timedelta(days=row % 3) for row in range(60)])
    rows = pl.DataFrame({"line": range(60), "age": [20 + row % 4 for row in range(60)], "sex": ["m", "f"] * 30})
    for zone in ("Asia/Tokyo", "Europe/Vienna"):
        there = days.dt.replace_time_zone(zone)
        rows.with_columns(day=there, time=there + pl.duration(hours=5)).write_parquet(tmp_path / "people.parquet")
        if zone == "Asia/Tokyo":  # another one than the session's
            files = outcome(recipe, "spark")
            assert files[:2] == (0, "")
            assert files == outcome(recipe, "memory")
    with shoal.spark.anonymize(spark.read.parquet((tmp_path / "people.parquet").as_uri()), recipe) as release:
        counted = release.frame.groupBy("day").count().toArrow()
    assert sorted(counted["day"].to_pylist()) == sorted(set(days))  # as a clock there shows them


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda text: text.replace('key = "line"\n', ""), "has no order of rows: name a column"),
        (lambda text: text.replace("[output]", '[output]\norder = "kept"'), "has no order of rows to keep"),
        (lambda text: text.replace('"optimal"', '"toc"').replace("suppression_limit = 0.6", ""), "engine 'duckdb'"),
        (lambda text: text.replace('"optimal"', '"mondrian"\npolish = "lm"'), "engine 'duckdb'"),
        (lambda text: text.replace('"optimal"', '"anatomy"').replace("suppression_limit = 0.6", "l = 2"), "one by one"),
        (
            lambda text: re.sub(r"sensitive = .*", 'sensitive = ["diagnosis"]\nguard = "income"', text, count=1),
            "does not serve guarded nodes",
        ),
    ],
)
def test_what_it_cannot_serve_is_said_before_anything_is_read(change: Any, words: str, tmp_path: Path) -> None:
    recipe = keyed(census(tmp_path, 20), tmp_path / "people.csv")
    (tmp_path / "people.csv").unlink()
    recipe.write_text(change(recipe.read_text("utf-8")), "utf-8")
    code, sentence, _ = outcome(recipe, "spark")
    assert (code, words in sentence) == (2, True), sentence


def test_other_frames_are_refused() -> None:
    with pytest.raises(InputError, match="is no Spark DataFrame"):
        shoal.spark.anonymize(visits(5), VISITS)
    with pytest.raises(RecipeError, match="name a column that tells them apart"):
        shoal.spark.anonymize(visits(5), {**VISITS, "roles": {"quasi": ["Age"]}})
    with pytest.raises(RecipeError, match="A recipe holds texts"):
        shoal.spark.anonymize(visits(5), {**VISITS, "roles": {"key": None}})


def test_spellings_of_people_and_answers_are_counted_as_in_memory(spark: Any, tmp_path: Path) -> None:
    people = ["p1", "P1", "p2", "p3", "p4", "01", "1.0"]
    diseases = ["HIV", "hiv", "flu", "gout", "HIV", "n/a", "NA"]
    frame = pl.DataFrame({"row": range(7), "person": people, "age": [30] * 7, "disease": diseases})
    frame.write_parquet(tmp_path / "visits.parquet")
    recipe = {
        "source": {"path": str(tmp_path / "visits.parquet")},
        "roles": {"quasi": ["age"], "sensitive": ["disease"], "subject": "person", "key": "row"},
        "models": [{"name": "k", "k": 2}, {"name": "distinct-l", "l": 2}],
        "algorithm": {"name": "optimal"},
        "output": {"folder": str(tmp_path / "out")},
    }
    found = [
        shoal.run({**recipe, "engine": {"name": engine}}, replace=True).evidence["spellings"]
        for engine in ("memory", "spark")
    ]
    assert found[0] == found[1]
    assert [(one["column"], one["spellings"], one["values"]) for one in found[1]] == [
        ("person", 4, 2),
        ("disease", 4, 2),
    ]
