"""The proven optimum of a full-domain lattice, against one Polars group_by over the same columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import ADULT, ADULT_COLUMNS, Comparison, Work, case, run, yardstick_groupby
from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.optimal import Optimal
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.models.base import Model
from shoal.models.closeness import TCloseness
from shoal.models.diversity import DistinctL
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.size import KAnonymity
from shoal.recipe.source import read

NINE = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip


def adult(quasi: Sequence[str], sensitive: Sequence[str] = ()) -> Table:
    """Adult with its hierarchies."""
    if not ADULT.is_file():
        sys.exit("This benchmark needs ../shared/data/adult beside the checkout.")
    used = [*quasi, *sensitive]
    return read(
        ADULT, columns=ADULT_COLUMNS, missing_markers=["?"], missing="drop", quasi=list(quasi),
        sensitive=list(sensitive),
        drop=[name for name in ADULT_COLUMNS if name not in used],
        hierarchies={name: str(ADULT.parent / f"adult_hierarchy_{name}.csv") for name in quasi},
    )  # fmt: skip


def problem(table: Table, models: Sequence[Model]) -> Problem:
    """A table and its models, ready to search."""
    engine = MemoryEngine()
    judge = Judge(models, whole_reference(engine.open(table), list(models)))
    return Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))


def _afresh(algorithm: Optimal, asked: Problem) -> Work:
    """Searches that begin with grouping the rows, which open rows do once."""
    return lambda: algorithm.run(replace(asked, rows=MemoryEngine().open(asked.table)))


def _search(table: Table, models: Sequence[Model], suppression: float, limit: float | None) -> Comparison:
    asked = problem(table, models)
    algorithm = Optimal(measure="arx-loss", suppression_limit=suppression)
    notes = algorithm.run(asked).notes
    print(f"  {notes['checked']} of {notes['nodes']} nodes checked, pruned {notes['pruned']}", file=sys.stderr)
    codes = pl.DataFrame({name: table.codes[name] for name in NINE if name in table.columns})
    return Comparison(_afresh(algorithm, asked), yardstick_groupby(codes), limit)


@case("optimum, k = 5, nothing suppressed / group_by")
def nothing_suppressed() -> Comparison:
    """ARX: about 17 yardsticks."""
    return _search(adult(NINE), [KAnonymity(k=5)], 0.0, 10)


@case("optimum, k = 5, up to 2 % suppressed / group_by")
def some_suppressed() -> Comparison:
    """ARX: about 420 yardsticks."""
    return _search(adult(NINE), [KAnonymity(k=5)], 0.02, 40)


@case("optimum, k = 5, up to everything suppressed / group_by")
def any_suppressed() -> Comparison:
    """ARX: about 1,750 yardsticks, 560 with its best tuning."""
    return _search(adult(NINE), [KAnonymity(k=5)], 1.0, 70)


@case("optimum, k = 5 and distinct 5, up to everything suppressed / group_by")
def distinct() -> Comparison:
    """ARX: about 570 yardsticks."""
    eight = [name for name in NINE if name != "occupation"]
    return _search(adult(eight, ["occupation"]), [KAnonymity(k=5), DistinctL(l=5)], 1.0, 40)


@case("optimum, k = 5 and t = 0.2, up to everything suppressed / group_by")
def closeness() -> Comparison:
    """ARX: about 950 yardsticks."""
    eight = [name for name in NINE if name != "occupation"]
    models = [KAnonymity(k=5), TCloseness(t=0.2, distance="equal")]
    return _search(adult(eight, ["occupation"]), models, 1.0, 200)


def _resampled(distinct: int) -> Comparison:
    """10 million rows of six attributes with three levels each: one group-by more than the frequency table needs."""
    rng = np.random.default_rng(1)
    cards = (100, 50, 20, 20, 10, 10)
    kinds = np.stack([rng.integers(0, card, distinct, dtype=np.int32) for card in cards])
    picks = rng.integers(0, distinct, 10_000_000)
    frame = pl.DataFrame({f"q{a}": codes[picks] for a, codes in enumerate(kinds)})
    hierarchies: dict[str, Any] = {f"q{a}": {"widths": [5, 10], "origin": 0} for a in range(len(cards))}
    table = read(frame, quasi=frame.columns, hierarchies=hierarchies)
    asked = problem(table, [KAnonymity(k=100)])
    algorithm = Optimal(measure="lm", suppression_limit=0.02)
    return Comparison(_afresh(algorithm, asked), yardstick_groupby(frame))


@case("optimum on 10 million rows, 20,000 combinations / group_by of those rows")
def many_rows_few_combinations() -> Comparison:
    """Few combinations: the search costs little beside the one group-by."""
    return _resampled(20_000)


@case("optimum on 10 million rows, 2 million combinations / group_by of those rows")
def many_rows_many_combinations() -> Comparison:
    """Many combinations: the search grows with them and not with the rows."""
    return _resampled(2_000_000)


if __name__ == "__main__":
    run(
        [
            nothing_suppressed, some_suppressed, any_suppressed, distinct, closeness, many_rows_few_combinations,
            many_rows_many_combinations,
        ]
    )  # fmt: skip
