"""A sample of a source that is read in batches, the same as of all its rows at once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.data.sampling import Drawing, Sample, Sampling
from shoal.data.value_index import Different
from shoal.errors import InputError
from shoal.io.batches import Batches, PreparedBatches


@dataclass(frozen=True, eq=False)
class DrawnBatches:
    """The rows of a source that were drawn.

    Attributes
    ----------
    state
        The stamp of the source as it was when they were.
    flags
        Whether each row of the source was.
    """

    source: Batches | PreparedBatches
    state: Mapping[str, Any]
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

    def frames(
        self, wanted: Sequence[str] | None = None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """The rows that were drawn, in order, in batches."""
        for frame, drawn in self._flagged(wanted, held, hashed):
            found = frame.filter(drawn)
            if found.height:
                yield found

    def left_out(self, columns: Sequence[str], known: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
        """Different cells of some columns in the rows that were not drawn, with others that are known."""
        found = Different(known)
        for frame, drawn in self._flagged(columns) if columns else ():
            others = frame.filter(~drawn)
            for name in columns:
                found.see(others[name])
        return found.columns

    def _flagged(
        self, wanted: Sequence[str] | None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
        """Batches, and which rows of each were drawn: the source is read again, and has to be what it was."""
        start = 0
        for frame in self.source.frames(wanted, held, hashed):
            drawn = pl.Series(self.flags[start : start + frame.height])
            if len(drawn) < frame.height:
                raise _changed()
            start += frame.height
            yield frame, drawn
        if self.source.stamp() != self.state:
            raise _changed()


def _changed() -> InputError:
    return InputError(
        "A file of the source was changed after a sample of it was drawn: wait until it is whole, and run again."
    )


def draw_batches(
    source: Batches | PreparedBatches, sampling: Sampling, keys: Keys, *, subject: str | None, key: str | None
) -> DrawnBatches:
    """Draw a sample, reading what decides it: twelve bytes a row while that lasts, and then one."""
    state = source.stamp()
    drawing = Drawing(sampling, source.names, subject=subject, key=key)
    for frame in source.frames(drawing.needed or source.names[:1]):
        drawing.see(frame)
    return DrawnBatches(source, state, *drawing.drawn(keys))
