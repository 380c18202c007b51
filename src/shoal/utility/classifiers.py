"""Classifiers trained on a release and judged on original rows that were held out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.errors import MissingExtraError, ParameterError
from shoal.params import choice, whole
from shoal.utility.domains import Feature, Reading
from shoal.utility.features import (
    Rows,
    Scale,
    columns_of,
    find,
    first_seen,
    frame_features,
    is_number,
    listed,
    looked_at,
    pick,
)
from shoal.utility.holdout import (
    NO_CLASSES,
    Split,
    check_held_out,
    default_target,
    held_out_rows,
    known_codes,
    split,
    target_of,
)
from shoal.utility.randomised import wilson
from shoal.utility.reading import Evaluation, Finding

# ----------------------------------------
# Naive Bayes that learns from cells: a cell that may stand for several values counts a share for each.


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


# ----------------------------------------
# What can be learned from rows and put to others: every learner is a function from training rows to guesses.


# Guess, as a place among labels, of every test row: train, test, target, labels.
Learner = Callable[[Rows, Rows, Feature, np.ndarray], np.ndarray]
_LEAST_LEAF = 10


def tree(train: Rows, test: Rows, target: Feature, labels: np.ndarray) -> np.ndarray:
    """A decision tree by entropy, leaves of ten rows at least."""
    model = sklearn("A decision tree", "tree").DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=_LEAST_LEAF, random_state=0
    )
    return _fitted(model, train, test, target, labels)


def logistic(train: Rows, test: Rows, target: Feature, labels: np.ndarray) -> np.ndarray:
    """Logistic regression, numbers in standard deviations."""
    model = sklearn("Logistic regression", "linear_model").LogisticRegression(max_iter=100)
    return _fitted(model, train, test, target, labels)


LEARNERS: Mapping[str, Learner] = {"naive-bayes": naive_bayes, "decision-tree": tree, "logistic-regression": logistic}


def _fitted(model: Any, train: Rows, test: Rows, target: Feature, labels: np.ndarray) -> np.ndarray:
    row, label, weight = label_weights(train, target, labels)
    if np.unique(label).size == 1:  # nothing to tell apart
        return np.full(test.rows.size, label[0])
    columns = columns_of(train.features)
    scale = Scale.of(train, columns)
    with quiet():
        model.fit(scale(train.matrix(columns))[row], label, sample_weight=weight)
    return np.concatenate([model.predict(scale(test.matrix(columns, part))) for part in test.chunks()])


def majority(train: Rows, target: Feature, labels: np.ndarray) -> int:
    """Place among the labels of the commonest one."""
    _, label, weight = label_weights(train, target, labels)
    return int(np.argmax(np.bincount(label, weights=weight, minlength=labels.size)))


def label_codes(target: Feature) -> np.ndarray:
    """Codes that a guess may be, in the order in which original rows have them."""
    order = first_seen(target)
    return order[known_codes(target)[order]]


def by_name(name: str, numbers: str = "gaussian") -> Learner:
    """A learner by name; ``numbers`` is how naive Bayes takes numbers."""
    choice("Classifiers", "learners", name, LEARNERS)
    return partial(naive_bayes, numbers=numbers) if name == "naive-bayes" else LEARNERS[name]


@dataclass(frozen=True, eq=False, kw_only=True)
class Guessed:
    """What a learner told of some rows.

    Attributes
    ----------
    accuracy, interval
        Share of rows that were told right, with a 95 % interval.
    right
        bool a test row.
    labels, guess
        Values that may be told, and the place of each row's among them.
    """

    accuracy: float
    interval: tuple[float, float]
    right: np.ndarray
    labels: Sequence[str]
    guess: np.ndarray


def train_and_score(
    train: pl.DataFrame,
    test: pl.DataFrame,
    target: str,
    learner: str = "naive-bayes",
    *,
    columns: Sequence[str] | None = None,
    numbers: str = "gaussian",
) -> Guessed:
    """Learn a column of one plain frame and tell it of another (or of the same one).

    Nothing depends on what values are called: a frame whose categories were renamed one to one gives the same guesses.

    Parameters
    ----------
    learner
        ``"naive-bayes"``, ``"decision-tree"`` or ``"logistic-regression"``.
    columns
        To learn from; all but the target by default.
    numbers
        How naive Bayes takes numbers: ``"gaussian"`` or ``"categories"``.
    """
    features = frame_features(train, test)
    wanted = find(features, target)
    chosen = pick(features, columns, without=target)
    return tell(
        by_name(learner, numbers), Rows(features=chosen, released=True, rows=np.arange(train.height)),
        Rows(features=chosen, released=False, rows=np.arange(test.height)), wanted,
    )  # fmt: skip


def tell(how: Learner, train: Rows, test: Rows, target: Feature, trials: int | None = None) -> Guessed:
    """Put a learner to test rows and score it; ``trials`` where rows are not independent."""
    labels = label_codes(target)
    guess = how(train, test, target, labels)
    right = labels[guess] == test.index(target)
    share = float(right.mean())
    return Guessed(
        accuracy=share, interval=wilson(share, right.size if trials is None else trials), right=right,
        labels=[target.values[code] for code in labels], guess=guess,
    )  # fmt: skip


@contextmanager
def quiet() -> Iterator[None]:
    """Fit on one core, which small matrices like best and which adds up in one order, and without warnings.

    A fit that stops short of convergence is still a fit, and both sides are stopped alike.
    """
    from threadpoolctl import threadpool_limits  # comes with scikit-learn

    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        yield


def sklearn(what: str, module: str) -> Any:
    """A part of scikit-learn, which is loaded only by what needs it."""
    from importlib import import_module

    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingExtraError(what, "scikit-learn", "eval") from None


_TITLES = {
    "naive-bayes": "A naive Bayes classifier", "decision-tree": "A decision tree",
    "logistic-regression": "A logistic regression",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Classifiers(Evaluation):
    """Learn one column of a release from the others, and tell it of people who were held out.

    Each learner is trained twice, on the release and on the original rows that it was made from, without the people
    who are held out; both are judged on these people's original rows. The baseline is the release's commonest value.
    Where columns are published as codes, the release is judged on rows coded as it codes them.

    Parameters
    ----------
    target
        Column to be told; by default the first of texts or of at most 20 different numbers, sensitive ones first.
    columns
        Columns to learn from; all others by default.
    learners
        Of ``"naive-bayes"``, ``"decision-tree"`` and ``"logistic-regression"``; the last two need the extra ``eval``.
    numbers
        How naive Bayes takes numbers: ``"gaussian"``, or ``"categories"`` with a share a value.
    held_out
        Share of the people held out.
    most
        Most people looked at, drawn by the run's key; fewer where there are many classes.

    Examples
    --------
    >>> Classifiers(target="disease", learners=("naive-bayes",)).parameters()["held_out"]
    0.3
    """

    name: ClassVar[str] = "classifiers"
    target: str | None = None
    columns: Sequence[str] | None = None
    learners: Sequence[str] = ("naive-bayes", "decision-tree", "logistic-regression")
    numbers: str = "gaussian"
    held_out: float = 0.3
    most: int = 100_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed("Classifiers", "columns", self.columns))
        object.__setattr__(self, "learners", listed("Classifiers", "learners", self.learners))
        for name in self.learners:
            choice("Classifiers", "learners", name, LEARNERS)
        choice("Classifiers", "numbers", self.numbers, NUMBERS)
        check_held_out("Classifiers", self.held_out)
        whole("Classifiers", "most", self.most, least=2)

    def refusal(self, reading: Reading) -> str | None:
        """Why nothing can be told; a target that was asked for by name is never refused."""
        after, _ = reading.mined
        if len(after.features) < 2:
            return "There is no column to learn another one from."
        name = default_target(after)
        if self.target is not None or name is None:
            return None if self.target is not None else NO_CLASSES
        classes = np.unique(after.features[name].original).size
        few = round(self.held_out * after.n) < classes
        return f"Too few rows to hold out as many as '{name}' has classes." if few else None

    def run(self, reading: Reading) -> list[Finding]:
        """One finding a learner: share of held-out rows told right."""
        after, before = (self._side(one) for one in reading.mined)
        return [self._finding(name, after, before, held_out_rows(reading)) for name in self.learners]

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """What is told, and what it is learned from."""
        after, _ = reading.mined
        return looked_at(self.columns, after.features, self.target or default_target(after))

    def _side(self, reading: Reading) -> tuple[Split, Feature]:
        """Rows to learn from and to judge by, of the release or of the original."""
        target = target_of(reading, self.target)
        features = pick(reading.features, self.columns, without=target.name)
        if not features:
            raise ParameterError("The 'columns' of Classifiers must name a column besides the target.")
        return split(reading, features, target, held_out=self.held_out, most=self.most), target

    def _finding(self, name: str, after: tuple[Split, Feature], before: tuple[Split, Feature], rows: str) -> Finding:
        how, (parts, target), (others, their_target) = by_name(name, self.numbers), after, before
        mine = tell(how, parts.release, parts.test, target, parts.trials)
        theirs = tell(how, others.original, others.test, their_target, others.trials)
        common = _commonest(parts.release, parts.test, target)
        sentence = (
            f"{_TITLES[name]} trained on the release tells '{target.name}' right for "
            f"{mine.accuracy:.1%} of {parts.test.rows.size:,} {rows}, against {theirs.accuracy:.1%} "
            f"trained on the original and {common:.1%} by always telling the commonest value.{parts.caution}"
        )
        also = {
            "original": theirs.accuracy, "original_interval": list(theirs.interval), "target": target.name,
            "trained_on": parts.release.rows.size, "judged_on": parts.test.rows.size, "held_out_known": parts.fair,
        }  # fmt: skip
        return Finding(
            name=f"{self.name} {name}", value=mine.accuracy, better="up", interval=mine.interval, baseline=common,
            sentence=sentence, also=also,
        )  # fmt: skip


def _commonest(train: Rows, test: Rows, target: Feature) -> float:
    labels = label_codes(target)
    return float((test.index(target) == labels[majority(train, target, labels)]).mean())
