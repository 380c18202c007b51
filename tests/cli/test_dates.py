"""Dates in another form than ISO, from the command line."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import recipe_text


def written(columns: str = "") -> str:
    return recipe_text('quasi = ["born"]', k=5, more=columns)



@pytest.fixture
def people(tmp_path: Path) -> Path:
    days = [dt.date(1940, 1, 1) + dt.timedelta(days=97 * step) for step in range(200)]
    lines = [f"{day:%d.%m.%Y},{('flu', 'cold', 'gout')[place % 3]}" for place, day in enumerate(days)]
    (tmp_path / "people.csv").write_text("born,disease\n" + "\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize("command", ["check", "run"])
def test_check_and_run_refuse_them_alike(people: Path, shoal: Any, command: str) -> None:
    (people / "recipe.toml").write_text(written())
    result = shoal(command, people / "recipe.toml")
    assert result.code == 2
    assert 'format = "%d.%m.%Y"' in result.err
    assert not (people / "out").exists()


def test_declared_they_are_released_as_dates(people: Path, shoal: Any) -> None:
    columns = '[columns.born]\ntype = "date"\nformat = "%d.%m.%Y"\n'
    (people / "recipe.toml").write_text(written(columns))
    assert shoal("run", people / "recipe.toml").code == 0
    manifest = json.loads((people / "out" / "manifest.json").read_text())
    assert [entry["type"] for entry in manifest["columns"] if entry["name"] == "born"] == ["date"]


def test_flags_take_the_format_with_the_type(people: Path, shoal: Any) -> None:
    flags = ["anonymize", people / "people.csv", "-o", people / "flagged", "--quasi", "born", "--sensitive", "disease"]
    flags += ["--model", "k=5", "--model", "distinct-l=2"]
    assert shoal(*flags).code == 2
    assert shoal(*flags, "--type", "born=date %d.%m.%Y").code == 0
