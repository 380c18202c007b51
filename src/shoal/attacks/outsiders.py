"""People outside the data put in the places of a full-domain release: who they would have been together with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.attacks.base import clustered
from shoal.attacks.case import AttackCase
from shoal.data.coding import canonical_text
from shoal.data.column import TREE, Column
from shoal.data.stats import value_text
from shoal.kernels.grouping import group_rows
from shoal.utility.randomised import wilson


@dataclass(frozen=True, eq=False, kw_only=True)
class Outsiders:
    """Places of the released rows, and of people outside.

    Attributes
    ----------
    atom
        Place of each released row, from 0.
    outside, classes
        Place of each person outside, and a released row of the class that the person would be in; -1 where no released
        row is there. None without people outside.
    """

    atom: np.ndarray
    outside: np.ndarray | None = None
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, atoms: np.ndarray, levels: Mapping[str, int], case: AttackCase) -> Outsiders:
        """Place released rows, whose codes at some levels are ``atoms``, and people outside, by the same levels."""
        assert case.release is not None
        released = case.release.released
        if case.outside is None or case.control is None:
            return cls(atom=_numbered(atoms))
        table = case.release.table
        columns = table.quasi
        rows = np.flatnonzero(released.classes >= 0)
        codes = [_codes(column, case.outside[column.name]) for column in columns]
        assert released.levels is not None
        own = released.levels
        fine = [_at(column, levels[column.name], mine) for column, mine in zip(columns, codes, strict=True)]
        coarse = [_at(column, own[column.name], mine) for column, mine in zip(columns, codes, strict=True)]
        held = [level_codes(column, own[column.name])[table.codes[column.name][rows]] for column in columns]
        atom, outside = _shared(atoms, np.stack(fine))
        same, theirs = _shared(np.stack(held), np.stack(coarse))
        first = np.unique(same, return_index=True)[1]
        return cls(atom=atom, outside=outside, classes=np.where(theirs >= 0, first[theirs], -1))

    def score(
        self, guess: np.ndarray, naive: np.ndarray, classes: np.ndarray, case: AttackCase, column: str
    ) -> tuple[float, tuple[float, float]] | None:
        """Share of people outside of whom guesses are right, with its interval.

        Parameters
        ----------
        guess, naive
            Value guessed in every place, and without any attack; the latter is put to people whose class is released
            but nobody of their place is.
        """
        control = case.control
        if self.outside is None or self.classes is None or control is None or column not in control.truth:
            return None
        truth = control.truth[column]
        known = truth >= 0
        usual = np.append(naive[self.atom], -1)[self.classes]
        value = np.where(self.outside >= 0, np.append(guess, -1)[self.outside], usual)
        cluster = np.where(self.classes >= 0, classes[self.classes], -1 - np.arange(self.classes.size))
        share, trials = clustered((value == truth)[known].astype(np.float64), cluster[known])
        return share, wilson(share, trials)


def level_codes(column: Column, level: int) -> np.ndarray:
    """Node of every code of a column at a level; a column without a hierarchy has its values and everything."""
    if column.kind == TREE and column.hierarchy is not None:
        return column.hierarchy.ancestors[level]
    return np.arange(column.card, dtype=np.int32) * (level == 0)


def _codes(column: Column, series: pl.Series) -> np.ndarray:
    """Code of each person's value, -1 where the column has none such."""
    texts = canonical_text(series)
    known = {text: code for code, text in enumerate(column.texts.to_list())}
    distinct = texts.unique().drop_nulls()
    found = [known.get(text, known.get(value_text(column, text), -1)) for text in distinct.to_list()]
    mapped = texts.replace_strict(distinct, pl.Series(found, dtype=pl.Int64), default=None, return_dtype=pl.Int64)
    return mapped.fill_null(column.missing).to_numpy()


def _at(column: Column, level: int, codes: np.ndarray) -> np.ndarray:
    """Nodes at a level, one more than all of them for an unknown value."""
    nodes = level_codes(column, level)
    return np.append(nodes, nodes.max(initial=-1) + 1)[codes].astype(np.int32)


def _numbered(codes: np.ndarray) -> np.ndarray:
    return group_rows(codes.astype(np.int32), codes.max(axis=1, initial=0).astype(np.int64) + 1)[0].astype(np.int64)


def _shared(codes: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number of each distinct column of codes, from 0, and the same of others, -1 where there is none such."""
    both = _numbered(np.concatenate([codes, others], axis=1))
    names, ids = np.unique(both[: codes.shape[1]], return_inverse=True)
    place = np.full(int(both.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[names] = np.arange(names.size)
    return ids.astype(np.int64), place[both[codes.shape[1] :]]
