"""``shoal values``: the table of levels, what is edited in it and read back, and what does not fit."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result

Shoal = Callable[..., Result]
RECIPE = """
seed = 1
[source]
path = "people.csv"
[roles]
quasi = ["age", "race", "sex"]
[hierarchies]
age = { widths = [10, 20] }
race = "race.csv"
[[models]]
name = "k"
k = 3
[algorithm]
name = "rv-global"
[research]
"""
RULES = """
rules = [
  { column = "age", boundary = 66, importance = 5 },
  { column = "race", separate = ["White", "Other"], keep = true },
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        f"{20 + n * 7 % 60},{('White', 'Black', 'Asian', 'Other')[n * 5 % 11 % 4]},{'fm'[n % 2]}" for n in range(120)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,race,sex", *lines]) + "\n", "utf-8")
    races = ["White;White;*", "Black;Black;*", "Asian;Rest;*", "Other;Rest;*"]
    (tmp_path / "race.csv").write_text("\n".join(races), "utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE + RULES, "utf-8")
    return tmp_path


def edited(folder: Path, change: Callable[[list[list[str]]], object]) -> Path:
    """The recipe with a table of values in which something was changed."""
    file = folder / "values.csv"
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    change(rows)
    with file.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows(rows)
    (folder / "edited.toml").write_text(RECIPE + 'values = "values.csv"\n' + RULES, "utf-8")
    return folder / "edited.toml"


def row(rows: list[list[str]], column: str, level: int, label: str | None = None) -> list[str]:
    return next(one for one in rows if one[:2] == [column, str(level)] and label in (None, one[2]))


def test_every_level_with_labels_counts_value_and_rules(shoal: Shoal, folder: Path) -> None:
    found = shoal("values", folder / "recipe.toml", "--json")
    assert found.code == 0
    levels = {(one["column"], one["level"]): one for one in json.loads(found.out)["levels"]}
    assert list(levels) == [("age", 0), ("age", 1), ("age", 2), ("age", 3), ("race", 0), ("race", 1), ("race", 2),
                            ("sex", 0), ("sex", 1)]  # fmt: skip
    age = levels["age", 1]
    assert dict(zip(age["labels"], age["counts"], strict=True))["[60,69]"] == 20
    assert (age["kept"], age["rules"]) == ([], 1)
    assert age["breaks"] == {"[60,69]": ["age: up to 66 | above"]}
    assert levels["race", 1]["labels"] == ["White", "Black", "Rest"]
    assert levels["race", 1]["kept"] == ["race: White | Other"]
    assert levels["race", 1]["value"] == pytest.approx(1 / 3 * 3 / 4)
    assert levels["sex", 1] | {"counts": []} == {
        "column": "sex", "level": 1, "labels": ["*"], "counts": [], "value": 0.0, "by_hand": False, "kept": [],
        "rules": 0, "breaks": {},
    }  # fmt: skip
    shown = shoal("values", folder / "recipe.toml").out
    assert "0 of 1, not up to 66 | above" in shown
    assert "[20,29], [30,39], [40,49], ..." in shown


def test_the_table_reads_back_and_an_edit_decides(shoal: Shoal, folder: Path) -> None:
    assert shoal("values", folder / "recipe.toml", "--csv", folder / "values.csv").code == 0
    plain = json.loads(shoal("run", folder / "recipe.toml", "--json", "--dry-run").out)
    same = json.loads(shoal("run", edited(folder, lambda rows: None), "--json", "--dry-run").out)
    assert same["measures"]["rv"] == plain["measures"]["rv"]

    def change(rows: list[list[str]]) -> None:
        row(rows, "age", 1)[4] = "100"
        row(rows, "race", 1)[4] = "90"

    changed = json.loads(shoal("run", edited(folder, change), "--json", "--dry-run").out)
    assert changed["measures"]["rv"]["value"] == pytest.approx(190, abs=0.34)
    assert changed["research"]["warnings"] == []
    again = shoal("values", folder / "edited.toml", "--json")
    assert {one["by_hand"] for one in json.loads(again.out)["levels"]} == {True}


def test_a_page_for_the_expert(shoal: Shoal, folder: Path) -> None:
    found = shoal("values", folder / "recipe.toml", "--html", folder / "values.html")
    assert found.code == 0
    assert "Private, not for publication" in found.out
    page = (folder / "values.html").read_text("utf-8")
    for text in ("[60,69]", "age: up to 66 | above", "rules kept: 1 of 1", "Private: not for publication"):
        assert text in page
    assert "<script" not in page
    again = shoal("values", folder / "recipe.toml", "--html", folder / "values.html")
    assert (again.code, "exists" in again.err) == (2, True)
    assert shoal("values", folder / "recipe.toml", "--html", folder / "values.html", "--replace").code == 0


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda rows: row(rows, "age", 1).__setitem__(0, "aeg"), "names the column 'aeg'.*Did you mean 'age'"),
        (lambda rows: row(rows, "age", 1).__setitem__(1, "9"), "gives 'age' the level '9'; it has 0 to 3"),
        (lambda rows: row(rows, "age", 1).__setitem__(1, "one"), "gives 'age' the level 'one'"),
        (lambda rows: row(rows, "age", 1).__setitem__(2, "[20,28]"), "'.20,28.', which is no label of level 1"),
        (lambda rows: row(rows, "race", 1, "Rest").__setitem__(2, "Rst"), "no label of level 1 .*nearest is 'Rest'"),
        (lambda rows: row(rows, "race", 1).__setitem__(4, "many"), "the value 'many', which is no number"),
        (lambda rows: row(rows, "race", 1).__setitem__(4, "-1"), "the value '-1', which is no number of at least 0"),
        (lambda rows: row(rows, "race", 1).__setitem__(4, ""), "leaves level 1 of 'race' without a value"),
        (lambda rows: row(rows, "race", 1, "Rest").__setitem__(4, "3"), "the value 3, and line .* a level has one"),
        (lambda rows: row(rows, "race", 2).__setitem__(4, "1"), "must give 'race' 0 at level 2"),
        (lambda rows: rows.remove(row(rows, "race", 1, "Rest")), "level 1 of 'race', which lacks its label 'Rest'"),
        (lambda rows: rows[0].__setitem__(4, "worth"), "have no column 'value'"),
    ],
)
def test_a_table_that_does_not_fit(
    shoal: Shoal, folder: Path, change: Callable[[list[list[str]]], object], message: str
) -> None:
    shoal("values", folder / "recipe.toml", "--csv", folder / "values.csv")
    with (folder / "values.csv").open(newline="", encoding="utf-8") as lines:
        before = list(csv.reader(lines))
    recipe = edited(folder, change)
    for command in ("check", "values", "run"):
        found = shoal(command, recipe)
        assert found.code == 2
        assert re.search(message, found.err)
    if "Line" in found.err:
        with (folder / "values.csv").open(newline="", encoding="utf-8") as lines:
            after = list(csv.reader(lines))
        differs = next((at for at, (one, other) in enumerate(zip(before, after, strict=False), 1) if one != other), 0)
        said = int(found.err.split("Line ")[1].split()[0])
        assert said == differs or "lacks its label" in message


