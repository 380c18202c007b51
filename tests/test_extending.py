"""The package of docs/extending.md, installed as it stands on the page, and used for all that it brings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.version import VERSION

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
print(json.dumps([found, engine and engine.Tallied.opened]))
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
            "name": [f"person {i}" for i in people],
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
        site, made, "verify out --json", "measure out largest-class --json",
        "attack recipe.toml --only commonest --json", "list algorithms --json", "check recipe.toml --replace",
    )  # fmt: skip
    assert [one[0] for one in found] == [0] * len(found), found
    verified, measured, attacked, listed, _ = (one[1] for one in found)
    assert json.loads(verified)["passed"] is True
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
