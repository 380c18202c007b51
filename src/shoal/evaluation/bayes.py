"""Naive Bayes that learns from cells: a cell that may stand for several values counts a share for each."""

from __future__ import annotations

import numpy as np

from shoal.evaluation.features import Rows, is_number
from shoal.evaluation.view import Feature

# Least standard deviation of a number within a class, as a share of the column's: a class of equal numbers is no proof.
_LEAST_DEVIATION = 0.01
_SMOOTHING = 1.0
NUMBERS = ("gaussian", "categories")


def naive_bayes(
    train: Rows, test: Rows, target: Feature, labels: np.ndarray, *, numbers: str = "gaussian"
) -> np.ndarray:
    """Place among ``labels`` that is most likely for each test row; ties go to the first.

    Parameters
    ----------
    labels
        Codes of the target that may be told, in order of preference.
    numbers
        ``"gaussian"``: a normal distribution a class; ``"categories"``: a share a value, as for texts.
    """
    row, label, weight = label_weights(train, target, labels)
    prior = np.bincount(label, weights=weight, minlength=labels.size)
    score = np.log(prior / prior.sum(), out=np.full(labels.size, -np.inf), where=prior > 0)
    total = np.repeat(score[None, :], test.rows.size, axis=0)
    for feature in train.features:
        gaussian = numbers == "gaussian" and is_number(feature)
        learn = _normal if gaussian else _shares
        counts = _contingency(train.index(feature)[row], _size(train, feature), label, weight, labels.size)
        total += learn(train, feature, counts, prior)[test.index(feature)]
    return np.argmax(total, axis=1)


def label_weights(rows: Rows, target: Feature, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place among the rows, place among the labels, and weight, for each label that a row may have."""
    place = np.full(len(target.values), -1, dtype=np.int64)
    place[labels] = np.arange(labels.size)
    row, code, weight = rows.spread(target)
    kept = place[code] >= 0
    return row[kept], place[code[kept]], weight[kept]


def _size(rows: Rows, feature: Feature) -> int:
    return len(feature.texts if rows.released else feature.values)


def _contingency(index: np.ndarray, size: int, label: np.ndarray, weight: np.ndarray, labels: int) -> np.ndarray:
    """float64 (cells or values, labels): rows of each."""
    pair = index.astype(np.int64) * labels + label
    return np.bincount(pair, weights=weight, minlength=size * labels).reshape(size, labels)


def _shares(train: Rows, feature: Feature, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Log likelihood (values, labels) from smoothed counts."""
    if train.released:
        cell = np.repeat(np.arange(len(feature.texts)), np.diff(feature.at))
        spread = counts[cell] * feature.share[:, None]
        counts = np.zeros((len(feature.values), prior.size))
        np.add.at(counts, feature.code, spread)
    return np.log((counts + _SMOOTHING) / (prior + _SMOOTHING * counts.shape[0]))


def _normal(train: Rows, feature: Feature, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Log density (values, labels) of a normal distribution; 0 where the number is missing or never varied."""
    assert feature.numbers is not None
    centre, inside = moments(feature) if train.released else (feature.numbers, np.zeros(len(feature.values)))
    known = np.isfinite(centre)
    counts, centre, inside = counts[known], centre[known], inside[known]
    table = np.zeros((len(feature.values), prior.size))
    many = counts.sum(axis=0)
    if not many.sum():
        return table
    middle = float(counts.sum(axis=1) @ centre / many.sum())
    shifted = centre - middle
    overall = float(counts.sum(axis=1) @ (shifted**2 + inside) / many.sum())
    if overall <= (1e-9 * max(1.0, abs(middle))) ** 2:
        return table
    mean = np.divide(shifted @ counts, many, out=np.zeros(prior.size), where=many > 0)
    square = np.divide((shifted**2 + inside) @ counts, many, out=np.full(prior.size, overall), where=many > 0)
    variance = np.maximum(square - mean**2, _LEAST_DEVIATION**2 * overall)
    numbers = np.isfinite(feature.numbers)
    away = (feature.numbers[numbers] - middle)[:, None] - mean
    table[numbers] = -0.5 * (away**2 / variance + np.log(2.0 * np.pi * variance))
    return table


def moments(feature: Feature) -> tuple[np.ndarray, np.ndarray]:
    """Centre of each cell, and the variance of what it may stand for."""
    assert feature.numbers is not None
    values = feature.numbers[feature.code]
    known = np.isfinite(values)
    starts = feature.at[:-1]
    weight = np.where(known, feature.share, 0.0)
    total = np.maximum(np.add.reduceat(weight, starts), 1e-300)
    mean = np.add.reduceat(weight * np.where(known, values, 0.0), starts) / total
    away = np.where(known, values, 0.0) - np.repeat(mean, np.diff(feature.at))
    return feature.centres(), np.add.reduceat(weight * away**2, starts) / total
