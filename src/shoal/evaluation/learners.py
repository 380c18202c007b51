"""What can be learned from rows and put to others: every learner is a function from training rows to guesses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import MissingExtraError
from shoal.evaluation.bayes import label_weights, naive_bayes
from shoal.evaluation.features import Rows, Scale, columns_of, find, first_seen, frame_features, pick
from shoal.evaluation.split import known_codes
from shoal.evaluation.view import Feature
from shoal.measures.intervals import wilson
from shoal.params import choice

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
