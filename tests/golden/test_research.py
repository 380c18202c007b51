"""Research value: the worked examples of Morton et al., and what their tables contradict."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.data.column import Column
from shoal.recipe.source import read
from shoal.utility.research_labels import spans
from shoal.utility.research_rules import Constraint
from shoal.utility.research_value import ResearchValue, kept_importance
from tests.golden.test_adult import COLUMNS

# Sec. 4: 125 records in three groups of 25, 45 and 55 that span 10, 15 and 25 values.
BANDS = [(0, 10, 25), (10, 15, 45), (25, 25, 55)]
# Table 1: who is not to be mixed with whom, and how much that matters.
RACES = [("White", "Hispanic", 5), ("White", "Black", 20), ("Hispanic", "Black", 10), ("Hispanic", "Asian", 5)]
# Groups of a level, and the share of the importance it keeps; the last two are levels of Fig. 1.
MIXED: dict[str, tuple[dict[str, str], Fraction]] = {
    "MO-03": ({"White": "W", "Black": "BH", "Hispanic": "BH", "Asian": "A"}, Fraction(3, 4)),
    "MO-04": ({"White": "W", "Black": "B", "Hispanic": "O", "Asian": "O"}, Fraction(7, 8)),
    "MO-05": ({"White": "W", "Black": "O", "Hispanic": "O", "Asian": "O"}, Fraction(5, 8)),
}
# Table 3: a level's groups, the rules' importances (kept, broken), the formula's value, and the one printed.
TABLE_3: dict[str, tuple[dict[str, str], tuple[int, int], Fraction, float]] = {
    "MO-06": ({"W": "W", "B": "B", "L": "O", "A": "O", "O": "O"}, (1, 0), Fraction(57, 100), 0.58),
    "MO-07": ({"W": "W", "B": "B", "L": "L", "A": "O", "O": "O"}, (18, 1), Fraction(72, 100), 0.72),
}
# Figs 6 and 7: condition on complete Adult rows, who earns what, records and the share of them printed.
PATTERNS: dict[str, tuple[pl.Expr, str, int, int, float]] = {
    "MO-09": (pl.col("capital-gain") >= 7298, ">50K", 1330, 1312, 0.98),
    "MO-10": ((pl.col("capital-gain") < 7298) & (pl.col("age") < 28), "<=50K", 7162, 6952, 0.97),
    "MO-11": (pl.col("capital-gain") >= 6001, ">50K", 1387, 1324, 0.95),
    "MO-12": (pl.col("age") >= 0, "<=50K", 30162, 22654, 0.75),
}
# Tables 4 and 5: run, k, best value of the global and of the local method.
RUNS = [
    ("m03", 3, 0.15, 0.15), ("m03", 5, 0.15, 0.15), ("m08", 3, 1.10, 1.10), ("m08", 5, 1.10, None),
    ("m12", 3, 1.00, 1.15), ("m12", 5, 1.00, None), ("m24", 3, None, 1.20), ("r03", 3, 0.95, 0.95),
    ("r03", 5, 0.48, 0.95), ("r08", 3, 1.00, 1.05), ("r08", 5, 1.00, None), ("r12", 3, 1.00, 1.05),
    ("r12", 5, 1.00, None), ("r24", 5, None, None),
]  # fmt: skip
# Table 2, with the two commas restored that line breaks swallowed.
ATTRIBUTES = (
    "race sex age-in-days college industry autopsy census-tract cause-of-death certifier-type citizenship "
    "city-of-birth date-of-birth date-of-death disposition-method education farm informant-relationship injury-am/pm "
    "injury-census injury-county-code injury-date manner-of-death marital-status military motor-vehicle-accident "
    "occupation-category occupation-code place-of-death-city place-of-death-code place-of-death-state "
    "place-of-death-zip pregnant state-of-birth us-vet zipcode injury-time time-of-death"
)
COVERED = {"MO-01", "MO-02", *MIXED, *TABLE_3, "MO-08", *PATTERNS, "MO-13", "MO-14", "MO-15"}


def grouped(groups: dict[str, str], **parameters: Any) -> tuple[Column, list[float]]:
    """A column with one level of groups between its values and everything, and its levels' values."""
    rows = [[value, f"group {group}", "*"] for value, group in groups.items()]
    table = read(pl.DataFrame({"race": list(groups)}), quasi=["race"], hierarchies={"race": rows})
    (found,) = ResearchValue(normalise=False, **parameters).level_values(table.quasi, table.domain.quasi_weights)
    return table.columns["race"], found.tolist()


