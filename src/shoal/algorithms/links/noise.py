"""Additive noise: normal draws on top of numbers, column by column or with the correlations that the columns have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.links.swapping import Perturbing, is_number, is_ordered, numbers_of, places_of, published
from shoal.data.column import Column
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.params import choice, real
from shoal.recoding.exact import values_of
from shoal.recoding.recodings import Perturbed


@dataclass(frozen=True, kw_only=True)
class Noise(Perturbing):
    """Add normal noise to numeric quasi-identifiers (Kim 1986; Tendick 1991).

    Means stay what they are in expectation, and variances grow by the square of ``size``. Correlated noise has the
    covariances of the columns themselves, so that correlations stay, and means and covariances can be had back.

    Parameters
    ----------
    size
        Standard deviation of the noise, in standard deviations of its column.
    correlated
        Draw the noise of all columns together.
    columns
        Numeric quasi-identifiers to add noise to, all by default; others are published exactly as they are.

    Examples
    --------
    >>> Noise(size=0.2).parameters()
    {'name': 'noise', 'suppression_limit': 0.0, 'size': 0.2, 'correlated': False}
    """

    name: ClassVar[str] = "noise"
    size: float = 0.1
    correlated: bool = False
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("Noise", "size", self.size, low=0.0, high=100.0, open_low=True)
        choice("Noise", "correlated", str(self.correlated).lower(), ("true", "false"))
        self.listed("columns", self.columns)

    def run(self, problem: Problem) -> Perturbed:
        """Add noise; every draw belongs to a row."""
        self.refuse_models(problem)
        table = problem.table
        known = [column.name for column in table.quasi if is_number(column)]
        chosen = self.chosen(known, self.columns, "add noise to", "a numeric quasi-identifier")
        if not chosen:
            raise ParameterError("Noise is added to numbers, and no quasi-identifier is one: use 'pram'.")
        for name in chosen:
            _refuse_missing(table.columns[name])
        problem.progress("adding noise")
        numbers = [numbers_of(table.columns[name]) for name in chosen]
        true = np.stack([mine[table.codes[name]] for name, mine in zip(chosen, numbers, strict=True)])
        drawn = self._noise(true, np.stack([normal(problem.keys, f"noise {name}", table) for name in chosen]))
        own = {column.name: places_of(column, table.codes[column.name]) for column in table.quasi}
        columns = {column.name: values_of(table, column, table.codes[column.name]) for column in table.quasi}
        places = dict(own)
        for name, mine, made in zip(chosen, numbers, true + drawn, strict=True):
            columns[name], places[name] = published(table.columns[name], mine, made)
            _refuse_outside(table.columns[name], places[name])
        return Perturbed(
            columns=columns, places=places, true=own, perturbation="noise",
            told={name: {"noise": float(self.size)} for name in chosen}, notes={"size": self.size},
        )  # fmt: skip

    def _noise(self, true: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Standard normal draws with the deviations, or the covariances, that the noise has to have."""
        spread = true.std(axis=1)
        if not self.correlated or true.shape[0] == 1:
            return self.size * spread[:, None] * draws
        unit = np.where(spread > 0, spread, 1.0)[:, None]
        alike = np.atleast_2d(np.cov((true - true.mean(axis=1, keepdims=True)) / unit, ddof=0))
        values, axes = np.linalg.eigh(alike)
        return self.size * unit * (axes @ (np.sqrt(np.maximum(values, 0.0))[:, None] * draws))


def normal(keys: Keys, stream: str, table: Table) -> np.ndarray:
    """A standard normal draw a row (Box and Muller)."""
    radius = np.sqrt(-2.0 * np.log1p(-keys.uniform(stream, table.row_keys)))
    return np.asarray(radius * np.cos(2.0 * np.pi * keys.uniform(stream, table.row_keys, 1)))


def _refuse_missing(column: Column) -> None:
    if column.missing >= 0:
        raise ParameterError(
            f"Noise cannot be added to the {int(column.frequencies[column.missing])} missing cells of '{column.name}': "
            "set missing to 'drop', fill them, or name other 'columns'."
        )


def _refuse_outside(column: Column, made: np.ndarray) -> None:
    """Noise is not cut off, so that it may leave a domain that the manifest would declare."""
    if column.declared is None:
        return
    low, high = (float(str(end)) for end in column.declared)
    outside = int(((made < low) | (made > high)).sum())
    if outside:
        raise ParameterError(
            f"Noise takes {outside} cells of '{column.name}' out of its declared 'domain': leave that out, or name "
            "other 'columns'."
        )


# ----------------------------------------
# Data shuffling: numbers change places so that what they have to do with other columns stays as it was.


