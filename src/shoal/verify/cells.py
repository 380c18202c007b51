"""The verifier's own reading of released quasi-identifier cells.

Grammar: ``*`` covers everything and ``<missing>`` a missing value; an interval column holds ``x`` or
``[lo,hi]``, closed; a label column holds nodes of the manifest's hierarchy, never parsed; a set column
holds a text or ``{a|b}``; a value column holds a text as it is. The manifest names the marks around and between several
texts. A text alone has a backslash in front where it would be read as ``*``, ``<missing>`` or several texts, or begins
with a backslash itself; among several texts a backslash stands before backslashes and the mark between them. Bounds
come here as intervals and a representative as a value alone (see ``styles``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.verify.manifest_column import Column
from shoal.verify.tally import Counts, Dictionary
from shoal.verify.values import MISSING, STAR, canonical

ENDS = ("interval", "bounds")
RANGES = (*ENDS, "representative")

_PIECE = r"(?:[^\\|]|\\[\\|])*"
_SET = re.compile(rf"\{{({_PIECE}(?:\|{_PIECE})+)\}}", re.DOTALL)
_SPLIT = re.compile(_PIECE, re.DOTALL)
_PLAIN_SET = r"^\{[^\\|]*(?:\|[^\\|]*)+\}$"  # without escapes
_END = r"((?:[^\\,]|\\[\\,])*)"
_ENDS = re.compile(rf"\[{_END},{_END}\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct cells of one column, read.

    Attributes
    ----------
    texts
        Distinct cell texts.
    valid
        Whether each can be read as its column's kind demands.
    star, missing
        Whether each is ``*`` or ``<missing>``.
    low, high
        Ends of interval cells (days for dates, ranks for ordinal columns), nan otherwise.
    members
        For set and value cells, pairs (cell, canonical text of a member) as two aligned columns.
    """

    texts: pl.Series
    valid: np.ndarray
    star: np.ndarray
    missing: np.ndarray
    low: np.ndarray
    high: np.ndarray
    members: pl.DataFrame


def read_cells(column: Column, texts: pl.Series) -> Cells:
    """Read the distinct cells of a quasi-identifier."""
    star = (texts == STAR).to_numpy()
    missing = (texts == MISSING).to_numpy()
    low = high = np.full(len(texts), np.nan)
    members = pl.DataFrame(schema={"cell": pl.Int64, "text": pl.String})
    if column.cells == "label":
        nodes = {label for row in column.hierarchy or () for label in row if label is not None}
        valid = texts.is_in(list(nodes)).to_numpy()
    elif column.cells in RANGES:
        low, high = _ranks(column, texts) if column.type == "ordinal" else _bounds(column, texts)
        valid = low <= high
    else:
        members = _members(column, texts)
        valid = np.isin(np.arange(len(texts)), members["cell"].to_numpy())
    return Cells(
        texts=texts,
        valid=valid | star | missing,
        star=star,
        missing=missing,
        low=low,
        high=high,
        members=members,
    )


def outside_domain(column: Column, cells: Cells) -> int:
    """How many distinct interval cells leave the column's declared domain."""
    if column.domain is None or column.cells not in RANGES:
        return 0
    low, high = column.domain
    return int(((cells.low < low) | (cells.high > high)).sum())


def parse_text(cell: str, opens: str = "{") -> str | None:
    """The value behind a text that stands alone, None when the cell is something else or malformed.

    Parameters
    ----------
    opens
        The mark that several texts of the column would begin with.
    """
    value = cell.removeprefix("\\")
    mistaken = value in (STAR, MISSING) or value.startswith(("\\", opens))
    return value if mistaken == (value != cell) else None


def parse_set(cell: str) -> list[str] | None:
    """The values of a set cell or of a text alone, None when the cell is malformed."""
    match = _SET.fullmatch(cell)
    if match is None:
        value = parse_text(cell)
        return None if value is None else [value]
    pieces, rest = [], match[1]
    while True:
        piece = _SPLIT.match(rest)[0]  # type: ignore[index]
        pieces.append(_ESCAPE.sub(r"\1", piece))
        if len(piece) == len(rest):
            return pieces
        rest = rest[len(piece) + 1 :]


def parse_ends(cell: str) -> list[str] | None:
    """The two texts between the brackets of an interval, None when there are no brackets."""
    ends = _ENDS.fullmatch(cell)
    return None if ends is None else [_ESCAPE.sub(r"\1", end) for end in ends.groups()]


