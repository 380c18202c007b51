"""The same recipe, data and secret give the same bytes in every published file, wherever and whenever they are run."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import shoal
from shoal.cli.main import execute
from shoal.errors import ParameterError, RecipeError

RECIPE = """
seed = 3
acknowledge = ["{code}"]

[source]
path = "people.csv"

[roles]
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = ["disease"]

{models}

[algorithm]
{algorithm}

[output]
folder = "out"
format = "{format}"
discard_secret = {discard}
date = 2026-01-31
"""
# Clocks as somebody else's computer might have them, set before anything of ours is loaded.
RUN = """
import datetime, sys, time
shift = {shift}
time.time, old = (lambda: old() + shift), time.time
time.strftime = lambda *_: "never"
class Later(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromtimestamp(time.time(), tz)
    today = utcnow = now
datetime.datetime = Later
from shoal.cli.main import execute
sys.exit(execute(["run", {recipe!r}]))
"""
K = """[hierarchies]
age = { widths = [3, 9] }
sex = { groups = [{ person = ["f", "m"] }] }

[[models]]
name = "k"
k = 3"""
CASES = {
    "csv": ("csv", 'name = "mondrian"', "W-UNMODELLED:disease", K),
    "parquet": ("parquet", 'name = "optimal"', "W-UNMODELLED:disease", K),
    "groups": ("csv", 'name = "anatomy"\nl = 2', "W-EXACT-QI", ""),
    "noise": ("csv", 'name = "random"', "W-RA-LINK", ""),
    "codes": ("csv", 'name = "mapping"', "W-PP-REV", ""),
}


def write(folder: Path, case: str) -> Path:
    folder.mkdir(parents=True)
    rows = [f"P{row},{20 + row % 9},{'fm'[row % 2]},{('flu', 'cold', 'asthma')[row % 3]}" for row in range(36)]
    (folder / "people.csv").write_text("\n".join(["name,age,sex,disease", *rows, ""]))
    format, algorithm, code, models = CASES[case]
    discard = "true" if case == "codes" else "false"
    recipe = folder / "recipe.toml"
    recipe.write_text(
        RECIPE.format(format=format, algorithm=algorithm, code=code, models=models, discard=discard), "utf-8"
    )
    return recipe


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_everywhere(tmp_path: Path, case: str) -> None:
    here = write(tmp_path / "here", case)
    there = write(tmp_path / "far" / "away" / "there", case)
    shoal.run(here)
    env = {**os.environ, "TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "77", "LC_ALL": "C", "COLUMNS": "40"}
    env |= {"POLARS_MAX_THREADS": "3", "SHOAL_CORES": "2"}
    env["PYTHONPATH"] = str(Path(shoal.__file__).parents[1])
    code = RUN.format(shift=400 * 86_400, recipe=str(there))
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert published(there.parent) == published(here.parent)


def test_the_date_is_the_recipes(tmp_path: Path) -> None:
    recipe = write(tmp_path / "a", "csv")
    shoal.run(recipe)
    files = published(tmp_path / "a")
    assert json.loads(files["manifest.json"])["date"] == "2026-01-31"
    assert b"dated <span>2026-01-31</span>" in files["report.html"]
    assert b"<code>W-UNMODELLED:disease</code>" in files["report.html"]
    recipe = write(tmp_path / "b", "csv")
    recipe.write_text(recipe.read_text().replace("date = 2026-01-31", ""))
    shoal.run(recipe)
    files = published(tmp_path / "b")
    assert "date" not in json.loads(files["manifest.json"])
    assert b"dated" not in files["report.html"]


@pytest.mark.parametrize("date", ['"yesterday"', "2026", "2026-01-31T10:00:00", "[2026-01-31]", '"2026-1-31"'])
def test_a_date_that_is_none(tmp_path: Path, date: str) -> None:
    recipe = write(tmp_path / "a", "csv")
    recipe.write_text(recipe.read_text().replace("date = 2026-01-31", f"date = {date}"))
    with pytest.raises(RecipeError, match=r"date.*2026-01-31"):
        shoal.run(recipe)
    assert not (tmp_path / "a" / "out").exists()


def test_flags_date_and_escape_a_release(tmp_path: Path) -> None:
    write(tmp_path / "a", "csv")
    roles = ["--identifier", "name", "--quasi", "age", "--quasi", "sex", "--sensitive", "disease", "--model", "k=3"]
    more = ["--acknowledge", "W-UNMODELLED:disease", "--date", "2026-01-31", "--formulas", "escape"]
    flags = [*roles, *more, "--save-recipe", str(tmp_path / "a" / "saved.toml")]
    assert execute(["anonymize", str(tmp_path / "a" / "people.csv"), "-o", str(tmp_path / "a" / "out"), *flags]) == 0
    manifest = json.loads(published(tmp_path / "a")["manifest.json"])
    assert (manifest["date"], manifest["data"]["formulas"]) == ("2026-01-31", "escaped")
    assert 'date = "2026-01-31"' in (tmp_path / "a" / "saved.toml").read_text()


def test_a_date_that_is_none_in_python(tmp_path: Path) -> None:
    table = shoal.read(shoal.example_census(60).select("age", "sex"), quasi=["age", "sex"], missing="drop")
    with pytest.raises(ParameterError, match="2026-01-31"):
        shoal.anonymize(table, algorithm=shoal.Mondrian(k=3), date="soon")


def test_evidence_holds_risk_before_and_after(tmp_path: Path) -> None:
    shoal.run(write(tmp_path / "a", "csv"))
    risk = json.loads((tmp_path / "a" / "out.evidence" / "evidence.json").read_bytes())["risk"]
    before, after = (risk[when]["prosecutor-max"]["value"] for when in ("before", "after"))
    # 18 combinations of age and sex, two people each; then classes of at least three.
    assert before == 0.5
    assert risk["before"]["marketer-mean"]["value"] == 0.5
    # An age has one disease; what a class of the release tells is counted again from the file.
    assert [risk["before"][f"{what} disease"]["value"] for what in ("homogeneous", "confidence")] == [1.0, 1.0]
    assert risk["before"]["confidence disease"]["baseline"] == pytest.approx(1 / 3)
    classes: dict[tuple[str, str], list[str]] = {}
    for line in published(tmp_path / "a")["release.csv"].decode().splitlines()[1:]:
        age, sex, disease = next(csv.reader([line]))
        classes.setdefault((age, sex), []).append(disease)
    worst = max(Counter(members).most_common(1)[0][1] / len(members) for members in classes.values())
    alone = sum(len(members) for members in classes.values() if len(set(members)) == 1)
    assert after == 1 / min(map(len, classes.values()))
    assert risk["after"]["marketer-mean"]["value"] == pytest.approx(len(classes) / 36)
    assert risk["after"]["confidence disease"]["value"] == pytest.approx(worst)
    assert risk["after"]["homogeneous disease"]["value"] == pytest.approx(alone / 36)
    assert "risk" not in json.loads(published(tmp_path / "a")["manifest.json"])
