"""The package of docs/extending.md, installed as it stands on the page, and used for all that it brings."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.registry import VERSION

ROOT = Path(__file__).parents[1]
FILE = re.compile(r'^```(?:toml|python) title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
# Runs commands one after the other in one process, and gives how each ended, what it printed, and the engine's tally.
DRIVER = """
import contextlib, io, json, sys
from shoal.cli.main import execute
found = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute(command)
    found.append([code, out.getvalue(), err.getvalue()])
engine = sys.modules.get("shoal_example.engine")
print(json.dumps([found, engine and engine.Tallied.tables]))
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package of the page was installed into; its recipe and the rows stand beside it."""
    folder = tmp_path_factory.mktemp("extending")
    for name, text in FILE.findall((ROOT / "docs" / "extending.md").read_text("utf-8")):
        path = folder / name if name == "recipe.toml" else folder / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "package" / "shoal_example" / "__init__.py").touch()
    people = range(90)
    pl.DataFrame(
        {
            "name": ["Example", *(f"person {i}" for i in people[1:])],  # a word of what the manifest says
            "age": [20 + 7 * i % 50 for i in people],
            "sex": ["f" if i % 2 else "m" for i in people],
            "zip": [f"{1010 + i % 20}" for i in people],
            "disease": [["flu", "asthma", "gout", "fever"][i % 4] for i in people],
        }
    ).write_csv(folder / "patients.csv")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
    target = folder / "site"
    subprocess.run([*pip, "--root-user-action=ignore", "--target", target, folder / "package"], check=True)
    return target


def run(site: Path | None, folder: Path, *commands: str) -> tuple[list[tuple[int, str, str]], Any]:
    """Run commands in a folder, with the package or without it."""
    paths = [ROOT / "src", ROOT / "papers" / "src", *([] if site is None else [site])]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([command.split() for command in commands])],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found, tally = json.loads(done.stdout)
    return [tuple(one) for one in found], tally


@pytest.fixture(scope="module")
def made(site: Path) -> Path:
    """The folder in which the recipe of the page was run."""
    found, tally = run(site, site.parent, "run recipe.toml --json")
    assert found[0][0] == 0, found[0]
    assert found[0][2] == ""
    assert tally > 0
    return site.parent


def test_everything_of_the_page_is_used(site: Path, made: Path) -> None:
    found, _ = run(
        site, made, "verify out --json", "verify out", "measure out largest-class --json",
        "attack recipe.toml --only commonest --json", "list algorithms --json", "check recipe.toml --replace",
    )  # fmt: skip
    assert [one[0] for one in found] == [0] * len(found), found
    verified, shown, measured, attacked, listed, _ = (one[1] for one in found)
    assert json.loads(verified)["passed"] is True
    assert [one["vouched_by"] for one in json.loads(verified)["verdicts"]] == [None, "shoal-example 1.0"]
    assert "rechecked (shoal-example 1.0)" in shown
    assert 0 < json.loads(measured)["measures"]["largest-class"]["value"] <= 1
    assert "commonest" in attacked
    mine = {"name": "same-level", "origin": "shoal-example 1.0"}
    mine["summary"] = "Every quasi-identifier at the same level of its hierarchy, or at its highest."
    assert mine in json.loads(listed)["algorithms"]
    assert {one["origin"] for one in json.loads(listed)["algorithms"]} == {f"shoal {VERSION}", "shoal-example 1.0"}


def test_without_the_package_its_names_are_unknown(made: Path) -> None:
    [(code, _, err)], _ = run(None, made, "run recipe.toml --replace")
    assert code == 2
    assert err.startswith("error: There is no algorithm called 'same-level'.")


def test_the_manifest_says_who_vouches(made: Path) -> None:
    manifest = json.loads((made / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["statement"] == "3-anonymous, with no share above 0.6 on disease"
    of_k, of_share = manifest["verdicts"]
    assert "vouched_by" not in of_k
    assert (of_share["by"], of_share["holds"], of_share["vouched_by"]) == ("rechecked", True, "shoal-example 1.0")
    assert "the check is that of shoal-example 1.0" in (made / "out" / "report.html").read_text("utf-8")


def another(site: Path, folder: Path, *, version: str = "1.0", **changes: tuple[str, str]) -> Path:
    """A copy of the package, of another version or with something replaced in one of its files."""
    copy = folder / "site"
    shutil.copytree(site, copy)
    [metadata] = copy.glob("*.dist-info/METADATA")
    metadata.write_text(metadata.read_text("utf-8").replace("Version: 1.0\n", f"Version: {version}\n"), "utf-8")
    for name, (old, new) in changes.items():
        path = copy / "shoal_example" / f"{name}.py"
        assert old in path.read_text("utf-8")
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    return copy


@pytest.mark.parametrize("version", [None, "1.1"])
def test_a_verdict_that_cannot_be_derived_here_has_not_passed(
    version: str | None, site: Path, made: Path, tmp_path: Path
) -> None:
    here = None if version is None else another(site, tmp_path, version=version)
    [(code, out, err), (again, data, _)], _ = run(here, made, "verify out", "verify out --json")
    assert (code, again, out) == (4, 4, "")
    sentence = (
        "The verdict on 'max-share' is said to be derived by shoal-example 1.0, which is not installed here, so it "
        "cannot be derived again: run pip install shoal-example==1.0."
    )
    assert err == f"error: {sentence}\n"
    assert json.loads(data) == {"error": {"type": "VerificationError", "message": sentence, "exit_code": 4}}


def _nobody(verdicts: list[dict[str, Any]]) -> None:
    del verdicts[1]["vouched_by"]


def _for_ours(verdicts: list[dict[str, Any]]) -> None:
    verdicts[0]["vouched_by"] = "stranger 1.0"


def _no_name(verdicts: list[dict[str, Any]]) -> None:
    verdicts[1]["vouched_by"] = "--index-url=somewhere stranger 1.0"


def _no_text(verdicts: list[dict[str, Any]]) -> None:
    verdicts[1]["vouched_by"] = ["shoal-example", "1.0"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("change", [_nobody, _for_ours, _no_name, _no_text])
def test_a_manifest_cannot_say_otherwise(
    change: Callable[[list[dict[str, Any]]], None], site: Path, made: Path, tmp_path: Path
) -> None:
    shutil.copytree(made / "out", tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest["verdicts"])
    path.write_text(json.dumps(manifest), "utf-8")
    [(code, _, err)], _ = run(site, tmp_path, "verify out")
    assert code == 4
    assert "pip" not in err
    assert "verdict" in err


def test_the_gate_judges_by_the_term(site: Path, made: Path, tmp_path: Path) -> None:
    stricter = another(site, tmp_path, term=('at_most(largest, model["p"])', "at_most(largest, 0.1)"))
    for name in ("recipe.toml", "patients.csv"):
        shutil.copy(made / name, tmp_path)
    [(code, _, err)], _ = run(stricter, tmp_path, "run recipe.toml")
    assert code == 4
    refused = "error: The gate refused the release, so nothing is written: "
    assert err.startswith(f"{refused}max-share = 0.6 on disease fails")
    assert not (tmp_path / "out").exists()


def test_a_model_without_a_term_is_none(site: Path, made: Path, tmp_path: Path) -> None:
    without = another(site, tmp_path, model=("    term: ClassVar[type[Term]] = MaxShareTerm\n", ""))
    [(code, _, err), (listing, out, warned)], _ = run(without, made, "run recipe.toml --replace", "list models")
    why = "brings no term of that name, by which it could be verified: repair or uninstall that distribution."
    assert (code, err) == (2, f"error: The model 'max-share' of shoal-example 1.0 {why}\n")
    assert (listing, warned) == (0, f"warning: The model 'max-share' of shoal-example 1.0 {why}\n")
    assert "max-share" not in out
