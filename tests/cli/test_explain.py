"""``shoal explain`` and ``shoal diff``: true words, and nobody's values."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.recipe.edit import update_recipe
from tests.cli.conftest import PATIENTS, recipe_text

Shoal = Callable[..., Any]
MORE = "[hierarchies]\nage = { widths = [10, 20] }\nzip = { prefix = [3, 2] }"


def made(shoal: Shoal, folder: Path, name: str = "recipe.toml", **changes: Any) -> Path:
    text = recipe_text('identifiers = ["name"]\nquasi = ["age", "sex", "zip"]', k=2, more=MORE)
    text = text.replace("mondrian", "optimal")
    text = update_recipe(text, {"columns": {"zip": {"type": "categorical"}}, **changes})
    (folder / "people.csv").write_text(PATIENTS, "utf-8")
    (folder / name).write_text(text, "utf-8")
    found = shoal("run", folder / name, "--json")
    assert found.code == 0, found.err
    assert found.json["chosen"]["levels"] is None or set(found.json["chosen"]["levels"]) == {"age", "sex", "zip"}
    return folder / found.json["folder"]


@pytest.fixture
def out(shoal: Shoal, tmp_path: Path) -> Path:
    return made(shoal, tmp_path)


def test_what_is_said_to_keep_more_does(shoal: Shoal, out: Path, tmp_path: Path) -> None:
    found = shoal("explain", out, "--json").json
    levels = {one["column"]: one["level"] for one in found["columns"]}
    for one in found["finer"]:
        node = [levels[name] - (name == one["column"]) for name in levels]
        over = one["suppressed"] / 8
        said = " ".join(found["advice"][one["column"]])
        assert (f"suppression_limit of {over:g} would keep it" in said) == (over < 1)
        assert ("no suppression_limit would keep it" in said) == (over == 1)
        for limit, code in ((over, 3 if over == 1 else 0), (over - 1 / 8, 3)):
            changes = {"algorithm": {"node": node, "suppression_limit": max(limit, 0.0)}}
            text = update_recipe((tmp_path / "recipe.toml").read_text("utf-8"), changes)
            (tmp_path / "tried.toml").write_text(text, "utf-8")
            assert shoal("run", tmp_path / "tried.toml", "--dry-run").code == code, one
    assert found["finer"]


def test_the_k_that_would_do_does(shoal: Shoal, tmp_path: Path) -> None:
    models = [{"name": "k", "k": 4}]
    out = made(shoal, tmp_path, models=models, acknowledge=["W-UNMODELLED:disease"])
    found = shoal("explain", out, "--json").json
    levels = {one["column"]: one["level"] for one in found["columns"]}
    named = [one for one in found["finer"] if one["k"] is not None]
    assert named
    for one in named:
        assert one["k"] < 4
        node = [levels[name] - (name == one["column"]) for name in levels]
        for k, code in ((one["k"], 0), (one["k"] + 1, 3)):
            changes = {"algorithm": {"node": node}, "models": [{"name": "k", "k": max(k, 2)}]}
            text = update_recipe((tmp_path / "recipe.toml").read_text("utf-8"), changes)
            (tmp_path / "tried.toml").write_text(text, "utf-8")
            if k >= 2:
                assert shoal("run", tmp_path / "tried.toml", "--dry-run").code == code, one


def test_words_fit_and_tell_nobody(shoal: Shoal, out: Path, secrets: list[str]) -> None:
    found = shoal("explain", out)
    assert found.code == 0
    assert "One level a column: age " in found.out
    assert "proven" in found.out
    assert "suppression_limit" in found.out
    assert "for the publisher" in found.out
    assert not [word for word in secrets if word in found.out]
    one = shoal("explain", out, "sex")
    assert "zip" not in one.out.split("column", 2)[-1]


def test_without_its_source_the_rest_is_said(shoal: Shoal, out: Path) -> None:
    (out.parent / "people.csv").unlink()
    found = shoal("explain", out)
    assert found.code == 0
    assert "would be in classes that fail" not in found.out


def test_groups_are_explained_too(shoal: Shoal, tmp_path: Path) -> None:
    out = made(shoal, tmp_path, algorithm={"name": "mondrian"})
    found = shoal("explain", out)
    assert found.code == 0
    assert "'mondrian' made " in found.out


def test_mistakes_are_said(shoal: Shoal, out: Path, tmp_path: Path) -> None:
    assert "There is no quasi-identifier 'aeg'" in shoal("explain", out, "aeg").err
    shutil.rmtree(tmp_path / "out.evidence")
    assert shoal("explain", out).code == 2
    assert shoal("diff", out, tmp_path / "recipe.toml").code == 2
    assert "neither the folder of a release nor a recipe" in shoal("diff", out, tmp_path / "people.csv").err


def test_two_releases_differ_in_what_was_changed(shoal: Shoal, out: Path, tmp_path: Path, secrets: list[str]) -> None:
    again = made(shoal, tmp_path, "other.toml", output={"folder": "other"}, models=[{"name": "k", "k": 4}],
                 acknowledge=["W-UNMODELLED:disease"])  # fmt: skip
    assert shoal("diff", out, out, "--json").json == {
        "a": str(out), "b": str(out), "same": True, "differences": [],
    }  # fmt: skip
    found = shoal("diff", out, again, "--json")
    by = {(one["part"], one["what"]): (one["one"], one["other"]) for one in found.json["differences"]}
    assert by["models", "k"] == ("k = 2", "k = 4")
    assert by["models", "distinct-l"] == ("l = 2", None) or by["models", "distinct-l on disease"][1] is None
    assert by["release", "accepted warnings"] == ([], ["W-UNMODELLED:disease"])
    assert any(part == "levels" for part, _ in by)
    shown = shoal("diff", out, again)
    assert shown.code == 0
    assert not [word for word in secrets if word in shown.out + found.out]


def test_two_recipes_differ_in_their_entries(shoal: Shoal, out: Path, tmp_path: Path) -> None:
    text = (tmp_path / "recipe.toml").read_text("utf-8")
    (tmp_path / "new.toml").write_text(update_recipe(text, {"algorithm": {"measure": "ncp"}}), "utf-8")
    found = shoal("diff", tmp_path / "recipe.toml", tmp_path / "new.toml", "--json").json["differences"]
    assert found == [{"part": "algorithm", "what": "measure", "one": None, "other": "ncp"}]


def test_where_everybody_may_be_suppressed_no_k_is_named(shoal: Shoal, tmp_path: Path) -> None:
    out = made(shoal, tmp_path, algorithm={"suppression_limit": 1.0})
    found = shoal("explain", out, "--json")
    assert found.code == 0, found.err
    assert found.json["finer"]
    assert {one["k"] for one in found.json["finer"]} == {None}
