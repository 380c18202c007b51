"""Grouping, partitioning, end to end and audit, each against what Polars needs for the plain part of the work."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.harness import Comparison, Work, case, coded_census, run, yardstick_groupby, yardstick_sort
from shoal.algorithms.base import Problem
from shoal.algorithms.mondrian import Mondrian
from shoal.data.build import build_table
from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.engines.memory import MemoryEngine
from shoal.io.census import generate
from shoal.io.files import read_frame
from shoal.kernels.grouping import group_rows
from shoal.models.diversity import DistinctL
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.models.size import KAnonymity
from shoal.recipe.source import read
from shoal.release.entry import anonymize
from shoal.risk.audit import audit

CARDS = (74, 7, 16, 7, 14, 5, 2, 41, 2)
FOLDER = Path(tempfile.mkdtemp(prefix="shoal-benchmark-"))


def _grouping(distinct: int) -> Comparison:
    """10 million rows of nine coded columns, keys packed on the way."""
    rng = np.random.default_rng(1)
    kinds = np.stack([rng.integers(0, card, distinct, dtype=np.int32) for card in CARDS])
    codes = np.ascontiguousarray(kinds[:, rng.integers(0, distinct, 10_000_000)])
    frame = pl.DataFrame({f"c{place}": column for place, column in enumerate(codes)})
    return Comparison(lambda: group_rows(codes, np.array(CARDS)), yardstick_groupby(frame), limit=1.0)


@case("group 10 million rows, 20,000 combinations / Polars group_by")
def grouping_few() -> Comparison:
    """Few distinct combinations."""
    return _grouping(20_000)


@case("group 10 million rows, 2 million combinations / Polars group_by")
def grouping_many() -> Comparison:
    """Many distinct combinations."""
    return _grouping(2_000_000)


def _mondrian(rows: int, cut: str = "widest") -> tuple[Work, pl.DataFrame]:
    frame = coded_census(rows)
    table = build_table(frame, Schema(quasi=frame.columns))
    models = [KAnonymity(k=10)]
    engine = MemoryEngine()
    judge = Judge(models, whole_reference(engine.open(table), list(models)))
    problem = Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))
    return lambda: Mondrian(cut=cut).run(problem), frame


@case("Mondrian k = 10, 1 million rows x 8 / Polars sort")
def mondrian() -> Comparison:
    """The paper's cut."""
    work, frame = _mondrian(1_000_000)
    return Comparison(work, yardstick_sort(frame), limit=2.0)


@case("Mondrian k = 10, 10 million rows / 1 million rows (n log n: 11.7)")
def mondrian_growth() -> Comparison:
    """n log n to the next power of ten is a factor of 10 x 7/6."""
    return Comparison(_mondrian(10_000_000)[0], _mondrian(1_000_000)[0], limit=11.7)


@case("Mondrian best cut, k = 10, 100,000 rows / widest cut")
def mondrian_best() -> Comparison:
    """What the better cut costs."""
    return Comparison(_mondrian(100_000, "best")[0], _mondrian(100_000)[0])


def _census_file(rows: int) -> Path:
    path = FOLDER / f"census-{rows}.csv"
    if not path.exists():
        generate(rows).write_csv(path)
    return path


@case("CSV to gated release on disk, 1 million rows / Polars reads and rewrites the CSV")
def end_to_end() -> Comparison:
    """Read, code, cut, gate, measure, write, against reading and writing the same file."""
    path = _census_file(1_000_000)
    columns = pl.read_csv(path, n_rows=1).columns
    quasi = ["age", "sex", "postcode", "region", "marital_status", "education", "occupation", "industry"]
    rest = [name for name in columns if name not in (*quasi, "name", "diagnosis")]

    def work() -> None:
        table = read(
            path, identifiers=["name"], quasi=quasi, sensitive=["diagnosis"], drop=rest, missing="value",
            settings={"postcode": {"type": "categorical"}}, hierarchies={"postcode": {"prefix": [4, 3, 2, 1]}},
        )  # fmt: skip
        release = anonymize(table, algorithm=Mondrian(k=10), models=[DistinctL(l=2)], seed=1)
        release.write(FOLDER / "release", replace=True)

    return Comparison(work, lambda: pl.read_csv(path).write_csv(FOLDER / "copy.csv"), limit=8.0)


@case("audit of 1 million rows (k, l, t, alpha) / Polars group_by over the text columns")
def auditing() -> Comparison:
    """All figures together, on the columns as they were read."""
    frame = read_frame(_census_file(1_000_000))
    quasi = ["age", "sex", "postcode", "region", "marital_status", "education", "occupation", "industry"]
    return Comparison(
        lambda: audit(frame, quasi=quasi, sensitive=["diagnosis"]),
        lambda: frame.group_by(quasi).len(),
        limit=10.0,
    )


if __name__ == "__main__":
    run([grouping_few, grouping_many, mondrian, mondrian_growth, mondrian_best, end_to_end, auditing])
