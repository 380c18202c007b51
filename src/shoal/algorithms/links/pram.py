"""PRAM, the post-randomisation method: categories are redrawn by a matrix of transition probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.links.swapping import Perturbing, is_number, places_of
from shoal.data.column import Column
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.params import nearest, real
from shoal.recoding.exact import values_of
from shoal.recoding.recodings import Perturbed

# Probabilities that sum to 1 up to this.
_SUM = 1e-9


@dataclass(frozen=True, kw_only=True)
class Pram(Perturbing):
    """Redraw every value of some categories by a matrix, record by record (Gouweleeuw et al. 1998).

    By default the matrix is invariant: the expected number of records of every category is the one that it has.

    Parameters
    ----------
    stay
        Least probability that a value stays what it is, of invariant matrices.
    columns
        Quasi-identifiers to redraw: all that are no numbers by default, or all that have a matrix. Others are published
        exactly as they are.
    matrix
        By column, value and value drawn, the probability; what is left out is 0. It need not be invariant.
    strata
        Columns within whose combinations values are redrawn, each with an invariant matrix of its own.

    Examples
    --------
    >>> Pram(stay=0.9).parameters()
    {'name': 'pram', 'suppression_limit': 0.0, 'stay': 0.9}
    """

    name: ClassVar[str] = "pram"
    stay: float = 0.8
    columns: Sequence[str] | None = None
    matrix: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None
    strata: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("Pram", "stay", self.stay, low=0.0, high=1.0, open_low=True)
        self.listed("columns", self.columns)
        self.listed("strata", self.strata)
        if self.matrix is not None and self.strata is not None:
            raise ParameterError("Pram has one matrix of a column for everybody: leave out 'strata', or 'matrix'.")
        if self.matrix is not None:
            _check_matrix(self.matrix)

    def __hash__(self) -> int:
        return hash((self.name, self.stay, self.columns, repr(self.matrix), self.strata))

    def run(self, problem: Problem) -> Perturbed:
        """Redraw, column by column; every draw belongs to a row."""
        self.refuse_models(problem)
        table = problem.table
        chosen, stratum = self._columns(table), self._stratum(table)
        quasi, told, changed = {}, {}, {}
        for column in table.quasi:
            codes = quasi[column.name] = table.codes[column.name]
            if column.name not in chosen:
                continue
            problem.progress(f"redrawing {column.name}")
            draws = problem.keys.uniform(f"pram {column.name}", table.row_keys)
            quasi[column.name], least = self._redrawn(column, codes, stratum, draws)
            # What an invariant matrix has beyond what was asked for follows from the counts, which it would tell.
            told[column.name] = {"stay": float(self.stay) if self.matrix is None else least}
            changed[column.name] = float((quasi[column.name] != codes).mean())
        return Perturbed(
            columns={column.name: values_of(table, column, quasi[column.name]) for column in table.quasi},
            places={column.name: places_of(column, quasi[column.name]) for column in table.quasi},
            true={column.name: places_of(column, table.codes[column.name]) for column in table.quasi},
            perturbation="invariant-pram" if self.matrix is None else "pram", told=told, notes={"changed": changed},
        )  # fmt: skip

    def _columns(self, table: Table) -> list[str]:
        """Those to redraw."""
        plain = [column.name for column in table.quasi if not is_number(column)]
        named = self.columns if self.columns is not None else None if self.matrix is None else list(self.matrix)
        found = self.chosen(plain, named, "redraw", "a quasi-identifier of categories")
        self.chosen(found, None if self.matrix is None else list(self.matrix), "redraw", "among its 'columns'")
        lacking = [name for name in found if self.matrix is not None and name not in self.matrix]
        if lacking:
            raise ParameterError(f"Pram has no 'matrix' for '{lacking[0]}': give it one, or leave the column out.")
        if not found:
            raise ParameterError("Pram redraws categories, and every quasi-identifier is a number: use 'noise'.")
        inside = [name for name in self.strata or () if name in found]
        if inside:
            raise ParameterError(
                f"Pram cannot redraw '{inside[0]}' within itself: leave it out of 'columns', or out of 'strata'."
            )
        return found

    def _stratum(self, table: Table) -> np.ndarray:
        """The stratum of every row."""
        names = self.chosen(table.schema.quasi, self.strata or (), "work within", "a quasi-identifier")
        if not names:
            return np.zeros(table.n, dtype=np.int32)
        cards = np.array([table.columns[name].card for name in names])
        return group_rows(np.stack([table.codes[name] for name in names]), cards)[0]

    def _redrawn(
        self, column: Column, codes: np.ndarray, stratum: np.ndarray, draws: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Codes after the draws, and the least probability that one stays."""
        found, least = codes.copy(), 1.0
        order = np.argsort(stratum, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(stratum[order])) + 1):
            counts = np.bincount(codes[rows], minlength=column.card)
            if self.matrix is None:
                matrix = invariant_matrix(counts, self.stay)
            else:
                matrix = _given(column, self.matrix[column.name], counts)
            least = min(least, float(np.diag(matrix)[counts > 0].min(initial=1.0)))
            found[rows] = draw_codes(matrix, codes[rows], draws[rows])
        return found, least


