"""`shoal explore`: what it writes and where, and that a run takes a node picked from it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.start import write_census
from shoal.recipe.edit import update_recipe
from shoal.recipe.recipe import dump_recipe, load_recipe

NODE = {"levels", "loss", "suppressed", "classes", "smallest", "verdict"}
DATA = {
    "file", "measure", "better", "rows", "suppression_limit", "models", "columns", "lattice", "complete", "chosen",
    "counts", "optimum", "proven", "nodes",
}  # fmt: skip
QUASI = ["age", "sex", "postcode", "education", "marital_status"]
SEX = {"nested": {"*": ["female", "male", "other"]}}


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a census; its recipes are written per test."""
    folder = tmp_path_factory.mktemp("explored")
    write_census(folder, folder / "unused", 300, 1)
    return folder


@pytest.fixture
def recipe(source: Path, tmp_path: Path) -> Callable[..., Path]:
    """Write a recipe for the census, all quasi-identifiers with hierarchies, with some entries changed."""

    def write(**changes: Any) -> Path:
        text = (source / "recipe.toml").read_text("utf-8")
        fixed = {
            "source": {"path": str(source / "census.csv")},
            "output": {"folder": "out"},
            "hierarchies": {"sex": SEX},
            "algorithm": {"name": "optimal", "cut": None, "suppression_limit": 0.2},
        }
        path = tmp_path / "census.toml"
        path.write_text(update_recipe(update_recipe(text, fixed), changes), "utf-8")
        return path

    return write


