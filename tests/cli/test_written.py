"""What commands leave on disk: looking writes nothing, failing neither, and no source is ever changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import PATIENTS, SECRETS, Result, recipe_text

Shoal = Callable[..., Result]

TREES = """\
[hierarchies]
age = { widths = [10] }
zip = { prefix = [3] }
sex = { nested = { "*" = ["f", "m"] } }
"""
SOURCE = 'name = "patients"\npath = "patients.csv"'
RECIPE = recipe_text('identifiers = ["name"]\nquasi = ["age", "sex", "zip"]', k=2, source=SOURCE, more=TREES)
FILE = ["patients.csv", "--quasi", "age", "--quasi", "sex", "--sensitive", "disease"]
REST = ["--drop", "name", "--drop", "zip", "--model", "distinct-l=2"]
# Commands that look, and write nothing although they succeed.
LOOKS = [
    ["check", "recipe.toml", "--replace"],
    ["run", "recipe.toml", "--dry-run", "--replace"],
    ["verify", "out"],
    ["audit", *FILE],
    ["risk", *FILE],
    ["risk", "recipe.toml"],
    ["risk", "out"],
    ["measure", "recipe.toml"],
    ["measure", "out"],
    ["attack", "recipe.toml", "--hold-out", "0"],
    ["attack", "out", "--only", "homogeneity"],
    ["vault", "list", "keys.vault"],
    ["registry", "show", "patients.registry"],
    ["list", "models"],
]
# Commands that fail, with their exit code.
FAILURES = [
    (2, ["check", "recipe.toml"]),
    (2, ["run", "recipe.toml"]),
    (2, ["run", "nowhere.toml"]),
    (2, ["run", "patients.csv"]),
    (2, ["run", "text.toml", "--replace"]),
    (3, ["run", "many.toml", "--replace"]),
    (4, ["run", "limit.toml", "--replace"]),
    (2, ["anonymize", *FILE, "-o", "new"]),
    (3, ["anonymize", *FILE, *REST, "-o", "new", "--model", "k=9"]),
    (2, ["anonymize", *FILE, *REST, "-o", "patients.csv", "--model", "k=2", "--replace"]),
    (2, ["demo", "-o", "out"]),
    (2, ["verify", "."]),
    (4, ["verify", "changed"]),
    (2, ["audit", "patients.csv", "--quasi", "shoe"]),
    (2, ["risk", *FILE, "--html", "out/risk.html"]),
    (2, ["risk", *FILE, "--html", "kept.html"]),
    (2, ["measure", "recipe.toml", "--evaluate", "nothing"]),
    (2, ["attack", "out", "--only", "nothing"]),
    (2, ["attack", "out", "--only", "homogeneity", "--html", "out/attack.html"]),
    (2, ["compare", "recipe.toml", "--grid", "k=two", "--output", "compare.html"]),
    (2, ["compare", "recipe.toml", "--grid", "k=2", "--output", "out/compare.html"]),
    (2, ["explore", "recipe.toml", "--output", "out/explore.html"]),
    (2, ["values", "recipe.toml", "--csv", "out/values.csv"]),
    (2, ["vault", "get", "keys.vault", "nobody", "-o", "secrets.json"]),
    (2, ["vault", "put", "keys.vault", "cohort", "--new-key", "name"]),
    (2, ["vault", "put", "out/keys.vault", "cohort", "--new-key", "name"]),
    (2, ["vault", "interpret", "keys.vault", "nobody", "patients.csv", "-o", "told.csv"]),
    (2, ["registry", "new", "patients.registry", "--source", "patients"]),
    (2, ["registry", "show", "keys.vault"]),
    (2, ["data", "nothing"]),
    (2, ["reproduce", "nothing", "-o", "papers"]),
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shoal: Shoal) -> Path:
    """A folder with a recipe, its release, one that was changed, recipes that fail, a vault and a registry."""
    monkeypatch.setattr("shoal.vault.seal.MEMORY", 10)  # deriving keys takes its time on purpose
    monkeypatch.setenv("SHOAL_PASSPHRASE", "correct horse battery")
    monkeypatch.chdir(tmp_path)
    recipes = {
        "recipe": RECIPE,
        "text": RECIPE.replace("k = 2", 'k = "two"'),
        "many": RECIPE.replace("k = 2", "k = 9"),
        "limit": RECIPE.replace("[output]", "[limits]\nprosecutor_max = 0.01\n[output]"),
    }
    Path("patients.csv").write_text(PATIENTS, "utf-8")
    Path("kept.html").write_text("mine", "utf-8")
    for name, text in recipes.items():
        Path(f"{name}.toml").write_text(text, "utf-8")
    assert shoal("run", "recipe.toml").code == 0
    assert shoal("vault", "put", "keys.vault", "cohort", "--new-key", "name").code == 0
    assert shoal("registry", "new", "patients.registry", "--source", "patients").code == 0
    Path("changed").mkdir()
    for file in Path("out").iterdir():
        (Path("changed") / file.name).write_bytes(file.read_bytes().replace(b"flu", b"cold"))
    assert Path("patients.csv").read_text("utf-8") == PATIENTS
    return tmp_path


def disk(place: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder with its mode and content."""
    found = sorted(place.rglob("*"))
    return {str(path): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"") for path in found}


def test_commands_that_look_write_nothing(place: Path, shoal: Shoal) -> None:
    for command in LOOKS:
        before = disk(place)
        result = shoal(*command)
        assert result.code == 0, (command, result.err)
        assert disk(place) == before, command


def test_commands_that_fail_write_nothing_and_say_one_line(place: Path, shoal: Shoal) -> None:
    for code, command in FAILURES:
        before = disk(place)
        result = shoal(*command)
        assert result.code == code, (command, result.out, result.err)
        assert disk(place) == before, command
        errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, (command, result.err)
        assert not any(secret in result.out + result.err for secret in SECRETS), command
