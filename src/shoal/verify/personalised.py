"""Personalised anonymity, recomputed from labels: how likely each person is to be found under what they guard."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.errors import VerificationError


def breach_probabilities(
    paths: Sequence[Sequence[str]],
    released: pl.Series,
    guards: pl.Series,
    classes: np.ndarray,
    subjects: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Probability of a breach for every record, 0 for one without a guard.

    Parameters
    ----------
    paths
        The sensitive hierarchy, a path from leaf to root for each leaf.
    released, guards
        Label released for each record (null: its value is unknown, and it takes no part), label guarded (null: none).
    classes
        Class of each record, from 0.
    subjects
        Person of each record; None where each is another.
    rows
        How many records each stands for that are like it, one where it is None.
    """
    leaves = _leaves(paths)
    chance = np.zeros(len(classes))
    label, labels = _coded(released)
    guard, guarded = _coded(guards)
    for code in guarded:
        if code not in leaves:
            raise VerificationError("A guard is no node of the sensitive hierarchy.")
    share = np.array([[_share(leaves, node, wanted) for wanted in guarded] for node in labels]).reshape(
        len(labels), len(guarded)
    )
    known = label >= 0
    asks = np.flatnonzero(known & (guard >= 0))
    if not len(asks):
        return chance
    many = np.ones(len(classes), dtype=np.int64) if rows is None else rows
    times = np.ones(len(classes), dtype=np.int64)
    if subjects is not None:
        people, person = np.unique(np.stack([classes, np.asarray(subjects)]), axis=1, return_inverse=True)
        times = _summed(person[known], many[known], people.shape[1])[person]
    cases, of = np.unique(np.stack([classes[asks], guard[asks], times[asks]]), axis=1, return_inverse=True)
    pairs, pair = np.unique(classes[known] * len(labels) + label[known], return_inverse=True)
    counts = _summed(pair, many[known], len(pairs))
    starts = np.searchsorted(pairs, np.arange(int(classes.max()) + 2) * len(labels))
    found = np.empty(cases.shape[1])
    for place, (group, wanted, drawn) in enumerate(cases.T.tolist()):
        mine = slice(starts[group], starts[group + 1])
        found[place] = _drawn(counts[mine], share[pairs[mine] % len(labels), wanted], drawn)
    chance[asks] = found[of]
    return chance


def _summed(place: np.ndarray, rows: np.ndarray, places: int) -> np.ndarray:
    """Whole numbers added up by place."""
    found = np.zeros(places, dtype=np.int64)
    np.add.at(found, place, rows)
    return found


def _leaves(paths: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        for label in path:
            found.setdefault(label, set()).add(path[0])
    return found


def _coded(series: pl.Series) -> tuple[np.ndarray, list[str]]:
    """Codes of distinct labels, -1 for null."""
    labels = series.drop_nulls().unique().sort().to_list()
    codes = {label: code for code, label in enumerate(labels)}
    return series.replace_strict(codes, default=-1, return_dtype=pl.Int64).to_numpy(), labels


def _share(leaves: dict[str, set[str]], node: str, guard: str) -> float:
    """Chance that a leaf under the node lies under the guard."""
    if node not in leaves:
        raise VerificationError("A released sensitive cell is no node of its hierarchy.")
    return len(leaves[node] & leaves[guard]) / len(leaves[node])


def _drawn(counts: np.ndarray, share: np.ndarray, times: int) -> float:
    """Chance that one of so many records drawn from a class lies under the guard.

    One minus the mean product of the misses over all choices of records: the coefficient of a polynomial with a factor
    for every record, over the number of choices; both are scaled by powers of the class size to stay small.
    """
    size = int(counts.sum())
    if times == 1:
        return float((counts * share).sum() / size)
    product = np.array([1.0])
    for many, mine in zip(counts.tolist(), share.tolist(), strict=True):
        factor = np.array([math.comb(many, j) / size**j * (1.0 - mine) ** j for j in range(min(many, times) + 1)])
        product = np.convolve(product, factor)[: times + 1]
    choices = math.comb(size, times) / size**times
    return 1.0 - float(product[times]) / choices
