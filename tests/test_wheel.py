"""A wheel with compiled kernels: nothing is compiled where it is installed, and an upgrade runs its own code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shoal.catalogue import names
from shoal.kernels.packing import pack_wheel

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


def build(source: Path, folder: Path) -> Path:
    """A plain wheel of a source tree."""
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "-w", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack(wheel: Path, folder: Path) -> Path:
    """Installed as pip does, over what was there."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--upgrade"]
    subprocess.run([*pip, "--root-user-action=ignore", "--target", str(folder), str(wheel)], check=True)
    return folder


def run(installed: Path, cache: Path, *commands: list[str]) -> list[int]:
    environment = os.environ | {"PYTHONPATH": str(installed), "SHOAL_CACHE": str(cache)}
    environment["NUMBA_CPU_NAME"] = "generic"  # what was compiled for the processor of this machine alone is not found
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(installed), json.dumps(commands)],
        env=environment, cwd=installed, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the checkout, without kernels."""
    folder = tmp_path_factory.mktemp("sources") / "tree"
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return build(folder, tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def wheel(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_wheel(bare, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(wheel, tmp_path_factory.mktemp("installed"))


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


def test_nothing_is_compiled_where_a_wheel_is_installed(installed: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    census = tmp_path / "demo.source" / "census.csv"
    looks = ["--quasi", "age", "--quasi", "sex", "--sensitive", "diagnosis"]
    methods = [name for name in names("algorithm") if name != "m-invariant"]  # it asks for a registry
    found = run(
        installed, cache, ["demo", "-o", str(tmp_path / "demo"), "--rows", "200"],
        *(anonymize(name, tmp_path) for name in methods), ["audit", str(census), *looks], ["risk", str(census), *looks],
        ["attack", str(tmp_path / "demo")],
    )  # fmt: skip
    assert dict(zip(["demo", *methods, "audit", "risk", "attack"], found, strict=True)) == dict.fromkeys(
        ["demo", *methods, "audit", "risk", "attack"], 0
    )
    assert [path.name for path in cache.rglob("*.nbc")] == []


def test_what_is_in_it(wheel: Path) -> None:
    assert "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as content:
        assert content.testzip() is None
        entries = content.namelist()
        info = next(name for name in entries if name.endswith("METADATA"))
        metadata = content.read(info).decode()
    assert any(name.endswith(".nbc") for name in entries)
    pins = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: numba")]
    assert len(pins) == 1
    assert "==" in pins[0]


ASKED = """
import numpy as np, polars as pl, shoal
from shoal.engines.memory import MemoryEngine
from shoal.kernels.judge.segments import failing
from shoal.models.judge import Judge
from shoal.judging.feasible import whole_reference
table = shoal.read(pl.DataFrame({"q": [1, 2, 3]}), quasi=["q"])
models = [shoal.KAnonymity(k=2)]
judge = Judge(models, whole_reference(MemoryEngine().open(table), models))
print(failing(judge.rules, np.ones(judge.rules.op.size), 0))
"""


def turned(wheel: Path, folder: Path) -> Path:
    """The same wheel, in which one kernel says the opposite."""
    kernel, said, instead = "shoal/kernels/judge/rules.py", b">= limit - TOLERANCE", b"<= limit + TOLERANCE"
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(folder / wheel.name, "w") as target:
        assert source.read(kernel).count(said) == 1
        for entry in source.infolist():
            content = source.read(entry)
            target.writestr(entry, content.replace(said, instead) if entry.filename == kernel else content)
    return folder / wheel.name


def test_an_upgrade_runs_its_own_code(bare: Path, installed: Path, tmp_path: Path) -> None:
    """Two wheels that differ in one kernel, which others call: what the first compiled must not be used."""
    folder = tmp_path / "installed"
    shutil.copytree(installed, folder)
    environment = os.environ | {"PYTHONPATH": str(folder), "SHOAL_CACHE": str(tmp_path / "cache")}

    def asked() -> str:
        return subprocess.check_output([sys.executable, "-c", ASKED], env=environment, text=True).strip()

    assert asked() == "True"  # one person is fewer than two
    unpack(turned(bare, tmp_path), folder)
    assert asked() == "False"
