"""A randomised release as measures and attacks see it: the channel, and the codes before and after it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.params import nearest
from shoal.recoding.recodings import Redrawn


@dataclass(frozen=True, eq=False, kw_only=True)
class Randomised:
    """Random anonymisation of one table (Yang & Qiao 2010, Algorithms 1 and 2).

    Attributes
    ----------
    table
        The input.
    p
        float64, shape (m,), in schema order: the probability that a quasi-identifier is the first one redrawn. 0 for
        one that never is. With ``redraw`` above 1 it is the same for all others.
    redraw
        Quasi-identifiers redrawn in every record, the paper's lambda.
    after
        int32, shape (m, n): codes of the quasi-identifiers as they are released, row by row of the input.
    counts
        Column to how often each of its codes is among what values are drawn from; by default the table's own rows, of
        which there may be fewer.
    """

    table: Table
    p: np.ndarray
    redraw: int
    after: np.ndarray
    counts: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def domain(self) -> Domain:
        """Roles, dictionaries and counts of the input."""
        return self.table.domain

    @property
    def columns(self) -> Sequence[Column]:
        """Quasi-identifiers in schema order."""
        return self.table.quasi

    @property
    def before(self) -> np.ndarray:
        """int32, shape (m, n): codes of the quasi-identifiers of the input."""
        return self.table.quasi_codes

    @cached_property
    def original_of(self) -> np.ndarray:
        """Original vector of each row, by its number."""
        return self._grouped[0][0]

    @cached_property
    def released_of(self) -> np.ndarray:
        """Released vector of each row, by its number."""
        return self._grouped[1][0]

    @property
    def originals(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct vectors before, shape (m, vectors), and the rows of each."""
        _, first, counts = self._grouped[0]
        return self.before[:, first], counts

    @property
    def results(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct vectors after, shape (m, vectors), and the rows of each."""
        _, first, counts = self._grouped[1]
        return self.after[:, first], counts

    @cached_property
    def _grouped(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        cards = np.array([column.card for column in self.columns])
        return [group_rows(codes, cards) for codes in (self.before, self.after)]

    def together(self, names: Sequence[str], after: Collection[str] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Values that some columns have together, shape (columns, combinations), those of ``after`` as released."""
        quasi = list(self.table.schema.quasi)
        codes = [self.after[quasi.index(name)] if name in after else self.table.codes[name] for name in names]
        if not names:
            return np.empty((0, 1), dtype=np.int32), np.array([self.table.n])
        cards = np.array([self.table.columns[name].card for name in names])
        _, first, counts = group_rows(np.stack(codes), cards)
        return np.stack(codes)[:, first], counts

    @cached_property
    def shares(self) -> list[np.ndarray]:
        """Share of rows of every code, a column after another: what values are drawn from."""
        counts = [self.counts.get(column.name, column.frequencies) for column in self.columns]
        return [one / max(int(one.sum()), 1) for one in counts]

    @cached_property
    def drawn(self) -> np.ndarray:
        """Places of the quasi-identifiers that may be redrawn."""
        return np.flatnonzero(self.p > 0.0)

    @property
    def scale(self) -> float:
        """What turns a product of drawn columns' weights into a probability (see :meth:`weights`)."""
        return 1.0 / math.comb(self.drawn.size, self.redraw) if self.redraw > 1 else 1.0

    def weights(self, codes: np.ndarray) -> np.ndarray:
        """Shape (n, drawn columns): weight of drawing each cell of some vectors of shape (m, n).

        A set S of redrawn columns yields the cells of S with probability scale times the product of their weights:
        p times the value's share for one column, the shares alone (and one over the number of sets) for several.
        """
        factor = self.p if self.redraw == 1 else np.ones(self.p.size)
        return np.stack([factor[j] * self.shares[j][codes[j]] for j in self.drawn], axis=1)


def describe_randomised(table: Table, recoding: Redrawn) -> Randomised:
    """The channel of a randomised recoding, with the codes it made."""
    names = table.schema.quasi
    return Randomised(
        table=table,
        p=np.array([recoding.chances[name] for name in names], dtype=np.float64),
        redraw=recoding.redraw,
        after=np.stack([recoding.quasi[name] for name in names]),
        counts=dict(zip(recoding.redrawing.drawn, recoding.redrawing.counts, strict=True)),
    )


def entropy(column: Column) -> float:
    """Entropy of a column's values, natural logarithm."""
    shares = column.frequencies[column.frequencies > 0] / max(int(column.frequencies.sum()), 1)
    return float(-(shares * np.log(shares)).sum())


def code_of(column: Column, value: object) -> int:
    """Code of a value given as it is or as its canonical text; -1 when the column never has it."""
    text = "<missing>" if value is None else str(value)
    found = (column.texts == text).arg_max()
    return int(found) if found is not None and column.texts[found] == text else -1


def quasi_vector(described: Randomised, values: Mapping[str, object]) -> np.ndarray:
    """Codes of one value a quasi-identifier, shape (m, 1)."""
    names = [column.name for column in described.columns]
    for name in values:
        if name not in names:
            near = nearest(str(name), names)
            hint = f" Did you mean '{near}'?" if near else ""
            raise ParameterError(f"'{name}' is not a quasi-identifier of the table.{hint}")
    lost = [name for name in names if name not in values]
    if lost:
        raise ParameterError(f"A vector needs a value of every quasi-identifier: '{lost[0]}' has none.")
    codes = [code_of(column, values[column.name]) for column in described.columns]
    if min(codes) < 0:
        raise ParameterError(f"'{names[codes.index(-1)]}' never has the value given, so no release has it.")
    return np.array(codes, dtype=np.int32)[:, None]