def _bounds(column: Column, texts: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Ends of number and date intervals; a value alone is both its ends."""
    pattern = r"^\[([^,\[\]]+),([^,\[\]]+)\]$"
    closed = texts.str.contains(pattern)
    ends = []
    for part in (1, 2):
        end = pl.select(pl.when(closed).then(texts.str.extract(pattern, part)).otherwise(texts)).to_series()
        ends.append(canonical(end, column.type)[1])
    return ends[0], ends[1]


def _ranks(column: Column, texts: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Ends of an ordinal column's intervals as ranks; a value alone is both its ends."""
    rank = {text: float(place) for place, text in enumerate(column.order or ())}
    low, high = np.full(len(texts), np.nan), np.full(len(texts), np.nan)
    closed = column.cells == "interval"
    for index, cell in enumerate(texts.to_list()):
        ends = parse_ends(cell) if closed else None
        if ends is not None:
            low[index], high[index] = (rank.get(end, np.nan) for end in ends)
        else:
            alone = parse_text(cell, "[" if closed else "{")
            low[index] = high[index] = rank.get(alone, np.nan)  # type: ignore[arg-type]
    return low, high


def split_cells(texts: pl.Series, *, sets: bool) -> pl.DataFrame:
    """Every value that a cell stands for, and the cell it is in; malformed cells have none.

    Parameters
    ----------
    sets
        Whether cells may be sets of texts; otherwise each but ``*`` and ``<missing>`` is a text as it is.
    """
    frame, text = texts.rename("text").to_frame().with_row_index("cell"), pl.col("text")
    frame = frame.select(pl.col("cell").cast(pl.Int64), "text").filter(~text.is_in([STAR, MISSING]))
    if not sets:
        return frame
    several, escaped = text.str.starts_with("{"), text.str.contains("\\", literal=True)
    alone = frame.filter(~several & ~text.str.starts_with("\\"))
    plain = frame.filter(several & ~escaped & text.str.contains(_PLAIN_SET))
    members = plain.with_columns(text.str.slice(1, text.str.len_chars() - 2).str.split("|")).explode("text")
    # Of cells with escapes there are few, so Python may read them.
    odd = frame.filter((several & escaped) | text.str.starts_with("\\"))
    rest = [(cell, value) for cell, text in odd.iter_rows() for value in parse_set(text) or ()]
    found = pl.concat([alone, members, pl.DataFrame(rest, schema=frame.schema, orient="row")])
    return found.sort("cell", maintain_order=True)


def _members(column: Column, texts: pl.Series) -> pl.DataFrame:
    """Every value that a set or value cell stands for; malformed cells, ``*`` and ``<missing>`` have none."""
    frame = split_cells(texts, sets=column.cells == "set")
    found, numbers = canonical(frame["text"], column.type)
    readable = ~np.isnan(numbers) if column.type in ("numeric", "date") else found.is_not_null().to_numpy()
    frame = pl.DataFrame({"cell": frame["cell"], "text": found})
    broken = frame.filter(~pl.Series(readable, dtype=pl.Boolean))["cell"].unique()
    return frame.filter(~pl.col("cell").is_in(broken.to_list()))


# ----------------------------------------
# Values of columns of the input, or of its released rows, and how many people have each.


class Inputs:
    """Values of some columns, read batch by batch before the release is looked at."""

    def __init__(self, columns: Iterable[Column]) -> None:
        columns = list(columns)
        self._values = {column.name: Dictionary(column.type) for column in columns}
        # People are kept only for columns whose ends must be common values: there is one entry a person and value.
        self._by_people = {column.name for column in columns if column.cells in ENDS}
        self._counts = {name: Counts() for name in self._values}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def read(self, original: pl.DataFrame, who: np.ndarray | None) -> None:
        """Take in some rows, and whose they are."""
        for name, values in self._values.items():
            owner = {"who": who} if who is not None and name in self._by_people else {}
            self._counts[name].see(pl.DataFrame({"value": values.see(original[name]), **owner}))

    def texts(self, name: str) -> pl.Series:
        """Different values of a column, as canonical texts."""
        return self._values[name].texts

    def counted(self, name: str) -> dict[str | None, int]:
        """Rows of every value of a column, by canonical text."""
        counted = self._counts[name].total().group_by("value").agg(pl.col("rows").sum())
        texts = self.texts(name).gather(counted["value"])
        return dict(zip(texts.to_list(), counted["rows"].to_list(), strict=True))

    def weighed(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The different numbers of a column, nan for those that are none, and the rows of each."""
        counted = self._counts[name].total().group_by("value", maintain_order=True).agg(pl.col("rows").sum())
        return self._values[name].numbers[counted["value"].to_numpy()], counted["rows"].to_numpy()

    def whole(self, name: str) -> bool:
        """Whether all numbers of a column are whole."""
        numbers = self._values[name].numbers
        known = numbers[~np.isnan(numbers)]
        return bool((known == np.floor(known)).all())

    def numbers(self, name: str, crowd: int = 1) -> np.ndarray:
        """Numbers that at least so many people have."""
        counted = self._counts[name].total()
        if not counted.height:
            return np.zeros(0)
        people = pl.len() if "who" in counted.columns else pl.col("rows").sum()
        many = counted.group_by("value").agg(people=people).filter(pl.col("people") >= crowd)["value"]
        return self._values[name].numbers[many.to_numpy()]
