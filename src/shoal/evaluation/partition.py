"""Recursive partitioning of a release and of its original, side by side and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.evaluation.base import Evaluation, Finding
from shoal.evaluation.buckets import CRITERIA, Partition, grow
from shoal.evaluation.features import Rows, is_number, listed, looked_at, pick
from shoal.evaluation.split import NO_CLASSES, default_target, sides, target_of
from shoal.evaluation.view import Feature, Reading
from shoal.params import choice, whole


@dataclass(frozen=True, kw_only=True)
class Partitioning(Evaluation):
    """Part a release by yes-or-no questions about its columns, and see what the buckets tell of the original rows.

    The figure is the share of the uncertainty (entropy) about the target that the release's buckets take away in
    the original rows: 0 where they tell nothing. The original's own buckets stand beside it. Nobody is held out: the
    buckets describe the data that they were grown on.

    Parameters
    ----------
    target
        Column that buckets should be pure in; by default the first of texts or of at most 20 different numbers,
        sensitive ones first.
    columns
        Columns to ask about; all others by default.
    leaves, smallest
        Most buckets, and fewest records of one.
    criterion
        What a split is to reduce: ``"entropy"`` or ``"gini"``.
    """

    name: ClassVar[str] = "partitioning"
    target: str | None = None
    columns: Sequence[str] | None = None
    leaves: int = 8
    smallest: int = 20
    criterion: str = "entropy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed("Partitioning", "columns", self.columns))
        whole("Partitioning", "leaves", self.leaves, least=2)
        whole("Partitioning", "smallest", self.smallest, least=1)
        choice("Partitioning", "criterion", self.criterion, CRITERIA)

    def refusal(self, reading: Reading) -> str | None:
        """Why there is nothing to ask."""
        after, _ = reading.mined
        if len(after.features) < 2:
            return "There is no column to part another one by."
        return NO_CLASSES if self.target is None and default_target(after) is None else None

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """What buckets are about, and what is asked."""
        after, _ = reading.mined
        return looked_at(self.columns, after.features, self.target or default_target(after))

    def run(self, reading: Reading) -> list[Finding]:
        """One finding; ``also`` holds the buckets of both sides in words."""
        after, before = reading.mined
        target, features = self._asked(after)
        release, coded = sides(after, features, target)
        their_target, their_features = self._asked(before)
        _, original = sides(before, their_features, their_target)
        mine, theirs = self._grow(release, target), self._grow(original, their_target)
        value, whole_story = explained(mine, coded, target), explained(theirs, original, their_target)
        blurred = [one.name for one in features if is_number(one) and not one.exact]
        note = f" Its thresholds of {_listed(blurred)} are centres of cells." if blurred else ""
        sentence = (
            f"{len(mine.buckets)} buckets found in the release take away {value:.1%} of the uncertainty about "
            f"'{target.name}' in the original rows, against {whole_story:.1%} by {len(theirs.buckets)} buckets found "
            f"in the original.{note}"
        )
        also = {
            "original": whole_story, "target": target.name, "centres": blurred,
            "release_buckets": [one.words() for one in mine.buckets],
            "original_buckets": [one.words() for one in theirs.buckets],
        }  # fmt: skip
        return [Finding(name=self.name, value=value, better="up", baseline=0.0, sentence=sentence, also=also)]

    def _asked(self, reading: Reading) -> tuple[Feature, list[Feature]]:
        target = target_of(reading, self.target)
        return target, pick(reading.features, self.columns, without=target.name)

    def _grow(self, rows: Rows, target: Feature) -> Partition:
        return grow(rows, target, leaves=self.leaves, smallest=self.smallest, criterion=self.criterion)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def explained(partition: Partition, rows: Rows, target: Feature) -> float:
    """Share of the entropy of the target's values that knowing a row's bucket takes away."""
    leaf, label = partition.place(rows), rows.index(target)
    size = len(target.values)
    joint = np.bincount(leaf * size + label, minlength=len(partition.nodes) * size).reshape(-1, size)
    before = _entropy(joint.sum(axis=0)[None, :])[0]
    if before <= 0.0:
        return 0.0
    after = _entropy(joint) @ joint.sum(axis=1) / joint.sum()
    return max(0.0, 1.0 - float(after / before))


def _entropy(counts: np.ndarray) -> np.ndarray:
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return -(share * np.log(share, out=np.zeros(share.shape), where=share > 0)).sum(axis=1)
