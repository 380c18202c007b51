"""Recursive partitioning in words: a tree of yes-or-no questions, and the bucket of records at each of its nodes.

Numbers enter by rank, so that only their order counts; texts by one question a value. A question about a number names
the lowest value of its upper side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.data.hierarchy import MISSING
from shoal.data.values import format_date, format_number
from shoal.params import choice, whole
from shoal.utility.classifiers import label_codes, label_weights, sklearn
from shoal.utility.domains import Feature, Reading
from shoal.utility.features import Column, Rows, columns_of, find, frame_features, is_number, listed, looked_at, pick
from shoal.utility.holdout import NO_CLASSES, default_target, sides, target_of
from shoal.utility.reading import Evaluation, Finding

CRITERIA = ("entropy", "gini")


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """One split: records whose matrix column holds at least ``least`` answer yes.

    Attributes
    ----------
    column, value
        Name of the column, and the text asked for; None for a number or a date.
    least
        Lowest number of the upper side, or lowest share of the value among what a cell may stand for.
    is_date, missing
        Whether numbers are days, and whether the column has missing cells, which answer no.
    other
        The only other text that there is, where there is one.
    """

    column: str
    value: str | None
    least: float
    is_date: bool = False
    missing: bool = False
    other: str | None = None

    def words(self, yes: bool) -> str:
        """``"age >= 28"``, ``"sex = Male"``, ``"sex is Male by at least 0.5"``, or their opposites."""
        if self.value is None:
            text = format_date(round(self.least)) if self.is_date else format_number(self.least)
            return f"{self.column} >= {text}" if yes else f"{self.column} < {text}" + " or missing" * self.missing
        if self.least >= 1.0 - 1e-9:
            no = f"= {self.other}" if self.other is not None else f"!= {self.value}"
            return f"{self.column} = {self.value}" if yes else f"{self.column} {no}"
        return f"{self.column} is {self.value} by {'at least' if yes else 'less than'} {self.least:.3g}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Bucket:
    """The records of one node.

    Attributes
    ----------
    conditions
        What they have in common, in the order of the questions; one that a later one implies is left out.
    records
        How many they are: weights where the target's cells stand for several values.
    label, share
        Commonest value of the target, and its share.
    leaf
        Whether they are parted no further.
    """

    conditions: Sequence[str]
    records: float
    label: str
    share: float
    leaf: bool

    def words(self) -> str:
        """``"capital-gain >= 7298: 1,330 records, 98.6 % >50K"``."""
        what = " and ".join(self.conditions) or "all"
        return f"{what}: {self.records:,.0f} records, {100 * self.share:.1f} % {self.label}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Partition:
    """A grown tree.

    Attributes
    ----------
    nodes
        A bucket a node, parents before children and no before yes.
    questions
        What each node asks; None at a leaf.
    no, yes
        Node that each answer leads to, -1 at a leaf.
    columns
        Matrix columns that the questions are about.
    at
        Matrix column of each question.
    """

    nodes: Sequence[Bucket]
    questions: Sequence[Question | None]
    no: np.ndarray
    yes: np.ndarray
    columns: Sequence[Column]
    at: np.ndarray

    @property
    def buckets(self) -> list[Bucket]:
        """The leaves, largest first."""
        return sorted((one for one in self.nodes if one.leaf), key=lambda one: -one.records)

    def place(self, rows: Rows) -> np.ndarray:
        """Leaf of every row, by the questions as their words put them."""
        found = np.zeros(rows.rows.size, dtype=np.int64)
        for part in rows.chunks():
            matrix, mine = rows.matrix(self.columns, part), found[part]
            for node, question in enumerate(self.questions):  # parents come first
                if question is not None:
                    here = np.flatnonzero(mine == node)
                    yes = matrix[here, self.at[node]] >= question.least - 1e-9 * (question.value is not None)
                    mine[here] = np.where(yes, self.yes[node], self.no[node])
        return found


def grow(
    rows: Rows, target: Feature, *, leaves: int = 8, smallest: int = 20, criterion: str = "entropy"
) -> Partition:
    """Grow a tree, always parting the node that gains most.

    Parameters
    ----------
    leaves
        Most buckets.
    smallest
        Fewest records of a bucket.
    criterion
        What a split is to reduce: ``"entropy"`` or ``"gini"``.
    """
    labels = label_codes(target)
    columns = columns_of(rows.features)
    matrix = rows.matrix(columns)
    ranks = _ranked(matrix, columns)
    row, label, weight = label_weights(rows, target, labels)
    enough = weight.sum() >= 2 * smallest
    model = sklearn("Recursive partitioning", "tree").DecisionTreeClassifier(
        criterion=criterion, max_leaf_nodes=leaves, random_state=0, min_samples_split=2 if enough else row.size + 2,
        # Of weights, because a row whose target may be several values is there once for each.
        min_weight_fraction_leaf=min(0.5, smallest / weight.sum() * (1.0 - 1e-9)),
    )  # fmt: skip
    model.fit(ranks[row], label, sample_weight=weight)
    texts = [target.values[code] for code in labels[model.classes_]]
    return _read(model.tree_, ranks, matrix, columns, texts)


def grow_frame(
    frame: pl.DataFrame,
    target: str,
    *,
    columns: Sequence[str] | None = None,
    leaves: int = 8,
    smallest: int = 20,
    criterion: str = "entropy",
) -> Partition:
    """Grow a tree on a plain frame; what values are called, and how far apart numbers are, does not matter."""
    features = frame_features(frame)
    wanted = find(features, target)
    rows = Rows(features=pick(features, columns, without=target), released=False, rows=np.arange(frame.height))
    return grow(rows, wanted, leaves=leaves, smallest=smallest, criterion=criterion)


def count_rules(partition: Partition, *, support: float = 0, confidence: float = 0.0) -> int:
    """Buckets of at least ``support`` records in which at least the share ``confidence`` has one value."""
    return sum(one.records >= support and one.share >= confidence for one in partition.buckets)


def _ranked(matrix: np.ndarray, columns: Sequence[Column]) -> np.ndarray:
    """Numbers by their rank, missing ones below all."""
    ranks = matrix.copy()
    at = 0
    for column in columns:
        if column.of is None:
            known = np.isfinite(matrix[:, at])
            ranks[known, at] = 1.0 + np.unique(matrix[known, at], return_inverse=True)[1]
            ranks[~known, at] = 0.0
        at += len(column.names)
    return ranks


def _read(
    tree: Any, ranks: np.ndarray, matrix: np.ndarray, columns: Sequence[Column], labels: Sequence[str]
) -> Partition:
    """A tree of scikit-learn in words: parents come before children there."""
    owner = [(column, name) for column in columns for name in column.names]
    questions: list[Question | None] = []
    paths: list[list[tuple[Question, bool]]] = [[] for _ in range(tree.node_count)]
    members: list[np.ndarray] = [np.empty(0, dtype=np.int64)] * tree.node_count
    members[0] = np.arange(ranks.shape[0])
    nodes = []
    for node in range(tree.node_count):
        no, yes, at = tree.children_left[node], tree.children_right[node], tree.feature[node]
        share, mine = tree.value[node][0], members[node]
        nodes.append(
            Bucket(
                conditions=_conditions(paths[node]), records=float(tree.weighted_n_node_samples[node]),
                label=labels[int(np.argmax(share))], share=float(share.max() / share.sum()), leaf=bool(no < 0),
            )
        )  # fmt: skip
        questions.append(None)
        if no < 0:
            continue
        up = ranks[mine, at] > tree.threshold[node]
        asked = _question(owner[at][0], owner[at][1], float(np.nanmin(matrix[mine[up], at])))
        questions[node] = asked
        for child, way, inside in ((no, False, ~up), (yes, True, up)):
            paths[child] = [*paths[node], (asked, way)]
            members[child] = mine[inside]
    return Partition(
        nodes=nodes, questions=questions, no=tree.children_left, yes=tree.children_right, columns=columns,
        at=tree.feature,
    )  # fmt: skip


def _question(column: Column, name: str, least: float) -> Question:
    feature = column.feature
    if column.of is not None or name != feature.name:
        value = name.removeprefix(f"{feature.name} = ") if column.of is not None else MISSING
        others = [text for text in feature.values if text != value]
        other = others[0] if column.of is not None and len(others) == 1 else None
        return Question(column=feature.name, value=value, least=least, other=other)
    return Question(
        column=feature.name, value=None, least=least, is_date=feature.type == "date",
        missing=feature.values[-1] == MISSING,
    )  # fmt: skip


def _conditions(path: Sequence[tuple[Question, bool]]) -> list[str]:
    """Words of a path: of several questions about one number and one side only the last, which is the tightest.

    Being one text makes not being another superfluous.
    """
    kept: dict[Any, str] = {}
    for asked, yes in path:
        if asked.value is not None and yes and asked.least >= 1.0 - 1e-9:
            kept = {key: words for key, words in kept.items() if key[0] != asked.column}
        kept[asked.column, asked.value, yes] = asked.words(yes)
    return list(kept.values())


# ----------------------------------------
# Recursive partitioning of a release and of its original, side by side and in words.


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
