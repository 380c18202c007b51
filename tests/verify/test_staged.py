"""The last look before publication: files that hold something else than was judged are not published."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import GateError
from shoal.verify.staged import Changes, check_staged
from shoal.verify.values import Coded
from tests.verify.whole import held, parts, steady

REFUSED = "The written files do not pass the gate, so they are not published: "
DAY, MOMENT = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 30, 15, 250_000)


@pytest.fixture(scope="module", params=["csv", "parquet"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A release of two tables as it stands on disk, and the tables that were judged; not to be changed."""
    people = pl.DataFrame({"age": list(range(20, 32)), "disease": ["flu", "cold", "asthma"] * 4})
    table = shoal.read(people, quasi=["age"], sensitive=["disease"])
    release = shoal.anonymize(
        table, algorithm=shoal.Anatomy(l=2), models=[shoal.DistinctL(l=2)], seed=1, acknowledge=["W-EXACT-QI"]
    )
    folder = release.write(tmp_path_factory.mktemp("staged") / "out", format=request.param)
    return folder, dict(release.gated.tables)


def refused(folder: Path, judged: dict[str, pl.DataFrame], told: str) -> None:
    for size in (None, 1, 7):
        with pytest.raises(GateError, match=f"^{re.escape(REFUSED + told)}$"):
            check_staged(folder, judged, size)


def test_what_was_judged_may_be_published(written: tuple[Path, dict[str, Any]]) -> None:
    for size in (None, 1, 7):
        check_staged(*written, size)


@pytest.mark.parametrize("table, column", [("release", "age"), ("sensitive", "disease")])
def test_a_cell_that_was_not_judged(written: tuple[Path, dict[str, Any]], table: str, column: str) -> None:
    folder, judged = written
    frame = judged[table]
    other = frame.with_columns(frame[column].gather([1, 0, *range(2, 12)]))
    assert other.equals(frame) is False
    refused(folder, judged | {table: other}, f"2 cells of '{column}' are not those that were judged.")


def test_another_number_of_tables(written: tuple[Path, dict[str, Any]]) -> None:
    folder, judged = written
    refused(folder, {"release": judged["release"]}, "there are other tables than were judged.")
    refused(folder, judged | {"more": judged["release"]}, "there are other tables than were judged.")


def test_a_folder_that_cannot_be_read(written: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, judged = written
    copied(folder, tmp_path, {})
    (tmp_path / "more").write_bytes(b"")
    refused(tmp_path, judged, "The folder also holds 'more', which its manifest does not list.")


def copied(folder: Path, target: Path, changes: dict[str, Any]) -> None:
    for path in folder.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (target / "manifest.json").write_text(json.dumps(manifest | changes), "utf-8")


def test_a_check_that_fails_comes_first(written: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, judged = written
    copied(folder, tmp_path, {"statement": "anonymous"})
    refused(tmp_path, {"release": judged["release"]}, "The statement is not what the models say.")


def test_a_verdict_that_is_not_claimed_to_hold(written: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    folder, judged = written
    verdicts = json.loads((folder / "manifest.json").read_bytes())["verdicts"]
    copied(folder, tmp_path, {"verdicts": [entry | {"holds": False} for entry in verdicts]})
    with pytest.raises(GateError):
        check_staged(tmp_path, judged)


def _changed(found: pl.DataFrame, judged: pl.DataFrame) -> dict[str, int]:
    """What is changed, whatever the batches."""

    def fold(size: int) -> dict[str, int]:
        changes = Changes(judged)
        for part in parts(found.height, size):
            changes.see(found[part])
        return changes.cells()

    told: dict[str, int] = steady(found.height, fold)
    return told


def differing(found: list[Any], judged: list[Any], dtype: Any = None) -> int:
    """Cells of one column that are not those judged."""
    frames = pl.DataFrame({"x": found}), pl.DataFrame({"x": pl.Series(judged, dtype=dtype)})
    return _changed(*frames).get("x", 0)


@pytest.mark.parametrize("found, judged, dtype, count", [
    (["a", "b"], ["a", "b"], None, 0),
    (["a", "b"], ["a", "c"], None, 1),
    (["<missing>", "b"], [None, "b"], pl.String, 0),
    ([None, "b"], ["<missing>", "b"], None, 0),
    (["<missing>", "b"], ["a", None], None, 2),
    ([1, None], [1, None], None, 0),
    ([1, None], [1, 2], None, 1),
    (["1", "<missing>"], [1, None], pl.Int64, 0),
    (["1", "<missing>"], [1, 0], pl.Int64, 1),
    (["1", "x"], [1, None], pl.Int64, 1),
    (["1", ""], [1, None], pl.Int64, 1),
    (["1.5", "2.0"], [1.5, 2.0], pl.Float64, 0),
    (["1.5", "2.1"], [1.5, 2.0], pl.Float64, 1),
    (["true", "false", "<missing>"], [True, False, None], pl.Boolean, 0),
    (["false", "true", "<missing>"], [True, False, None], pl.Boolean, 2),
    (["false", "<missing>"], [None, False], pl.Boolean, 2),
    (["no", "TRUE"], [False, True], pl.Boolean, 2),
    (["2026-01-31", "<missing>"], [DAY, None], pl.Date, 0),
    (["2026-01-30", "<missing>"], [DAY, DAY], pl.Date, 2),
    (["31.01.2026"], [DAY], pl.Date, 1),
    (["31.01.2026"], [None], pl.Date, 1),
    (["2026-01-31T12:30:15.250", "<missing>"], [MOMENT, None], pl.Datetime("ms"), 0),
    (["2026-01-31T12:30:15.250000"], [MOMENT], pl.Datetime("us"), 0),
    (["2026-01-31T12:30:15.251"], [MOMENT], pl.Datetime("ms"), 1),
    (["2026-01-31"], [MOMENT], pl.Datetime("us"), 1),
])  # fmt: skip
def test_cells_that_a_writer_made_texts_of(found: list[Any], judged: list[Any], dtype: Any, count: int) -> None:
    assert differing(found, judged, dtype) == count


def test_texts_that_are_kept_as_numbers_are_compared_cell_by_cell() -> None:
    found = pl.DataFrame({"x": ["b", None, "a", "b"], "y": ["p", "q", "p", "r"]})
    judged = held(found).with_columns(pl.Series("y", ["p", "q", "p", "q"], dtype=pl.Enum(["q", "p"])))
    batch, changes = Coded(found), Changes(judged)
    changes.see(batch)
    assert changes.cells() == {"y": 1}
    for name in found.columns:  # cells that differ are looked up as they were read back
        assert batch[name].distinct.gather(batch[name].codes).to_list() == found[name].to_list()


def test_other_rows_and_columns() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3], "y": [1, 2, 3]})
    assert _changed(frame, frame) == {}
    assert _changed(frame[:2], frame) == {"rows and columns": 3}
    assert _changed(frame, frame[:1]) == {"rows and columns": 3}
    assert _changed(frame, frame.rename({"y": "z"})) == {"rows and columns": 3}
    assert _changed(frame, frame.select("y", "x")) == {"rows and columns": 3}


def test_a_large_number_of_cells_is_readable(written: tuple[Path, dict[str, Any]]) -> None:
    folder, judged = written
    many = pl.concat([judged["release"]] * 100)
    refused(folder, judged | {"release": many}, "1,200 cells of 'rows and columns' are not those that were judged.")
