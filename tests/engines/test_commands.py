"""Commands on sources that an engine keeps: the same answers as of rows in memory, and no rows loaded for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import InputError
from shoal.release.attack_case import _refuse_too_many
from tests.engines.server import Server

pytest.importorskip("duckdb", reason="needs duckdb: pip install 'shoal[duckdb]'")

RECIPE = """
acknowledge = ["W-NEUTRAL", "W-ROWS"]
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
    found = found.with_columns(region=pl.when(pl.col("id") % 11 > 0).then("region"))
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


@pytest.mark.sample(4)
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


ASKED = ["--quasi", "age", "--quasi", "sex", "--quasi", "region", "--sensitive", "diagnosis", "--sensitive", "income"]
KEPT = ["--engine", "duckdb", "--memory", "256MB"]


@pytest.mark.parametrize("who", WHO)
def test_risks_of_a_recipe_are_those_of_rows_in_memory(
    people: pl.DataFrame, said: Said, tmp_path: Path, who: str
) -> None:
    here, there = both(tmp_path, who)
    for more in ([], ["--fraction", "0.1", "--pairs", "--top", "20"], ["--population", "people.csv", "--suda", "0"]):
        assert told(said("risk", here, *more)) == told(said("risk", there, *more))
    few = ["--discover", "0.02", "--top", "0"]
    assert told(said("risk", here, *few)) == told(said("risk", there, *few))


