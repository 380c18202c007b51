"""The wheel in a clean environment: the demo, every algorithm, audit, risk and attack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shoal.registry import names

ROOT = Path(__file__).parents[1]
# Runs commands one after the other in one process, and prints how each ended.
DRIVER = """
import json, sys, shoal
from shoal.cli.main import execute
assert shoal.__file__.startswith(sys.argv[1]), shoal.__file__
print(json.dumps([execute(command) for command in json.loads(sys.argv[2])]), file=sys.stderr)
"""
SETTINGS = {
    "alpha-k": ["alpha=0.9", "k=3"], "anatomy": ["l=2"], "upc": ["utility=0.9", "protection=0.9"],
    "personalised": ["p=0.9", "guard_level=0"], "rv-distributed": ["max_strings=9"],
    "record-swapping": ['geography=["postcode"]'],
}  # fmt: skip
PERTURBED = ("swapping", "condensation", "pram", "noise", "shuffling", "record-swapping")
UNLIMITED = ("graded", "mapping", "table-transform", "random", *PERTURBED)
UNMODELLED = (*UNLIMITED, "anatomy")
M_INVARIANT = """acknowledge = ["W-UNMODELLED:illness"]
[source]
name = "patients"
path = "patients.csv"
[roles]
subject = "who"
quasi = ["age"]
sensitive = ["illness"]
[algorithm]
name = "m-invariant"
m = 2
counterfeits = true
[registry]
file = "patients.registry"
[output]
folder = "released"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, from objects that scripts/test has compiled where nothing changed since."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "-w", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and what it requires into a virtual environment of its own."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True)
    return python


def run(python: Path, folder: Path, *commands: list[str]) -> list[int]:
    """Run commands in the clean environment, without a compiler on PATH, and return their exit codes."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CC", "CXX")}
    done = subprocess.run(
        [str(python), "-c", DRIVER, str(python.parents[1]), json.dumps(commands)],
        env=environment | {"PATH": str(python.parent)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stderr.splitlines()[-1]))


def anonymize(name: str, folder: Path) -> list[str]:
    census, sensitive = folder / "demo.source" / "census.csv", "diagnosis"
    if name in ("graded", "table-transform"):
        sensitive = "income"
    quasi = ["age", "postcode", "education"]
    roles = [("--identifier", "name"), ("--sensitive", sensitive), *(("--quasi", one) for one in quasi)]
    rest = {"person", "birth_date", "sex", "region", "marital_status", "occupation", "industry", "admitted", "visits"}
    roles += [("--drop", one) for one in sorted(rest | ({"income", "diagnosis"} - {sensitive}))]
    trees = ["age={ widths = [5, 20] }", "postcode={ prefix = [3, 1] }", "education={ prefix = [1] }"]
    trees += ["diagnosis={ prefix = [1] }"] if sensitive == "diagnosis" else []
    models = [] if name in UNMODELLED else ["k=3"]
    more = [*SETTINGS.get(name, []), *([] if name in UNLIMITED else ["suppression_limit=1.0"])]
    codes = ["W-NO-K", "W-RA-LINK", "W-PP-REV", "W-EXACT-QI", "W-NEUTRAL", "W-TIGHT", "W-ROWS"]
    codes += [f"W-UNMODELLED:{sensitive}"]
    codes += ["W-PERTURBED"] if name in PERTURBED else []
    flags = [*roles, *(("--hierarchy", tree) for tree in trees), *(("--model", model) for model in models)]
    flags += [("--set", one) for one in more] + [("--acknowledge", code) for code in codes]
    plain = ["--missing", "drop", "--seed", "1", "--discard-secret", "--algorithm", name]
    return ["anonymize", str(census), "-o", str(folder / name), *plain, *(word for flag in flags for word in flag)]


def test_a_clean_environment_runs_everything(python: Path, tmp_path: Path) -> None:
    census = tmp_path / "demo.source" / "census.csv"
    looks = ["--quasi", "age", "--quasi", "sex", "--sensitive", "diagnosis"]
    commands = {"demo": ["demo", "-o", str(tmp_path / "demo"), "--rows", "200"]}
    # m-invariant asks for a registry, below.
    commands |= {name: anonymize(name, tmp_path) for name in names("algorithm") if name != "m-invariant"}
    commands |= {"audit": ["audit", str(census), *looks], "risk": ["risk", str(census), *looks]}
    commands["attack"] = ["attack", str(tmp_path / "demo")]
    codes = run(python, tmp_path, *commands.values())
    assert dict(zip(commands, codes, strict=True)) == dict.fromkeys(commands, 0)


def test_m_invariance_needs_the_extra_vault(wheel: Path, python: Path, tmp_path: Path) -> None:
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), f"{wheel}[vault]"], check=True)
    (tmp_path / "patients.csv").write_text("who,age,illness\np,10,flu\nq,15,gout\nr,16,cold\n")
    (tmp_path / "recipe.toml").write_text(M_INVARIANT)
    (tmp_path / "key").write_bytes(bytes(32))
    (tmp_path / "key").chmod(0o600)
    key = ["--key-file", "key"]
    new = ["registry", "new", "patients.registry", "--source", "patients", *key]
    assert run(python, tmp_path, new, ["run", "recipe.toml", *key], ["verify", "released"]) == [0, 0, 0]


def test_the_wheel_holds_kernels_and_no_sources_of_them(wheel: Path) -> None:
    assert "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as content:
        assert content.testzip() is None
        entries = content.namelist()
    assert [name for name in entries if name.startswith("shoal/kernels/_native.")]
    assert not [name for name in entries if name.endswith((".cpp", ".hpp", ".nbc", ".a"))]
