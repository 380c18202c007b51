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
from shoal.vault import seal
from tests.conftest import many
from tests.soak.cases import ALGORITHMS, Case, Column, make
from tests.soak.judge import Members, broken
from tests.soak.oracle import faults
from tests.soak.run import attempt, run_seed

CASES = many(45, 130)
PARTS = many(5, 10)


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deriving keys is made cheap for no longer than a test."""
    monkeypatch.setattr(seal, "MEMORY", seal.MEMORY)


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_written_keeps_what_was_asked_for(part: int) -> None:
    found = [run_seed(seed) for seed in range(part, CASES, PARTS)]
    assert [fault for *_, faults in found for fault in faults] == []
    released = [outcome for _, outcome, _ in found].count("released")
    assert released * 3 > len(found), "refusing everything is no way to keep promises"


def test_every_algorithm_is_drawn() -> None:
    assert {spec["name"] for spec in ALGORITHMS} == set(names("algorithm"))


DIVERSITIES: list[dict[str, Any]] = [
    {"name": "distinct-l", "l": 2}, {"name": "entropy-l", "l": 1.3}, {"name": "recursive-cl", "c": 9.0, "l": 2},
    {"name": "p-sensitive", "p": 2, "k": 2}, {"name": "alpha-k-general", "alpha": 0.8, "k": 2},
    {"name": "range-diversity", "p": 0.9}, {"name": "range-confidence", "p": 0.9}, {"name": "max-range", "limit": 0.9},
    {"name": "k-e", "k": 2, "e": 5}, {"name": "variance", "v": 1}, {"name": "eps-m", "eps": 1, "m": 2},
]  # fmt: skip


@pytest.mark.parametrize("model", DIVERSITIES, ids=lambda one: one["name"])
def test_the_oracle_knows_what_everybody_has(model: dict[str, Any]) -> None:
    """Two people who both have 10 and 90, and four people who have one of them each."""
    column, table = Column("s", "int"), ["10", "90"]
    for people, wrong in (("pqpq", 1), ("pqrs", 0)):
        group = Members(["10", "10", "90", "90"], list(people), column, table)
        assert broken(model, [group], group) == wrong


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Path]:
    """A release of a generalised table whose rows can be told apart, as CSV."""
    for seed in range(0, 3000, len(ALGORITHMS)):
        case = make(seed)
        case.format, case.suppressed = "csv", "drop"
        names = {model["name"] for model in case.models}
        if not (case.linked and case.people and "k" in names and len(case.kept) > 20):
            continue
        if case.algorithm["suppression_limit"] == 1.0:  # then nobody need be there
            continue
        folder = tmp_path_factory.mktemp("soak")
        recipe = case.write(folder)
        if attempt(lambda recipe=recipe: shoal.run(recipe))[0] == 0:
            with open(folder / "out" / "release.csv", encoding="utf-8", newline="") as file:
                classes = {tuple(row[name] for name in case.quasi) for row in csv.DictReader(file)}
            if len(classes) > 1:
                return case, folder / "out"
    raise AssertionError("no such case")


def _people_gone(case: Case, rows: list[dict[str, Any]]) -> None:
    rows[:] = rows[: len(rows) // 3]


def _twice(case: Case, rows: list[dict[str, Any]]) -> None:
    rows.append(dict(rows[0]))


def _narrowed(case: Case, rows: list[dict[str, Any]]) -> None:
    for row in rows:
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
