"""The engine of this process: compiled kernels over the coded columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.classes import Cells, ClassMap, Everybody, Grouped, Nodes, RowIds, Split, Together
from shoal.data.domain import Domain, History, Joint, Packing, Places, broken_classes, classes_of, distinct
from shoal.data.guards import guards_of
from shoal.data.keys import Keys
from shoal.data.rows import Frequency, Listed, TableBatch
from shoal.data.schema import Schema
from shoal.data.stats import Attribute, GroupStats, Histogram, Possible, unknown_flags, without_changing
from shoal.data.table import Table, part_of
from shoal.data.texts import is_text, told
from shoal.engines.base import Arrange, Capability
from shoal.kernels.grouping import group_rows
from shoal.kernels.histograms import bucket_rows, histograms, known_sizes, subject_histograms
from shoal.recoding.publish import RELEASE_ORDER, Published, Publisher

# ----------------------------------------
# Group statistics of coded rows, by counting sort and compressed histograms; O(rows) a call.


_NOBODY = np.empty(0, dtype=np.int32)
_NO_FLAGS = np.empty(0, dtype=np.uint8)


def count_groups(table: Table, ids: np.ndarray, groups: int, attributes: Sequence[Attribute]) -> GroupStats:
    """Sizes and histograms of rows grouped by ``ids`` (negative: in no group)."""
    # Maps of classes may number them by any type of integer.
    rows, offsets = bucket_rows(ids.astype(np.int32, copy=False), groups)
    people = table.subjects, table.n_subjects
    found = {one.key: count_values(one, rows, offsets, table.values(one), *people) for one in attributes}
    return GroupStats(sizes=count_people(rows, offsets, table.subjects), rows=np.diff(offsets), histograms=found)


def count_values(
    attribute: Attribute,
    rows: np.ndarray,
    offsets: np.ndarray,
    values: np.ndarray,
    subjects: np.ndarray | None,
    n_subjects: int,
) -> Histogram:
    """How often each value occurs among the rows of every group, which are in its part of ``rows``.

    Parameters
    ----------
    values, subjects
        Of every row its code, and whose it is; people are counted where an attribute is counted by them.
    """
    if attribute.people and subjects is not None:
        indptr, codes, counts = subject_histograms(rows, offsets, values, subjects, n_subjects)
        known = known_sizes(rows, offsets, subjects, attribute.unknown, values)
        return Histogram(indptr, codes, counts, known)
    indptr, codes, counts = histograms(rows, offsets, values, attribute.card)
    known = np.diff(offsets)
    if attribute.unknown.any():
        known = known_sizes(rows, offsets, _NOBODY, attribute.unknown, values)
    return Histogram(indptr, codes, counts, known)


def count_people(rows: np.ndarray, offsets: np.ndarray, subjects: np.ndarray | None) -> np.ndarray:
    """People of every group, or its rows where these are people."""
    return np.diff(offsets) if subjects is None else known_sizes(rows, offsets, subjects, _NO_FLAGS, _NOBODY)


class MemoryEngine:
    """Opens tables that are in memory already; it takes the memory that it needs."""

    capabilities = frozenset(Capability)

    def __init__(self, *, memory: int = 0, folder: Path | None = None) -> None:
        pass

    def open(self, table: Table) -> MemoryRows:
        """The table's coded arrays."""
        return MemoryRows(table)

    @contextmanager
    def opened(self, source: Table, schema: Schema, build: Callable[..., Table], keys: Keys, **given: Any) -> Any:
        """The rows of a table that was read and coded as it was asked for."""
        yield self.open(source)


