"""``shoal apply``: an earlier release's levels on new data, under the same models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.io.evidence import read_evidence
from shoal.recipe.reapply import reapplied, recoding_of
from shoal.recipe.recipe import parse_recipe

RECIPE = """\
seed = 1
acknowledge = ["W-UNMODELLED:disease"]

[source]
path = "2025.csv"

[roles]
quasi = ["age", "zip"]
sensitive = ["disease"]

[hierarchies]
age = "age.csv"
zip = {{ prefix = [2] }}

[[models]]
name = "k"
k = 3

[algorithm]
name = "{algorithm}"
{more}

[output]
folder = "out"
"""


def people(rows: int, shift: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (7 * row + shift) % 40 for row in range(rows)],
            "zip": [f"{10 + row % 3}{row % 7}" for row in range(rows)],
            "disease": [["flu", "gout", "cold"][row % 3] for row in range(rows)],
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tree = "".join(f"{age};{age // 10 * 10}s;{age // 20 * 20}+;*\n" for age in range(120))
    (tmp_path / "age.csv").write_text(tree)
    people(120).write_csv(tmp_path / "2025.csv")
    people(150, 3).write_csv(tmp_path / "2026.csv")
    return tmp_path


def earlier(shoal: Any, folder: Path, algorithm: str = "optimal", more: str = "suppression_limit = 0.02") -> Path:
    (folder / "recipe.toml").write_text(RECIPE.format(algorithm=algorithm, more=more))
    assert shoal("run", str(folder / "recipe.toml")).code == 0
    return folder / "out"


def test_new_data_is_published_at_the_same_levels(shoal: Any, folder: Path) -> None:
    out = earlier(shoal, folder)
    result = shoal("apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "new"), "--json")
    assert result.code == 0
    before, after = (read_evidence(folder / name) for name in ("out", "new"))
    assert after["chosen"]["levels"] == before["chosen"]["levels"]
    assert after["algorithm"]["name"] == "none"
    assert after["algorithm"]["suppression_limit"] == 0.02
    assert after["models"] == before["models"]
    assert after["counts"]["read"] == 150
    old, new = (pl.read_csv(folder / name / "release.csv", infer_schema=False) for name in ("out", "new"))
    assert {len(text) for text in new["age"].unique()} == {len(text) for text in old["age"].unique()}
    assert shoal("verify", str(folder / "new")).code == 0
    manifest = json.loads((folder / "new" / "manifest.json").read_text())
    assert [verdict["holds"] for verdict in manifest["verdicts"]] == [True]


def test_nobody_signed_the_new_release(shoal: Any, folder: Path) -> None:
    """A date, a signature and a day to look at it again are those of the earlier one alone."""
    text = RECIPE.format(algorithm="none", more="levels = { age = 2, zip = 1 }") + """date = "2025-02-01"
