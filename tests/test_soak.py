"""Generated tables through whole runs, judged by an oracle that shares no code with Shoal and reads the files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.registry import names
from tests.soak.cases import ALGORITHMS, Case, make
from tests.soak.oracle import faults
from tests.soak.run import attempt, run_seed

CASES = 500
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_written_keeps_what_was_asked_for(part: int) -> None:
    assert [fault for seed in range(part, CASES, PARTS) for fault in run_seed(seed)[2]] == []


def test_every_algorithm_is_drawn() -> None:
    assert {spec["name"] for spec in ALGORITHMS} == set(names("algorithm"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Path]:
    """A release of a generalised table whose rows can be told apart, as CSV."""
    for seed in range(0, 3000, len(ALGORITHMS)):
        case = make(seed)
        case.format, case.suppressed = "csv", "drop"
        names = {model["name"] for model in case.models}
        if not (case.linked and case.people and "k" in names and len(case.kept) > 20):
            continue
        folder = tmp_path_factory.mktemp("soak")
        recipe = case.write(folder)
        if attempt(lambda recipe=recipe: shoal.run(recipe))[0] == 0:
            return case, folder / "out"
    raise AssertionError("no such case")


def _people_gone(case: Case, rows: list[dict[str, Any]]) -> None:
    rows[:] = rows[: len(rows) // 3]


def _twice(case: Case, rows: list[dict[str, Any]]) -> None:
    rows.append(dict(rows[0]))


def _narrowed(case: Case, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row[case.quasi[0]] = rows[0][case.quasi[0]].replace("*", "1")
        row[case.quasi[0]] = "12"


def _alone(case: Case, rows: list[dict[str, Any]]) -> None:
    other = next(row for row in rows if any(row[name] != rows[0][name] for name in case.quasi))
    rows[0].update({name: other[name] for name in case.quasi})


def _moved(case: Case, rows: list[dict[str, Any]]) -> None:
    other = next(row for row in rows if row[case.sensitive[0]] != rows[0][case.sensitive[0]])
    rows[0][case.sensitive[0]] = other[case.sensitive[0]]


def _named(case: Case, rows: list[dict[str, Any]]) -> None:
    rows[0][case.sensitive[0]] = str(case.rows[0]["name"]).split()[1]


@pytest.mark.parametrize("harm", [_people_gone, _twice, _narrowed, _alone, _moved, _named])
def test_the_oracle_finds_what_is_wrong(
    written: tuple[Case, Path], tmp_path: Path, harm: Callable[[Case, list[dict[str, Any]]], None]
) -> None:
    case, folder = written
    assert faults(case, folder) == []
    with open(folder / "release.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    harm(case, rows)
    (tmp_path / "manifest.json").write_text(json.dumps(json.loads((folder / "manifest.json").read_text())))
    with open(tmp_path / "release.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert faults(case, tmp_path) != []
