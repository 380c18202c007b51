"""Large sources: pages look at a private copy of their beginning, and say so."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

from shoal.web.views import beginnings, looks, trees
from shoal.web.views.place import Place

RECIPE = '[source]\npath = "{}"  # here\n[roles]\nquasi = ["age", "town"]\n'
ROWS = 20_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginnings, "LOOKED_AT", 64 << 10)
    monkeypatch.setattr(beginnings, "_ROWS", 1000)


def frame() -> pl.DataFrame:
    return pl.DataFrame({"age": [at % 90 for at in range(ROWS)], "town": [f"town-{at}" for at in range(ROWS)]})


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_pages_read_the_beginning_of_a_large_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith(".parquet"):
        frame().write_parquet(path, compression="uncompressed")
    else:
        text = frame().write_csv().encode()
        path.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    place = Place(tmp_path, RECIPE.format(name))
    assert not place.whole
    found = looks.look(place)
    assert 0 < found.rows < ROWS
    assert not found.whole
    counts = trees.class_counts(place, {})
    assert counts.rows == found.rows
    assert place.recipe.source.path == name
    for one in (tmp_path / beginnings.FOLDER).rglob("*"):
        assert one.stat().st_mode & 0o077 == 0


def test_a_small_file_is_read_whole_and_a_newer_one_replaces_the_copy(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,town\n" + "".join(f"{at},a\n" for at in range(30)))
    assert Place(tmp_path, RECIPE.format("people.csv")).whole
    for rows in (ROWS, ROWS + 1):
        frame().head(rows).vstack(frame().head(rows - ROWS)).write_csv(path)
        assert not Place(tmp_path, RECIPE.format("people.csv")).whole
    assert len(list((tmp_path / beginnings.FOLDER).iterdir())) == 1
