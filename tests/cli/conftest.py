"""A small table of invented patients, a small census, and a way to run commands in this process."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import execute

PATIENTS = """\
name,age,sex,zip,disease
Anna,21,f,1000,flu
Boris,22,m,1000,cold
Clara,23,f,1001,asthma
David,24,m,1001,flu
Elena,31,f,1010,cold
Felix,32,m,1010,asthma
Greta,33,f,1011,flu
Hugo,34,m,1011,cold
"""
ROLES = ["--identifier", "name", "--quasi", "age", "--quasi", "sex", "--quasi", "zip", "--sensitive", "disease"]
MODELS = ["--model", "k=2", "--model", "distinct-l=2 on disease"]
SECRETS = ["Anna", "Boris", "Greta", "flu", "cold", "asthma"]


def recipe_text(roles: str, *, k: int, top: str = "", source: str = 'path = "people.csv"', more: str = "") -> str:
    """A recipe for a k-anonymous and 2-diverse release in ``out``; the diseases are sensitive."""
    return f"""\
{top}
seed = 1

[source]
{source}

[roles]
{roles}
sensitive = ["disease"]

{more}

[[models]]
name = "k"
k = {k}

[[models]]
name = "distinct-l"
l = 2

[algorithm]
name = "mondrian"

[output]
folder = "out"
"""


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def shoal(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a command as the console script does."""

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        code = execute([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return call


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS, "utf-8")
    return path


@pytest.fixture
def flags() -> list[str]:
    """Roles and models for the patients."""
    return [*ROLES, *MODELS]


@pytest.fixture
def secrets() -> list[str]:
    """Words of the patients that no message may contain."""
    return SECRETS


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which ``shoal demo`` has run; not to be changed."""
    folder = tmp_path_factory.mktemp("census")
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        code = execute(["demo", "--rows", "400", "--seed", "1", "-o", str(folder / "out")])
    assert code == 0, quiet.getvalue()
    return folder
