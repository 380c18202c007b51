"""What a newcomer stumbled over, from the documentation alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.cli.main import execute
from shoal.io import census
from shoal.recipe.value_patterns import kind_of_name


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hospital.csv").write_bytes(census.hospital(150))
    assert execute(["start", "hospital.csv", "-o", "hospital.toml"]) == 0
    assert "that others may know\n(smallest class: 1). The recipe" in capsys.readouterr().out
    return tmp_path


def test_a_run_of_many_sensitive_columns_says_the_worst_and_what_to_do_next(
    hospital: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = (hospital / "hospital.toml").read_text("utf-8")
    # An age would keep more of a date of birth, and the recipe says how.
    assert 'derive = { years = ["Geburtsdatum", "Aufnahme"] }\n[columns.Geburtsdatum]' in recipe
    assert execute(["run", "hospital.toml"]) == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.startswith("Whoever knows")]
    assert len(lines) == 3
    rows = [int(line.rsplit("limit 3, ")[1].split()[0].replace(",", "")) for line in lines]
    assert rows == sorted(rows, reverse=True)
    assert "... and 3 more such lines, with all figures in the dossier." in out
    # Both folders are named alike, and the dossier is offered.
    assert "Private (evidence): hospital-release.evidence\n" in out
    assert "  shoal report hospital-release -o dossier.html\n" in out
    assert execute(["report", "hospital-release", "-o", "dossier.md"]) == 0
    assert (hospital / "dossier.md").read_text("utf-8").count("Whoever knows") == 6
    capsys.readouterr()
    assert execute(["risk", "hospital.toml"]) == 0
    out = capsys.readouterr().out
    assert "95 % interval" not in out
    assert "All figures are counted, not estimated." in out
    assert "where a person counts once a class" in out


def test_estimated_figures_keep_their_intervals(hospital: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["risk", "hospital.toml", "--fraction", "0.1"]) == 0
    assert "95 % interval" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["Charge ($)", "fee", "Kosten", "payment"])
def test_money_is_known_by_its_name(name: str) -> None:
    assert kind_of_name(name) == "money"


def test_postcodes_are_not_called_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{30 + at % 9},{10001 + at % 9}\n" for at in range(60))
    (tmp_path / "claims.csv").write_text(f"age,ZIP Code\n{rows}")
    assert execute(["start", "claims.csv"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("ZIP Code"))
    assert row.split()[2:4] == ["quasi", "category"]
