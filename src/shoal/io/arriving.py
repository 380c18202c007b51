"""Batches of rows that arrive anywhere: brought into the form that a source has, and what is wrong with them counted.

Whoever reads a batch does not see the others, so faults are counted here and refused where the counts come together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from shoal.errors import InputError
from shoal.io.frames import clean, nonfinite, refuse_nonfinite
from shoal.io.normal import has_zeros, normalise, refuse_zeros

_ZERO, _UNREADABLE = "zero", "unreadable"


@dataclass(frozen=True, kw_only=True)
class Arriving:
    """What is done to every batch.

    Attributes
    ----------
    where
        What the source is called in messages.
    missing_markers
        Cells that mean "missing", besides empty ones.
    decoded
        Whether somebody else made text of bytes, and put a mark where that could not be done.
    zones
        Columns whose times come in another zone than they have in the source, and that one.
    """

    where: str
    missing_markers: Sequence[str] = ()
    decoded: bool = False
    zones: Mapping[str, str] = field(default_factory=dict)

    def faults(self, frame: pl.DataFrame) -> dict[tuple[str, str], int]:
        """Cells that no table may have, by column and what they are."""
        found = nonfinite(frame)
        for column in frame.select(pl.selectors.string()):
            found[column.name, _ZERO] = int(has_zeros(column).sum())
            if self.decoded:
                found[column.name, _UNREADABLE] = int(column.str.contains("\ufffd", literal=True).sum() or 0)
        return {key: count for key, count in found.items() if count}

    def clean(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows as they are read."""
        clocks = [pl.col(name).dt.convert_time_zone(zone) for name, zone in self.zones.items() if name in frame.columns]
        return normalise(clean(frame.with_columns(clocks), self.where), self.where, self.missing_markers)

    def refuse(self, found: Mapping[tuple[str, str], int]) -> None:
        """Refuse cells that no table may have, so many of them: numbers before texts, as a whole frame is looked at."""
        texts = {key: count for key, count in found.items() if key[1] in (_ZERO, _UNREADABLE)}
        refuse_nonfinite({key: count for key, count in found.items() if key not in texts}, self.where)
        for (name, what), count in texts.items():
            if what == _ZERO:
                refuse_zeros(name, count, self.where)
            raise InputError(
                f"Column '{name}' of {self.where} has {count} cells that are not UTF-8: save it as UTF-8, or give "
                "its 'encoding'."
            )
