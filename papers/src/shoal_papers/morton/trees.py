"""Recursive partitioning of releases of Adult, as the experiments of Morton et al. on it use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from shoal.algorithms.research.methods import ResearchGlobal
from shoal.results import Release
from shoal.utility.features import find, pick
from shoal.utility.holdout import sides
from shoal.utility.partition_tree import Bucket, Partition, explained, grow, grow_frame
from shoal.utility.reading import Feature, read_release
from shoal_papers.morton.common import GROUPS, HALVES, KEPT, QUASI, RULES, TARGET, WEIGHTS
from shoal_papers.plots import Plot, Series

LEAVES = 4
GLOBAL, BOTTOM_UP = "global", "bottom-up"
_SIGNS = {">=": "≥", "!=": "≠", "is": " is "}
CUT, COLLEGE = 6000, 13
ASKED = tuple(name for name in QUASI if name not in ("marital-status", TARGET))
UNASKED = (
    "Partitioning splits by entropy, into four buckets, and does not ask about marital status: so, and not otherwise, "
    "the buckets of Fig. 6 come out."
)
SALARY = "All ten attributes are quasi-identifiers, salary and capital gain too, which the document's list leaves out."
VALUES = (
    "Research values follow the document's formula, as Section 6.2.2 says of this data, with weights of ours: "
    f"{', '.join(f'{name} {weight:g}' for name, weight in WEIGHTS.items())}. Rules: capital gain 6000|6001, age 27|28, "
    "education number 12|13. Capital gain is a category of six groups, since Section 5.1 has two numbers only."
)


class Parted:
    """A release, the tree grown on it, and what its buckets hold."""

    def __init__(self, made: Release, columns: Sequence[str] = ASKED) -> None:
        self.made = made
        self.features = read_release(made).features
        target = find(self.features, TARGET)
        self.rows, original = sides(read_release(made), pick(self.features, columns), target)
        self.tree: Partition = grow(self.rows, target, leaves=LEAVES)
        self.explained = explained(self.tree, original, target)

    @property
    def first(self) -> str:
        """The column of the first question."""
        asked = self.tree.questions[0]
        return "none" if asked is None else asked.column

    def top(self) -> Bucket:
        """The records that answer the first question with yes."""
        return self.tree.nodes[int(self.tree.yes[0])]

    def in_top(self) -> np.ndarray:
        """Flags of the released rows that do."""
        asked = self.tree.questions[0]
        if asked is None or asked.value is not None:
            return np.zeros(self.rows.rows.size, dtype=bool)
        feature = find(self.features, asked.column)
        return np.asarray(feature.centres()[self.rows.index(feature)] >= asked.least)


def ends(feature: Feature) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest number that the cell of every released row covers."""
    assert feature.numbers is not None
    covered, first = feature.numbers[feature.code], feature.at[:-1]
    return np.minimum.reduceat(covered, first)[feature.cell], np.maximum.reduceat(covered, first)[feature.cell]


def gain_ends(parted: Parted) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest capital gain that the cell of every released row covers."""
    feature = find(parted.features, "capital-gain")
    if feature.numbers is not None:
        return ends(feature)
    known = {**GROUPS, **HALVES, "*": (0, 99_999)}
    both = np.array([known[label] for label in parted.made.frame["capital-gain"].to_list()], dtype=np.float64)
    return both[:, 0], both[:, 1]


def research(k: int, *, keep: bool = False) -> ResearchGlobal:
    """The global search with our research values; with ``keep`` neither age nor capital gain may become 'any'."""
    return ResearchGlobal(k=k, rules=KEPT if keep else RULES, top=1)


def label_tree(made: Release) -> Partition | None:
    """The tree of somebody who takes every cell for a category of its own; None where no salary is released."""
    frame = made.frame.filter(pl.col(TARGET) != "*")
    return grow_frame(frame, TARGET, columns=ASKED, leaves=LEAVES) if frame.height else None


def words(nodes: Sequence[Bucket]) -> str:
    """Buckets in one line."""
    return "; ".join(one.words() for one in nodes)


def levels_of(made: Release) -> dict[str, int]:
    """Columns that a full-domain release shows anything of, with their levels."""
    best = made.evidence["search"]["ranked"][0]["levels"]
    return {name: level for name, level in best.items() if made.frame[name].n_unique() > 1}


def kept(made: Release) -> str:
    """The same in words."""
    return ", ".join(f"{name} at level {level}" for name, level in levels_of(made).items()) or "nothing"


def count(frame: pl.DataFrame, where: pl.Expr, label: str) -> tuple[int, int]:
    """Records, and those of them with a salary."""
    found = frame.filter(where)
    return found.height, found.filter(pl.col(TARGET) == label).height


def salary_plot(
    name: str, k: int | None, figure: str, buckets: Sequence[Bucket], printed: Mapping[int, float] | None = None
) -> Plot:
    """Share above 50K in every bucket, beside what the document prints of those with so many records."""
    above = Series(
        name=name,
        x=[_short(one) for one in buckets],
        y=[one.share if one.label == ">50K" else 1 - one.share for one in buckets],
        printed=None if printed is None else [printed.get(round(one.records), float("nan")) for one in buckets],
    )
    title = name if k is None else f"{name}, k = {k}"
    return Plot(title=title, figure=figure, x="bucket", y="share above 50K", kind="bar", series=[above],
                study=() if name == BOTTOM_UP else name)  # fmt: skip


def _short(bucket: Bucket) -> str:
    """The conditions of a bucket, for the axis of a plot: a line each, a column that is asked again not named again."""
    lines: list[str] = []
    last = ""
    for condition in bucket.conditions:
        column, sign, value = condition.split(" ", 2)
        name = {"capital-gain": "gain", "education-num": "edu"}.get(column, column)
        lines.append(f"{'' if column == last else name}{_SIGNS.get(sign, sign)}{value}")
        last = column
    return ",\n".join(lines)
