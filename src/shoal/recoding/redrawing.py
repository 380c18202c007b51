"""Random anonymisation of some rows at a time: every draw belongs to the key of its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.kernels.perturbation import redraw_cells
from shoal.recoding.rewriting import Beside


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

    def of(self, batch: Beside, classes: np.ndarray) -> Mapping[str, pl.Series]:
        """Drawn anew, the same whenever it is asked for."""
        codes = self.redrawing.codes(batch.codes, batch.keys)
        return {name: values.gather(codes[name]).alias(name) for name, values in self.values.items()}
