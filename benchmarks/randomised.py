"""Random anonymisation against copying the table, and its attacks against one grouping of Adult."""

from __future__ import annotations

import numpy as np
import polars as pl

from benchmarks.harness import ADULT, ADULT_COLUMNS, ADULT_NINE, Comparison, Work, case, run, yardstick_groupby
from shoal.algorithms.base import Problem
from shoal.algorithms.links.random import RandomAnonymisation
from shoal.data.build import build_table
from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.data.table import Table
from shoal.engines.memory import MemoryEngine
from shoal.io.census import generate
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge
from shoal.recipe.source import read
from shoal.recoding.randomised import Randomised, describe_randomised
from shoal.risk.attacks.randomised import attack_randomised
from shoal.utility.posterior import posterior

CARDS = (74, 7, 16, 7, 14, 5, 2, 41, 2)
ROWS = 10_000_000


def _problem(table: Table) -> Problem:
    engine = MemoryEngine()
    judge = Judge([], whole_reference(engine.open(table), []))
    return Problem(rows=engine.open(table), judge=judge, keys=Keys.from_seed(1))


def _drawing(redraw: int) -> tuple[Work, Work]:
    rng = np.random.default_rng(1)
    columns = {f"c{place}": rng.integers(0, card, ROWS, dtype=np.int32) for place, card in enumerate(CARDS)}
    frame = pl.DataFrame(columns)
    problem = _problem(build_table(frame, Schema(quasi=frame.columns)))

    def copy() -> pl.DataFrame:
        # Adding 0 makes Polars write every cell; a clone alone would share them.
        drawn = np.random.default_rng(2).integers(0, CARDS[0], ROWS, dtype=np.int32)
        return frame.select(pl.all() + 0).with_columns(pl.Series("c0", drawn))

    return lambda: RandomAnonymisation(redraw=redraw).run(problem), copy


@case("redraw one column, 10 million rows x 9 / Polars copies them and draws one column")
def drawing() -> Comparison:
    """Algorithm 1."""
    return Comparison(*_drawing(1), limit=3.0)


@case("redraw three columns, 10 million rows x 9 / Polars copies them and draws one column")
def drawing_three() -> Comparison:
    """Algorithm 2."""
    return Comparison(*_drawing(3))


def _nine(redraw: int) -> Randomised:
    """Nine quasi-identifiers of Adult, or as many of a synthetic census where ``../shared`` is not there."""
    if ADULT.is_file():
        quasi = [name for name in (*ADULT_NINE, "relationship") if name != "occupation"]
        rest = [name for name in ADULT_COLUMNS if name not in (*quasi, "occupation")]
        table = read(
            ADULT, columns=list(ADULT_COLUMNS), quasi=quasi, sensitive=["occupation"], drop=rest,
            missing_markers=["?"], missing="drop",
        )  # fmt: skip
    else:
        frame = generate(30_162)
        quasi = ["age", "sex", "region", "marital_status", "education", "occupation", "industry"]
        rest = [name for name in frame.columns if name not in (*quasi, "diagnosis")]
        table = read(frame, quasi=quasi, sensitive=["diagnosis"], drop=rest, missing="value")
    return describe_randomised(table, RandomAnonymisation(redraw=redraw).run(_problem(table)))


@case("exact posterior of every record, Adult x 9 / Polars group_by")
def bayes() -> Comparison:
    """One column redrawn."""
    described = _nine(1)
    return Comparison(lambda: posterior(described), yardstick_groupby(), limit=500.0)


@case("all attacks on random anonymisation, Adult x 9 / Polars group_by")
def attacking() -> Comparison:
    """Posterior, linkage of the sensitive attribute, baselines."""
    described = _nine(1)
    return Comparison(lambda: attack_randomised(described), yardstick_groupby(), limit=1000.0)


@case("exact posterior of every record, three columns redrawn, Adult x 9 / Polars group_by")
def bayes_three() -> Comparison:
    """130 sets of columns."""
    described = _nine(3)
    return Comparison(lambda: posterior(described), yardstick_groupby())


if __name__ == "__main__":
    run([drawing, drawing_three, bayes, attacking, bayes_three])
