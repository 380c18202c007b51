"""Tables that are kept between the gate and their files, and the files that are made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import GateError, InputError
from shoal.release.sinks import Elsewhere, Frames, Staged
from shoal.release.write import _refuse_more, _write_table

ROWS = pl.DataFrame({"age": ["[20,29]", "*", None], "ill": ["a", "b", "a"], "n": [1, None, 3]})
HELD = ROWS.cast({"age": pl.Enum(["*", "[20,29]", "unused"])})


def filled(sink: Frames | Staged, *batches: pl.DataFrame) -> Frames | Staged:
    for batch in batches:
        sink.add("release", batch, np.arange(batch.height))
    sink.seal()
    return sink


@pytest.mark.parametrize("rows", [ROWS, HELD])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files_have_the_same_bytes_however_rows_come_and_wherever_they_are_kept(
    rows: pl.DataFrame, format: str, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    sinks = [
        filled(Staged(tmp_path / "parts"), rows, rows.head(0), rows.reverse()),
        filled(Frames(), pl.concat([rows, rows.reverse()])),
    ]
    written = []
    for number, sink in enumerate(sinks):
        path = tmp_path / f"{number}.{format}"
        _write_table(sink, "release", path, "keep")
        _refuse_more(path, tmp_path / "again")
        assert sink.height("release") == 6
        written.append(path.read_bytes())
    assert written[0] == written[1]
    assert not (tmp_path / "again").exists()
    if format == "parquet":
        assert pl.read_parquet(path).equals(pl.concat([ROWS, ROWS.reverse()]))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_files_that_are_changed_behind_the_gate_are_not_written(format: str, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    sink = filled(Staged(tmp_path / "parts"), HELD, HELD.reverse(), HELD.head(1))
    second = sorted((tmp_path / "parts").iterdir())[1]
    HELD.write_ipc(second, compression="uncompressed")
    with pytest.raises(GateError, match="changed after it had passed the gate"):
        _write_table(sink, "release", tmp_path / f"release.{format}", "keep")


@pytest.mark.parametrize("how", [{"compression": "snappy"}, {"metadata": {"who": "somebody"}}, {"row_group_size": 2}])
def test_a_parquet_file_that_holds_more_than_its_cells_is_refused(how: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "release.parquet"
    ROWS.write_parquet(path, **how)  # type: ignore[arg-type]
    with pytest.raises(GateError, match="holds more than its cells"):
        _refuse_more(path, tmp_path / "again")


def test_a_table_that_is_not_here_says_where_it_is() -> None:
    sink = Elsewhere("The rows are in 'out': read them there.", {"release": 3})
    assert sink.height("release") == 3
    with pytest.raises(InputError, match="The rows are in 'out'"):
        sink.copy("release")
