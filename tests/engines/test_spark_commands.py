"""Commands on what Spark reads: the answers of rows in memory where grouped counts give them, else one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.cli.main import execute
from tests.engines.test_commands import RECIPE, WHO, points, shares, told

pytest.importorskip("pyspark")
ASKED = ["--quasi", "age", "--quasi", "sex", "--quasi", "region", "--sensitive", "diagnosis"]


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """What a command says in JSON of a recipe for some of the census, on two engines."""
    monkeypatch.chdir(tmp_path)
    columns = ["name", "person", "age", "sex", "region", "diagnosis", "income", "visits"]
    shoal.example_census(150, seed=3).select(columns).with_row_index("id").write_csv("people.csv")
    for engine in ("memory", "spark"):
        for who, roles in WHO.items():
            text = RECIPE.format(source='path = "people.csv"', engine=engine, who=roles)
            text = text.replace('sensitive = ["diagnosis", "income"]', 'sensitive = ["diagnosis"]\ndrop = ["income"]')
            text = text.replace('\ndrop = ["person"]', "").replace('drop = ["income"]', 'drop = ["income", "person"]')
            text = text.replace('[columns.income]\ntype = "numeric"\n', "").replace("[5, 10, 20]", "[20]")
            if who == "people":
                text = text.replace('drop = ["income", "person"]', 'drop = ["income"]')
            (tmp_path / f"{who}-{engine}.toml").write_text(text, "utf-8")

    def run(*words: object) -> Any:
        code = execute([*map(str, words), "--json"])
        found = json.loads(capsys.readouterr().out)
        assert code == 0, found
        return found

    return run


def test_values_nodes_refusals_and_measures_are_those_of_memory(said: Callable[..., Any], spark: Any) -> None:
    asked = [("values", "rows"), ("explore", "rows"), ("check", "rows"), ("measure", "people")]
    for command, who in asked:
        here, there = (told(said(command, f"{who}-{engine}.toml")) for engine in ("memory", "spark"))
        if command == "check":  # columns that are not coded are not counted there
            for found in (here, there):
                found["columns"] = [one for one in found["columns"] if one["type"] is not None]
        assert there == here, command


def test_risks_are_those_of_memory(said: Callable[..., Any], spark: Any) -> None:
    more = ["--discover", "0.3", "--fraction", "0.1", "--top", "9"]
    here, there = (said("risk", f"rows-{engine}.toml", *more) for engine in ("memory", "spark"))
    assert told(there) == told(here)
    asked = ["people.csv", *ASKED]
    assert told(said("audit", *asked, "--engine", "spark", "--key", "id")) == told(said("audit", *asked))


def test_attacks_find_what_they_find_in_memory(said: Callable[..., Any], spark: Any) -> None:
    here, there = said("attack", "rows-memory.toml", "--hold-out", "0"), said("attack", "rows-spark.toml")
    assert there["sample"] == {"rows": 150, "of": 150}
    found, expected = shares(there), shares(here, but=("minimality", "downcoding", "outsiders"))
    assert set(found) == set(expected)
    assert [found[name][0] for name in expected] == pytest.approx([one[0] for one in expected.values()])


def test_points_are_compared_as_in_memory(said: Callable[..., Any], spark: Any) -> None:
    """Several releases of the same rows."""
    sweep = ["--replace", "--processes", "1", "--grid", "k=3,5", "--algorithm", "optimal"]
    here, there = (said("compare", f"rows-{engine}.toml", *sweep) for engine in ("memory", "spark"))
    assert points(there) == points(here)


def test_what_it_cannot_look_at_is_said_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shoal.release.spark.need_spark", lambda: pytest.fail("Spark was looked for"))
    there = ["--engine", "spark"]
    for name, role in (("keyless", 'quasi = ["a"]'), ("people", 'key = "id"\nsubject = "p"\nquasi = ["a"]')):
        text = f'[source]\npath = "none.csv"\n[roles]\n{role}\n[engine]\nname = "spark"\n'
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    (tmp_path / "noise.toml").write_text(
        '[source]\npath = "none.csv"\n[roles]\nkey = "id"\nquasi = ["a"]\n[algorithm]\nname = "random"\n'
        '[engine]\nname = "spark"\n', "utf-8",
    )  # fmt: skip
    shoal.example_census(30).select("age").write_csv("ages.csv")
    shoal.run({"source": {"path": "ages.csv"}, "roles": {"quasi": ["age"]}, "models": [{"name": "k", "k": 3}]})
    for words, sentence in {
        ("audit", "none.csv", "--quasi", "a", *there): "has no order of rows: name a column that tells them apart",
        ("risk", "none.csv", *there): "has no order of rows: name a column that tells them apart",
        ("explore", "keyless.toml"): "has no order of rows: name a column that tells them apart",
        ("risk", "none.csv", "--key", "id", "--subject", "p", *there): "does not serve: use the engine 'duckdb'",
        ("risk", "people.toml"): "Risks of people with several rows are looked at person by person",
        ("audit", "people.toml"): "Risks of people with several rows are looked at person by person",
        ("risk", "out", *there): "A written release is in files of this machine",
        ("attack", "noise.toml"): "A randomised release is attacked row by row",
        ("measure", "people.toml", "--evaluate", "all"): "Evaluations look at rows one by one",
    }.items():
        assert execute(list(words)) == 2, words
        assert sentence in capsys.readouterr().err, words
