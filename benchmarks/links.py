"""Microaggregation and Anatomy on Adult, against one Polars group_by over its nine columns."""

from __future__ import annotations

import sys

from benchmarks.harness import ADULT, ADULT_COLUMNS, Comparison, case, run, yardstick_groupby
from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.anatomy import Anatomy
from shoal.algorithms.links.microaggregation import Microaggregation
from shoal.data.keys import Keys
from shoal.engines.memory import MemoryEngine
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read

SIX = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def _run(algorithm: Algorithm, limit: float) -> Comparison:
    """The algorithm alone, on a table that is coded already."""
    if not ADULT.is_file():
        sys.exit("This benchmark needs ../shared/data/adult beside the checkout.")
    table = read(
        ADULT, columns=ADULT_COLUMNS, missing_markers=["?"], missing="drop", quasi=SIX, sensitive=["occupation"],
        drop=[name for name in ADULT_COLUMNS if name not in (*SIX, "occupation")],
    )  # fmt: skip
    engine, models = MemoryEngine(), algorithm.models()
    judge = Judge(models, whole_reference(engine.open(table), models))
    problem = Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))
    return Comparison(lambda: algorithm.run(problem), yardstick_groupby(), limit)


@case("MDAV, six numbers, k = 10 / group_by")
def mdav() -> Comparison:
    return _run(Microaggregation(k=10), 500.0)


@case("Anatomy, l = 7 / group_by")
def anatomy() -> Comparison:
    return _run(Anatomy(l=7), 25.0)


if __name__ == "__main__":
    run([mdav, anatomy])
