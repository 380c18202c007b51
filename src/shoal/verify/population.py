"""Which people of the population match each class: cell by cell and value by value, from what is published."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.errors import VerificationError
from shoal.verify.cells import read_cells
from shoal.verify.coverage import covered
from shoal.verify.facts import Facts
from shoal.verify.values import read_values

# Pairs of a class and a combination of values looked at in one go, which bounds the memory.
_PAIRS = 1 << 21


def matching_people(facts: Facts) -> np.ndarray:
    """People of the population whose values the cells of each class cover."""
    found = np.zeros(facts.classes.count, dtype=np.int64)
    for rows, meets in _meetings(facts):
        found[rows] = (meets * facts.population_counts).sum(axis=1)
    return found


def most_present(facts: Facts, shares: np.ndarray) -> np.ndarray:
    """For each class, how likely at most one of the people whom it covers is in the data.

    Somebody whom several classes cover may be in any of them, so that their shares add up.
    """
    odds, found = np.zeros(0 if facts.population is None else facts.population.height), shares.copy()
    known = np.where(np.isfinite(shares), shares, 0.0)  # a class that covers nobody adds to nobody
    for rows, meets in _meetings(facts):
        odds += known[rows] @ meets
    for rows, meets in _meetings(facts):
        found[rows] = np.maximum(found[rows], np.where(meets, odds, 0.0).max(axis=1, initial=0.0))
    return found


def _meetings(facts: Facts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some classes at a time, and which combinations of values each of them covers."""
    population, people = facts.population, facts.population_counts
    if population is None or people is None:
        raise VerificationError("The population is only known at the gate.")
    parts = []
    for column in facts.claims.role("quasi"):
        of_class, texts = facts.classes.cells[column.name]
        values, cells = read_values(population[column.name], column.type), read_cells(column, texts)
        cell, value = np.divmod(np.arange(len(texts) * len(values.texts)), len(values.texts))
        inside = covered(column, cells, cell, values, value).reshape(len(texts), len(values.texts))
        parts.append((of_class, values.codes, inside))
    step = max(1, _PAIRS // max(len(people), 1))
    for start in range(0, facts.classes.count, step):
        rows = np.arange(start, min(start + step, facts.classes.count))
        meets = np.ones((len(rows), len(people)), dtype=bool)
        for of_class, codes, inside in parts:
            meets &= inside[np.ix_(of_class[rows], codes)]
        yield rows, meets
