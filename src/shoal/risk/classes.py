"""The classes of a table: how many people share every combination, here and in the population."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped, Nodes, RowIds
from shoal.data.column import Column
from shoal.data.domain import Domain, classes_of
from shoal.data.rows import Frequency, PeopledRows, Rows
from shoal.data.stats import GroupStats
from shoal.data.table import Table
from shoal.errors import InputError, SchemaError
from shoal.kernels.grouping import group_rows
from shoal.models.judge import Judge, Judgement
from shoal.params import nearest
from shoal.recoding.recoded import Released
from shoal.registry import load
from shoal.risk.report import Contribution


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Records that agree on every quasi-identifier, in the order of the frequency table.

    Attributes
    ----------
    sizes
        int64: people in each class; rows, when there is no subject column. A person with rows in several classes
        counts in each of them.
    population, everybody
        int64: people of each class in the population, and of the whole population; None without a population table.
    shares
        float64: estimated share of each class's population that is in the table, None without fraction or weights.
    """

    sizes: np.ndarray
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


def homogeneous_share(judge: Judge, distinct: Judgement, own: GroupStats) -> float:
    """Count the people in classes of one value, among those whose value is known.

    Parameters
    ----------
    distinct
        How many values each class has, as distinct l-diversity counts them.
    own
        Counts of the people of each class: a person counts once a class.
    """
    key = next(one.key for one in judge.attributes if one.names == distinct.on)
    known = own.histograms[key].known
    return float(known[distinct.values == 1].sum() / max(known.sum(), 1))


def population_sizes(domain: Domain, cells: Frequency, population: Rows) -> tuple[np.ndarray, int]:
    """People of every class in a population, cells compared by their texts; and of the whole population.

    A population holds everybody the table holds, so no class may be smaller there than here.
    """
    everybody, sizes = population.frequency([]), cells.sizes
    joint = [
        _joint_codes(column, population.domain, cells.codes[place], everybody.codes)
        for place, column in enumerate(domain.quasi)
    ]
    for column in domain.quasi:
        _refuse_unmet(column, population.domain.columns[column.name])
    codes = np.stack([codes for codes, _ in joint])
    ids, _, _ = group_rows(codes, np.array([card for _, card in joint], dtype=np.int64))
    here, there = ids[: sizes.size], ids[sizes.size :]
    counts = np.zeros(int(ids.max()) + 1, dtype=np.int64)
    if population.domain.by_people:  # who do not add up, where a population tells more apart than the table does
        met, of = np.unique(there, return_inverse=True)
        counts[met] = population.stats(Cells(of.astype(np.int32), met.size), []).sizes
    else:
        np.add.at(counts, there, everybody.rows)
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


