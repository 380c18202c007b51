"""``shoal estimate``: a table for people, plain data for machines, one line for mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shoal as library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    people = library.example_census(300).select("age", "sex", "region", "diagnosis").drop_nulls()
    table = library.read(people, quasi=["age", "sex", "region"], sensitive=["diagnosis"])
    made = library.anonymize(table, algorithm="random", seed=1, acknowledge=["W-RA-LINK"])
    place = tmp_path_factory.mktemp("estimate") / "out"
    made.write(place)
    return place


def test_queries_and_rules(shoal: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "asked.txt").write_text("# whom\nage in [30, 50]\nsex = male -> diagnosis = diabetes\n")
    found = shoal("estimate", folder, "sex = male", "--queries", tmp_path / "asked.txt", "--json")
    assert found.code == 0
    told = json.loads(found.out)["estimates"]
    assert [one["figure"] for one in told] == ["count", "count", "support", "confidence"]
    assert told[0]["of"] == "sex = male"
    assert told[0]["error"] > 0
    shown = shoal("estimate", folder, "--rule", "sex = male -> diagnosis = diabetes")
    assert shown.code == 0
    assert "standard error" in shown.out
    assert "redrawing alone" in shown.out


@pytest.mark.parametrize("given, told", [((), "nothing to estimate"), (("sex = x1",), "has no value")])
def test_mistakes(shoal: Any, folder: Path, given: tuple[str, ...], told: str) -> None:
    found = shoal("estimate", folder, *given)
    assert found.code == 2
    assert told in found.err
