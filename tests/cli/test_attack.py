"""``shoal attack`` from a recipe and from a folder: figures, controls, pages and refusals."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Result

Shoal = Callable[..., Result]

RECIPE = """\
acknowledge = ["W-UNMODELLED:disease"]
seed = 1

[source]
path = "people.csv"

[roles]
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = ["disease"]

[[models]]
name = "k"
k = 3

[algorithm]
name = "mondrian"
"""


def people(first: int, count: int) -> str:
    lines = ["name,age,sex,disease"]
    for number in range(first, first + count):
        disease = ("flu", "cold", "gout")[number * 5 % 11 % 3]
        lines.append(f"person{number},{20 + number * 7 % 45},{'fm'[number % 2]},{disease}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(people(0, 120), "utf-8")
    (tmp_path / "others.csv").write_text(people(500, 40), "utf-8")
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE, "utf-8")
    return path


@pytest.fixture
def folder(shoal: Shoal, recipe: Path) -> Path:
    assert shoal("run", recipe).code == 0
    return recipe.parent / "out"


def test_a_recipe_holds_people_out(shoal: Shoal, recipe: Path) -> None:
    result = shoal("attack", recipe, "--only", "linkage", "--only", "background", "--json")
    assert result.code == 0
    attacks = {one["name"]: one for one in result.json["attacks"]}
    assert list(attacks) == ["linkage", "background"]
    linked = {one["name"]: one for one in attacks["linkage"]["figures"]}
    assert linked["linkage"]["value"] <= 1 / 3
    assert linked["linkage:disease"]["control"] is not None
    assert linked["linkage:disease"]["low"] <= linked["linkage:disease"]["value"] <= linked["linkage:disease"]["high"]
    assert shoal("attack", recipe, "--only", "linkage", "--only", "background", "--json").out == result.out
    assert not (recipe.parent / "out").exists()


def test_nobody_held_out_is_said(shoal: Shoal, recipe: Path) -> None:
    result = shoal("attack", recipe, "--hold-out", "0", "--only", "homogeneity")
    assert result.code == 0
    assert "no control" in result.out


def test_a_folder_is_attacked_with_an_identified_table(shoal: Shoal, folder: Path) -> None:
    source = folder.parent / "people.csv"
    result = shoal("attack", folder, "--against", source, "--control", folder.parent / "others.csv", "--json")
    assert result.code == 0
    attacks = {one["name"]: one for one in result.json["attacks"]}
    linked = {one["name"]: one for one in attacks["linkage"]["figures"]}
    assert linked["linkage"]["value"] <= 1 / 3
    assert linked["linkage:disease"]["control"] is not None
    assert attacks["minimality"]["figures"] == []
    assert "recipe" in attacks["minimality"]["note"]
    assert sum(one["people"] for one in attacks["linkage"]["also"]["matches"]) == 120


def test_a_folder_alone_is_attacked_by_its_records(shoal: Shoal, folder: Path) -> None:
    result = shoal("attack", folder)
    assert result.code == 0
    assert "background:disease" in result.out
    assert "'linkage' needs an identified table (--against)." in result.out


def test_two_releases_are_intersected(shoal: Shoal, recipe: Path, folder: Path) -> None:
    other = recipe.with_name("other.toml")
    other.write_text(RECIPE.replace('"mondrian"', '"k-members"') + '\n[output]\nfolder = "out2"\n', "utf-8")
    assert shoal("run", other).code == 0
    source = folder.parent / "people.csv"
    both = ["--against", source, "--also", recipe.parent / "out2"]
    result = shoal("attack", folder, *both, "--only", "intersection", "--json")
    assert result.code == 0
    made = result.json["attacks"][0]
    assert made["figures"][0]["value"] >= made["figures"][0]["baseline"] >= 0


def test_an_attack_that_does_not_apply_names_those_that_do(shoal: Shoal, folder: Path) -> None:
    result = shoal("attack", folder, "--only", "ra-linkage")
    assert result.code == 0
    assert "'ra-linkage' does not apply to a generalised release, where nothing was redrawn at random" in result.out
    assert "; these do: linkage, homogeneity" in result.out


def test_the_page_is_private_and_whole(shoal: Shoal, recipe: Path, tmp_path: Path) -> None:
    page = tmp_path / "attack.html"
    assert shoal("attack", recipe, "--only", "linkage", "--html", page).code == 0
    text = page.read_text("utf-8")
    assert "linkage:disease" in text
    assert "Plotly.newPlot" in text
    assert "http-equiv" in text
    assert "src=" not in text.split("<script>")[0]
    assert os.stat(page).st_mode & 0o777 == 0o600
    again = shoal("attack", recipe, "--only", "linkage", "--html", page)
    assert (again.code, "exists" in again.err) == (2, True)
    assert shoal("attack", recipe, "--only", "linkage", "--html", page, "--replace").code == 0


@pytest.mark.parametrize("arguments, message", [
    (["--only", "linkag"], "Did you mean 'linkage'"),
    (["--control", "people.csv"], "--against"),
    (["--against", "people.csv", "--control", "people.csv"], "120 of 120 rows of the control are in the data"),
    (["--hold-out", "0.5"], "name its recipe instead"),
    (["--against", "nobody.csv"], "There is no file"),
    (["--html", "out/page.html"], "inside a release"),
    (["--html", "page.txt"], "must end in .html"),
    (["--also", "people.csv"], "manifest.json"),
])  # fmt: skip
def test_bad_requests_of_a_folder(
    shoal: Shoal, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder.parent)
    result = shoal("attack", "out", *arguments)
    assert result.code == 2, result.out
    assert message in result.err


def test_bad_requests_of_a_recipe(shoal: Shoal, recipe: Path) -> None:
    source = recipe.parent / "people.csv"
    result = shoal("attack", recipe, "--control", source)
    assert (result.code, "in the data too" in result.err) == (2, True)
    result = shoal("attack", recipe, "--control", source, "--hold-out", "0.5")
    assert (result.code, "there is one control" in result.err) == (2, True)
    result = shoal("attack", recipe.with_name("none.toml"))
    assert result.code == 2
    result = shoal("attack", recipe, "--against", recipe.parent / "others.csv", "--only", "linkage")
    assert result.code == 0


def test_no_value_reaches_the_output(shoal: Shoal, recipe: Path) -> None:
    result = shoal("attack", recipe)
    assert result.code == 0
    for word in ("person1", "flu", "gout"):
        assert word not in result.out


def test_a_column_that_people_lack(shoal: Shoal, folder: Path) -> None:
    bare = folder.parent / "bare.csv"
    pl.DataFrame({"age": [1]}).write_csv(bare)
    result = shoal("attack", folder, "--against", bare)
    assert (result.code, "no column 'sex'" in result.err) == (2, True)


def test_a_control_needs_the_columns_too(shoal: Shoal, recipe: Path, folder: Path) -> None:
    bare = folder.parent / "bare.csv"
    pl.DataFrame({"age": [1], "disease": ["flu"]}).write_csv(bare)
    against = ["--against", folder.parent / "people.csv", "--control", bare]
    file = folder / "release.csv"
    for target, more in ((folder, against), (recipe, ["--control", bare]), (file, [*FLAGS, *against])):
        result = shoal("attack", target, *more)
        assert (result.code, "no column 'sex'" in result.err, "flu" in result.err) == (2, True, False)


FLAGS = ["--quasi", "age", "--quasi", "sex", "--sensitive", "disease"]


def test_a_bare_file_is_attacked_like_its_folder(shoal: Shoal, folder: Path) -> None:
    people, others = folder.parent / "people.csv", folder.parent / "others.csv"
    beside = ["--against", people, "--control", others, "--seed", "1", "--json"]
    known = shoal("attack", folder, *beside).json["attacks"]
    result = shoal("attack", folder / "release.csv", *FLAGS, *beside)
    assert result.code == 0
    assert result.json["kind"] == "generalised"
    assert result.json["attacks"] == known
    notes = {one["name"]: one["note"] for one in result.json["attacks"]}
    assert "name the recipe instead" in notes["downcoding"]


def test_a_file_of_another_tool(shoal: Shoal, tmp_path: Path) -> None:
    office = "[20, 30[;office;flu\n"
    (tmp_path / "other.csv").write_text(f"age;job;disease\n{office}{office}3*;*;cold\n", "utf-8")
    (tmp_path / "people.csv").write_text("age;job;disease\n21;clerk;flu\n29;typist;flu\n30;nurse;cold\n", "utf-8")
    (tmp_path / "job.csv").write_text("clerk;office;*\ntypist;office;*\nnurse;ward;*\n", "utf-8")
    flags = ["--quasi", "age", "--quasi", "job", "--sensitive", "disease", "--separator", ";"]
    flags += ["--against", tmp_path / "people.csv", "--only", "linkage", "--json"]
    result = shoal("attack", tmp_path / "other.csv", *flags, "--hierarchy", f"job={tmp_path / 'job.csv'}")
    assert result.code == 0
    found = {one["name"]: one["value"] for one in result.json["attacks"][0]["figures"]}
    assert found["linkage"] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert found["linkage:disease"] == 1
    blind = shoal("attack", tmp_path / "other.csv", *flags)
    assert blind.code == 2
    assert "'job' of the people to attack does not meet the release: 100.0%" in blind.json["error"]["message"]
    assert "office" not in blind.out


def test_centroids_are_found_by_the_nearest(shoal: Shoal, recipe: Path) -> None:
    recipe.write_text(RECIPE.replace('"mondrian"', '"microaggregation"'), "utf-8")
    result = shoal("attack", recipe, "--only", "nearest", "--only", "linkage", "--json")
    assert result.code == 0
    near, linked = result.json["attacks"]
    found = {one["name"]: one for one in near["figures"]}
    assert 0 < found["nearest"]["value"] <= 1 / 3
    assert found["nearest:disease"]["control"] is not None
    assert "'linkage' does not apply to a microaggregated release, where cells are centroids" in linked["note"]
    assert shoal("run", recipe).code == 0
    source, folder = recipe.parent / "people.csv", recipe.parent / "out"
    flags = ["--against", source, "--only", "nearest", "--seed", "1", "--json"]
    written = shoal("attack", folder, *flags).json["attacks"]
    bare = shoal("attack", folder / "release.csv", *FLAGS, "--kind", "microaggregated", *flags)
    assert bare.json["attacks"] == written


def test_people_of_a_folder_count_once(shoal: Shoal, folder: Path) -> None:
    twice = folder.parent / "twice.csv"
    frame = pl.read_csv(folder.parent / "people.csv")
    pl.concat([frame, frame]).write_csv(twice)
    result = shoal("attack", folder, "--against", twice, "--subject", "name", "--only", "linkage")
    assert result.code == 0
    assert "of 120 people" in result.out


@pytest.mark.parametrize("arguments, message", [
    (["people.csv"], "no quasi-identifier"),
    (["people.csv", "--quasi", "agee"], "Did you mean 'age'?"),
    (["people.csv", *FLAGS, "--hold-out", "0.5"], "name its recipe instead"),
    (["people.csv", *FLAGS, "--kind", "bucketised"], "'kind' of a file"),
    (["people.csv", *FLAGS, "--control", "others.csv"], "needs an identified table"),
    (["people.csv", *FLAGS, "--against", "people.csv", "--control", "people.csv"], "are in the data too"),
    (["people.csv", *FLAGS, "--hierarchy", "age=nowhere.csv"], "cannot be read"),
    (["nowhere.csv", *FLAGS], "There is no file"),
    (["out", *FLAGS], "--quasi is for a file, and a release says it itself"),
    (["recipe.toml", "--type", "age=numeric"], "--type is for a file, and a recipe says it itself"),
    (["recipe.toml", "--subject", "name"], "--subject is for a file or a release"),
    (["out", "--subject", "name"], "column of the people in --against"),
    (["out", "--subject", "nam", "--against", "people.csv"], "no column 'nam'"),
])  # fmt: skip
def test_bad_requests_of_a_file(
    shoal: Shoal, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder.parent)
    result = shoal("attack", *arguments)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result.err
    assert message in result.err


def test_attacks_are_listed(shoal: Shoal) -> None:
    names = [one["name"] for one in shoal("list", "attacks", "--json").json["attacks"]]
    assert {"linkage", "homogeneity", "relinking"} <= set(names)


@pytest.mark.parametrize("limits, code", [
    ("prosecutor_max = 0.34\nlinkage = 0.99", 0), ("prosecutor_max = 0.1", 4), ("excess.background = 0.01", 4),
    ("minimality = 0.9", 4), ("homogenity = 0.1", 2), ("homogeneity = 2", 2),
])  # fmt: skip
def test_limits_of_a_recipe_stop_a_run(shoal: Shoal, recipe: Path, limits: str, code: int) -> None:
    recipe.write_text(f"{RECIPE}\n[limits]\n{limits}\n", "utf-8")
    result = shoal("run", recipe)
    assert result.code == code, result.err
    assert (recipe.parent / "out").exists() == (code == 0)
    assert shoal("run", recipe, "--dry-run").code == code
    if code == 4:
        assert "exceeds its limits, so nothing is written" in result.err


@pytest.mark.parametrize("command", ["check", "run"])
def test_unknown_limits_are_told_before_anything_runs(shoal: Shoal, recipe: Path, command: str) -> None:
    recipe.write_text(RECIPE + "\n[limits]\nhomogenity = 0.1\n", "utf-8")
    result = shoal(command, recipe)
    assert result.code == 2
    assert "Did you mean 'homogeneity'?" in result.err
    assert not (recipe.parent / "out").exists()


def test_known_limits_pass_the_check(shoal: Shoal, recipe: Path) -> None:
    recipe.write_text(RECIPE + "\n[limits]\nhomogeneity = 0.1\nprosecutor_max = 0.5\nexcess.linkage = 0.5\n", "utf-8")
    assert shoal("check", recipe).code == 0
