"""What the gate is given of rows that an engine keeps, batch by batch."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.engines.external_rows import KeptRows, StoredBatch
from shoal.recoding.cells import CellColumn
from shoal.recoding.recoded import Released
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
