"""A table that is written as it is judged, batch by batch."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from shoal.data.table import read_part, spilling
from shoal.errors import GateError
from shoal.io.cell_format import count_formulas
from shoal.io.files import write_frame
from shoal.verify.values import plain

# Rows of a row group of a Parquet file, whatever the batches were.
_GROUP = 1 << 18


class Growing:
    """A CSV or Parquet file whose rows come in batches; the same rows give the same bytes, however they are divided.

    Parameters
    ----------
    path
        The file, whose ending says what it is.
    parts
        A private folder for the batches, of which a Parquet file is made, and which either is compared with in the end.
    formulas
        As in :func:`shoal.io.files.write_frame`.
    """

    def __init__(self, path: Path, parts: Path, formulas: str = "keep") -> None:
        self.path = path
        self.rows = self.formulas = 0
        self._parts = parts
        self._how = formulas
        self._number = 0
        self._texts: list[str] = []
        self._seen = hashlib.sha256()

    def add(self, frame: pl.DataFrame) -> None:
        """Write rows, whose texts may be kept as numbers of the different ones."""
        with spilling():
            frame.write_ipc(self._parts / f"{self._number:08d}.arrow", compression="uncompressed")
        self._texts = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)]
        if self._csv:
            frame = plain(frame)
            text = io.BytesIO()
            write_frame(frame, text, "csv", self._how, header=self._number == 0)
            self._seen.update(text.getbuffer())
            with self.path.open("ab") as file:
                file.write(text.getbuffer())
            names = [] if self._number else frame.columns
            self.formulas += count_formulas({"": frame}, names)
        self._number += 1
        self.rows += frame.height

    def finish(self, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the manifest says of the file.

        Parameters
        ----------
        values
            What it says of the table of sensitive values, where there is one.
        """
        if not self._csv:
            self._told().sink_parquet(self.path, row_group_size=_GROUP)
            with self.path.open("rb") as file:
                self._seen = hashlib.file_digest(file, "sha256")
        found = {"file": self.path.name, "sha256": self._seen.hexdigest(), "rows": self.rows}
        found["format"] = self.path.suffix.removeprefix(".")
        if values is not None:
            found["sensitive"] = {key: values[key] for key in ("file", "sha256", "rows")}
        return found | ({"formulas": "escaped"} if self._csv and self._how == "escape" else {})

    def refuse_more(self) -> None:
        """Refuse a finished Parquet file that holds more than its cells: written anew, these have the same bytes."""
        if self._csv:
            return
        again = self._parts / "again"
        written = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
        with spilling():
            written.sink_parquet(again, row_group_size=_GROUP)
        with again.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != self._seen.hexdigest():
                raise GateError("The Parquet file holds more than its cells, so it is not published: run again.")
        again.unlink()

    @property
    def given(self) -> pl.LazyFrame:
        """The rows as they were given."""
        files = [self._parts / f"{number:08d}.arrow" for number in range(self._number)]
        return pl.scan_ipc(files, glob=False, hive_partitioning=False)

    @property
    def judged(self) -> pl.LazyFrame:
        """The same with all texts one by one."""
        return self.given.with_columns(pl.col(self._texts).cast(pl.String))

    def _told(self) -> pl.LazyFrame:
        """The same for whoever takes one batch after the other: texts are looked up, which is faster than a cast."""
        schema = self.judged.collect_schema()

        def batches(columns: object, predicate: object, rows: object, size: object) -> Iterator[pl.DataFrame]:
            for number in range(self._number):
                yield _texts(read_part(self._parts / f"{number:08d}.arrow"))

        return register_io_source(batches, schema=schema)

    @property
    def _csv(self) -> bool:
        return self.path.suffix == ".csv"


def _texts(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with their texts one by one."""
    return rows.with_columns(
        column.dtype.categories.gather(column.to_physical()).alias(column.name)
        for column in rows.iter_columns()
        if isinstance(column.dtype, pl.Enum)
    )
