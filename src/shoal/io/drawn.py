"""A sample of a source that is read in batches, the same as of all its rows at once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.io.batches import Batches, PreparedBatches
from shoal.table.keys import Keys
from shoal.table.known import Different
from shoal.table.sampling import Drawing, Sample, Sampling


@dataclass(frozen=True, eq=False)
class DrawnBatches:
    """The rows of a source that were drawn.

    Attributes
    ----------
    flags
        Whether each row of the source was.
    """

    source: Batches | PreparedBatches
    flags: np.ndarray
    sample: Sample

    @property
    def name(self) -> str:
        """What the table is called where nobody said."""
        return self.source.name

    @property
    def told(self) -> str:
        """How many files there are, in words."""
        return self.source.told

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return self.source.names

    def stamp(self) -> dict[str, Any]:
        """What tells another state of the source, or another draw, from this one."""
        return {**self.source.stamp(), "drawn": hashlib.blake2b(np.packbits(self.flags).tobytes()).hexdigest()}

    def frames(self, wanted: Sequence[str] | None = None, held: Collection[str] = ()) -> Iterator[pl.DataFrame]:
        """The rows that were drawn, in order, in batches."""
        start = 0
        for frame in self.source.frames(wanted, held):
            flags = pl.Series(self.flags[start : start + frame.height])
            start += frame.height
            found = frame.filter(flags)
            if found.height:
                yield found

    def left_out(self, columns: Sequence[str], known: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """Different cells of some columns in the rows that were not drawn, with others that are known."""
        found, start = Different(known), 0
        for frame in self.source.frames(columns) if columns else ():
            others = frame.filter(pl.Series(~self.flags[start : start + frame.height]))
            start += frame.height
            for name in columns:
                found.see(others[name])
        return found.columns


def draw_batches(
    source: Batches | PreparedBatches, sampling: Sampling, keys: Keys, *, subject: str | None, key: str | None
) -> DrawnBatches:
    """Draw a sample, reading what decides it: twelve bytes a row while that lasts, and then one."""
    drawing = Drawing(sampling, source.names, subject=subject, key=key)
    for frame in source.frames(drawing.needed or source.names[:1]):
        drawing.see(frame)
    return DrawnBatches(source, *drawing.drawn(keys))
