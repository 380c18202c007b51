"""The files that the documentation works with are those that ``shoal data`` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.cli.main import execute
from shoal.io import census

FILES = Path(__file__).resolve().parents[2] / "docs" / "files"


@pytest.mark.parametrize("name", ["hospital", "patients"])
def test_the_files_of_the_documentation_are_those_that_are_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(["data", name]) == 0
    assert f"shoal start {name}.csv -o {name}.toml" in capsys.readouterr().out
    written = (tmp_path / f"{name}.csv").read_bytes()
    assert written == (FILES / f"{name}.csv").read_bytes()
    (tmp_path / f"{name}.csv").write_text("mine")
    assert execute(["data", name]) == 2
    assert capsys.readouterr().err == f"error: '{name}.csv' exists: choose another folder, or --replace it.\n"
    assert (tmp_path / f"{name}.csv").read_text() == "mine"
    assert execute(["data", name, "--replace"]) == 0
    assert execute(["data", name, "elsewhere"]) == 0
    assert (tmp_path / "elsewhere" / f"{name}.csv").read_bytes() == written


def test_the_export_is_as_awkward_as_it_is_said_to_be() -> None:
    text = census.hospital().decode("latin-1")
    rows = [line.split(";") for line in text.splitlines()[1:]]
    assert {len(row) for row in rows} == {len(census.HOSPITAL_COLUMNS)}
    assert len({row[0] for row in rows}) == 600 < len(rows)
    with pytest.raises(UnicodeDecodeError):
        census.hospital().decode("utf-8")
    assert any(row[9].count(".") and row[9].count(",") for row in rows)
    # Everybody has one birth date, sex, place and number.
    assert len({tuple(row[:6]) + (row[10],) for row in rows}) == 600
