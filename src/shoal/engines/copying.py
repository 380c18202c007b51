"""Types of PostgreSQL, and rows as its COPY sends and takes them: one piece of text, column by column."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.engines.served import DAY, REAL, TEXT, TIME, TRUTH, WHOLE, Kind

# What a column of a type is here, and how it is read there: text in its composed form and without white space ({1}) at
# its edges, a short float as the decimal that it is written as, a numeric as text, so that no digit is lost.
_ASCII = "octet_length({0}::text) = char_length({0}::text)"
_TEXT = f'btrim(CASE WHEN {_ASCII} THEN {{0}}::text ELSE normalize({{0}}::text, NFC) END, {{1}}) COLLATE "C"'
HASHED = "hashed"  # of columns that nobody publishes, whatever their type
READ: dict[str, tuple[Kind, str]] = {
    HASHED: (WHOLE, """hashtextextended(nullif(btrim({0}::text), '') COLLATE "C", 0)"""),
    **dict.fromkeys(("int2", "int4", "int8"), (WHOLE, "{}::bigint")),
    "numeric": (TEXT, '{}::text COLLATE "C"'),
    "float4": (REAL, "{}::text::double precision"),
    "float8": (REAL, "{}"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), (TEXT, _TEXT)),
    "bool": (TRUTH, "{}"),
    "date": (DAY, "{}"),
    "timestamp": (TIME, "{}"),
}


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
