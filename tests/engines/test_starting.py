"""A table of a database that nobody has prepared: looked at, and given a recipe that runs there."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from shoal.cli.main import execute
from shoal.recipe.recipe import load_recipe
from tests.engines.server import PASSWORD, Server


def test_a_table_gets_a_recipe_that_runs(postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = pl.DataFrame(
        {
            "stay": list(range(1000, 1080)),
            "surname": [f"Name{at}" for at in range(80)],
            "age": [20 + at % 40 for at in range(80)],
            "sex": ["m", "f"] * 40,
            "diagnosis": [("flu", "asthma", "gout", "fever", "k.A.")[at % 5] for at in range(80)],
        }
    )
    postgres.fill("public.stays", people)
    recipe = tmp_path / "recipe.toml"
    assert execute(["start", postgres.url(), "--table", "public.stays", "-o", str(recipe)]) == 0
    assert PASSWORD not in capsys.readouterr().out + recipe.read_text("utf-8")
    made = load_recipe(recipe)
    assert made.roles.key == "stay"
    assert made.roles.identifiers == ["surname"]
    assert (made.roles.quasi, made.roles.sensitive) == (["age", "sex"], ["diagnosis"])
    assert made.source.missing_markers == ["k.A."]
    source = json.dumps(postgres.url())
    text = recipe.read_text("utf-8")
    recipe.write_text(text.replace(json.dumps(made.source.url), source), "utf-8")
    assert execute(["run", str(recipe)]) == 0, capsys.readouterr().err


def test_a_database_without_a_table_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["start", "postgresql://me@nowhere/db"]) == 2
    assert capsys.readouterr().err == "error: A database has many tables: name one by --table, or give a --query.\n"
