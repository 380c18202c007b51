"""``shoal hierarchy``: proposals, drawings, edits, exports and checks, from files and recipes."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.recipe.recipe import parse_recipe

Shoal = Callable[..., Any]
PEOPLE = "age,zip,job,ward,disease\n" + "".join(
    f"{20 + at},{80000 + at % 4 * 100 + at % 3 * 7},{('miner', 'welder', 'nurse', 'doctor', 'clerk')[at % 5]},"
    f"{('pit', 'pit', 'clinic', 'clinic', 'office')[at % 5]},{('flu', 'cold')[at % 2]}\n"
    for at in range(70)
)
RECIPE = """\
seed = 1
acknowledge = ["W-UNMODELLED:disease"]
[source]
path = "people.csv"
[roles]
quasi = ["age", "zip", "job"]
sensitive = ["disease"]
drop = ["ward"]
[columns.zip]
type = "categorical"
[hierarchies]
zip = { prefix = [3, 2] }
job = "job.csv"
[[models]]
name = "k"
k = 2
[output]
folder = "out"
"""
JOBS = "job;kind;all\nminer;hand;*\nwelder;hand;*\nnurse;care;*\ndoctor;care;*\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE, "utf-8")
    (tmp_path / "job.csv").write_text(JOBS + "clerk;desk;*\n", "utf-8")
    return tmp_path


def test_every_column_of_a_file_gets_a_proposal_or_a_reason(shoal: Shoal, folder: Path) -> None:
    found = shoal("hierarchy", "suggest", folder / "people.csv")
    assert found.code == 0
    assert "age = {widths = [5, 10, 20]}" in found.out
    assert 'zip = {prefix = [4, 3]}    (with type = "categorical")' in found.out
    assert "There is nothing to propose for 'disease'" in found.out
    assert max(map(len, found.out.splitlines())) < 200


def test_what_is_proposed_stands_in_a_recipe_as_it_is_printed(shoal: Shoal, folder: Path) -> None:
    found = shoal("hierarchy", "suggest", folder / "recipe.toml", "age")
    line = next(line.strip() for line in found.out.splitlines() if line.strip().startswith("age = "))
    assert parse_recipe(RECIPE.replace("zip = { prefix = [3, 2] }", line)).hierarchies["age"] == {"widths": [5, 10, 20]}


def test_categories_are_grouped_by_their_company_and_written(shoal: Shoal, folder: Path) -> None:
    place = folder / "grouped.csv"
    found = shoal("hierarchy", "suggest", folder / "people.csv", "job", "--beside", "ward", "-o", place)
    assert found.code == 0
    text = place.read_text("utf-8")
    assert "miner;miner / welder;" in text
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    again = shoal("hierarchy", "suggest", folder / "people.csv", "job", "--beside", "ward", "-o", place)
    assert again.code == 2
    assert "exists" in again.err


def test_proposals_as_data_hold_no_value(shoal: Shoal, folder: Path) -> None:
    found = shoal("hierarchy", "suggest", folder / "recipe.toml", "disease", "job", "--beside", "zip", "--json")
    assert found.code == 0
    assert [one["column"] for one in found.json["columns"]] == ["disease", "job"]
    assert not [word for word in ("flu", "cold", "miner") if word in found.out]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["people.csv", "aeg"], "There is no column 'aeg' in 'people.csv': did you mean 'age'?"),
        (["recipe.toml", "ward"], "There is no column 'ward' that could have a hierarchy"),
        (["people.csv", "--how", "prefx"], "Did you mean 'prefix'?"),
        (["people.csv", "-o", "x.csv"], "A hierarchy file is of one column: name it before -o."),
        (["people.csv", "disease", "-o", "x.csv"], "There is nothing to propose for 'disease'"),
        (["nowhere.csv"], "There is no file"),
    ],
)
def test_mistakes_are_said(
    shoal: Shoal, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    found = shoal("hierarchy", "suggest", *arguments)
    assert found.code == 2
    assert message in found.err
    assert not (folder / "x.csv").exists()


def test_a_tree_is_drawn_with_records_and_costs(shoal: Shoal, folder: Path) -> None:
    found = shoal("hierarchy", "show", folder / "recipe.toml", "job")
    assert found.code == 0
    assert "job: 5 values, 3 levels" in found.out
    assert "├─ hand" in found.out
    lines = {line.split()[1]: line.split() for line in found.out.splitlines() if "─ " in line and "%" in line}
    assert lines["hand"][2:] == ["28", "40.00%"]
    assert "What each level would cost" in found.out


def test_a_file_is_drawn_without_data_and_counted_with_it(shoal: Shoal, folder: Path) -> None:
    assert "%" not in shoal("hierarchy", "show", folder / "job.csv").out.split("What each")[0]
    counted = shoal("hierarchy", "show", folder / "job.csv", "--data", folder / "people.csv")
    assert "40.00%" in counted.out
    data = shoal("hierarchy", "show", folder / "job.csv", "--data", folder / "people.csv", "--json").json
    assert data["records"] == 70
    assert [level["labels"] for level in data["levels"]] == [5, 3, 1]
    assert data["levels"][-1]["loss"] == 1


def test_a_column_without_a_hierarchy_says_what_to_do(shoal: Shoal, folder: Path) -> None:
    found = shoal("hierarchy", "show", folder / "recipe.toml", "age")
    assert found.code == 2
    assert "so it has two levels, as it is and everything" in found.err


def test_edits_are_tried_first_and_written_on_demand(shoal: Shoal, folder: Path) -> None:
    before = (folder / "job.csv").read_text("utf-8")
    tried = shoal("hierarchy", "edit", folder / "job.csv", "merge hand, desk as other", "rename care to caring")
    assert tried.code == 0
    assert "Nothing was written" in tried.out
    assert (folder / "job.csv").read_text("utf-8") == before
    done = shoal("hierarchy", "edit", folder / "job.csv", "merge hand, desk as other", "-o", folder / "new.csv")
    assert done.code == 0
    assert "clerk;other;*" in (folder / "new.csv").read_text("utf-8")
    swapped = shoal("hierarchy", "edit", folder / "job.csv", "drop level 1", "--replace", "--json")
    assert swapped.json["height"] == 1
    assert (folder / "job.csv").read_text("utf-8").startswith("miner;*")


def test_a_bad_edit_writes_nothing(shoal: Shoal, folder: Path) -> None:
    before = (folder / "job.csv").read_text("utf-8")
    found = shoal("hierarchy", "edit", folder / "job.csv", "drop level 1", "rename hnd to x", "--replace")
    assert found.code == 2
    assert (folder / "job.csv").read_text("utf-8") == before


def test_an_exported_hierarchy_comes_back_the_same(shoal: Shoal, folder: Path) -> None:
    found = shoal("hierarchy", "export", folder / "recipe.toml", "zip")
    assert found.code == 0
    named = RECIPE.replace("{ prefix = [3, 2] }", '"zip.csv"')
    (folder / "again.toml").write_text(named, "utf-8")
    both = [shoal("hierarchy", "show", folder / name, "zip", "--json").json for name in ("recipe.toml", "again.toml")]
    assert both[0] == both[1]


def test_an_export_takes_any_column_and_never_the_place_of_the_data(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("a/b,zip\n1,10115\n2,20095\n3,10117\n", "utf-8")
    recipe = '[source]\npath = "zip.csv"\n[roles]\nquasi = ["a/b", "zip"]\n[hierarchies]\n'
    (tmp_path / "r.toml").write_text(f'{recipe}"a/b" = {{ widths = [2] }}\nzip = {{ widths = [100] }}\n', "utf-8")
    assert shoal("hierarchy", "export", tmp_path / "r.toml", "a/b").code == 0
    assert (tmp_path / "a_b.csv").is_file()
    before = (tmp_path / "zip.csv").read_bytes()
    found = shoal("hierarchy", "export", tmp_path / "r.toml", "zip", "--replace")
    assert found.code == 2
    assert "holds the data of the recipe" in found.err
    assert (tmp_path / "zip.csv").read_bytes() == before


def test_a_whole_recipe_is_checked_at_once(shoal: Shoal, folder: Path) -> None:
    assert "Nothing is wrong with it." in shoal("hierarchy", "check", folder / "recipe.toml").out
    (folder / "job.csv").write_text(JOBS, "utf-8")
    found = shoal("hierarchy", "check", folder / "recipe.toml")
    assert found.code == 2
    assert "lacks 1 of 5 values, which 14 of 70 records have: add lines." in found.err
    piped = shoal("hierarchy", "check", folder / "recipe.toml", "--show-values")
    assert "prints values to a terminal only" in piped.err


def test_lacking_values_are_named_on_a_terminal_alone(
    shoal: Shoal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "job.csv").write_text(JOBS, "utf-8")
    monkeypatch.setattr("shoal.cli.console.on_terminal", lambda: True)
    found = shoal("hierarchy", "check", folder / "recipe.toml", "--show-values")
    assert "records have ('clerk'): add" in " ".join(found.err.split())


def test_a_value_of_a_file_is_never_named(shoal: Shoal, folder: Path) -> None:
    (folder / "job.csv").write_text(JOBS, "utf-8")
    found = shoal("hierarchy", "check", folder / "job.csv", "--data", folder / "people.csv", "--json")
    assert found.code == 2
    assert found.json["hierarchies"][0]["coverage"]["records_uncovered"] == 14
    assert "clerk" not in found.out


def test_every_fault_of_a_file_is_told(shoal: Shoal, folder: Path) -> None:
    (folder / "job.csv").write_text("a,x,top,*\na,y,top,*\nb,x,side,*\n", "utf-8")
    found = shoal("hierarchy", "check", folder / "job.csv")
    assert found.code == 2
    assert "two different paths" in found.out
    assert "several parents" in found.out
    assert "2 things are to be mended." in found.err


def test_a_recipe_takes_a_hierarchy_file_with_a_header(shoal: Shoal, folder: Path) -> None:
    assert shoal("run", folder / "recipe.toml", "--dry-run").code == 0