def invariant_matrix(counts: np.ndarray, stay: float) -> np.ndarray:
    """Probabilities, a row a value, under which every value is expected as often as it is now.

    Values are redrawn, each to any other with the same probability, and then drawn back as those who have them are
    likely to come from (Gouweleeuw et al., two-stage PRAM). As much of that is done as leaves every value that occurs
    what it is with the probability ``stay`` at least.

    Examples
    --------
    >>> matrix = invariant_matrix(np.array([60, 30, 10]), 0.8)
    >>> bool(np.allclose(np.array([60, 30, 10]) @ matrix, [60, 30, 10])), round(float(np.diag(matrix).min()), 9)
    (True, 0.8)
    """
    there = np.flatnonzero(counts)
    found = np.eye(counts.size)
    if there.size < 2:
        return found
    shares = counts[there] / counts.sum()
    first = np.full((there.size, there.size), (1.0 - stay) / (there.size - 1))
    np.fill_diagonal(first, stay)
    back = (first * shares[:, None]).T / (shares @ first)[:, None]
    both = first @ back
    moved = 1.0 - float(np.diag(both).min())
    if moved > 0:
        both = np.eye(there.size) + (both - np.eye(there.size)) * min((1.0 - stay) / moved, 1.0)
    found[np.ix_(there, there)] = both
    return found


def draw_codes(matrix: np.ndarray, codes: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The value drawn for each record, from its row of the matrix.

    A draw below the probability to stay leaves a value what it is, so that one draw decides both whether and where.
    """
    stay = np.diag(matrix)
    others = matrix.copy()
    np.fill_diagonal(others, 0.0)
    ends = np.cumsum(others, axis=1)
    found = codes.copy()
    for value in np.unique(codes):
        mine = np.flatnonzero((codes == value) & (draws >= stay[value]))
        last = int(np.flatnonzero(others[value])[-1]) if others[value].any() else int(value)
        to = np.searchsorted(ends[value], draws[mine] - stay[value], side="right")
        found[mine] = np.minimum(to, last)
    return found


def _check_matrix(matrix: Mapping[str, Any]) -> None:
    """Refuse what is no matrix of probabilities."""
    if not isinstance(matrix, Mapping) or not matrix:
        raise ParameterError("The 'matrix' of Pram must be a table: column, value, and the probability of each drawn.")
    for name, rows in matrix.items():
        if not isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in rows.values()):
            raise ParameterError(f"The 'matrix' of Pram for '{name}' must have a table of probabilities a value.")
        for number, row in enumerate(rows.values(), 1):
            for chance in row.values():
                real("Pram", f"matrix.{name}", chance, low=0.0, high=1.0)
            if abs(sum(row.values()) - 1.0) > _SUM:
                raise ParameterError(
                    f"Row {number} of the 'matrix' of Pram for '{name}' sums to {sum(row.values()):.6g}: probabilities "
                    "of a row must sum to 1."
                )


def _given(column: Column, rows: Mapping[str, Mapping[str, float]], counts: np.ndarray) -> np.ndarray:
    """A matrix as it was given, by codes; a value that occurs and has no row is refused."""
    place = {text: code for code, text in enumerate(column.texts.to_list())}
    found = np.eye(column.card)
    lacking = int(sum(counts[code] > 0 and text not in rows for text, code in place.items()))
    if lacking:
        raise ParameterError(
            f"The 'matrix' of Pram for '{column.name}' has no row for {lacking} of the column's values: give each one."
        )
    for value, row in rows.items():
        for drawn in (value, *row):
            if drawn not in place or not counts[place[drawn]]:
                near = nearest(str(drawn), place)
                hint = f" Did you mean '{near}'?" if near else ""
                raise ParameterError(f"The 'matrix' of Pram names a value that '{column.name}' does not have.{hint}")
        found[place[value]] = 0.0
        for drawn, chance in row.items():
            found[place[value], place[drawn]] = chance
    return found