def _joint_codes(column: Column, population: Domain, mine: np.ndarray, theirs: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes of the classes' cells and behind them those of the population, in one dictionary."""
    if column.name not in population.schema.quasi:
        near = nearest(column.name, list(population.types))
        hint = f"did you mean its '{near}'?" if near else "it needs every quasi-identifier of the table."
        raise SchemaError(f"The population has no quasi-identifier '{column.name}': {hint}")
    other = population.columns[column.name]
    texts = pl.concat([column.texts.alias("text"), other.texts.alias("text")])
    codes = texts.rank("dense").cast(pl.Int32).to_numpy() - 1
    here = codes[: column.card][mine]
    there = codes[column.card :][theirs[population.schema.quasi.index(column.name)]]
    return np.concatenate((here, there)).astype(np.int32), int(codes.max()) + 1


def class_weights(rows: PeopledRows, groups: int) -> np.ndarray:
    """Sum of the survey weights of every class, a person's counted once a class."""
    name, domain = rows.domain.schema.weight, rows.domain
    assert name is not None
    total, of_person = np.zeros(groups), np.full(domain.n_subjects, np.nan)
    wrong = below = 0
    differ = np.zeros(domain.n_subjects, dtype=bool)
    for batch in rows.listed(every_cell(groups), [name]):
        weights = batch.cells[name].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        wrong += int((~np.isfinite(weights)).sum())
        below += int((weights < 1.0).sum())
        if batch.subjects is None:
            np.add.at(total, batch.classes, weights)
        else:
            fresh = np.isnan(of_person[batch.subjects])
            of_person[batch.subjects[fresh]] = weights[fresh]
            differ[batch.subjects[of_person[batch.subjects] != weights]] = True
    _refuse_weights(name, wrong, below, int(differ.sum()))
    if domain.by_people:
        cells, _, people = rows.held(None)
        mine = of_person[people]
        order = np.lexsort((mine, cells))  # so that sums do not depend on how people are numbered
        np.add.at(total, cells[order], mine[order])
    return total


def counted_rows(source: Table | PeopledRows) -> PeopledRows:
    """A table's rows, or rows that an engine keeps, to be counted."""
    if not isinstance(source, Table):
        return source
    rows: PeopledRows = load("engine", "memory")().open(source)
    return rows


def every_cell(cells: int) -> Cells:
    """Every cell of a frequency table a class of its own."""
    return Cells(np.arange(cells, dtype=np.int32), cells)


def real_classes(released: Released, classes: Grouped) -> Grouped:
    """Leave the rows that the method made up, the last ones, out of classes."""
    if not released.counterfeits or isinstance(classes, Nodes):  # no method of nodes makes rows up
        return classes
    n = released.domain.n
    left = classes.without(np.arange(n - released.counterfeits, n))
    return left.keep(released.rows.stats(left, []).rows > 0)


def merged_classes(released: Released, of: np.ndarray, groups: int) -> Cells | RowIds:
    """Put other classes in the place of those of a release; ``of`` gives the new number of each, -1 for none."""
    classes, of = released.classmap, np.append(of, -1).astype(np.int32)
    if isinstance(classes, Nodes):
        codes = released.rows.frequency([]).codes
        classes = Cells(classes_of(classes, codes, released.domain.schema.quasi), classes.groups)
    if isinstance(classes, RowIds):
        return RowIds(of[classes.ids], groups)
    return Cells(of[classes.of], groups, classes.gone)


def _refuse_weights(name: str, wrong: int, below: int, differ: int) -> None:
    if wrong:
        raise InputError(f"The weight column '{name}' has {wrong} cells that are not numbers: clean them.")
    if below:
        raise InputError(
            f"The weight column '{name}' has {below} weights below 1: a weight is how many people a record stands for."
        )
    if differ:
        raise InputError(
            f"{differ} subjects have rows of different weight in '{name}': give every person one weight."
        )


# ----------------------------------------
# What each quasi-identifier adds to the risk: classes are counted again without it.


def contributions(
    rows: Rows, cells: Frequency, *, pairs: bool = False, progress: Callable[[str], None] = lambda step: None
) -> list[Contribution]:
    """One a quasi-identifier, and one a pair with ``pairs``; the largest drop of the mean risk first.

    The risk is the prosecutor's. One grouping of the cells each, and of the people where these are counted.
    """
    names = list(rows.domain.schema.quasi)
    left_out: list[tuple[str, ...]] = [(name,) for name in names]
    if pairs and len(names) > 2:
        left_out += list(combinations(names, 2))
    mean, unique = _figures(cells.sizes)
    found = []
    for number, out in enumerate(left_out, 1):
        progress(f"leaving quasi-identifiers out: {number:,} of {len(left_out):,}")
        without = _without(rows, cells, [place for place, name in enumerate(names) if name not in out])
        found.append(
            Contribution(
                columns=out,
                mean=without[0],
                unique=without[1],
                mean_drop=mean - without[0],
                unique_drop=unique - without[1],
            )
        )
    return sorted(found, key=lambda one: (len(one.columns), -one.mean_drop))


def _without(rows: Rows, cells: Frequency, kept: list[int]) -> tuple[float, float]:
    """Mean risk and share of unique records by some of the quasi-identifiers."""
    cards = np.array([rows.domain.quasi[place].card for place in kept], dtype=np.int64)
    of, first, met = group_rows(np.ascontiguousarray(cells.codes[kept]), cards)
    if rows.domain.by_people:  # who do not add up
        return _figures(rows.stats(Cells(of, first.size), []).sizes)
    # Whoever is alone in a class is so in its only cell.
    n, alone = cells.rows.sum(), (met == 1) & (cells.rows[first] == 1)
    return float(first.size / n), float(alone.sum() / n)


def _figures(sizes: np.ndarray) -> tuple[float, float]:
    """Mean risk and share of unique records."""
    n = sizes.sum()
    return float(sizes.size / n), float((sizes == 1).sum() / n)