[review]
title = "Patients"
re_evaluation = "2026-02-01"
sign_off = [{ name = "x", date = "2025-02-01" }]
public = ["title", "re_evaluation"]
"""
    (folder / "recipe.toml").write_text(text)
    assert shoal("run", str(folder / "recipe.toml")).code == 0
    assert shoal("apply", str(folder / "out"), str(folder / "2026.csv"), "-o", str(folder / "new")).code == 0
    before, after = (json.loads((folder / name / "manifest.json").read_text()) for name in ("out", "new"))
    assert (before["date"], before["review"]) == ("2025-02-01", {"title": "Patients", "re_evaluation": "2026-02-01"})
    assert ("date" in after, after["review"]) == (False, {"title": "Patients"})
    review = parse_recipe(read_evidence(folder / "new")["recipe"], folder).review
    assert review is not None
    assert not review.sign_off
    reason = 'profile = "hipaa-expert"\n' + text.replace("k = 3", "k = 11") + 'threshold_reason = "few"\n'
    (folder / "out.evidence" / "recipe.toml").write_text(reason)
    result = shoal("apply", str(folder / "out"), str(folder / "2026.csv"), "-o", str(folder / "newer"))
    assert (result.code, "needs 'sign_off' of every release" in result.err) == (2, True)


def test_data_that_would_need_more_is_refused(shoal: Any, folder: Path) -> None:
    out = earlier(shoal, folder)
    people(4).write_csv(folder / "2026.csv")
    result = shoal("apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "new"))
    assert result.code == 3
    assert not (folder / "new").exists()


def test_a_dry_run_writes_nothing_and_a_folder_is_replaced_only_when_asked(shoal: Any, folder: Path) -> None:
    out = earlier(shoal, folder)
    where = ["apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "new")]
    assert shoal(*where, "--dry-run").code == 0
    assert not (folder / "new").exists()
    assert shoal(*where).code == 0
    assert shoal(*where).code == 2
    assert shoal(*where, "--replace").code == 0


@pytest.mark.parametrize(
    "algorithm, more, said",
    [
        ("mondrian", "", "made by 'mondrian', which gives no level of each column"),
        ("none", "levels = { age = 2, zip = 1 }", ""),
    ],
)
def test_only_levels_can_be_applied_again(shoal: Any, folder: Path, algorithm: str, more: str, said: str) -> None:
    out = earlier(shoal, folder, algorithm, more)
    result = shoal("apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "new"))
    assert result.code == (2 if said else 0)
    assert said in result.err


@pytest.mark.parametrize("engine", ["", '\n[engine]\nname = "duckdb"\n'], ids=["memory", "duckdb"])
def test_a_cut_is_applied_where_it_says_what_becomes_of_every_value(shoal: Any, folder: Path, engine: str) -> None:
    out = earlier(shoal, folder, "top-down-subtree", engine)
    cuts = read_evidence(out)["chosen"]["cuts"]
    assert cuts == {"age": ["0+", "100+", "20s", "30s", "40s", "50s", "60+", "80+"], "zip": ["10*", "11*", "12*"]}
    result = shoal("apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "new"))
    assert result.code == 0, result.err
    new = pl.read_csv(folder / "new" / "release.csv", infer_schema=False)
    assert set(new["age"]) == {"20s", "30s", "40s", "50s"}
    assert read_evidence(folder / "new")["algorithm"]["cuts"] == cuts
    assert shoal("verify", folder / "new").code == 0
    people(150, 3).with_columns(zip=pl.when(pl.col("zip") == "100").then(pl.lit("99")).otherwise("zip")).write_csv(
        folder / "2026.csv"
    )
    refused = shoal("apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "more"))
    assert (refused.code, "The cut of 'zip' has no label above 1 of 21 values" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "cuts, said",
    [
        ('cuts = { zip = ["10*", "*"] }', "one of which is above another"),
        ('cuts = { zip = ["10*"] }', "The cut of 'zip' has no label above 14 of 21 values: add one for each."),
        ('cuts = { zipp = ["*"] }', "There is a cut for 'zipp', which is not a quasi-identifier. Did you mean 'zip'?"),
        ('cuts = { zip = ["*"] }\nlevels = { zip = 1 }', "There is a level and a cut for 'zip': keep one of them."),
        ('cuts = { zip = ["*"] }\nlevels = { age = 9 }', "The level of 'age' must be a whole number from 0 to 3."),
    ],
)
def test_cuts_that_cannot_be(shoal: Any, folder: Path, cuts: str, said: str) -> None:
    (folder / "recipe.toml").write_text(RECIPE.format(algorithm="none", more=cuts))
    checked, run = shoal("check", folder / "recipe.toml"), shoal("run", folder / "recipe.toml")
    assert (checked.code, run.code, checked.err) == (2, 2, run.err)
    assert said in run.err


def test_a_cut_and_levels_beside_it(shoal: Any, folder: Path) -> None:
    earlier(shoal, folder, "none", 'cuts = { zip = ["10*", "11*", "12*"] }\nlevels = { age = 2 }')
    made = pl.read_csv(folder / "out" / "release.csv", infer_schema=False)
    assert (set(made["zip"]), set(made["age"])) == ({"10*", "11*", "12*"}, {"20+", "40+"})


def test_quantiles_move_with_the_data(shoal: Any, folder: Path) -> None:
    text = RECIPE.format(algorithm="none", more="levels = { age = 1, zip = 1 }").replace(
        'age = "age.csv"', "age = { quantiles = [4] }"
    )
    (folder / "recipe.toml").write_text(text)
    assert shoal("run", str(folder / "recipe.toml")).code == 0
    result = shoal("apply", str(folder / "out"), str(folder / "2026.csv"), "-o", str(folder / "new"))
    assert result.code == 2
    assert "The hierarchy of 'age' is cut at quantiles of the data" in result.err


def test_evidence_without_a_recipe_or_levels_says_so(shoal: Any, folder: Path) -> None:
    out = earlier(shoal, folder)
    again = reapplied(out, folder / "2026.csv", folder / "new")
    assert again.resolve("age.csv") == folder / "age.csv"
    assert {"levels": again.algorithm["levels"]} == recoding_of(read_evidence(out))
    assert parse_recipe((folder / "recipe.toml").read_text(), folder).roles == again.roles
    (folder / "out.evidence" / "recipe.toml").unlink()
    result = shoal("apply", str(out), str(folder / "2026.csv"), "-o", str(folder / "new"))
    assert (result.code, "holds no recipe" in result.err) == (2, True)
    result = shoal("apply", str(folder / "nothing"), str(folder / "2026.csv"), "-o", str(folder / "new"))
    assert (result.code, "holds no evidence.json" in result.err) == (2, True)
