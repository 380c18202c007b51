"""From a coded release to the frames that may be published."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text, numbered
from shoal.data.column import file_columns
from shoal.data.domain import Domain
from shoal.data.hierarchy import MISSING, ROOT
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.data.texts import all_held, is_text, placed, told
from shoal.params import choice, iso_date
from shoal.recoding.cell_text import escape
from shoal.recoding.cells import CellColumn, IntervalCells
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Bucketed
from shoal.recoding.snap import inner_bounds, typed

# The stream of draws that rows are put in order by.
RELEASE_ORDER = "release order"


@dataclass(frozen=True, eq=False, kw_only=True)
class Published:
    """What may be published, and where it comes from.

    Attributes
    ----------
    frame, source
        The release, texts that repeat held as numbers of the different ones, and the input row of each of its rows.
    apart
        Sensitive values by group, where they stand in a table of their own; else None.
    values_from
        Input row that each sensitive value comes from, row by row of ``apart``, or of ``frame`` where that is None.
    group
        Name of the column of group numbers of a bucketised release, else None.
    """

    frame: pl.DataFrame
    source: np.ndarray
    apart: pl.DataFrame | None
    values_from: np.ndarray
    group: str | None = None

    def texts(self, name: str) -> set[str]:
        """What stands in a column of the release, as labels of hierarchies are written."""
        return set() if name not in self.frame.columns else shown_texts(self.frame[name])


def shown_texts(values: pl.Series) -> set[str]:
    """Different published values, as labels of hierarchies are written."""
    return set(canonical_text(told(values.unique())).fill_null(MISSING).unique().to_list())


def released_columns(domain: Domain) -> list[str]:
    """Columns of a release in the order of the source."""
    wanted = set(domain.schema.released)
    return [name for name in domain.types if name in wanted]


def publish_tables(released: Released, keys: Keys, *, suppressed: str, order: str) -> Published:
    """What may be published of a release, as its kind does."""
    found: Published = released.made.part("publish")(released, keys, suppressed=suppressed, order=order)
    return found


def in_one_table(released: Released, keys: Keys, *, suppressed: str, order: str) -> Published:
    """A table in which every value stands beside its record."""
    frame, source = publish(released, keys, suppressed=suppressed, order=order)
    return Published(frame=frame, source=source, apart=None, values_from=source)


def publish(
    released: Released, keys: Keys, *, suppressed: str, order: str
) -> tuple[pl.DataFrame, np.ndarray]:
    """One table with every column, and the input row of each of its rows.

    Generalised quasi-identifiers are text, whatever they were, unless their style says otherwise. Columns that are
    not generalised keep their type, except that a release with starred rows is all text.
    """
    table = released.table
    rows = np.arange(table.n) if order == "kept" else keys.shuffle(RELEASE_ORDER, table.row_keys)
    if suppressed == "drop":
        rows = rows[released.classes[rows] >= 0]
    classes = released.classes[rows]
    kept = np.where(classes < 0, 0, rows)
    publishing = Publishing(released, suppressed).numbered()
    frame = publishing.frame(classes, lambda name: written(released, name).gather(kept))
    return all_held(frame) if publishing.starred else frame, rows


class Publishing:
    """How rows of a release are published, given their classes: some of them at a time, or all."""

    def __init__(self, released: Released, suppressed: str) -> None:
        domain = released.domain
        self.columns = released_columns(domain)
        self.starred = suppressed == "star" and released.n_suppressed > 0
        self._cells = {
            name: styled(cells, domain.types[name])
            for name, cells in released.cells.items()
            if released.made.generalises
        }

    def numbered(self) -> Publishing:
        """The same with texts kept as numbers of the different ones, for whoever looks at many rows of few classes."""
        found = copy(self)
        found._cells = {name: [numbered(part) for part in parts] for name, parts in self._cells.items()}
        return found

    def frame(self, classes: np.ndarray, values: Callable[[str], pl.Series]) -> pl.DataFrame:
        """The rows of these classes, -1 for one that is suppressed.

        Parameters
        ----------
        values
            What is published of a column that is not generalised, one entry a row.
        """
        star = classes < 0
        index = np.where(star, 0, classes)
        found: list[pl.Series] = []
        for name in self.columns:
            if name in self._cells:
                found += [part.gather(index) for part in self._cells[name]]
            else:
                found.append(values(name).alias(name))
        return pl.DataFrame([_stars(one, star) for one in found] if self.starred else found)


def styled(cells: CellColumn, source: pl.DataType) -> list[pl.Series]:
    """What is published of one quasi-identifier, one entry a class: two series for bounds, else one.

    Parameters
    ----------
    source
        The type of the column as it was read.
    """
    column = cells.column
    if not isinstance(cells, IntervalCells) or column.cells not in ("bounds", "representative"):
        return [cells.texts().alias(column.name)]
    if column.cells == "representative" and column.numbers is None:
        return [_middle_texts(cells).alias(column.name)]
    if column.cells == "bounds":
        numbers = list(inner_bounds(cells.published, *cells.bounds))
    else:
        numbers = [cells.representatives()]
    known = pl.Series(~cells.star)
    return [
        pl.select(pl.when(known).then(typed(cells.published, part, source))).to_series().alias(name)
        for name, part in zip(file_columns(column), numbers, strict=True)
    ]


def behind_representatives(released: Released) -> pl.DataFrame:
    """The interval or set behind each representative, one row an input row, null for suppressed ones.

    It is for the gate alone: a representative does not cover its value, the cell behind it must.
    """
    index = pl.Series(released.classes)
    index = index.set(index < 0, None)
    return pl.DataFrame(
        [
            cells.texts().gather(index).alias(name)
            for name, cells in released.cells.items()
            if cells.column.cells == "representative" and released.made.generalises
        ]
    )


def _middle_texts(cells: IntervalCells) -> pl.Series:
    """Middle values of an ordinal column's runs, written as values of a set are."""
    column = cells.column
    known = column.texts.to_list()[: column.missing if column.missing >= 0 else None]
    # A star's run may end in the missing value, and no value is in the middle of a missing cell.
    texts = pl.Series([*map(escape, known), MISSING], dtype=pl.String)
    middle = np.where(cells.missing, len(known), np.minimum(cells.representatives(), max(len(known) - 1, 0)))
    return pl.select(pl.when(pl.Series(~cells.star)).then(texts.gather(middle)).otherwise(pl.lit(ROOT))).to_series()


