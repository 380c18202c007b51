"""Classifiers trained on a release and judged on original rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.evaluation.base import Evaluation, Finding
from shoal.evaluation.bayes import NUMBERS
from shoal.evaluation.features import Rows, listed, looked_at, pick
from shoal.evaluation.learners import LEARNERS, by_name, label_codes, majority, tell
from shoal.evaluation.split import NO_CLASSES, Split, check_held_out, default_target, held_out_rows, split, target_of
from shoal.evaluation.view import Feature, Reading
from shoal.params import choice, whole

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