class MemoryRows:
    """A table's coded arrays, counted by counting sort and compressed histograms; O(rows) a call."""

    capabilities = frozenset(Capability)

    def __init__(self, table: Table) -> None:
        self.table = table
        self.domain: Domain = table.domain
        self.n_read, self.n_dropped, self.counterfeits = table.n_read, table.n_dropped, table.counterfeits

    # All rows come as one batch, and whatever is asked of memory is there already.

    @property
    def followed(self) -> list[str]:
        """Columns that are dropped."""
        return list(self.domain.schema.drop)

    @cached_property
    def history(self) -> pl.Series | None:
        """Values that the classes of each row's person had in earlier releases, None where nothing is known of any."""
        return None if self.table.history is None else self.table.history.lists()

    def batches(self, order: str = "kept") -> Iterator[TableBatch]:
        """All rows in the order of the source."""
        yield TableBatch(self.table)

    def published(self, publisher: Publisher, order: str, keys: Keys) -> Iterator[Published]:
        """Released rows, their classes, and what is published of them."""
        rows = slice(None) if order == "kept" else keys.shuffle(RELEASE_ORDER, self.table.row_keys)
        return publisher.published([TableBatch(self.table, rows)])

    @property
    def ordered(self) -> Mapping[str, pl.Series]:
        """Nothing: the whole table can be hashed at any time."""
        return {}

    def ranked(self, batch: TableBatch) -> pl.DataFrame | None:
        """Nothing."""
        return None

    def arranged(self, bits: Arrange) -> Iterator[TableBatch]:
        """Rows in another order: told numbers and keys, ``bits`` gives who is kept, and by what."""
        kept, mine = bits(np.arange(self.table.n), self.table.row_keys)
        yield TableBatch(self.table, kept[np.argsort(mine, kind="stable")])

    def placing(self, classes: Grouped) -> Callable[[TableBatch], np.ndarray]:
        """Return a function that gives the class of every row of a batch."""
        ids = self.ids(classes)
        return lambda batch: ids[batch.places]

    def suppressed(self, classes: Grouped) -> np.ndarray:
        """Numbers of the rows that are in no class."""
        return np.flatnonzero(self.ids(classes) < 0)

    def row_keys(self) -> np.ndarray:
        """uint64, what the random draws of every row are keyed by."""
        return self.table.row_keys

    def fetched(self, rows: np.ndarray | None, attributes: Sequence[Attribute]) -> MemoryRows:
        """Some rows, or all of them."""
        return self if rows is None else self.part(rows, attributes)

    def most(self, memory: int) -> int:
        """Rows whose records can be grouped: all that there are."""
        return self.domain.n

    def needed(self, rows: int) -> float:
        """Bytes in which so many rows can be grouped, beyond what is taken already."""
        return 0.0

    def most_cells(self, memory: int) -> int:
        """Combinations of quasi-identifiers that can be searched."""
        return self.domain.n

    def n_cells(self) -> int:
        """How many combinations of quasi-identifiers there are."""
        return int(self._cells[2].size)

    def holds_cells(self, most: int) -> bool:
        """Whether the frequency table fits."""
        return True

    def cells_needed(self, cells: int) -> float:
        """Bytes in which so many combinations can be searched, beyond what is taken already."""
        return 0.0

    def people_needed(self, names: int) -> int:
        """Bytes that are needed beside to look for identifiers: they are there."""
        return 0

    def people_with(self, name: str) -> np.ndarray:
        """How many people have each value of a column."""
        return self.table.people_with(name)

    def cell_of(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Places in the frequency table of some quasi-identifier codes."""
        packing = Packing(tuple(column.card for column in self.domain.quasi))
        return Places(packing.pack(list(self._cells[1]))).of(packing.pack(codes))

    def private(self, name: str) -> Path:
        """Nothing of these rows is in a scratch folder."""
        raise NotImplementedError

    def cells(self, name: str) -> Iterator[pl.Series]:
        """All cells of a column that is not coded, as they are kept."""
        yield self.table.kept[name]

    def left_out(self, names: Sequence[str]) -> dict[str, pl.Series]:
        """Cells of some columns in rows that take no part."""
        dropped = self.table.dropped
        return {} if dropped is None else {name: dropped[name] for name in names if name in dropped.columns}

    def read_columns(self) -> Iterator[tuple[str, pl.Series]]:
        """Every column that was read, whatever its role: as it stood, with dates parsed, and rows that were dropped."""
        table, real = self.table, self.table.n - self.table.counterfeits
        for name, parsed in table.dated.to_dict().items():
            yield name, parsed
            if table.kept[name].dtype != parsed.dtype:
                yield name, told(table.kept[name].head(real))
            if table.dropped is not None and name in table.dropped.columns:
                yield name, table.dropped[name]

    def forget(self) -> None:
        """Leave what was counted, which is the caller's here."""

    def knowing(self, domain: Domain) -> MemoryRows:
        """The same rows with something else known of them."""
        found = MemoryRows(replace(self.table, domain=domain))
        if "_cells" in self.__dict__:  # which follow from the codes alone
            found.__dict__["_cells"] = self._cells
        return found

    def remembering(self, history: History) -> MemoryRows:
        """The same rows with what earlier releases left of their people."""
        return MemoryRows(self.table.remembering(history))

    def joined(self, names: tuple[str, ...]) -> Joint:
        """The dictionary of a tuple of columns."""
        return self.table.joined(names)

    def codes_of(self, name: str) -> np.ndarray:
        """int32 codes of a column, one a row."""
        return self.table.codes[name]

    def values(self, name: str) -> pl.Series:
        """What is published of every code of a column where nothing changes it."""
        source, column = self.table.kept[name], self.domain.columns[name]
        if is_text(source.dtype):
            return column.values
        row = np.zeros(column.card, dtype=np.int64)
        row[self.table.codes[name]] = np.arange(self.table.n)
        return source.gather(row)

    def coded(self) -> Iterator[tuple[Mapping[str, np.ndarray], np.ndarray]]:
        """Codes of all columns and what random draws are keyed by, in one batch."""
        yield self.table.codes, self.table.row_keys

    def frequency(self, attributes: Sequence[Attribute]) -> Frequency:
        """Distinct combinations of quasi-identifier codes with weights and histograms."""
        of, codes, counts = self._cells
        if not attributes and not self.domain.by_people:
            return Frequency(codes=codes, rows=counts, sizes=counts, histograms={})
        stats = count_groups(self.table, of, counts.size, attributes)
        return Frequency(codes=codes, rows=counts, sizes=stats.sizes, histograms=dict(stats.histograms))

    def stats(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        """Sizes and histograms of classes."""
        ids, groups = self._split(classes) if isinstance(classes, Split) else (self.ids(classes), classes.groups)
        return count_groups(self.table, ids, groups, attributes)

    def of_people(
        self, stats: GroupStats, classes: Grouped, guarded: Sequence[tuple[str, int]], lifted: Mapping[str, np.ndarray]
    ) -> GroupStats:
        """The same statistics with what is known of the people behind the rows."""
        table = self.table
        if not guarded and not table.counterfeits and table.history is None:
            return stats
        ids = self.ids(classes)
        if guarded:
            breaches = {}
            for name, level in guarded:
                guards = guards_of(table, name, None if level < 0 else level)
                breaches[name, level] = guards.worst(ids, classes.groups, lifted.get(name))
            stats = replace(stats, breaches=breaches)
        if table.counterfeits:  # methods that make records up have one row a person
            real = ids[: table.n - table.counterfeits]
            stats = replace(stats, sizes=np.bincount(real[real >= 0], minlength=classes.groups))
        if table.history is not None:
            column, codes = table.columns[table.history.column], table.codes[table.history.column]
            broken = broken_classes(table.history, column.texts, ids, classes.groups, codes, unknown_flags(column))
            stats = replace(stats, broken={column.name: broken})
        return stats

    def alone(self, columns: Sequence[str]) -> int:
        """Rows that no other row equals on some columns as they were read."""
        return int(self.table.kept.select(columns).is_unique().sum())

    def singled(self, columns: Sequence[str]) -> int:
        """People who alone have some combination of values of some columns; missing is a value."""
        mine = [self._numbered(name) for name in columns]
        ids, first, counts = group_rows(np.stack(mine), np.array([one.max(initial=0) + 1 for one in mine]))
        subjects = self.table.subjects
        if subjects is None:
            return int((counts == 1).sum())
        people = np.array([first.size, max(self.domain.n_subjects, 1)], dtype=np.int64)
        _, met, _ = group_rows(np.stack([ids, subjects]), people)
        owners = np.bincount(ids[met], minlength=first.size)
        return int(np.unique(subjects[first[owners == 1]]).size)

    def held(self, one: Attribute | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell of the frequency table, value of an attribute and person, each combination once."""
        assert self.table.subjects is not None
        cells, codes, _ = self._cells
        values = np.zeros_like(cells) if one is None else self.table.values(one)
        cards = [codes.shape[1], int(values.max(initial=0)) + 1, max(self.domain.n_subjects, 1)]
        found = distinct(np.stack([cells, values, self.table.subjects]), np.array(cards))[1]
        return found[0], found[1], found[2]

    def listed(self, classes: Grouped, columns: Sequence[str]) -> Iterator[Listed]:
        """The rows that are in a class, in the order of the source."""
        ids, subjects = self.ids(classes), self.table.subjects
        kept = np.flatnonzero(ids >= 0)
        # Keys that are not positions leave only the order of the rows.
        by_place = self.table.schema.key is None
        numbers = self.table.row_keys[kept].astype(np.int64) if by_place else kept.astype(np.int64)
        yield Listed(
            numbers=numbers + 1, classes=ids[kept],
            cells=pl.DataFrame([self.table.series(name).gather(kept) for name in columns]),
            subjects=None if subjects is None else subjects[kept],
        )  # fmt: skip

    def narrowed(self, classes: Grouped, one: Attribute, possible: Possible) -> np.ndarray:
        """Numbers of all rows of people without different known values whose classes leave too little possible."""
        people = self.table.subjects
        assert people is not None
        ids = without_changing(people, self.ids(classes), self.table.values(one), one.unknown)
        return np.flatnonzero(np.isin(people, possible.narrow(people, ids)))

    def _numbered(self, name: str) -> np.ndarray:
        """int32 number of the value of every row; columns that are not coded are compared as text."""
        if name in self.table.codes:
            return self.table.codes[name]
        if name not in self._ranks:
            ranks = self.table.series(name).cast(pl.String).rank("dense").fill_null(0)
            self._ranks[name] = ranks.to_numpy().astype(np.int32)
        return self._ranks[name]

    @cached_property
    def _ranks(self) -> dict[str, np.ndarray]:
        """Numbers of the values of columns that are not coded."""
        return {}

    def ids(self, classes: Grouped | Everybody | Together) -> np.ndarray:
        """int32 class of every row, negative for none: what only rows in memory can tell."""
        if isinstance(classes, RowIds):
            return classes.ids
        if isinstance(classes, Cells):
            return classes.cleared(classes.of[self._cells[0]], np.arange(self.table.n))
        if isinstance(classes, Nodes):
            return classes_of(classes, self._cells[1], self.table.schema.quasi)[self._cells[0]]
        if isinstance(classes, Together):
            return np.minimum(self.ids(classes.classes), 0)
        return np.zeros(self.table.n, dtype=np.int32)

    def _split(self, classes: Split) -> tuple[np.ndarray, int]:
        ids, values = self.ids(classes.classes), self.table.codes[classes.name]
        kept = np.flatnonzero(ids >= 0)
        cards = np.array([classes.classes.groups, self.table.columns[classes.name].card])
        found, parts, _ = distinct(np.stack([ids[kept], values[kept]]), cards)
        split = np.full(ids.size, -1, dtype=np.int32)
        split[kept] = found
        return split, parts.shape[1]

    def part(self, rows: np.ndarray, attributes: Sequence[Attribute]) -> MemoryRows:
        """Some of the rows, in which tuples of columns are coded as in the whole."""
        return MemoryRows(part_of(self.table, rows, attributes))

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell of every row, codes and rows of every cell, in ascending order of the codes."""
        return distinct(self.table.quasi_codes, np.array([column.card for column in self.table.quasi]))
