"""Bad input gets one sentence, the right exit code, and nothing written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

HEADER = "name,age,sex,zip,disease\n"
HIERARCHIES = {
    "misses values": "1000;100*;*\n1001;100*;*\n1010;101*;*\n",
    "has two parents": "1000;100*;A;*\n1001;100*;B;*\n1010;101*;B;*\n1011;101*;B;*\n",
    "has an ambiguous label": "1000;x;A;*\n1001;y;A;*\n1010;x;B;*\n1011;y;B;*\n",
    "has a cycle": "1000;1001;*\n1001;1000;*\n1010;1010;*\n1011;1011;*\n",
}


def refused(result, code: int, *expected: str) -> None:
    """One line on standard error that says what is expected of it, and nothing else."""
    assert result.code == code, result.err
    assert result.out == ""
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    for words in expected:
        assert words in result.err


@pytest.fixture
def attempt(shoal, tmp_path: Path, flags: list[str], secrets: list[str]) -> Callable:
    """Anonymise a file and see that nothing was written and no value of a record said."""

    def call(path: Path, code: int, *expected: str, given: list[str] | None = None, extra: Sequence[str] = ()) -> None:
        before = sorted(tmp_path.rglob("*"))
        result = shoal("anonymize", path, "-o", tmp_path / "out", *(flags if given is None else given), *extra)
        refused(result, code, *expected)
        assert sorted(tmp_path.rglob("*")) == before
        assert not [word for word in secrets if word in result.err]

    return call


def test_the_table_itself_is_fine(shoal, patients: Path, flags: list[str], tmp_path: Path) -> None:
    assert shoal("anonymize", patients, "-o", tmp_path / "out", *flags).code == 0


def test_missing_file(attempt, tmp_path: Path) -> None:
    attempt(tmp_path / "nowhere.csv", 2, "There is no file", "nowhere.csv")


@pytest.mark.parametrize(
    "content, expected",
    [
        (b"", "empty"),
        (HEADER.encode(), "no rows"),
        (b"name,age,sex,zip,zip\nAnna,21,f,1000,flu\n", "'zip'"),
        (HEADER.encode() + b"Anna,21,f,1000,flu\nBoris,22,m,1000\n", "3"),
        (HEADER.encode() + b"Anna,21,f,1000,flu\nBoris,22,m,1000,cold,x\n", "3"),
        (HEADER.encode() + b"Anna,21,f,1000,gr\xfcn\n", "UTF-8"),
        (HEADER.encode() + b"Anna,21,f,1000,flu\nBoris,NaN,m,1000,cold\n", "age"),
        (HEADER.encode() + b"Anna,21,f,1000,flu\nBoris,-inf,m,1000,cold\n", "age"),
        (HEADER.encode() + b"Anna,21,f,1000,flu\nBoris,,m,1000,cold\n", "age (1)"),
    ],
    ids=[
        "empty", "header only", "duplicate column", "short row", "long row", "not UTF-8", "NaN", "infinity",
        "missing cell",
    ],
)  # fmt: skip
def test_bad_files(attempt, tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    attempt(path, 2, expected)


@pytest.mark.parametrize(
    "change, expected",
    [
        (lambda flags: [*flags, "--quasi", "agee"], ["'agee'", "Did you mean 'age'?"]),
        (lambda flags: [*flags, "--neutral", "sex"], ["'sex'", "two roles"]),
        (lambda flags: flags[2:], ["'name'", "no role"]),
        (lambda flags: [*flags[:2], "--drop", "age", "--drop", "sex", "--drop", "zip", *flags[8:]], ["quasi"]),
        (lambda flags: [*flags[:-4], "--model", "k=1", *flags[-2:]], ["'k'", "whole number of at least 2", "Got 1"]),
        (lambda flags: [*flags[:-4], "--model", "k=2.5", *flags[-2:]], ["'k'", "whole number", "Got 2.5"]),
        (lambda flags: [*flags[:-4], "--model", "k=two", *flags[-2:]], ["'k'", "whole number", "Got 'two'"]),
        (lambda flags: flags[:-2], ["'disease'", "no model", "W-UNMODELLED:disease"]),
        (lambda flags: [*flags[:-4], *flags[-2:]], ["identity", "W-NO-K"]),
        (lambda flags: [*flags[:-2], "--model", "distinct-m=2"], ["'distinct-m'", "Did you mean 'distinct-l'?"]),
        (lambda flags: [*flags[:-2], "--model", "distinct-l=2 on diseas"], ["'diseas'"]),
        (lambda flags: [*flags, "--algorithm", "mondrain"], ["'mondrain'", "Did you mean 'mondrian'?"]),
        (lambda flags: [*flags, "--set", "cutt=best"], ["'cutt'", "Did you mean 'cut'?"]),
        (lambda flags: [*flags, "--set", "cut"], ["--set", "key=value"]),
        (lambda flags: [*flags, "--missing", "dropp"], ["'missing'", "Did you mean 'drop'?"]),
        (lambda flags: [*flags, "--order", "kept"], ["W-ORDER"]),
        (lambda flags: [*flags, "--hierarchy", "zip=nowhere.csv"], ["nowhere.csv"]),
        (lambda flags: [*flags, "--type", "sex=numeric"], ["'sex'", "row 1"]),
    ],
    ids=[
        "unknown column", "two roles", "no role", "no quasi-identifier", "k of 1", "k of 2.5", "k is no number",
        "sensitive without model", "no identity model", "unknown model", "model on unknown column",
        "unknown algorithm", "unknown parameter", "half a parameter", "unknown policy", "order kept",
        "hierarchy file missing", "wrong type",
    ],
)  # fmt: skip
def test_bad_requests(attempt, patients: Path, flags: list[str], change: Callable, expected: list[str]) -> None:
    attempt(patients, 2, *expected, given=change(flags))


@pytest.mark.parametrize("kind", HIERARCHIES)
def test_bad_hierarchies(attempt, patients: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "zip.csv").write_text(HIERARCHIES[kind], "utf-8")
    extra = ["--type", "zip=categorical", "--hierarchy", f"zip={tmp_path / 'zip.csv'}"]
    attempt(patients, 2, "'zip'", extra=extra)


@pytest.mark.parametrize(
    "models, expected",
    [
        (["k=9", "distinct-l=2"], ["k = 9", "8 rows"]),
        (["k=2", "distinct-l=4"], ["distinct-l", "disease", "3"]),
        (["k=2", "entropy-l=2.999"], ["entropy-l", "disease"]),
    ],
    ids=["k above the rows", "l above the distinct values", "entropy l above the table's"],
)
def test_infeasible(attempt, patients: Path, flags: list[str], models: list[str], expected: list[str]) -> None:
    given = flags[:-4] + [part for model in models for part in ("--model", model)]
    attempt(patients, 3, *expected, given=given)


@pytest.mark.parametrize(
    "family, offered",
    [("l-diversity=2", "'distinct-l', 'entropy-l' and 'recursive-cl'"), ("k-anonymity=2", "'k', and 'k-map'")],
)
def test_a_family_of_models_offers_its_members(
    attempt, patients: Path, flags: list[str], family: str, offered: str
) -> None:
    attempt(patients, 2, offered, given=[*flags[:-4], "--model", family])


def test_output_folder_not_empty(shoal, patients: Path, flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    for extra, expected in ([], "choose another folder, or --replace what is in it"), (["--replace"], "not replaced"):
        refused(shoal("anonymize", patients, "-o", tmp_path / "out", *flags, *extra), 2, expected)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def recipe(shoal, patients: Path, flags: list[str], tmp_path: Path) -> str:
    """The text of a recipe for the patients that works."""
    path = tmp_path / "recipe.toml"
    made = shoal("anonymize", patients, "-o", tmp_path / "made", *flags, "--save-recipe", path)
    assert made.code == 0
    return path.read_text("utf-8")


@pytest.mark.parametrize("command", ["run", "check", "measure"])
@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("[roles]", "[roles]\nsensitiv = []", ["[roles]", "'sensitiv'", "Did you mean 'sensitive'?"]),
        ("[roles]", "[rolls]", ["'rolls'", "Did you mean 'roles'?"]),
        ("[source]", "[source", ["TOML"]),
        ('quasi = ["age"', 'quasi = ["agee"', ["'agee'", "Did you mean 'age'?"]),
        ("k = 2", "k = 1", ["'k'", "at least 2"]),
    ],
    ids=["unknown key", "unknown table", "no TOML", "unknown column", "k of 1"],
)
def test_bad_recipes(shoal, recipe: str, tmp_path: Path, command: str, old: str, new: str, expected: list[str]) -> None:
    assert old in recipe
    (tmp_path / "bad.toml").write_text(recipe.replace(old, new).replace('made"', 'never"'), "utf-8")
    result = shoal(command, tmp_path / "bad.toml")
    if command == "check" and result.out:  # which lists everything that a run would refuse
        assert result.out.startswith(result.err.replace("error: ", "Refused: "))
        result = replace(result, out="")
    refused(result, 2, *expected)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("command", ["run", "check", "measure", "verify", "audit"])
def test_missing_targets(shoal, tmp_path: Path, command: str) -> None:
    refused(shoal(command, tmp_path / "nowhere.csv"), 2, "nowhere.csv")


def test_check_lists_every_refusal_and_ends_as_a_run_would(shoal, recipe: str, tmp_path: Path) -> None:
    text = recipe.replace('name = "k"\nk = 2', 'name = "t-closeness"\nt = 1.0').replace('"distinct-l"', '"entropy-l"')
    (tmp_path / "weak.toml").write_text(text.replace("l = 2", "l = 2.9999"), "utf-8")
    data = shoal("check", tmp_path / "weak.toml", "--replace", "--json")
    assert data.code == 2
    assert data.json["vacuous"][0]["model"]["name"] == "t-closeness"
    assert [entry["codes"] for entry in data.json["refusals"]] == [["W-NO-K"]]
    assert "entropy-l" in data.json["infeasible"]
    assert data.json["error"]["type"] == "RefusalError"
    shown = shoal("check", tmp_path / "weak.toml", "--replace")
    assert (shown.code, shown.err.count("\n")) == (2, 1)
    assert "Vacuous: 't-closeness'" in shown.out
    (tmp_path / "weak.toml").write_text('acknowledge = ["W-NO-K"]\n' + text.replace("l = 2", "l = 2.9999"), "utf-8")
    assert shoal("check", tmp_path / "weak.toml", "--replace").code == 3
    assert shoal("run", tmp_path / "weak.toml", "--replace").code == 3


def test_errors_are_one_json_object(shoal, tmp_path: Path) -> None:
    result = shoal("run", tmp_path / "nowhere.toml", "--json")
    assert (result.code, result.err) == (2, "")
    assert set(result.json) == {"error"}
    assert (result.json["error"]["type"], result.json["error"]["exit_code"]) == ("RecipeError", 2)


def test_audit_refuses_what_is_not_there(shoal, patients: Path) -> None:
    refused(shoal("audit", patients, "--quasi", "agee"), 2, "Did you mean 'age'?")
    refused(shoal("audit", patients), 2, "quasi")
    refused(shoal("audit", patients, "--quasi", "age", "--quasi", "age"), 2, "two roles")
    refused(shoal("audit", patients, "--quasi", "age", "--sensitive", "age"), 2, "two roles")
