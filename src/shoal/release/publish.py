"""What the gate is given of rows that an engine keeps, batch by batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from shoal.data.classes import RowIds
from shoal.data.keys import Keys
from shoal.engines.external_rows import KeptRows, Publisher, StoredBatch
from shoal.engines.store import StoredRows, by_bits
from shoal.recoding.cells import CellColumn
from shoal.recoding.publish import RELEASE_ORDER, SENSITIVE_ORDER, group_name, permuted, released_columns, shown_texts
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Bucketed
from shoal.recoding.rewriting import ByClass, rewritten
from shoal.verify.gate import looked_up
from shoal.verify.report import Batch, Rows


def person_frames(rows: KeptRows) -> Iterator[pl.DataFrame]:
    """All rows as they were read, batch by batch, with hashes of columns that are dropped."""
    roles = rows.domain.schema
    names = [*roles.released, *roles.identifiers, *followed_columns(rows)]
    for batch in rows.batches("kept"):
        people = [] if roles.subject is None or roles.subject in names else [batch.as_read(roles.subject)]
        yield batch.held(names).hstack(people)


def followed_columns(rows: KeptRows) -> list[str]:
    """Columns that are dropped, as far as the engine has hashes of their cells."""
    return [name for name in rows.domain.schema.drop if name in rows.reading.others]


@dataclass(frozen=True, eq=False)
class Given:
    """Rows as they were read, and as they would be published."""

    rows: KeptRows
    released: Released

    @cached_property
    def represented(self) -> dict[str, CellColumn]:
        """Columns of which one value stands for the cell that the gate looks at."""
        cells = self.released.cells if self.released.made.generalises else {}
        return {name: mine for name, mine in cells.items() if mine.column.cells == "representative"}

    def rows_of(self, batch: StoredBatch, classes: np.ndarray | None) -> Rows:
        """Rows as the gate takes them in; their classes matter where values stand for cells."""
        roles = self.rows.domain.schema
        index = pl.Series([] if classes is None else classes)
        behind = pl.DataFrame(
            [cells.texts().gather(index.set(index < 0, None)).alias(name) for name, cells in self.represented.items()]
        )
        return Rows(
            original=batch.held(roles.released),
            identifiers=batch.others.select(list(roles.identifiers)),
            subject=None if roles.subject is None else batch.as_read(roles.subject),
            guard=None if roles.guard is None else batch.as_read(roles.guard),
            behind=behind,
            aside=batch.others.select(followed) if (followed := followed_columns(self.rows)) else None,
        )

    def beside(self, found: Iterator[tuple[StoredBatch, np.ndarray, pl.DataFrame]]) -> Iterator[Batch]:
        """Released rows beside those that they come from, their cells looked up as the gate does it."""
        try:
            for batch, classes, frame in found:
                yield looked_up(Batch(released=frame, source=batch.rows, rows=self.rows_of(batch, classes)))
        finally:
            if isinstance(found, Generator):
                found.close()  # before anybody removes the folder that it reads


# ----------------------------------------
# Sensitive values by group, of rows that an engine keeps: in a table of their own, or shuffled within their groups.


# Random bits of a row are of so many.
_BITS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """A bucketised release on its way to disk.

    Attributes
    ----------
    publisher
        Publishes rows with their own sensitive values.
    order
        ``"shuffled"`` or ``"kept"``, that of the released rows.
    """

    rows: StoredRows
    released: Released
    publisher: Publisher
    keys: Keys
    order: str

    @property
    def apart(self) -> bool:
        """Whether sensitive values stand in a table of their own."""
        assert isinstance(self.released.recoding, Bucketed)
        return self.released.recoding.publication != "permuted"

    @cached_property
    def group(self) -> str:
        """Name of the column of group numbers."""
        return group_name(self.released.domain.types)

    @cached_property
    def sensitive(self) -> list[str]:
        """Sensitive columns in the order of the release."""
        domain = self.released.domain
        return [name for name in released_columns(domain) if name in domain.schema.sensitive]

    def published(self) -> Iterator[tuple[StoredBatch, np.ndarray, pl.DataFrame]]:
        """Released rows, their classes, and what is published of them."""
        others = None if self.apart else _Slices(self._by_turn())
        for batch, classes, frame in self.rows.published(self.publisher, self.order):
            numbers = pl.Series(self.group, classes.astype(np.int64) + 1)
            if others is None:
                yield batch, classes, frame.drop(self.sensitive).with_columns(numbers)
            else:
                theirs = self._values(self.rows.reading.batch(others.take(frame.height)), classes)
                yield batch, classes, frame.with_columns(*theirs.iter_columns(), numbers)

    def valued(self, judged: pl.LazyFrame) -> Iterator[tuple[StoredBatch, np.ndarray, pl.DataFrame]]:
        """Rows whose sensitive values stand in the release, their classes, and the table that holds them.

        Parameters
        ----------
        judged
            The released rows, as they were judged.
        """
        assert isinstance(self.released.classmap, RowIds)
        at, ids = 0, self.released.classmap.ids
        for part in self._by_turn() if not self.apart else self._in_another_order():
            batch = self.rows.reading.batch(part)
            classes = ids[batch.rows]
            if self.apart:
                kept = np.flatnonzero(classes >= 0)
                batch, classes = batch.take(kept), classes[kept]
                numbers = pl.Series(self.group, classes.astype(np.int64) + 1)
                yield batch, classes, pl.DataFrame([numbers, *self._values(batch, classes).iter_columns()])
            else:
                yield batch, classes, judged.slice(at, part.height).collect()
                at += part.height

    def _values(self, batch: StoredBatch, classes: np.ndarray) -> pl.DataFrame:
        return self.publisher.frame(batch, classes).select(self.sensitive)

    def _in_another_order(self) -> Iterator[pl.DataFrame]:
        """All rows in another order than the release's, or they would still stand side by side."""
        parts = (
            part.with_columns(pl.Series("b", self.keys.bits(SENSITIVE_ORDER, part["u"].to_numpy())))
            for part in self.rows.parts()
        )
        return by_bits(parts, self.rows.domain.n, self._folder)

    def _by_turn(self) -> Iterator[pl.DataFrame]:
        """Rows in the order of the released rows that their sensitive values go to."""
        turn, n = self._turns, self.rows.domain.n
        # Turns are dealt as random bits are: spread over all of them.
        step = np.uint64((1 << _BITS) // max(n, 1) - 1)

        def dealt() -> Iterator[pl.DataFrame]:
            for part in self.rows.parts():
                mine = turn[part["r"].to_numpy()]
                kept = np.flatnonzero(mine >= 0)
                yield part[kept].with_columns(pl.Series("b", mine[kept].astype(np.uint64) * step))

        return by_bits(dealt(), n, self._folder)

    @cached_property
    def _folder(self) -> Path:
        """Where rows are dealt into another order."""
        return self.rows.private("dealt")

    @cached_property
    def _turns(self) -> np.ndarray:
        """int64, the place in the release that the sensitive values of each row go to, -1 for none."""
        assert isinstance(self.released.classmap, RowIds)
        ids, row_keys = self.released.classmap.ids, self.rows.row_keys()
        rows = np.arange(ids.size) if self.order == "kept" else self.keys.shuffle(RELEASE_ORDER, row_keys)
        values_from = permuted(ids, row_keys, self.keys, rows[ids[rows] >= 0])
        turn = np.full(ids.size, -1, dtype=np.int64)
        turn[values_from] = np.arange(values_from.size)
        return turn


class _Slices:
    """Rows that come in batches, handed out in others."""

    def __init__(self, parts: Iterator[pl.DataFrame]) -> None:
        self._parts = parts
        self._rest: pl.DataFrame | None = None

    def take(self, count: int) -> pl.DataFrame:
        """The next rows."""
        waiting = [] if self._rest is None else [self._rest]
        while self._rest is None or sum(one.height for one in waiting) < count:
            self._rest = next(self._parts)
            waiting.append(self._rest)
        found = pl.concat(waiting)
        self._rest = found[count:]
        return found[:count]


# ----------------------------------------
# What a release of rows that an engine keeps shows of its columns, found out before they are published.


@dataclass(frozen=True, eq=False)
class Showing:
    """A release before its rows are published.

    Attributes
    ----------
    group
        Name of the column of group numbers of a bucketised release, else None.
    """

    rows: KeptRows
    released: Released
    group: str | None = None

    def texts(self, name: str) -> set[str]:
        """What will stand in a column, where other values are published than were read."""
        one = self.released.rewriting.get(name)
        if one is None:
            return set()
        if isinstance(one, ByClass):
            return shown_texts(one.columns[name])
        found: set[str] = set()
        placing = self.rows.placing(self.released.classmap)
        for batch in self.rows.batches("kept"):
            classes = placing(batch)
            found |= shown_texts(rewritten({name: one}, batch, classes)[name].gather((classes >= 0).nonzero()[0]))
        return found
