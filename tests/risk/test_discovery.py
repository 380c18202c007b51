"""Discovery of quasi-identifiers, against looking at every set of columns in plain Python."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.main import app
from shoal.errors import ParameterError

# Sumana & Hareesh, Table 1.
SURVEY = pl.DataFrame(
    {
        "Color": ["Black", "Black", "Black", "White", "White", "White", "Black"],
        "Birth": [1965, 1965, 1964, 1964, 1965, 1964, 1965],
        "Gender": ["M", "M", "M", "F", "F", "F", "F"],
        "ZIP": ["560054", "560054", "560054", "540064", "540064", "540064", "540064"],
    }
)


def plainly(
    frame: pl.DataFrame, columns: list[str], share: float, most: int, who: list[Any]
) -> dict[tuple[str, ...], int]:
    """Every set, without any pruning; then the minimal ones of those that single out enough people."""
    enough: dict[tuple[str, ...], int] = {}
    for size in range(1, most + 1):
        for names in combinations(columns, size):
            owners = defaultdict(set)
            for row, person in zip(frame.select(names).iter_rows(), who, strict=True):
                owners[row].add(person)
            alone = len({person for mine in owners.values() if len(mine) == 1 for person in mine})
            if alone and alone >= share * len(set(who)) - 1e-9:
                enough[names] = alone
    return {
        names: alone
        for names, alone in enough.items()
        if not any(set(other) < set(names) for other in enough)
    }


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("people", [False, True])
def test_it_finds_what_looking_at_every_set_finds(seed: int, people: bool) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(5, 40))
    frame = pl.DataFrame(
        {
            "a": random.integers(0, 12, rows), "b": random.integers(0, 3, rows), "c": random.integers(0, 2, rows),
            "d": [["x", "y", None][one] for one in random.integers(0, 3, rows)],
            "e": [["u", "v", "w"][one] for one in random.integers(0, 3, rows)],
            "who": [f"person {one}" for one in random.integers(0, 15, rows)],
        }
    )  # fmt: skip
    roles: dict[str, Any] = {"quasi": ["a", "b"], "sensitive": ["c", "d"], "neutral": ["e"], "missing": "value"}
    table = shoal.read(frame, **roles, **({"subject": "who"} if people else {"drop": ["who"]}))
    who = frame["who"].to_list() if people else list(range(rows))
    share, most = float(random.choice([0.0, 0.05, 0.3])), int(random.integers(1, 6))
    found = shoal.discover(table, share=share, most=most)
    assert {one.columns: one.people for one in found} == plainly(frame, list("abcde"), share, most, who)
    assert all(one.share == one.people / len(set(who)) for one in found)
    assert [len(one.columns) for one in found] == sorted(len(one.columns) for one in found)


def test_the_quasi_identifier_of_the_survey_is_not_minimal() -> None:
    table = shoal.read(SURVEY, quasi=SURVEY.columns)
    found = [set(one.columns) for one in shoal.discover(table, share=0)]
    assert {"Color", "Gender"} in found
    assert {"Color", "Gender", "ZIP"} not in found


def test_too_many_sets_are_refused() -> None:
    frame = pl.DataFrame({f"c{place}": [1, 2] for place in range(60)})
    with pytest.raises(ParameterError, match="60 columns have 523,685 sets of up to 4, too many to look at"):
        shoal.discover(shoal.read(frame, quasi=frame.columns))


@pytest.mark.parametrize("given", [[], ["--quasi", "Color"]])
def test_the_command_looks_at_every_column_of_a_file(given: list[str], tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    SURVEY.write_csv(path)
    run = CliRunner().invoke(app, ["risk", str(path), *given, "--discover", "0", "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert ["Color", "Gender"] in [one["columns"] for one in found["discovered"]]
    assert found["quasi"] == (["Color"] if given else SURVEY.columns)
    shown = CliRunner().invoke(app, ["risk", str(path), *given, "--discover", "0"]).stdout
    assert "Smallest identifying sets" in shown
    none = CliRunner().invoke(app, ["risk", str(path), *given, "--discover", "1"]).stdout
    assert "No set of up to 4 columns singles out so many people." in none
