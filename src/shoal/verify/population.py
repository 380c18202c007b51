"""How many people of the population match each class: cell by cell and value by value, from what is published."""

from __future__ import annotations

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
    found = np.zeros(facts.classes.count, dtype=np.int64)
    step = max(1, _PAIRS // max(len(people), 1))
    for start in range(0, len(found), step):
        rows = np.arange(start, min(start + step, len(found)))
        meets = np.ones((len(rows), len(people)), dtype=bool)
        for of_class, codes, inside in parts:
            meets &= inside[np.ix_(of_class[rows], codes)]
        found[rows] = (meets * people).sum(axis=1)
    return found