def true_values(table: Table, name: str) -> pl.Series:
    """A column as it is published where nothing changes it: canonical text for text sources, else its own type.

    Texts that repeat are held as numbers of the different ones.
    """
    series = table.kept[name]
    column = table.columns.get(name)
    if column is None or not is_text(series.dtype):
        return series
    return numbered(column.values).gather(table.codes[name]).alias(name)


def written(released: Released, name: str) -> pl.Series:
    """What is published of a column, one entry an input row."""
    return released.written[name] if name in released.written else true_values(released.table, name)


def _stars(values: pl.Series, star: np.ndarray) -> pl.Series:
    """Texts with stars among them, held by one list whichever rows they are of, since batches are put together."""
    flags = pl.Series(star)
    if not isinstance(values.dtype, pl.Enum):
        text = values.cast(pl.String)
        return pl.select(pl.when(flags).then(pl.lit(ROOT)).otherwise(text)).to_series().alias(values.name)
    texts = values.dtype.categories
    if ROOT not in texts:
        texts = pl.concat([texts, pl.Series([ROOT])])
    numbers = values.to_physical().cast(pl.UInt32).scatter(np.flatnonzero(star), texts.index_of(ROOT))
    return placed(numbers, texts).alias(values.name)


# ----------------------------------------
# Publishing sensitive values by group: in a table of their own, or shuffled within their groups.


# The stream of draws that a table of sensitive values is put in order by.
SENSITIVE_ORDER = "sensitive order"


def by_group(released: Released, keys: Keys, *, suppressed: str, order: str) -> Published:
    """Rows with the numbers of their groups, and sensitive values that only these lead to."""
    assert isinstance(released.recoding, Bucketed)
    frame, source = publish(released, keys, suppressed=suppressed, order=order)
    group = group_name(released.domain.types)
    sensitive = [name for name in frame.columns if name in released.table.schema.sensitive]
    numbers = pl.Series(group, released.classes.astype(np.int64) + 1)
    if released.recoding.publication == "permuted":
        values_from = permuted(released.classes, released.table.row_keys, keys, source)
        moved = [written(released, name).gather(values_from).alias(name) for name in sensitive]
        frame = frame.with_columns(*moved, numbers.gather(source))
        return Published(frame=frame, source=source, apart=None, values_from=values_from, group=group)
    # Another order than the first table's, or rows would still stand side by side.
    rows = keys.shuffle(SENSITIVE_ORDER, released.table.row_keys)
    rows = rows[released.classes[rows] >= 0]
    apart = pl.DataFrame([numbers.gather(rows), *(written(released, name).gather(rows) for name in sensitive)])
    frame = frame.drop(sensitive).with_columns(numbers.gather(source))
    return Published(frame=frame, source=source, apart=apart, values_from=rows, group=group)


def group_name(taken: Collection[str]) -> str:
    """A name for the column of group numbers that no column of the table has."""
    name = "group"
    while name in taken:
        name = f"{name}_"
    return name


def permuted(classes: np.ndarray, row_keys: np.ndarray, keys: Keys, source: np.ndarray) -> np.ndarray:
    """For each released row a row of its group, each once, in an order that says nothing about the first."""
    drawn = keys.shuffle("permuted values", row_keys)
    drawn = drawn[classes[drawn] >= 0]
    by_group = drawn[np.argsort(classes[drawn], kind="stable")]
    places = np.argsort(classes[source], kind="stable")
    values_from = np.empty_like(source)
    values_from[places] = by_group
    return values_from


# ----------------------------------------
# How a release is to be published, and what its publisher accepts.


@dataclass(frozen=True, kw_only=True)
class Output:
    """The settings of a release that no algorithm and no model looks at.

    Attributes
    ----------
    suppressed, order
        ``"drop"`` or ``"star"``; ``"shuffled"`` or ``"kept"``.
    acknowledged
        Warning codes accepted.
    neutral_limit
        Largest share of rows that may be unique on quasi-identifiers and neutral columns.
    joinable
        Whether the key of its tokens is used for other releases too.
    same_codes
        Whether codes of its values are those of another release.
    date
        What manifest and report are dated with, None for no date.
    review
        What the publisher says of the release in manifest and report.
    """

    suppressed: str = "drop"
    order: str = "shuffled"
    acknowledged: Collection[str] = ()
    neutral_limit: float = 0.05
    joinable: bool = False
    same_codes: bool = False
    date: datetime.date | str | None = None
    review: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("the output", "suppressed", self.suppressed, ("drop", "star"))
        choice("the output", "order", self.order, ("shuffled", "kept"))
        if self.date is not None:
            iso_date("the output", "date", self.date)

    @property
    def day(self) -> str | None:
        """The date as ISO text."""
        return None if self.date is None else iso_date("the output", "date", self.date)
