"""From a coded release to the frames that may be published."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text, numbered
from shoal.data.column import Column, file_columns
from shoal.data.domain import Domain
from shoal.data.hierarchy import MISSING, ROOT
from shoal.data.keys import Keys
from shoal.data.rows import Batch
from shoal.data.texts import placed, told
from shoal.params import choice, iso_date
from shoal.recoding.cell_text import escape
from shoal.recoding.cells import CellColumn, IntervalCells
from shoal.recoding.recoded import Released
from shoal.recoding.rewriting import Rewriting, rewritten
from shoal.recoding.snap import inner_bounds, typed

Published = tuple[Batch, np.ndarray, pl.DataFrame]  # rows of the input, their classes, and what is published of them
# The stream of draws that rows are put in order by.
RELEASE_ORDER = "release order"


def shown_texts(values: pl.Series) -> set[str]:
    """Different published values, as labels of hierarchies are written."""
    return set(canonical_text(told(values.unique())).fill_null(MISSING).unique().to_list())


def released_columns(domain: Domain) -> list[str]:
    """Columns of a release in the order of the source."""
    wanted = set(domain.schema.released)
    return [name for name in domain.types if name in wanted]


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Publisher:
    """Rows of a release from batches of those that it is about; texts are kept as numbers of the different ones.

    Attributes
    ----------
    classes
        Gives the class of every row of a batch, -1 for one that is suppressed.
    drop
        Whether suppressed rows are left out.
    columns, types
        Dictionaries, and types as read, by name.
    rewriting
        Column to who tells what is published of it instead of its values.
    """

    classes: Callable[[Any], np.ndarray]
    publishing: Publishing
    drop: bool
    columns: Mapping[str, Column]
    types: Mapping[str, pl.DataType]
    rewriting: Mapping[str, Rewriting] = field(default_factory=dict)

    @classmethod
    def of(cls, released: Released, placing: Callable[[Any], np.ndarray], suppressed: str) -> Publisher:
        """Make the publisher of a release, given a function that gives the class of every row."""
        domain = released.domain
        return cls(
            classes=placing, publishing=Publishing(released, suppressed).numbered(), drop=suppressed == "drop",
            columns=domain.columns, types=domain.types, rewriting=released.rewriting,
        )  # fmt: skip

    def published(self, batches: Iterable[Batch]) -> Iterator[Published]:
        """Released rows, their classes, and what is published of them."""
        for batch in batches:
            places, classes = self.places(batch)
            kept = batch.take(places) if self.drop else batch
            yield kept, classes, self.frame(kept, classes)

    def places(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Which rows are released, and their classes."""
        classes = self.classes(batch)
        kept = np.flatnonzero(classes >= 0) if self.drop else np.arange(classes.size)
        return kept, classes[kept]

    def frame(self, batch: Batch, classes: np.ndarray) -> pl.DataFrame:
        """These rows, which are of these classes, as they are published."""
        made = rewritten(self.rewriting, batch, classes)
        return self.publishing.frame(classes, lambda name: made[name] if name in made else self._true(batch, name))

    def _true(self, batch: Batch, name: str) -> pl.Series:
        """A column as it is published where nothing changes it: canonical text for text, else its own type."""
        if name not in self.columns or self.types[name] != pl.String:
            return batch.column(name)
        if name not in self._values:
            self._values[name] = numbered(self.columns[name].values)
        return self._values[name].gather(batch.codes[name]).alias(name)

    @cached_property
    def _values(self) -> dict[str, pl.Series]:
        """What is published of every code of a column that was asked for, texts as numbers of themselves."""
        return {}


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


def _middle_texts(cells: IntervalCells) -> pl.Series:
    """Middle values of an ordinal column's runs, written as values of a set are."""
    column = cells.column
    known = column.texts.to_list()[: column.missing if column.missing >= 0 else None]
    # A star's run may end in the missing value, and no value is in the middle of a missing cell.
    texts = pl.Series([*map(escape, known), MISSING], dtype=pl.String)
    middle = np.where(cells.missing, len(known), np.minimum(cells.representatives(), max(len(known) - 1, 0)))
    return pl.select(pl.when(pl.Series(~cells.star)).then(texts.gather(middle)).otherwise(pl.lit(ROOT))).to_series()


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
# Publishing sensitive values by group.


# The stream of draws that a table of sensitive values is put in order by.
SENSITIVE_ORDER = "sensitive order"


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
