"""Rows as a COPY of PostgreSQL sends and takes them: one piece of text, column by column."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.engines.served import Kind


def parsed(data: bytes, kinds: Mapping[str, Kind]) -> pl.DataFrame:
    """Rows of a COPY as columns."""
    plain = (pl.Int64, pl.Float64, pl.String)
    schema = {name: kind.here if kind.here in plain else pl.String() for name, kind in kinds.items()}
    if not data:
        return pl.DataFrame(schema={name: kind.here for name, kind in kinds.items()})
    frame = pl.read_csv(data, has_header=False, schema=schema)
    return frame.with_columns(kind.read(frame[name]) for name, kind in kinds.items())


def lines(frame: pl.DataFrame) -> bytes:
    """Rows as a COPY takes them in its text format."""
    cells = []
    for name in frame.columns:
        cell = pl.col(name).cast(pl.String)
        for mark, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            cell = cell.str.replace_all(mark, written, literal=True)
        cells.append(cell.fill_null("\\N"))
    rows = frame.select(pl.concat_str(cells, separator="\t").alias("row"))["row"]
    return "".join(f"{row}\n" for row in rows.to_list()).encode()
