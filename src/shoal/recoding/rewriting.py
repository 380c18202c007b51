"""What is published in the place of values, where rows come in batches: from their codes, their classes or numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl

from shoal.data.rows import Batch
from shoal.kernels.perturbation import redraw_cells


class Rewriting(Protocol):
    """Tells what is published of one column or of several."""

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """What is published of some rows, which are of these classes, by column."""
        ...


@dataclass(frozen=True, eq=False)
class ByCode:
    """One entry a code of the column."""

    name: str
    values: pl.Series

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Looked up by code."""
        return {self.name: self.values.gather(batch.codes[self.name].astype(np.uint32)).alias(self.name)}


@dataclass(frozen=True, eq=False)
class ByClass:
    """One entry a class, in each of some columns."""

    columns: Mapping[str, pl.Series]

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Looked up by class; a suppressed row has whatever comes first."""
        index = np.maximum(classes, 0)
        return {name: values.gather(index) for name, values in self.columns.items()}

    def take(self, kept: np.ndarray) -> ByClass:
        """The entries of some classes."""
        return ByClass({name: values.gather(kept) for name, values in self.columns.items()})


@dataclass(frozen=True, eq=False)
class ByRow:
    """One entry a row of the input, in each of some columns."""

    columns: Mapping[str, pl.Series]

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Looked up by number."""
        return {name: values.gather(batch.rows) for name, values in self.columns.items()}


def of_classes(columns: Mapping[str, Rewriting], kept: np.ndarray) -> dict[str, Rewriting]:
    """Who tells what is published of the columns, for some of the classes alone."""
    made = {id(one): one.take(kept) for one in columns.values() if isinstance(one, ByClass)}
    return {name: made.get(id(one), one) for name, one in columns.items()}


def rewritten(columns: Mapping[str, Rewriting], batch: Batch, classes: np.ndarray) -> dict[str, pl.Series]:
    """What is published of all columns that are rewritten; who tells it of several is asked once."""
    found = {id(one): one.of(batch, classes) for one in {id(one): one for one in columns.values()}.values()}
    return {name: found[id(one)][name] for name, one in columns.items()}


# ----------------------------------------
# Random anonymisation of some rows at a time: every draw belongs to the key of its row.


@dataclass(frozen=True, eq=False, kw_only=True)
class Redrawing:
    """How cells are redrawn.

    Attributes
    ----------
    quasi
        All quasi-identifiers.
    drawn, p, counts
        Those that may be redrawn, their probabilities to be the first, and how often each of their values occurs.
    redraw
        How many are redrawn in every record.
    stream
        The key of the draws.
    """

    quasi: Sequence[str]
    drawn: Sequence[str]
    p: np.ndarray
    counts: Sequence[np.ndarray]
    redraw: int
    stream: np.ndarray

    def codes(self, codes: Mapping[str, np.ndarray], keys: np.ndarray) -> dict[str, np.ndarray]:
        """int32 codes of the quasi-identifiers after it, given those before and the keys of the rows."""
        after = np.empty((len(self.drawn), keys.size), dtype=np.int32)
        for place, name in enumerate(self.drawn):
            after[place] = codes[name]
        redraw_cells(after, keys, self.stream, self.p, self.redraw, list(self.counts))
        made = dict(zip(self.drawn, after, strict=True))
        return {name: made[name] if name in made else codes[name].astype(np.int32, copy=False) for name in self.quasi}


@dataclass(frozen=True, eq=False)
class Anew:
    """Redrawn quasi-identifiers as they are published, given the value of every code."""

    redrawing: Redrawing
    values: Mapping[str, pl.Series]

    def of(self, batch: Batch, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Drawn anew, the same whenever it is asked for."""
        codes = self.redrawing.codes(batch.codes, batch.keys)
        return {name: values.gather(codes[name]).alias(name) for name, values in self.values.items()}
