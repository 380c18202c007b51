"""Folders of files as a source: what is hidden in them, what may not be put there, and what their names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import InfeasibleError, InputError
from shoal.io.batches import open_batches
from shoal.io.folders import files_of
from shoal.io.partitions import look_at
from shoal.recipe.recipe import load_recipe
from shoal.release.check import examine
from shoal.release.entry import source_of
from shoal.release.spark import _looked
from shoal.release.write import check_output
from tests.engines.alike import outcome

RECIPE = """
seed = 1
[source]
path = "{path}"
name = "people"
[roles]
key = "line"
quasi = ["age"]
[[models]]
name = "k"
k = 2
[algorithm]
name = "mondrian"
"""


def put(place: Path, rows: pl.DataFrame) -> None:
    """Rows as a file, by its ending."""
    place.parent.mkdir(parents=True, exist_ok=True)
    (rows.write_parquet if place.suffix == ".parquet" else rows.write_csv)(place)


def people(start: int = 0, rows: int = 20) -> pl.DataFrame:
    """Rows with a key, five people an age."""
    return pl.DataFrame({"line": range(start, start + rows), "age": [30 + at % 4 for at in range(rows)]})


def recipe_for(folder: Path, path: str) -> Path:
    """A recipe for what is in a folder."""
    recipe = folder / "recipe.toml"
    recipe.write_text(RECIPE.format(path=path), "utf-8")
    return recipe


HIDDEN = ["_b", ".c", ".ipynb_checkpoints/a-checkpoint", "_temporary/0/a", "deep/_d"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_hidden_files_below_a_folder_are_no_part_of_it(kind: str, tmp_path: Path) -> None:
    for name in ["a", "deep/e", "_year=1/f", *HIDDEN]:
        put(tmp_path / f"src/{name}.{kind}", people())
    seen = ["_year=1/f", "a", "deep/e"]
    assert files_of(tmp_path / "src") == [tmp_path / f"src/{one}.{kind}" for one in seen]
    assert files_of(tmp_path / f"src/**/*.{kind}") == [tmp_path / f"src/{one}.{kind}" for one in seen]
    assert files_of(tmp_path / f"src/*.{kind}") == [tmp_path / f"src/a.{kind}"]


def test_a_hidden_folder_that_is_named_is_read(tmp_path: Path) -> None:
    for name in ["a", *HIDDEN]:
        put(tmp_path / f"_src/{name}.csv", people())
    for path, found in {"_b.csv": ["_b"], "_temporary": ["_temporary/0/a"], ".": ["a"]}.items():
        assert files_of(tmp_path / "_src" / path) == [tmp_path / f"_src/{one}.csv" for one in found], path
    with pytest.raises(InputError, match="names that begin with '.' or '_' are left out"):
        files_of(tmp_path / "_src/_*.csv")


def test_people_in_a_hidden_copy_are_not_counted_twice(tmp_path: Path) -> None:
    recipe = recipe_for(tmp_path, "src")
    text = recipe.read_text().replace("k = 2", "k = 6").replace('"mondrian"', '"none"')
    recipe.write_text(text.replace('key = "line"', 'drop = ["line"]'))
    for name in ["people", ".ipynb_checkpoints/people-checkpoint"]:
        put(tmp_path / f"src/{name}.csv", people())
    code, sentence, _ = outcome(recipe, "duckdb")
    assert (code, "failing: k" in sentence) == (3, True)
    steps: list[str] = []
    with pytest.raises(InfeasibleError):
        shoal.run(tmp_path / "duckdb.toml", progress=steps.append)
    assert "reading 1 file, leaving out 1 hidden" in steps
    put(tmp_path / "src/people-checkpoint.csv", people())
    assert outcome(recipe, "duckdb")[0] == 0


def test_no_name_of_a_file_that_nobody_spelt_is_published(tmp_path: Path) -> None:
    for name in ["Jane Fitzwilliam", "John Doe"]:
        put(tmp_path / f"src/{name}.csv", people(len(name)))
    recipe = recipe_for(tmp_path, "src")
    recipe.write_text(recipe.read_text().replace('name = "people"\n', "").replace('key = "line"', 'drop = ["line"]'))
    code, _, files = outcome(recipe, "duckdb")
    assert (code, [name for name, data in files.items() if b"Jane" in data]) == (0, [])
    for read in (open_batches, look_at):
        assert [read(tmp_path / one).name for one in ("src", "src/*.csv", "src/John Doe.csv")] == [
            "src", "src", "John Doe"
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "name"),
    [("*.csv", "table"), (".", "table"), ("deep/../*.csv", "table"), ("deep", "deep"), ("./deep/*", "deep")],
)
def test_so_is_no_name_of_the_folder_that_a_recipe_lies_in(path: str, name: str, tmp_path: Path) -> None:
    put(tmp_path / "Jane Fitzwilliam/people.csv", people())
    put(tmp_path / "Jane Fitzwilliam/deep/others.csv", people(20))
    place = recipe_for(tmp_path / "Jane Fitzwilliam", path)
    place.write_text(place.read_text() + '[engine]\nname = "duckdb"\n')
    recipe = load_recipe(place)
    looked = _looked(recipe)
    with source_of(recipe) as source:
        assert (source.name, looked and looked.name) == (name, name)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_release_goes_into_no_folder_that_is_read(engine: str, tmp_path: Path) -> None:
    put(tmp_path / "src/people.csv", people())
    recipe = recipe_for(tmp_path, "src")
    text = f'{recipe.read_text()}\n[engine]\nname = "{engine}"\n[output]\nfolder = '
    for folder in ("src/out", "src/_out", "src/deep/er/out"):
        recipe.write_text(f'{text}"{folder}"\n')
        for tried in (shoal.run, refused_by_check):
            with pytest.raises(InputError, match="is inside the folder of the source, whose files are all read"):
                tried(recipe)
    assert [one.name for one in (tmp_path / "src").iterdir()] == ["people.csv"]


def refused_by_check(path: Path) -> None:
    """What `shoal check` says, as an error."""
    raise InputError(" ".join(map(str, examine(load_recipe(path), lambda step: None)[1])))


def test_scratch_goes_there_neither(tmp_path: Path) -> None:
    put(tmp_path / "src/people.csv", people())
    recipe = recipe_for(tmp_path, "src")
    (tmp_path / "src/scratch").mkdir()
    code, sentence, _ = outcome(recipe, "duckdb", more='scratch = "src/scratch"')
    assert code == 2
    assert "The scratch folder" in sentence
    assert "is inside the folder of the source" in sentence
    with pytest.raises(InputError, match="The scratch folder"):
        refused_by_check(tmp_path / "duckdb.toml")


def test_a_release_is_matched_by_no_pattern_of_its_source(tmp_path: Path) -> None:
    put(tmp_path / "src/people.csv", people())
    for pattern, folder, refused in [
        ("src/*.csv", "src/out", False), ("src/**/*.csv", "src/out", True), ("src/*/*.csv", "src/out", True),
        ("s*/*.csv", "sout", True), ("src/p*.csv", "src/out", False), ("**/*.parquet", "out", True),
        ("*.evidence/*.json", "out", True), ("src/*.csv", "out", False), ("**/p*.csv", "out", False),
    ]:  # fmt: skip
        if refused:
            with pytest.raises(InputError, match="would hold files that the pattern of the source matches"):
                check_output(tmp_path / folder, tmp_path / pattern, replace=False)
        else:
            check_output(tmp_path / folder, tmp_path / pattern, replace=False)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_spark_leaves_out_what_others_leave_out_and_says_so_of_what_is_named(
    kind: str, tmp_path: Path, spark: Any
) -> None:
    put(tmp_path / f"src/a.{kind}", people())
    put(tmp_path / f"src/_b.{kind}", people(100, 8))
    for named in (f"src/_b.{kind}", f"{(tmp_path / 'src').as_uri()}/_b.{kind}"):
        code, sentence, _ = outcome(recipe_for(tmp_path, named), "spark")
        assert code == 2
        assert "Spark leaves out files whose names begin with '.' or '_'" in sentence
    recipe = recipe_for(tmp_path, "src")
    found = outcome(recipe, "spark")
    assert found[:2] == (0, "")
    assert found == outcome(recipe, "duckdb")


@pytest.mark.parametrize("scheme", ["file:", "file://"])
def test_an_address_of_this_machine_is_looked_at_as_a_path(scheme: str, tmp_path: Path) -> None:
    put(tmp_path / "src/a%20b/people.parquet", people())
    recipe = load_recipe(recipe_for(tmp_path, f"{scheme}{tmp_path}/src/a%20b"))
    looked = _looked(recipe)
    assert looked is not None
    assert (looked.name, looked.paths) == ("a%20b", [tmp_path / "src/a%20b/people.parquet"])
    put(tmp_path / "src/_delta_log/0.parquet", people())
    with pytest.raises(InputError, match="is, or is part of, a Delta"):
        _looked(recipe)
    assert _looked(load_recipe(recipe_for(tmp_path, "hdfs://there/src"))) is None


VALUES = ["2020", "%41 b", "__HIVE_DEFAULT_PARTITION__", "x=y", "100%"]
CELLS = ["2020", "A b", None, "x=y", "100%"]


def partitioned(folder: Path, kind: str) -> pl.DataFrame:
    """A folder of partitions by two columns, and the table that it is."""
    tables = []
    for at, (value, cell) in enumerate(zip(VALUES, CELLS, strict=True)):
        rows = people(20 * at)
        put(folder / f"when=0{at % 2}/what%20is={value}/a {at}.{kind}", rows)
        when = pl.lit(f"0{at % 2}").alias("when")
        tables.append(rows.with_columns(when, pl.lit(cell, pl.String).alias("what is")))
    return pl.concat(tables)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_in_the_names_of_folders_are_columns_of_the_table(kind: str, tmp_path: Path) -> None:
    table = partitioned(tmp_path / "src", kind)
    for path in (tmp_path / "src", tmp_path / f"src/**/*.{kind}", tmp_path / "src/when=*/*/*"):
        read = pl.concat(open_batches(path).frames()).with_columns(pl.col("line").cast(pl.Int64)).sort("line")
        assert read.columns == ["line", "age", "when", "what is"]
        assert read.select("line", "when", "what is").equals(table.select("line", "when", "what is"))
        assert look_at(path).names == read.columns
    some = open_batches(tmp_path / "src")
    assert next(some.frames(["what is", "age"])).columns == ["what is", "age"]
    assert sum(frame.height for frame in some.frames(["when"])) == 100
    assert open_batches(tmp_path / f"src/when=00/what%20is=2020/a 0.{kind}").names == ["line", "age"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["year=1/a", "b"], "name columns, as 'year=2020' does, and others name none or other ones"),
        (["year=1/a", "month=1/b"], "others name none or other ones"),
        (["x/year=1/a"], "others name none or other ones"),
        (["y=1/y=2/a"], "others name none or other ones"),
        (["Year=1/year=2/a"], "others name none or other ones"),
        (["year=/a"], "nothing before or behind the '='"),
        (["year=%FF/a"], "is not UTF-8"),
        (["age=1/a"], "Column 'age' is both in 'a.csv' and in the names of folders"),
        (["AGE=1/a"], "Column 'AGE' is both in 'a.csv' and in the names of folders"),
    ],
)
def test_folders_that_name_no_table_are_refused(names: list[str], words: str, tmp_path: Path) -> None:
    for name in names:
        put(tmp_path / f"{name}.csv", people())
    for read in (open_batches, look_at):
        with pytest.raises(InputError, match=words):
            read(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_partitions_give_the_files_of_the_same_table_in_memory(kind: str, tmp_path: Path, spark: Any) -> None:
    put(tmp_path / f"whole.{kind}", partitioned(tmp_path / "src", kind))
    found = []
    for engine, path in [("memory", f"whole.{kind}"), ("duckdb", "src"), ("spark", "src")]:
        recipe = recipe_for(tmp_path, path)
        text = recipe.read_text().replace('["age"]', '["age", "when", "what is"]')
        recipe.write_text(text.replace("[roles]", 'missing = "value"\n[roles]'))
        found.append(outcome(recipe, engine))
    assert found[0][:2] == (0, "")
    assert found[1] == found[2] == found[0]


def test_files_without_a_header_have_columns_of_folders_too(tmp_path: Path, spark: Any) -> None:
    for year in ("2020", "2021"):
        place = tmp_path / f"src/year={year}/[a] *.csv"
        place.parent.mkdir(parents=True)
        people(int(year) * 100).write_csv(place, include_header=False)
    recipe = recipe_for(tmp_path, "src")
    text = recipe.read_text().replace('["age"]', '["age", "year"]')
    recipe.write_text(text.replace("[roles]", 'columns = ["line", "age"]\n[roles]'))
    found = outcome(recipe, "duckdb")
    assert found[:2] == (0, "")
    assert outcome(recipe, "spark") == found


def test_spark_refuses_letters_in_names_of_folders_that_it_reads_as_others(tmp_path: Path, spark: Any) -> None:
    put(tmp_path / "src/what=%C3%A4/a.csv", people())
    assert [frame["what"].unique().to_list() for frame in open_batches(tmp_path / "src").frames()] == [["ä"]]
    code, sentence, _ = outcome(recipe_for(tmp_path, "src"), "spark")
    assert code == 2
    assert "which Spark reads as others" in sentence


def test_a_file_that_is_gone_is_told_without_what_its_folder_says(tmp_path: Path) -> None:
    put(tmp_path / "disease=HIV/a.csv", people())
    source = open_batches(tmp_path)
    (tmp_path / "disease=HIV/a.csv").unlink()
    with pytest.raises(InputError, match="^'a.csv' cannot be read"):
        source.stamp()
