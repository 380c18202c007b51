"""Some rows of a release beside what they were made of, where an engine keeps the rows: for the publisher's eyes."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import polars as pl

from shoal.engines.external_rows import Publisher
from shoal.recoding.publish import Publishing
from shoal.streaming.release import Judged


def some_beside(judged: Judged, most: int) -> tuple[np.ndarray, pl.DataFrame, pl.DataFrame]:
    """Numbers of the rows that come first in the release, from 0 in the source, their cells as read and as released.

    A row that is suppressed has nothing but nulls on the released side, and columns that stand in a table of their own
    are left out of it.
    """
    rows, released = judged.rows, judged.released
    publisher = Publisher(
        classes=rows.placing(released.classmap), publishing=Publishing(released, "star"), drop=False,
        columns=rows.domain.columns, rewriting=released.rewriting,
    )  # fmt: skip
    found = rows.published(publisher, judged.output.order)
    first = next(found, None)
    if isinstance(found, Generator):
        found.close()
    if first is None:
        return np.empty(0, dtype=np.int64), pl.DataFrame(), pl.DataFrame()
    batch, classes, frame = first
    read = batch.take(np.arange(min(most, batch.rows.size)))
    gone = pl.Series(classes[:most] < 0)
    after = frame[:most].select(pl.when(~gone).then(pl.all().cast(pl.String)))
    return read.rows, read.held(rows.domain.schema.released), after
