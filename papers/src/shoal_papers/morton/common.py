"""What the experiments of Morton et al. have in common: the data sets, our research values, and independent counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_builders import intervals
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.recipe.source import read
from shoal_papers.adult import adult_hierarchies
from shoal_papers.base import Context
from shoal_papers.standins import StandIn

POOL = 30
TARGET = "salary-class"
QUASI = (
    "age", "workclass", "education-num", "marital-status", "occupation", "race", "sex", "native-country",
    "capital-gain", TARGET,
)  # fmt: skip
NUMBERS = ("age", "education-num", "capital-gain")
# Section 5.1 has two numbers, age and education number: capital gain is a category of six groups, and of two above.
GROUPS = {
    "0": (0, 0), "1-3000": (1, 3000), "3001-6000": (3001, 6000), "6001-10000": (6001, 10_000),
    "10001-20000": (10_001, 20_000), "20001-99999": (20_001, 99_999),
}  # fmt: skip
POOR, RICH = "up to 6000", "6001 and more"
HALVES = {POOR: (0, 6000), RICH: (6001, 99_999)}
# Research values of ours: what a column is worth, and what an expert wants kept apart.
WEIGHTS = {
    "age": 0.15, "workclass": 0.05, "education-num": 0.15, "marital-status": 0.05, "occupation": 0.05, "race": 0.05,
    "sex": 0.05, "native-country": 0.05, "capital-gain": 0.2, TARGET: 0.2,
}  # fmt: skip
RULES = (
    {"column": "capital-gain", "separate": [POOR, RICH], "importance": 1},
    {"column": "age", "boundary": 27, "importance": 1},
    {"column": "education-num", "boundary": 12, "importance": 1},
)
# The same where neither age nor capital gain may become 'any'.
KEPT = (*({**rule, "keep": True} for rule in RULES[:2]), RULES[2])
_EDGES = {
    "age": [
        [17, 23, 28, 33, 38, 43, 48, 53, 58, 63, 68, 91], [17, 28, 38, 48, 58, 91], [17, 28, 48, 91], [17, 28, 91],
    ],
    "education-num": [[1, 5, 9, 10, 13, 15, 17], [1, 9, 13, 17], [1, 13, 17]],
    "capital-gain": [[0, 1, 3001, 6001, 10001, 20001, 100_000], [0, 6001, 100_000]],
}  # fmt: skip
STANDIN = (
    "The death certificates are not public: 'synthetic-mcphd' stands for them, with 30 attributes drawn by the seed, "
    "and every figure is about the stand-in."
)
VALUES = (
    "Research values are set by hand, as Section 6.2.1 says of this data; those of the document are lost. Ours are "
    "drawn by the seed as Tables 3 to 5 have them: an attribute is worth 0.75 to 0.95 as it is, a level 0.1 to 0.9 of "
    "what the one below it is worth, and 'any' nothing."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """Some attributes of the stand-in, as the document's m12 or r08, with the levels that are left of them.

    Those of which 'any' alone is left tell nothing and are not in the frame. ``values`` are an expert's, a level each.
    """

    name: str
    attributes: int
    table: Table
    frame: pl.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    values: Mapping[str, Sequence[float]]


def certificates(context: Context, seed: int, rows: int) -> StandIn:
    """The stand-in for the death certificates."""
    return context.data.standin("synthetic-mcphd", n=rows, seed=seed, attributes=POOL)


def data_set(made: StandIn, name: str, strings: int | None = None) -> DataSet:
    """``"m12"``: the 12 attributes of the most levels, ties by lot; ``"r12"``: 12 by lot.

    With as many strings as given, or nearly so; None: with all levels.
    """
    lots = Keys.from_seed(made.seed).generator("papers/morton/attributes")
    columns = [made.frame.columns[place] for place in lots.permutation(len(made.frame.columns))]
    weights = {column: round(0.75 + 0.05 * float(lots.integers(0, 5)), 2) for column in columns}
    if name[0] == "m":
        columns.sort(key=lambda column: -len(made.hierarchies[column].rows()[0]))
    drawn = columns[: int(name[1:])]
    trees = thinned({column: made.hierarchies[column] for column in drawn}, strings)
    frame = made.frame.select(list(trees))
    values = {}
    for column, tree in trees.items():
        steps = lots.uniform(0.1, 0.9, tree.height - 1)
        worth = weights[column] * np.cumprod([1.0, *steps])
        values[column] = [*(round(float(one), 2) for one in worth), 0.0]
    table = read(frame, quasi=list(trees), hierarchies=trees)
    return DataSet(name=name, attributes=len(drawn), frame=frame, hierarchies=trees, values=values, table=table)


def thinned(trees: Mapping[str, Hierarchy], strings: int | None) -> dict[str, Hierarchy]:
    """Hierarchies with so few levels that there are so many strings; those left with 'any' alone are left out."""
    sizes = [len(tree.rows()[0]) for tree in trees.values()]
    counts = sizes if strings is None else level_counts(sizes, strings)
    if max(counts) == 1:  # a single string leaves nothing to search
        counts = [2, *counts[1:]]
    return {
        name: with_levels(tree, spread(size, count))
        for (name, tree), size, count in zip(trees.items(), sizes, counts, strict=True)
        if count > 1
    }


def level_counts(sizes: Sequence[int], strings: int) -> list[int]:
    """Levels of every column whose product is the number of strings, or the next below it that can be had.

    The first columns get as many as they can.
    """
    # Products that the columns from each place on can have.
    reached = [{1}]
    for size in reversed(sizes):
        times = range(1, size + 1)
        reached.insert(0, {one * count for one in reached[0] for count in times if one * count <= strings})
    left, found = max(reached[0]), []
    for size, after in zip(sizes, reached[1:], strict=True):
        count = next(one for one in range(size, 0, -1) if left % one == 0 and left // one in after)
        found.append(count)
        left //= count
    return found


def spread(there: int, wanted: int) -> list[int]:
    """So many of the levels, the first and the last among them, at about equal steps."""
    return [round(place * (there - 1) / (wanted - 1)) for place in range(wanted)]


def with_levels(tree: Hierarchy, levels: Sequence[int]) -> Hierarchy:
    """A hierarchy with some of its levels only."""
    return Hierarchy.from_rows(tree.name, [[row[level] for level in levels] for row in tree.rows()])


def adult_table(frame: pl.DataFrame, *, numbers: bool = False) -> Table:
    """All ten attributes as quasi-identifiers, the document's numbers of levels for categories, ours for numbers.

    With ``numbers`` capital gain is one of those.
    """
    known = adult_hierarchies(QUASI)
    trees = {name: with_levels(known[name], (0, 2, 3)) for name in ("workclass", "marital-status")}
    trees |= {name: with_levels(known[name], (0, -1)) for name in QUASI if name in known and name not in trees}
    trees |= {name: intervals(name, texts(frame, name), edges) for name, edges in _EDGES.items()}
    if not numbers:
        halves = [next(half for half, (_, most) in HALVES.items() if high <= most) for _, high in GROUPS.values()]
        rows = [[group, half, "*"] for group, half in zip(GROUPS, halves, strict=True)]
        trees["capital-gain"] = Hierarchy.from_rows("capital-gain", rows)
        frame = grouped(frame)
    return read(frame.select(QUASI), quasi=list(QUASI), hierarchies=trees, weights=WEIGHTS)


def grouped(frame: pl.DataFrame) -> pl.DataFrame:
    """Adult with capital gain in its six groups."""
    gain = pl.col("capital-gain").cast(pl.Int64)
    return frame.with_columns(
        pl.coalesce(pl.when(gain.is_between(low, high)).then(pl.lit(group)) for group, (low, high) in GROUPS.items())
        .alias("capital-gain")
    )  # fmt: skip


def local_table(frame: pl.DataFrame) -> Table:
    """The same for local recoding: numbers become intervals of their own, categories have the same hierarchies."""
    trees = {name: column.hierarchy for name, column in adult_table(frame).columns.items() if name not in NUMBERS}
    return read(frame.select(QUASI), quasi=list(QUASI), hierarchies=trees)


def texts(frame: pl.DataFrame, name: str) -> list[str]:
    """The different values of a column of numbers."""
    return [str(value) for value in frame[name].unique().sort().to_list()]


def smallest_class(frame: pl.DataFrame, columns: Sequence[str]) -> int:
    """Records of the smallest class of a published frame, counted anew."""
    return int(frame.group_by(list(columns)).len()["len"].to_numpy().min())


def at_levels(frame: pl.DataFrame, trees: Mapping[str, Hierarchy], levels: Mapping[str, int]) -> pl.DataFrame:
    """A frame with its columns at given levels, by looking every value up in its hierarchy."""
    shown = [
        pl.col(name).cast(pl.String).replace_strict({row[0]: row[level] for row in trees[name].rows()})
        for name, level in levels.items()
    ]
    return frame.select(shown)


def told(claim: Any, reading: str) -> str:
    """A claim under another reading, in a sentence."""
    return f"{reading}: {claim.text}: {claim.verdict}. {claim.evidence}"