@pytest.mark.parametrize(
    "text, code, message",
    [
        ('rules = [{ column = "race", separate = ["White", "Purple"] }]', 2, "'Purple', which is not one of"),
        ('rules = [{ column = "age", boundary = 900 }]', 2, "no value on one side"),
        ('values = "nowhere.csv"', 2, "cannot be read"),
        ('value = "values.csv"', 2, "no entry 'value' in .research.. Did you mean 'values'"),
        ('weights = "asociation"', 2, "Did you mean 'association'"),
        ("rv = { race = [1.0, 0.0] }", 2, "must have 3 values"),
        (
            'rules = [{ column = "race", separate = ["Asian", "Other"], keep = true }, '
            '{ column = "age", separate = [20, 21], keep = true }]',
            3,
            "The rules? .*cannot be kept",
        ),
    ],
)  # fmt: skip
def test_rules_and_values_that_cannot_be(shoal: Shoal, folder: Path, text: str, code: int, message: str) -> None:
    (folder / "bad.toml").write_text(RECIPE + text, "utf-8")
    for command in ("check", "run"):
        found = shoal(command, folder / "bad.toml")
        assert found.code == code
        assert re.search(message, found.err)


def test_what_a_run_says_of_rules_and_scales(shoal: Shoal, folder: Path) -> None:
    (folder / "mixed.toml").write_text(RECIPE + RULES + "rv = { sex = [90, 0] }\n", "utf-8")
    found = shoal("run", folder / "mixed.toml", "--dry-run").out
    assert "Rules kept: 1 of 2." in found
    assert "Broken: age: up to 66 | above (importance 5), by cells such as" in found
    assert "Values by hand go up to 90 and those of the formula to 0.333" in found
    wide = RECIPE.replace("widths = [10, 20]", "widths = [30, 60]") + RULES
    (folder / "wide.toml").write_text(wide, "utf-8")
    assert "The formula leaves 'age' 4.3% of its value at level 1" in shoal("values", folder / "wide.toml").out


def test_every_method_is_priced_by_the_same_values(shoal: Shoal, folder: Path) -> None:
    text = RECIPE + RULES.replace(", keep = true", "") + "normalise = false\n"
    for name in ("rv-global", 'optimal"\nmeasure = "rv', "mondrian"):
        recipe = folder / "each.toml"
        recipe.write_text(text.replace('"rv-global"', f'"{name}"'), "utf-8")
        run = json.loads(shoal("run", recipe, "--json", "--dry-run").out)
        measured = json.loads(shoal("measure", recipe, "rv", "--json").out)
        assert run["measures"]["rv"]["high"] == 3.0
        assert measured["measures"]["rv"] == run["measures"]["rv"]
        assert [rule["text"] for rule in run["research"]["rules"]] == ["age: up to 66 | above", "race: White | Other"]
