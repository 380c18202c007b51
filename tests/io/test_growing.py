"""Tables that are written batch by batch."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shoal.errors import GateError
from shoal.release.write import Growing

ROWS = pl.DataFrame({"age": ["[20,29]", "*", None], "ill": ["a", "b", "a"], "n": [1, None, 3]})
HELD = ROWS.cast({"age": pl.Enum(["*", "[20,29]", "unused"])})


@pytest.mark.parametrize("rows", [ROWS, HELD])
def test_a_parquet_file_has_the_cells_of_all_batches_whatever_their_texts_are_kept_as(
    rows: pl.DataFrame, tmp_path: Path
) -> None:
    (tmp_path / "parts").mkdir()
    growing = Growing(tmp_path / "release.parquet", tmp_path / "parts")
    for batch in (rows, rows.head(0), rows.reverse()):
        growing.add(batch)
    assert growing.finish()["rows"] == 6
    growing.refuse_more()
    assert pl.read_parquet(growing.path).equals(pl.concat([ROWS, ROWS.reverse()]))
    assert not (tmp_path / "parts" / "again").exists()


@pytest.mark.parametrize("how", [{"compression": "snappy"}, {"metadata": {"who": "somebody"}}, {"row_group_size": 2}])
def test_a_parquet_file_that_holds_more_than_its_cells_is_refused(how: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    growing = Growing(tmp_path / "release.parquet", tmp_path / "parts")
    growing.add(ROWS)
    growing._told = lambda: Otherwise(ROWS, how)  # type: ignore[method-assign]
    growing.finish()
    with pytest.raises(GateError, match="holds more than its cells"):
        growing.refuse_more()


class Otherwise:
    """Rows that are written by another hand."""

    def __init__(self, rows: pl.DataFrame, how: dict[str, object]) -> None:
        self.rows, self.how = rows, how

    def sink_parquet(self, path: Path, **given: object) -> None:
        self.rows.write_parquet(path, **{**given, **self.how})  # type: ignore[arg-type]