@pytest.fixture(scope="module")
def banded() -> Column:
    values = [first + place % width for first, width, count in BANDS for place in range(count)]
    rows = [
        [str(value), f"{first} to {first + width - 1}", "*"]
        for first, width, _ in BANDS
        for value in range(first, first + width)
    ]
    return read(pl.DataFrame({"x": values}), quasi=["x"], hierarchies={"x": rows}).columns["x"]


def test_mo_01_a_numeric_level(banded: Column) -> None:
    # Half of the importance is kept: no band reaches over 9, one does over 4.
    rules = [{"column": "x", "boundary": 9, "importance": 50}, {"column": "x", "boundary": 4, "importance": 50}]
    (found,) = ResearchValue(rules=rules, normalise=False).level_values([banded], np.array([0.2]))
    assert found.tolist() == pytest.approx([0.2, 1 / 184, 0.0], abs=1e-12)
    assert found[1] == pytest.approx(0.0054, abs=5e-5)


def test_mo_02_the_printed_fraction_is_upside_down(banded: Column) -> None:
    assert banded.hierarchy is not None
    level = banded.hierarchy.ancestors[1]
    spread = float((np.bincount(level, weights=banded.frequencies) * spans(banded, level)).sum())
    assert 0.2 * spread / 125 * 0.5 == pytest.approx(46 / 25)
    assert 0.2 * 125 / spread * 0.5 == pytest.approx(1 / 184)


@pytest.mark.parametrize("name", MIXED)
def test_importance_kept(name: str) -> None:
    groups, expected = MIXED[name]
    rules = [Constraint(column="race", separate=(one, other), importance=much) for one, other, much in RACES]
    column, _ = grouped(groups)
    assert kept_importance(rules, column).tolist() == pytest.approx([1.0, float(expected), 0.0])


@pytest.mark.parametrize("name", TABLE_3)
def test_a_categorical_level(name: str) -> None:
    """Both weigh 0.95. No rules can give the printed 0.58 at all; 0.72 needs a ratio of 18/19, solved for."""
    groups, (kept, broken), expected, printed = TABLE_3[name]
    rules: list[dict[str, Any]] = [{"column": "race", "separate": ["W", "B"], "importance": kept}]
    if broken:
        rules.append({"column": "race", "separate": ["A", "O"], "importance": broken})
    column, _ = grouped(groups)
    (found,) = ResearchValue(rules=rules, normalise=False).level_values([column], np.array([0.95]))
    assert found[1] == pytest.approx(float(expected), abs=1e-12)
    assert (found[1] == pytest.approx(printed, abs=1e-9)) == (name == "MO-07")


def test_mo_08_white_and_other() -> None:
    rules = [{"column": "race", "separate": [one, other], "importance": much} for one, other, much in RACES]
    _, found = grouped(MIXED["MO-05"][0], rules=rules)
    assert found == pytest.approx([1.0, 5 / 16, 0.0])


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_of_adult(name: str, adult: Path) -> None:
    where, earns, records, hits, printed = PATTERNS[name]
    table = read(adult, columns=COLUMNS, quasi=COLUMNS, missing_markers=["?"], missing="drop")
    mine = table.frame.with_columns(pl.col("age", "capital-gain").cast(pl.Int64)).filter(where)
    found = int((mine["salary"] == earns).sum())
    assert (mine.height, found) == (records, hits)
    # Printed shares are cut off rather than rounded.
    assert int(100 * found / records) / 100 == printed


def test_mo_13_local_results_that_beat_the_optimum() -> None:
    beaten = [f"{run} k={k}" for run, k, best, local in RUNS if local is not None and (best is None or local > best)]
    assert beaten == ["m12 k=3", "m24 k=3", "r03 k=5", "r08 k=3", "r12 k=3"]


def test_mo_14_runs_without_a_local_result() -> None:
    """The text says three."""
    assert sum(local is None for run, _, _, local in RUNS if run.startswith("m")) == 2


def test_mo_15_attributes_named() -> None:
    """The text says 36, and thirty elsewhere."""
    assert len(ATTRIBUTES.split()) == 37
