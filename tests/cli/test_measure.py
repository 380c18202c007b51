"""``shoal measure`` with evaluations: from a recipe and from a folder, pages and refusals."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.cli.test_attack import RECIPE, people

Shoal = Callable[..., Result]

OUTPUT = '\n[output]\nfolder = "out"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(people(0, 120), "utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE + OUTPUT, "utf-8")
    return tmp_path


def test_a_recipe_and_its_folder_have_the_same_findings(shoal: Shoal, place: Path) -> None:
    names = ["--evaluate", "count-queries", "--evaluate", "rules"]
    made = shoal("measure", place / "recipe.toml", *names, "--json").json
    assert shoal("run", place / "recipe.toml").code == 0
    read = shoal("measure", place / "out", *names, "--against", place / "people.csv", "--json").json
    assert made["evaluations"] == read["evaluations"]
    assert made["measures"] == read["measures"]
    found = {one["name"]: one for one in made["evaluations"]}
    assert {"count-queries median", "count-queries mean", "rules recovered", "rules artificial"} <= set(found)
    assert all(one["sentence"] for one in found.values())
    other = shoal("measure", place / "out", *names, "--against", place / "people.csv", "--seed", 1, "--json").json
    assert other["evaluations"] != made["evaluations"]


def test_queries_of_ones_own_and_their_page(shoal: Shoal, place: Path) -> None:
    (place / "q.txt").write_text('# two\nage in [20, 40] and sex = "f"\ndisease = flu\n', "utf-8")
    page = place / "page.html"
    result = shoal("measure", place / "recipe.toml", "lm", "--queries", place / "q.txt", "--html", page)
    assert result.code == 0, result.err
    flu = people(0, 120).count(",flu")
    assert [line for line in result.out.splitlines() if "disease = flu" in line][0].split()[-2:] == [str(flu)] * 2
    assert "age in [20, 40] and sex = f" in page.read_text("utf-8")
    assert "Private" in page.read_text("utf-8")
    assert os.stat(page).st_mode & 0o077 == 0
    again = shoal("measure", place / "recipe.toml", "--queries", place / "q.txt", "--html", page)
    assert (again.code, "exists" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("agee = 3", "Did you mean 'age'"),
        ("sex = x", "no value 'x'"),
        ("disease = plague", "no value 'plague'"),
        ("", "no query"),
    ],
)
def test_queries_that_cannot_be_asked(shoal: Shoal, place: Path, query: str, told: str) -> None:
    (place / "q.txt").write_text(query + "\n", "utf-8")
    result = shoal("measure", place / "recipe.toml", "--queries", place / "q.txt")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert told in result.err
    assert not [value for value in ("flu", "cold", "gout") if value in result.err]


def test_what_does_not_go_together(shoal: Shoal, place: Path) -> None:
    assert shoal("run", place / "recipe.toml").code == 0
    wrong = [
        (["recipe.toml", "--evaluate", "count-query"], "Did you mean 'count-queries'"),
        (["recipe.toml", "--evaluate", "rules", "--against", place / "people.csv"], "leave out --against"),
        (["recipe.toml", "--html", place / "page.html"], "nothing to evaluate"),
        (["recipe.toml", "--queries", place / "none.txt"], "cannot be read"),
        (["out", "--evaluate", "rules"], "--against"),
        (["out", "--evaluate", "rules", "--against", place / "recipe.toml"], "recipe.toml"),
        (
            ["out", "--evaluate", "rules", "--against", place / "people.csv", "--html", place / "out" / "a.html"],
            "public",
        ),
        (["out", "--evaluate", "rules", "--against", place / "people.csv", "--missing", "keep"], "value, drop"),
    ]
    for (target, *rest), told in wrong:
        result = shoal("measure", place / str(target), *rest)
        assert (result.code, result.err.count("\n")) == (2, 1), (rest, result.err)
        assert told in result.err


def test_a_folder_without_evidence_can_be_evaluated(shoal: Shoal, place: Path) -> None:
    assert shoal("run", place / "recipe.toml").code == 0
    (place / "alone").mkdir()
    for path in (place / "out").iterdir():
        (place / "alone" / path.name).write_bytes(path.read_bytes())
    given = [place / "alone", "--evaluate", "rules", "--against", place / "people.csv"]
    data = shoal("measure", *given, "--json").json
    assert (data["measures"], data["kind"]) == ({}, "generalised")
    assert shoal("measure", *given, "lm").code == 2


def test_the_gain_of_a_workload(shoal: Shoal, place: Path) -> None:
    workload = '\n[workload]\nqueries = ["age in [30, 49]"]\nboundaries = { age = [30, 50] }\n'
    recipe = place / "recipe.toml"
    text = recipe.read_text("utf-8").replace('name = "mondrian"', 'name = "mondrian"\ncut = "best"')
    recipe.write_text(text + workload, "utf-8")
    data = shoal("measure", recipe, "lm", "--gain", "--json").json
    found = {one["figure"]: one for one in data["gain"]}
    assert list(found) == ["query error", "boundaries kept", "lm"]
    assert found["boundaries kept"]["after"] > found["boundaries kept"]["before"]
    assert found["query error"]["after"] < found["query error"]["before"]
    assert found["lm"]["after"] == data["measures"]["lm"]["value"]
    shown = shoal("measure", recipe, "lm", "--gain")
    assert shown.code == 0, shown.err
    assert "boundaries kept" in shown.out
    recipe.write_text(text, "utf-8")
    assert shoal("measure", recipe, "lm", "--json").json["measures"]["lm"]["value"] == found["lm"]["before"]
    for target, told in ((recipe, "no [workload]"), (place, "name it instead")):
        refused = shoal("measure", target, "--gain")
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert told in refused.err
