"""Evaluations of an Adult release, against one ``group_by``: count queries and association rules."""

from __future__ import annotations

import polars as pl

from benchmarks.harness import ADULT, ADULT_COLUMNS, ADULT_NINE, CENSUS_EIGHT, Comparison, case, run, yardstick_groupby
from shoal.algorithms.mondrian import Mondrian
from shoal.io.census import generate
from shoal.recipe.source import read
from shoal.release.entry import anonymize
from shoal.utility.association_rules import AssociationRules
from shoal.utility.count_queries import answer
from shoal.utility.queries import RandomQueries
from shoal.utility.reading import Reading, read_release


def reading() -> Reading:
    """Adult's nine columns, occupation sensitive, by Mondrian; a census of as many rows where Adult is not there."""
    if ADULT.is_file():
        frame = pl.read_csv(ADULT, has_header=False, new_columns=list(ADULT_COLUMNS), infer_schema=False)
        trimmed = frame.select(pl.col(ADULT_NINE).str.strip_chars())
        frame = trimmed.filter(~pl.any_horizontal(pl.all() == "?")).drop_nulls()
        frame, sensitive = frame.with_columns(pl.col("age").cast(pl.Int64)), "occupation"
    else:
        frame, sensitive = generate(30_162).select(*CENSUS_EIGHT, "diagnosis"), "diagnosis"
    quasi = [name for name in frame.columns if name != sensitive]
    table = read(frame, quasi=quasi, sensitive=[sensitive], missing="value")
    return read_release(anonymize(table, algorithm=Mondrian(k=10), acknowledge=[f"W-UNMODELLED:{sensitive}"], seed=1))


@case("count queries: 10,000 with five quasi-identifiers, original and release, in group_bys")
def count_queries() -> Comparison:
    rows = reading()
    queries = RandomQueries(count=10_000, quasi=5).make(rows)
    return Comparison(lambda: answer(rows, queries), yardstick=yardstick_groupby(), limit=300.0)


@case("association rules: support 1 %, any length, original and release, in group_bys")
def rules() -> Comparison:
    rows = reading()
    spec = AssociationRules(support=0.01, longest=None)
    return Comparison(lambda: spec.run(rows), yardstick=yardstick_groupby(), limit=300.0)


if __name__ == "__main__":
    run([count_queries, rules])
