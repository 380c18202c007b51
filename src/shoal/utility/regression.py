"""Linear regression trained on a release and judged on original rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.errors import InputError, ParameterError
from shoal.params import whole
from shoal.utility.domains import Feature, Reading
from shoal.utility.features import Rows, Scale, columns_of, find, frame_features, is_number, listed, looked_at, pick
from shoal.utility.holdout import Split, check_held_out, held_out_rows, split
from shoal.utility.reading import Evaluation, Finding

_RESAMPLES = 200
# Directions in which the training rows vary less than this, beside the one in which they vary most, taught nothing.
_FLAT = 1e-10


@dataclass(frozen=True, kw_only=True)
class Regression(Evaluation):
    """Explain a number of a release by its other columns, and see how well that explains people held out.

    Least squares with an indicator a value for texts; a generalised cell counts a share for each value that it may
    stand for, an interval its centre. R² is 1 less the squared error over that of the held-out rows' own mean, and
    below 0 where the mean would have done better.

    Parameters
    ----------
    target
        A column of numbers; by default the first of the sensitive, then neutral, then quasi-identifying ones.
    columns
        Columns to learn from; all others by default.
    held_out, most
        As for :class:`~shoal.utility.classifiers.Classifiers`.
    """

    name: ClassVar[str] = "regression"
    target: str | None = None
    columns: Sequence[str] | None = None
    held_out: float = 0.3
    most: int = 100_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed("Regression", "columns", self.columns))
        check_held_out("Regression", self.held_out)
        whole("Regression", "most", self.most, least=2)

    def refusal(self, reading: Reading) -> str | None:
        """Why nothing can be explained."""
        after, _ = reading.mined
        if len(after.features) < 2:
            return "There is no column to explain another one by."
        return None if self.target or self._default(after) else "No released column holds numbers."

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """What is explained, and what it is explained by."""
        after, _ = reading.mined
        return looked_at(self.columns, after.features, self.target or self._default(after))

    def run(self, reading: Reading) -> list[Finding]:
        """One finding: R² on held-out rows."""
        after, before = reading.mined
        (parts, target), (others, their_target) = self._side(after), self._side(before)
        truth = numbers(parts.test, target)
        told = explain(parts.release, parts.test, target)
        original = numbers(others.test, their_target)
        theirs = r_squared(original, explain(others.original, others.test, their_target))
        value, level = r_squared(truth, told), np.full(truth.size, numbers(parts.release, target).mean())
        people = None if after.people is None else after.people[parts.test.rows]
        sentence = (
            f"A linear regression trained on the release reaches an R² of {_told(value)} for '{target.name}' in "
            f"{truth.size:,} {held_out_rows(reading)}, against {_told(theirs)} trained on the original; their own mean "
            f"reaches 0.{parts.caution}"
        )
        also = {"original": theirs, "target": target.name, "judged_on": truth.size, "held_out_known": parts.fair}
        return [
            Finding(
                name=self.name, value=value, better="up", interval=resampled(truth, told, reading.keys, people),
                baseline=r_squared(truth, level), sentence=sentence, also=also,
            )
        ]  # fmt: skip

    def _side(self, reading: Reading) -> tuple[Split, Feature]:
        """Rows to learn from and to judge by, of the release or of the original."""
        target = self._target(reading)
        features = pick(reading.features, self.columns, without=target.name)
        return split(reading, features, target, held_out=self.held_out, most=self.most, classes=False), target

    def _default(self, reading: Reading) -> str | None:
        order = [*reading.sensitive, *reading.neutral, *reading.quasi]
        return next((name for name in order if is_number(reading.features[name])), None)

    def _target(self, reading: Reading) -> Feature:
        name = self.target or self._default(reading)
        if name is None or not is_number(find(reading.features, name)):
            raise ParameterError("The 'target' of Regression must be a released column of numbers.")
        return reading.features[name]


def _told(value: float | None) -> str:
    return "nothing (they do not vary)" if value is None else f"{value:.3f}"


def numbers(rows: Rows, target: Feature) -> np.ndarray:
    """The target of every row, centres of its cells on the released side."""
    assert target.numbers is not None
    return (target.centres() if rows.released else target.numbers)[rows.index(target)]


def explain(train: Rows, test: Rows, target: Feature) -> np.ndarray:
    """What least squares on the training rows expects of each test row.

    The smallest of all solutions around the means, so that what did not vary in training counts for nothing.
    """
    columns = columns_of(train.features)
    scale = Scale.of(train, columns)
    ready = scale(train.matrix(columns))
    means, wanted = ready.mean(axis=0), numbers(train, target)
    level, away = wanted.mean(), ready - means
    slope = np.linalg.pinv(away.T @ away, rcond=_FLAT, hermitian=True) @ (away.T @ (wanted - level))
    return np.concatenate([level + (scale(test.matrix(columns, part)) - means) @ slope for part in test.chunks()])


def r_squared(truth: np.ndarray, told: np.ndarray, weight: np.ndarray | None = None) -> float | None:
    """Explained share of the variance; None where there is none to explain."""
    weight = np.ones(truth.size) if weight is None else weight
    middle = float(weight @ truth / weight.sum())
    spread = float(weight @ (truth - middle) ** 2)
    return 1.0 - float(weight @ (truth - told) ** 2) / spread if spread > 0.0 else None


def resampled(
    truth: np.ndarray, told: np.ndarray, keys: Keys, people: np.ndarray | None = None
) -> tuple[float, float] | None:
    """95 % interval of R² over people drawn anew."""
    _, who = np.unique(np.arange(truth.size) if people is None else people, return_inverse=True)
    generator, count = keys.generator("evaluation resampling"), int(who.max()) + 1
    drawn = [
        r_squared(truth, told, np.bincount(generator.integers(count, size=count), minlength=count)[who].astype(float))
        for _ in range(_RESAMPLES)
    ]
    known = [one for one in drawn if one is not None]
    return (float(np.quantile(known, 0.025)), float(np.quantile(known, 0.975))) if known else None


def fit_and_score(
    train: pl.DataFrame, test: pl.DataFrame, target: str, *, columns: Sequence[str] | None = None
) -> float | None:
    """R² of a linear regression on one plain frame, judged on another (or on the same one)."""
    features = frame_features(train, test)
    wanted = find(features, target)
    if not is_number(wanted) or train[target].null_count() or test[target].null_count():
        raise InputError(f"Column '{target}' must hold numbers without gaps to be explained.")
    chosen = pick(features, columns, without=target)
    taught = Rows(features=chosen, released=True, rows=np.arange(train.height))
    judged = Rows(features=chosen, released=False, rows=np.arange(test.height))
    return r_squared(numbers(judged, wanted), explain(taught, judged, wanted))