# Categories of a column that are told apart by a regression, the commonest ones.
_CATEGORIES = 50
# Where the normal distribution is looked up, in standard deviations.
_GRID = np.linspace(-8.5, 8.5, 6801)


@dataclass(frozen=True, kw_only=True)
class Shuffling(Perturbing):
    """Shuffle numbers by ranks that a regression on the other columns makes up (Muralidhar and Sarathy 2006).

    Every column keeps exactly the values that it has. Its normal scores are regressed on those of the columns that are
    not shuffled; records with the same of these draw new scores from what the regression leaves open, and get the
    values of the same ranks. A record's own value has no part in what it gets, beyond what the others tell of it.

    Parameters
    ----------
    columns
        Numeric or ordered quasi-identifiers to shuffle, all of them by default. Others are published exactly as they
        are, and are what is regressed on.

    Examples
    --------
    >>> Shuffling(columns=["income"]).parameters()["columns"]
    ('income',)
    """

    name: ClassVar[str] = "shuffling"
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.listed("columns", self.columns)

    def run(self, problem: Problem) -> Perturbed:
        """Shuffle all columns together; every draw belongs to a row."""
        self.refuse_models(problem)
        table = problem.table
        known = [column.name for column in table.quasi if is_number(column) or is_ordered(column)]
        chosen = self.chosen(known, self.columns, "shuffle", "a numeric or ordered quasi-identifier")
        if not chosen:
            raise ParameterError("Shuffling needs numbers or ordered categories, and no quasi-identifier is one.")
        problem.progress("shuffling")
        scores = np.stack([_scores(problem, table.columns[name]) for name in chosen])
        draws = np.stack([normal(problem.keys, f"shuffle {name}", table) for name in chosen])
        drawn, explained = anew(scores, self._others(problem, chosen), draws)
        quasi = dict(table.codes)
        for name, made in zip(chosen, drawn, strict=True):
            quasi[name] = _matched(table, name, made)
        shares = dict(zip(chosen, explained.tolist(), strict=True))
        return Perturbed(
            columns={column.name: values_of(table, column, quasi[column.name]) for column in table.quasi},
            places={column.name: places_of(column, quasi[column.name]) for column in table.quasi},
            true={column.name: places_of(column, table.codes[column.name]) for column in table.quasi},
            perturbation="shuffled", notes={"explained": shares},
        )  # fmt: skip

    def _others(self, problem: Problem, chosen: Sequence[str]) -> np.ndarray:
        """What is regressed on, a row a variable: a constant, scores of numbers, and indicators of categories."""
        table = problem.table
        found = [np.ones(table.n)]
        for column in table.quasi:
            if column.name in chosen:
                continue
            if is_number(column) or is_ordered(column):
                found.append(_scores(problem, column))
            else:
                common = np.argsort(-column.frequencies, kind="stable")[:_CATEGORIES]
                found += [(table.codes[column.name] == code).astype(np.float64) for code in common[1:]]
        return np.stack(found)


def anew(scores: np.ndarray, others: np.ndarray, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores that follow from the other columns as the true ones do, and how much of the variance these explain.

    Parameters
    ----------
    scores, draws
        Shape (columns, n): normal scores, and standard normal draws.
    others
        Shape (variables, n).
    """
    weights = np.linalg.lstsq(others.T, scores.T, rcond=None)[0]
    fitted = (others.T @ weights).T
    left = scores - fitted
    values, axes = np.linalg.eigh(np.atleast_2d(left @ left.T / scores.shape[1]))
    made = fitted + axes @ (np.sqrt(np.maximum(values, 0.0))[:, None] * draws)
    spread = np.maximum(scores.var(axis=1), np.finfo(np.float64).tiny)
    return made, 1.0 - left.var(axis=1) / spread


def _scores(problem: Problem, column: Column) -> np.ndarray:
    """The normal score of each row's rank; equal values in the keyed order."""
    order = problem.shuffled
    rank = np.empty(order.size)
    places = places_of(column, problem.table.codes[column.name])[order]
    rank[order[np.argsort(places, kind="stable")]] = np.arange(order.size)
    cumulative = np.array([0.5 * math.erfc(-at / math.sqrt(2.0)) for at in _GRID.tolist()])
    return np.interp((rank + 0.5) / max(order.size, 1), cumulative, _GRID)


def _matched(table: Table, name: str, made: np.ndarray) -> np.ndarray:
    """The column's own values, each where what was made has its rank."""
    codes, column = table.codes[name], table.columns[name]
    found = np.empty_like(codes)
    found[np.argsort(made, kind="stable")] = codes[np.argsort(places_of(column, codes), kind="stable")]
    return found