def page_data(path: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def refused(result, code: int, *expected: str) -> None:
    assert (result.code, result.out, result.err.count("\n")) == (code, "", 1), result.err
    for words in expected:
        assert words in result.err


def test_page_and_summary(shoal, recipe, tmp_path: Path) -> None:
    result = shoal("explore", recipe())
    assert (result.code, result.err) == (0, "")
    file = tmp_path / "census.explore.html"
    assert {path.name for path in tmp_path.iterdir()} == {"census.toml", "census.explore.html"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert "Private: not for publication." in file.read_text("utf-8")
    for expected in ("All 540 nodes", "over the suppression limit", "The optimum for lm", "node = [", str(file)):
        assert expected in result.out
    assert "Private, not for publication" in result.out
    data = page_data(file)
    assert data["columns"] == QUASI
    assert len(data["levels"]) == 540
    assert data["limit"] == 0.2


def test_json(shoal, recipe, tmp_path: Path) -> None:
    result = shoal("explore", recipe(), "-o", tmp_path / "page.html", "--json")
    assert (result.code, result.err) == (0, "")
    data = result.json
    assert set(data) == DATA
    assert all(set(node) == NODE for node in data["nodes"])
    assert data["file"] == str(tmp_path / "page.html")
    assert (data["lattice"], data["complete"], data["proven"], data["rows"]) == (540, True, True, 300)
    assert sum(data["counts"].values()) == 540
    assert data["columns"][0] == {"name": "age", "height": 4}
    assert data["optimum"] == next(node for node in data["nodes"] if node["verdict"] == "allowed")
    assert page_data(tmp_path / "page.html")["levels"] == [node["levels"] for node in data["nodes"]]


def test_a_run_takes_the_node_that_was_picked(shoal, recipe, tmp_path: Path) -> None:
    nodes = shoal("explore", recipe(), "--json").json["nodes"]
    allowed = [node for node in nodes if node["verdict"] == "allowed"]
    for node in (allowed[0], allowed[len(allowed) // 2], allowed[-1]):
        line = tomllib.loads(f"node = {node['levels']}")
        made = shoal("run", recipe(algorithm=line), "--replace", "--json").json
        assert (made["classes"], made["smallest"]) == (node["classes"], node["smallest"])
        assert made["counts"]["suppressed"] == node["suppressed"]
        assert made["measures"]["lm"]["value"] == pytest.approx(node["loss"])
        assert made["measures"]["height"]["value"] == sum(node["levels"])
    over = next(node for node in nodes if node["verdict"] == "over")
    refused(shoal("run", recipe(algorithm={"node": over["levels"]}), "--replace"), 3, "suppression_limit is 20.00%")


def test_the_optimum_is_what_a_run_finds(shoal, recipe) -> None:
    best = shoal("explore", recipe(), "--measure", "ncp", "--json").json["optimum"]
    made = shoal("run", recipe(algorithm={"measure": "ncp"}), "--json").json
    levels = [made["measures"]["height"]["also"][name] for name in QUASI]
    assert levels == best["levels"]
    assert made["measures"]["ncp"]["value"] == pytest.approx(best["loss"])


def test_a_larger_lattice_is_sampled_and_says_so(shoal, recipe, tmp_path: Path) -> None:
    whole = shoal("explore", recipe(), "-o", tmp_path / "a.html", "--json").json
    part = shoal("explore", recipe(), "-o", tmp_path / "b.html", "--max-nodes", 60, "--json").json
    assert (part["complete"], part["proven"], len(part["nodes"])) == (False, True, 60)
    assert part["optimum"] == whole["optimum"]
    text = shoal("explore", recipe(), "-o", tmp_path / "c.html", "--max-nodes", 60).out
    assert "The lattice has 540 nodes; 60 were counted: the optimum (1)" in text
    assert "a sample" in (tmp_path / "c.html").read_text("utf-8")
    assert (tmp_path / "c.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_any_algorithm_lends_its_limit_models_and_measure(shoal, recipe) -> None:
    other = {"algorithm": {"name": "mondrian", "suppression_limit": 0.3}}
    data = shoal("explore", recipe(**other), "--json").json
    assert (data["suppression_limit"], data["measure"]) == (0.3, "lm")
    data = shoal("explore", recipe(algorithm={"measure": "dm"}), "--replace", "--json").json
    assert data["measure"] == "dm"
    short = {"models": [{"name": "entropy-l", "l": 2, "on": "diagnosis"}], "algorithm": {"name": "mondrian", "k": 4}}
    data = shoal("explore", recipe(**short), "--replace", "--json").json
    assert {"name": "k", "k": 4} in data["models"]
    extra = page_data(Path(data["file"]))["extra"]
    assert tomllib.loads(extra) == {"models": [{"name": "k", "k": 4}]}


def test_research_value_goes_by_the_recipes_rules(shoal, recipe) -> None:
    # No band of ages keeps this boundary, so that age is worth keeping as it is or not at all.
    rules = [{"column": "age", "boundary": 33, "importance": 10}]
    path = recipe(algorithm={"name": "rv-global", "rules": rules})
    made = shoal("explore", path, "--json").json
    assert (made["measure"], made["better"]) == ("rv", "up")
    chosen = shoal("run", path, "--json").json["measures"]["height"]["also"]
    assert [chosen[name] for name in QUASI] == made["optimum"]["levels"]
    banded = [node for node in made["nodes"] if node["levels"] == [1, 1, 5, 2, 2]]
    plain = shoal("explore", recipe(algorithm={"name": "mondrian"}), "--measure", "rv", "--replace", "--json").json
    same = [node for node in plain["nodes"] if node["levels"] == [1, 1, 5, 2, 2]]
    assert banded[0]["loss"] == 0.0
    assert same[0]["loss"] > 0.0


@pytest.mark.parametrize(
    "model, verdict",
    [({"name": "recursive-cl", "c": 0.11, "l": 2}, "over"), ({"name": "entropy-l", "l": 20.9}, "fails")],
)
def test_nothing_allowed_is_still_worth_a_look(shoal, recipe, model: dict, verdict: str) -> None:
    models = [{"name": "k", "k": 2}, model | {"on": "diagnosis"}]
    path = recipe(models=models, algorithm={"suppression_limit": 0.0}, acknowledge=["W-UNMODELLED:income"])
    result = shoal("explore", path)
    assert result.code == 0
    assert "No node is allowed" in result.out
    data = shoal("explore", path, "--replace", "--json").json
    assert data["optimum"] is None
    assert data["counts"]["allowed"] == 0
    assert data["counts"][verdict] > 0
    assert shoal("run", path).code == 3


def test_an_existing_file_is_kept_unless_replaced(shoal, recipe, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("precious")
    refused(shoal("explore", recipe(), "-o", file), 2, "page.html", "--replace")
    assert file.read_text() == "precious"
    file.chmod(0o644)
    assert shoal("explore", recipe(), "-o", file, "--replace").code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("out/page.html", "folder of the release"),
        ("published/deep/page.html", "inside a release"),
        ("out.evidence/page.html", "evidence folder"),
        ("census.toml", "must end in .html"),
        ("nowhere/page.html", "no folder"),
        ("folder.html", "exists"),
    ],
)
def test_places_that_are_refused(shoal, recipe, tmp_path: Path, name: str, expected: str) -> None:
    path = recipe()
    for folder in ("out", "published/deep", "out.evidence", "folder.html"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "published" / "manifest.json").write_text('{"shoal": "0"}')
    before = sorted(tmp_path.rglob("*")), path.read_text("utf-8")
    refused(shoal("explore", path, "-o", tmp_path / name, "--replace"), 2, expected)
    assert (sorted(tmp_path.rglob("*")), path.read_text("utf-8")) == before


@pytest.mark.parametrize(
    "changes, flags, code, expected",
    [
        ({}, ["--measure", "lmm"], 2, ["'measure'", "Did you mean 'lm'?"]),
        ({}, ["--measure", "um"], 2, ["'measure'", "one of lm"]),
        ({}, ["--max-nodes", "0"], 2, ["--max-nodes"]),
        ({"algorithm": {"suppression_limit": 2.0}}, [], 2, ["suppression_limit"]),
        ({"roles": {"quasi": ["agee"]}}, [], 2, ["Did you mean 'age'?"]),
        ({"models": [{"name": "k", "k": 1000}]}, [], 3, ["k = 1000"]),
    ],
    ids=["unknown measure", "no objective", "no nodes", "limit", "unknown column", "infeasible"],
)
def test_bad_input(
    shoal, recipe, tmp_path: Path, changes: dict, flags: list[str], code: int, expected: list[str]
) -> None:
    path = recipe(**changes)
    refused(shoal("explore", path, *flags), code, *expected)
    assert [one.name for one in tmp_path.iterdir()] == ["census.toml"]


def test_a_column_without_a_hierarchy_has_two_levels(shoal, recipe) -> None:
    found = shoal("explore", recipe(hierarchies={"sex": None}), "--json").json
    assert {"name": "sex", "height": 1} in found["columns"]


def test_no_value_of_a_record_is_printed(shoal, recipe) -> None:
    made = load_recipe(recipe())
    assert "diagnosis" in dump_recipe(made)
    shown = shoal("explore", recipe()).out + shoal("explore", recipe(), "--replace", "--json").out
    for word in ("female", "hypertension", "bachelor", "[0,19]"):
        assert word not in shown
