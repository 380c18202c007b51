"""Sensitive ranges on the command line and in recipes: what works, and how what does not is said."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from shoal.grammar import parse_policy

TABLE = "age,income\n" + "".join(f"{20 + row % 10},{row // 2}\n" for row in range(120))
FLAGS = ["--quasi", "age", "--sensitive", "income", "--model", "k=3"]


@pytest.fixture
def incomes(tmp_path: Path) -> Path:
    path = tmp_path / "incomes.csv"
    path.write_text(TABLE, "utf-8")
    return path


def test_policies_are_written_in_four_ways() -> None:
    assert parse_policy("value") == {"ranges": "value"}
    assert parse_policy("income.csv") == {"ranges": "income.csv"}
    assert parse_policy("[[0, 9], [10, 15]]") == {"ranges": [[0, 9], [10, 15]]}
    assert parse_policy("{level = 2}") == {"ranges": {"level": 2}}
    assert parse_policy('{ranges = [[0, 9]], else = "value"}') == {"ranges": [[0, 9]], "else": "value"}


@pytest.mark.parametrize("policy", ["value", "[[0, 19], [20, 99]]", '{ranges = [[0, 19]], else = "value"}'])
def test_release_verify_and_recipe(shoal, incomes: Path, tmp_path: Path, policy: str) -> None:
    out, recipe = tmp_path / "out", tmp_path / "recipe.toml"
    models = [
        "--model",
        "range-diversity=0.8",
        "--model",
        "range-confidence p=0.9",
        "--model",
        "worst-group-utility=0.9",
    ]
    extra = ["--policy", f"income={policy}", "--seed", 1, "--save-recipe", recipe, "--json"]
    made = shoal("anonymize", incomes, "-o", out, *FLAGS, *models, *extra)
    assert made.code == 0, made.err
    assert shoal("verify", out).code == 0
    assert shoal("check", recipe, "--replace").code == 0
    assert "policies" in tomllib.loads(recipe.read_text("utf-8"))
    again = shoal("run", recipe, "--replace", "--json")
    assert again.code == 0, again.err
    measured = shoal("measure", recipe, "wgp", "wgu", "mpm", "range-diversity", "--json").json["measures"]
    assert measured["wgp"]["value"] <= 0.8
    assert measured["wgu"]["value"] <= 0.9


def test_a_saved_recipe_finds_the_policy_file(shoal, incomes: Path, tmp_path: Path) -> None:
    (tmp_path / "income.csv").write_text(
        "".join(f"{x};{x // 20 * 20};{x // 20 * 20 + 19}\n" for x in range(60)), "utf-8"
    )
    recipe = tmp_path / "elsewhere" / "recipe.toml"
    recipe.parent.mkdir()
    extra = ["--policy", f"income={tmp_path / 'income.csv'}", "--model", "range-diversity=0.7", "--save-recipe", recipe]
    assert shoal("anonymize", incomes, "-o", tmp_path / "out", *FLAGS, *extra).code == 0
    assert shoal("check", recipe, "--replace").code == 0


@pytest.mark.parametrize(
    "policy, expected",
    [
        ("income=[[0, 9]]", "gives 50 of its values no range"),
        ("income=[[9, 0]]", "upside down"),
        ("income={level = 1}", "has no hierarchy"),
        ("income=nowhere.csv", "cannot be read"),
        ("age=value", "'age', which is not a sensitive column"),
        ("incom=value", "did you mean 'income'?"),
        ("income", "--policy needs the form key=value"),
        ("income=[]", "must be 'value', a file name"),
        ('income={ranges = "value", els = "value"}', "Did you mean 'else'?"),
    ],
)
def test_bad_policies_end_with_2(shoal, incomes: Path, tmp_path: Path, policy: str, expected: str) -> None:
    result = shoal("anonymize", incomes, "-o", tmp_path / "out", *FLAGS, "--policy", policy)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert expected in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "model, code, expected",
    [
        ("range-diversity=0.01", 3, "range-diversity' on 'income' cannot be met"),
        ("range-diversity=0", 2, "'p' of RangeDiversity must be a number above 0 and up to 1"),
        ("range-confidence=1.5", 2, "'p' of RangeConfidence"),
        ("worst-group-utility=2", 2, "'u' of WorstGroupUtility must be a number from 0 to 1"),
        ("worst-group-utility=0.5 on income", 2, "has no parameter 'on'"),
        ("worst-group-utility=0.01", 3, "worst-group-utility"),
    ],
)
def test_parameters_and_what_cannot_be_met(
    shoal, incomes: Path, tmp_path: Path, model: str, code: int, expected: str
) -> None:
    extra = ["--model", model, "--acknowledge", "W-UNMODELLED:income", "--model", "k=20"]
    result = shoal("anonymize", incomes, "-o", tmp_path / "out", *FLAGS[:-2], *extra)
    assert (result.code, expected in result.err) == (code, True), result.err
    assert not (tmp_path / "out").exists()


def test_too_small_a_share_is_refused_whatever_may_be_suppressed(shoal, incomes: Path, tmp_path: Path) -> None:
    extra = ["--model", "range-diversity=0.01", "--set", "suppression_limit=0.9"]
    result = shoal("anonymize", incomes, "-o", tmp_path / "out", *FLAGS, *extra)
    assert result.code == 3
    assert "at least 100 different values, and the whole table has 60" in result.err


def test_vacuous_limits_are_said(shoal, incomes: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        '[source]\npath = "incomes.csv"\n[roles]\nquasi = ["age"]\nsensitive = ["income"]\n'
        '[[models]]\nname = "k"\nk = 3\n[[models]]\nname = "range-diversity"\np = 1.0\n'
        '[[models]]\nname = "worst-group-utility"\nu = 1.0\n',
        "utf-8",
    )
    result = shoal("check", recipe, "--json")
    assert result.code == 2
    assert [entry["model"]["name"] for entry in result.json["vacuous"]] == ["range-diversity", "worst-group-utility"]