def test_more_rows_at_risk_than_are_listed_there_are_refused(
    people: pl.DataFrame, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("shoal.risk.assess.MOST_LISTED", 10)
    here, there = both(tmp_path, "rows")
    assert len(said("risk", here, "--top", "40", "--suda", "0")["riskiest"]) == 40
    assert execute(["risk", there, "--top", "40", "--suda", "0"]) == 2
    assert "10 at most risk are listed: give a smaller --top" in capsys.readouterr().err


@pytest.mark.sample(4)
@pytest.mark.parametrize("path", ["people.csv", "people.parquet", "parts", "parts/*.parquet"])
@pytest.mark.parametrize("who", [[], ["--subject", "person"]])
def test_any_file_is_audited_and_assessed_as_in_memory(
    people: pl.DataFrame, said: Said, path: str, who: list[str]
) -> None:
    """Missing cells among them: as a value, and as a wildcard."""
    here = "people.parquet" if "par" in path else path
    assert people["region"].null_count()
    for command in ("audit", "risk"):
        expected, found = said(command, here, *ASKED, *who), said(command, path, *ASKED, *who, *KEPT)
        assert told(found) == told(expected)
    every = ["--discover", "0.05", "--top", "0", "--suda", "0", *who]
    assert told(said("risk", path, *every, *KEPT)) == told(said("risk", here, *every))


@pytest.mark.parametrize("who", [[], ["--subject", "person"]])
def test_survey_weights_add_up_in_any_order(tmp_path: Path, said: Said, people: pl.DataFrame, who: list[str]) -> None:
    weights = pl.col("person").hash(3).mod(1000).cast(pl.Float64) / 7 + 1
    people.with_columns(weights.alias("w")).write_csv(tmp_path / "weighed.csv")
    asked = ["weighed.csv", *ASKED, "--weight", "w", *who]
    assert told(said("risk", *asked)) == told(said("risk", *asked, *KEPT))


@pytest.mark.parametrize("output", ['format = "csv"', 'format = "parquet"\nsuppressed = "star"'])
def test_a_written_release_is_assessed_as_in_memory(
    people: pl.DataFrame, said: Said, tmp_path: Path, output: str
) -> None:
    _, there = both(tmp_path, "rows")
    text = (tmp_path / there).read_text(encoding="utf-8")
    (tmp_path / there).write_text(f"{text}\n[output]\n{output}\n", encoding="utf-8")
    said("run", there)
    assert said("verify", "out")["passed"]
    for command in ("risk", "audit"):
        assert told(said(command, "out", "--engine", "duckdb")) == told(said(command, "out"))


def test_a_table_of_a_database_is_audited_and_assessed_there(
    people: pl.DataFrame, said: Said, tmp_path: Path, postgres: Server
) -> None:
    kinds = {"id": "bigint", "age": "bigint", "visits": "bigint"}
    postgres.fill("people", people, kinds)
    here = recipe(tmp_path, 'path = "people.csv"', "memory")
    there = recipe(tmp_path, f'url = "{postgres.url()}"\ntable = "people"', "postgres")
    few = ["--discover", "0.05"]
    assert told(said("risk", here, *few)) == told(said("risk", there, *few))
    expected = told(said("audit", "people.csv", *ASKED))
    for which in (["--table", "people"], ["--query", "SELECT * FROM people"]):
        found = said("audit", postgres.url(), *which, "--key", "id", *ASKED)
        assert told(found) == expected
        assert "sesame" not in json.dumps(found)


def test_what_an_engine_cannot_do_is_said_before_any_data_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text('[source]\npath = "none.csv"\n[engine]\nname = "duckdb"\n', "utf-8")
    url = "postgresql://ann:open%20sesame@localhost/none"
    for words, sentence in {
        ("risk", "none.csv", "--quasi", "a", "--household", "h", *KEPT): "--household looks at rows one by one",
        ("risk", "recipe.toml", "--engine", "duckdb"): "--engine is for a file, and a recipe says it itself",
        ("audit", "none.csv", "--engine", "duck"): "Did you mean 'duckdb'?",
        ("audit", "none.csv", "--engine", "duckdb", "--memory", "much"): "memory",
        ("audit", "none.csv", "--engine", "duckdb", "--scratch", "nowhere"): "There is no file 'none.csv'",
        ("audit", ".", "--quasi", "a"): "is a folder of files: read them as one by --engine duckdb",
        ("audit", "none.csv", "--engine", "postgres"): "The engine 'postgres' reads from a database",
        ("audit", url, "--quasi", "a"): "needs either a 'table' or a 'query'",
        ("audit", url, "--table", "t", "--engine", "memory"): "which the engine 'postgres' reads and no other",
    }.items():  # fmt: skip
        assert execute(list(words)) == 2
        said = capsys.readouterr().err
        assert sentence in said, said
        assert "sesame" not in said


def test_flags_are_a_recipe_with_an_engine(people: pl.DataFrame, said: Said, tmp_path: Path, postgres: Server) -> None:
    """The release is that of the recipe which --save-recipe writes, and that of memory."""
    (tmp_path / "work").mkdir()
    people.drop("name", "person", "visits").write_csv(tmp_path / "few.csv")
    asked = [*ASKED, "--key", "id", "--missing", "value", "--model", "k=3", "--model", "distinct-l=2", "--seed", "1"]
    asked += ["--algorithm", "optimal", "--set", "suppression_limit=0.6", "--hierarchy", "age={widths=[10,20]}"]
    asked += ["--hierarchy", "sex={prefix=[1]}", "--hierarchy", "region={prefix=[1]}"]
    said("anonymize", "few.csv", "-o", "here", *asked)
    kept = [*KEPT, "--scratch", "work", "--save-recipe", "work/saved.toml"]
    said("anonymize", "few.csv", "-o", "there", *asked, *kept)
    said("run", "work/saved.toml", "--replace")
    postgres.fill("few", people.drop("name", "person", "visits"), {"id": "bigint", "age": "bigint"})
    more = ["--table", "few", "--output-table", "few_released", "--save-recipe", "work/other.toml"]
    said("anonymize", postgres.url(), "-o", "apart", *asked, *more)
    assert "sesame" not in (tmp_path / "work" / "other.toml").read_text(encoding="utf-8")
    written = [(tmp_path / folder / "release.csv").read_bytes() for folder in ("here", "there", "apart")]
    assert written[0] == written[1] == written[2]
    rows = postgres.rows("SELECT count(*) FROM few_released")
    assert rows == [(written[0].count(b"\n") - 1,)]


def test_python_says_it_by_a_recipe_too(people: pl.DataFrame, tmp_path: Path) -> None:
    """One way for everything: tables of a recipe as mappings."""
    recipe = {
        "seed": 1,
        "acknowledge": ["W-ROWS"],
        "source": {"path": str(tmp_path / "parts"), "missing": "value"},
        "roles": {"quasi": ["age", "sex"], "sensitive": ["diagnosis"],
                  "drop": ["id", "name", "person", "region", "income", "visits"]},
        "models": [{"name": "k", "k": 3}, {"name": "distinct-l", "l": 2}],
        "engine": {"name": "duckdb", "memory": "256MB"},
        "output": {"folder": str(tmp_path / "out")},
    }  # fmt: skip
    written = shoal.run(recipe)
    assert shoal.verify_release(tmp_path / "out").passed
    assert written.manifest["statement"] == "3-anonymous, distinct 2-diverse on diagnosis"
    with shoal.open_rows(recipe) as rows:
        there, sets = shoal.assess(rows), shoal.discover(rows, share=0.01)
    table = shoal.read(people.select("age", "sex", "diagnosis"), quasi=["age", "sex"], sensitive=["diagnosis"],
                       missing="value")  # fmt: skip
    here = shoal.assess(table)
    assert there.figures == here.figures
    assert there.by_record.numbers[there.riskiest(9)].tolist() == here.by_record.numbers[here.riskiest(9)].tolist()
    assert sets == shoal.discover(table, share=0.01)


def shares(found: Any, *, but: tuple[str, ...] = ()) -> dict[str, tuple[float, ...]]:
    """What attacks found, and its interval, without what random other people would be told."""
    figures = [one for attack in found["attacks"] if attack["name"] not in but for one in attack["figures"]]
    return {one["name"]: (one["value"], one["low"], one["high"]) for one in figures}


@pytest.mark.sample(2)
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("algorithm", ["optimal", "toc"])
def test_attacks_on_everybody_find_what_they_find_in_memory(
    people: pl.DataFrame, said: Said, tmp_path: Path, who: str, algorithm: str
) -> None:
    for name in both(tmp_path, who):
        text = (tmp_path / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace('"optimal"', f'"{algorithm}"'), encoding="utf-8")
    here, there = said("attack", "memory.toml", "--hold-out", "0"), said("attack", "duckdb.toml")
    assert (here["sample"], there["sample"]) == (None, {"rows": 500, "of": 500})
    found, expected = shares(there), shares(here, but=("minimality", "downcoding", "outsiders"))
    assert set(found) == set(expected)
    # What is taken of classes that fit somebody equally well depends on how they are numbered, and intervals on that.
    assert all(found[name] == pytest.approx(one, abs=0.01) for name, one in expected.items())
    assert [found[name][0] for name in expected] == pytest.approx([one[0] for one in expected.values()])
    notes = {one["name"]: one["note"] for one in there["attacks"]}
    assert "all rows in memory (the engine 'memory')" in notes["downcoding"]


def test_codes_of_sensitive_values_are_taken_to_be_read_there_too(
    people: pl.DataFrame, said: Said, tmp_path: Path
) -> None:
    for name in both(tmp_path, "rows"):
        text = (tmp_path / name).read_text("utf-8").replace('"W-NEUTRAL"', '"W-NEUTRAL", "W-PP-REV"')
        text += '[columns.diagnosis]\ncode = "mapping"\n[output]\ndiscard_secret = true\n'
        (tmp_path / name).write_text(text, "utf-8")
    here, there = said("attack", "memory.toml", "--hold-out", "0"), said("attack", "duckdb.toml")
    found, expected = shares(there), shares(here, but=("minimality", "downcoding", "frequency-matching"))
    assert set(found) == set(expected)
    assert "linkage:diagnosis" in found
    assert found["homogeneity:diagnosis"] == pytest.approx(expected["homogeneity:diagnosis"])


def test_a_sample_is_attacked_in_classes_of_all_rows(people: pl.DataFrame, said: Said, tmp_path: Path) -> None:
    """Classes of a sample alone would be smaller, and its people found more often."""
    _, there = both(tmp_path, "people")
    whole, some = said("attack", there), said("attack", there, "--sample", "150")
    assert some["sample"]["of"] == 500
    assert 100 < some["sample"]["rows"] <= 150
    assert "classes are counted over all of them" in some["statement"]
    found, expected = shares(some), shares(whole)
    assert set(expected) - set(found) == {"singling-out:diagnosis", "singling-out:income"}
    low, high = found["linkage"][1:3]
    assert low <= expected["linkage"][0] <= high
    assert high - low > expected["linkage"][2] - expected["linkage"][1]
    assert said("attack", there, "--sample", "150") == some


def test_an_attack_keeps_to_the_memory_it_is_given(
    people: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, there = both(tmp_path, "people")
    monkeypatch.setattr("shoal.release.attack_case._CELL", 1 << 23)
    assert execute(["attack", str(tmp_path / there)]) == 2
    assert "those of 500 rows need 36.0GB: give 'memory' under [engine] as much" in capsys.readouterr().err


def test_nobody_is_told_to_give_memory_to_an_engine_that_takes_none() -> None:
    rows: Any = SimpleNamespace(domain=SimpleNamespace(n=10**9, by_people=False), capabilities=frozenset())
    with pytest.raises(InputError, match="need 45.7GB: attack a release of some of the rows"):
        _refuse_too_many(rows, 1, 4 << 30)


def test_what_cannot_be_attacked_there_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, method in (("grouped", "optimal"), ("noisy", "random")):
        text = f'[source]\npath = "none.csv"\n[algorithm]\nname = "{method}"\n[engine]\nname = "duckdb"\n'
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    (tmp_path / "memory.toml").write_text('[source]\npath = "none.csv"\n', "utf-8")
    for words, sentence in {
        ("attack", "grouped.toml", "--hold-out", "0.2"): "Nobody is held out of what the engine 'duckdb' keeps",
        ("attack", "grouped.toml", "--against", "a.csv"): "the recipe's own people are attacked",
        ("attack", "noisy.toml"): "A randomised release is attacked row by row: use the engine 'memory'",
        ("attack", "memory.toml", "--sample", "9"): "A --sample is of a recipe whose engine keeps the rows",
    }.items():
        assert execute(list(words)) == 2
        assert sentence in capsys.readouterr().err


SWEEP = ["--replace", "--processes", "1", "--grid", "k=3,5", "--algorithm", "optimal"]
APART = "optimal repeat=true"


def points(found: Any) -> list[Any]:
    """The points of a comparison without their times, and without intervals, which ties between classes move."""
    return [{key: value for key, value in one.items() if key not in ("seconds", "beside")} for one in found["points"]]


@pytest.mark.sample(1)
@pytest.mark.parametrize("who", WHO)
def test_points_are_compared_as_in_memory(people: pl.DataFrame, said: Said, tmp_path: Path, who: str) -> None:
    here, there = (said("compare", name, *SWEEP, "--algorithm", "mondrian") for name in both(tmp_path, who))
    assert points(here) == points(there)
    assert here["rows"] == there["rows"] == 500
    again = said("compare", "duckdb.toml", *SWEEP, "--algorithm", "mondrian")
    assert (again["reused"], points(again)) == (4, points(there))


@pytest.mark.parametrize("given", [[], ["W-NEUTRAL", "W-ROWS"]])
def test_a_comparison_acknowledges_what_it_is_told_to(people: pl.DataFrame, tmp_path: Path, given: list[str]) -> None:
    for name in both(tmp_path, "rows"):
        path = tmp_path / name
        if given:
            path.write_text(path.read_text("utf-8").replace('"W-NEUTRAL", "W-ROWS"', ""), "utf-8")
        found = shoal.compare(path, acknowledge=given, processes=1)
        assert [one.outcome.status for one in found.entries] == ["done" if given else "refused"]


def test_only_points_that_need_rows_are_made_of_a_sample(
    people: pl.DataFrame, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.release.compare.source.SAMPLE", 200)
    monkeypatch.setattr("shoal.engines.store.StoredRows.most", lambda rows, memory: 200)
    here, there = (said("compare", name, *SWEEP, "--algorithm", APART) for name in both(tmp_path, "rows"))
    assert [one["classes"] for one in there["points"][:2]] == [one["classes"] for one in here["points"][:2]]
    assert there["points"][2]["classes"] != here["points"][2]["classes"]
    assert [one["status"] for one in there["points"]] == ["done"] * 4
    assert any("of the 500 rows" in note and "repeat" in note for note in there["notes"])
    assert any("classes counted over all of them" in note for note in there["notes"])


def test_evaluations_of_rows_that_are_kept_name_what_can_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text('[source]\npath = "none.csv"\n[engine]\nname = "duckdb"\n', "utf-8")
    assert execute(["measure", "recipe.toml", "--evaluate", "all"]) == 2
    assert "run the recipe and evaluate its folder by --against" in capsys.readouterr().err


def test_rows_of_many_batches_are_placed_while_they_come(
    people: pl.DataFrame, said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look at their classes asked the database, which was giving the rows away."""
    monkeypatch.setattr("shoal.io.batches.BATCH", 7)
    _, there = both(tmp_path, "rows")
    said("run", there)
    assert said("verify", "out")["passed"]
