"""What the experiments of Poovammal & Ponnavaikko have in common: T, their table of Adult, and T' made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.algorithms.links.pseudonyms import TableTransform, ValueMapping
from shoal.data.table import Table
from shoal.recipe.source import read
from shoal.recoding.secrets import Secret
from shoal.results import Release
from shoal_papers.base import Context
from shoal_papers.runs import release, sample

NUMBER, CATEGORY = "age", "education"
QUASI = ("relationship", "sex", "race", "workclass", "marital-status", "occupation", "native-country")
COLUMNS = (NUMBER, CATEGORY, *QUASI)
MAPPED, EQUAL, UNEQUAL = "mapping only", "equal widths", "unequal widths"
DOUBLED, LINE = "names 1, 2, 4, 8, 16", "shared bounds"
# Ways to grade age in five categories; the document gives neither the bounds nor the names that it used on Adult.
GRADINGS: Mapping[str, Mapping[str, Any]] = {
    EQUAL: {},
    UNEQUAL: {"bounds": "quantile"},
    DOUBLED: {"names": [1, 2, 4, 8, 16]},
    LINE: {
        "bounds": [[15, 30], [30, 45], [45, 60], [60, 75], [75, 90]], "names": [1, 2, 3, 4, 5], "max_rule": "table8",
        "allow_shared_bounds": True,
    },
}  # fmt: skip
CATEGORIES, COMPLETE = "category", "complete"
MISSING = {CATEGORIES: "'?' as a category", COMPLETE: "complete rows"}
ROWS = (
    "The document counts 32,558 records of Adult; the training file has 32,561, all of which are taken, with '?' as a "
    "category of its own."
)
GRADES = (
    "Bounds and names on Adult are not given: 'equal widths' is five categories of the range of age with names 1 to 5 "
    "and memberships up to 0.999, 'unequal widths' has a fifth of the records in each category, the third changes the "
    "names only, and 'shared bounds' has Table 8's membership of 1 at a maximum on categories of [15, 90] that meet, "
    "which makes the code a straight line of age; that of Table 8 is none, whose third category cannot begin below 46."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair:
    """T and T' row by row, and what only the publisher has: the release behind T' and its secrets by column."""

    before: pl.DataFrame
    after: pl.DataFrame
    made: Release

    def secret(self, column: str) -> Secret:
        """What reads a column's codes back."""
        return next(one for one in self.made.secrets if one.column == column)


def people(context: Context, seed: int, missing: str = CATEGORIES, also: Sequence[str] = ()) -> pl.DataFrame:
    """The nine attributes, and others asked for, of as many records as the item takes."""
    frame = context.data.adult(complete=missing == COMPLETE).select([*COLUMNS, *also])
    return sample(frame.with_columns(pl.col(pl.String).fill_null("?")), context.parameters["rows"], seed)


def table_of(frame: pl.DataFrame) -> Table:
    """Age and education are sensitive, the other seven quasi-identifiers, anything else neutral."""
    return read(frame, quasi=list(QUASI), sensitive=[NUMBER, CATEGORY],
                neutral=[name for name in frame.columns if name not in COLUMNS])  # fmt: skip


def transform(frame: pl.DataFrame, seed: int, how: str) -> Pair:
    """T' by one of the gradings, or with education mapped and age left alone."""
    algorithm: Algorithm = ValueMapping(on=CATEGORY) if how == MAPPED else TableTransform(**GRADINGS[how])
    made = release(table_of(frame), algorithm, seed=seed)
    return Pair(before=frame, after=made.aligned().select(frame.columns), made=made)
