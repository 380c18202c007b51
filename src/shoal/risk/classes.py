"""The classes of a table: how many people share every combination, here and in the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.errors import InputError, SchemaError
from shoal.kernels.count.grouping import group_rows, number_keys
from shoal.params import nearest
from shoal.table.column import Column
from shoal.table.table import Table


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Records that agree on every quasi-identifier.

    Attributes
    ----------
    ids
        Class of each row.
    sizes
        int64: people in each class; rows, when there is no subject column. A person with rows in several classes
        counts in each of them.
    first
        One row of each class.
    population, everybody
        int64: people of each class in the population, and of the whole population; None without a population table.
    shares
        float64: estimated share of each class's population that is in the table, None without fraction or weights.
    """

    ids: np.ndarray
    sizes: np.ndarray
    first: np.ndarray
    population: np.ndarray | None = None
    everybody: int | None = None
    shares: np.ndarray | None = None

    @property
    def records(self) -> int:
        """People over all classes."""
        return int(self.sizes.sum())

    @property
    def histogram(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes that occur, ascending, and how many classes have each."""
        return np.unique(self.sizes, return_counts=True)


def group_table(table: Table, columns: Sequence[Column] | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Class of every row, a row of every class, and its people; by all quasi-identifiers or by some columns."""
    chosen = table.quasi if columns is None else columns
    codes = np.empty((len(chosen), table.n), dtype=np.int32)
    for place, column in enumerate(chosen):
        codes[place] = table.codes[column.name]
    ids, first, counts = group_rows(codes, np.array([column.card for column in chosen], dtype=np.int64))
    if table.subjects is not None:
        counts = people(ids, table.subjects, table.n_subjects, first.size)
    return ids, first, counts


def people(ids: np.ndarray, subjects: np.ndarray, n_subjects: int, groups: int) -> np.ndarray:
    """Distinct subjects of every group."""
    _, first, _ = number_keys(_pairs(ids, subjects, n_subjects))
    return np.bincount(ids[first], minlength=groups)


def _pairs(ids: np.ndarray, subjects: np.ndarray, n_subjects: int) -> np.ndarray:
    return ids.astype(np.uint64) * np.uint64(max(n_subjects, 1)) + subjects.astype(np.uint64)


def population_sizes(table: Table, population: Table, first: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, int]:
    """People of every class in a population table, cells compared by their texts; and of the whole population.

    A population holds everybody the table holds, so no class may be smaller there than here.
    """
    joint = [_joint_codes(table, column, population, first) for column in table.quasi]
    for column in table.quasi:
        _refuse_unmet(column, population.columns[column.name])
    codes = np.stack([codes for codes, _ in joint])
    ids, _, _ = group_rows(codes, np.array([card for _, card in joint], dtype=np.int64))
    here, there = ids[: first.size], ids[first.size :]
    groups = int(ids.max()) + 1
    counts = np.bincount(there, minlength=groups)
    if population.subjects is not None:
        counts = people(there, population.subjects, population.n_subjects, groups)
    found = counts[here]
    short = sizes > found
    if short.any():
        raise InputError(
            f"{int(short.sum())} of {sizes.size} classes have more records in the table than in the population: give "
            "a population that contains the table, with its cells generalised alike."
        )
    return found, int(counts.sum())


def _refuse_unmet(column: Column, other: Column) -> None:
    """Refuse a population that lacks values of a column: it does not hold everybody, or is written otherwise."""
    known = column.texts.is_in(other.texts.to_list()).to_numpy()
    share = float(column.frequencies[~known].sum() / max(column.frequencies.sum(), 1))
    if share > 0:
        raise InputError(
            f"Column '{column.name}' of the population does not meet the table: {share:.1%} of the records have a "
            "value there that nobody of the population has: write its cells alike, in the same format and unit."
        )


def _joint_codes(table: Table, column: Column, population: Table, first: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes of the classes' cells and behind them those of the population, in one dictionary."""
    if column.name not in population.columns:
        near = nearest(column.name, population.frame.columns)
        hint = f"did you mean its '{near}'?" if near else "it needs every quasi-identifier of the table."
        raise SchemaError(f"The population has no quasi-identifier '{column.name}': {hint}")
    other = population.columns[column.name]
    texts = pl.concat([column.texts.alias("text"), other.texts.alias("text")])
    codes = texts.rank("dense").cast(pl.Int32).to_numpy() - 1
    mine = codes[: column.card][table.codes[column.name][first]]
    theirs = codes[column.card :][population.codes[column.name]]
    return np.concatenate((mine, theirs)).astype(np.int32), int(codes.max()) + 1


def class_weights(table: Table, ids: np.ndarray, groups: int) -> np.ndarray:
    """Sum of the survey weights of every class, a person's counted once a class."""
    weights = _weights(table)
    if table.subjects is None:
        return np.bincount(ids, weights=weights, minlength=groups)
    _check_same(table, weights)
    _, first, _ = number_keys(_pairs(ids, table.subjects, table.n_subjects))
    return np.bincount(ids[first], weights=weights[first], minlength=groups)


def _weights(table: Table) -> np.ndarray:
    name = table.schema.weight
    assert name is not None
    weights = table.frame[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    wrong = int((~np.isfinite(weights)).sum())
    if wrong:
        raise InputError(f"The weight column '{name}' has {wrong} cells that are not numbers: clean them.")
    below = int((weights < 1.0).sum())
    if below:
        raise InputError(
            f"The weight column '{name}' has {below} weights below 1: a weight is how many people a record stands for."
        )
    return weights


def _check_same(table: Table, weights: np.ndarray) -> None:
    order = np.argsort(table.subjects, kind="stable")  # type: ignore[arg-type]
    who, sorted_weights = table.subjects[order], weights[order]  # type: ignore[index]
    differ = (who[1:] == who[:-1]) & (sorted_weights[1:] != sorted_weights[:-1])
    if differ.any():
        raise InputError(
            f"{np.unique(who[1:][differ]).size} subjects have rows of different weight in '{table.schema.weight}': "
            "give every person one weight."
        )
