"""The worked examples of Morton et al.: research values, rules, and what the printed tables say of each other.

Those on Adult (MO-09 to MO-12) are with the figures they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from shoal.data.column import Column
from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_builders import intervals
from shoal.recipe.source import read
from shoal.risk.audit import audit
from shoal.utility.research_rules import Constraint
from shoal.utility.research_value import ResearchValue, detail_shares, kept_importance
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import equals, info
from shoal_papers.runs import worked_examples

# Table 1: do not mix these, and how important that is.
RACE_RULES = (("White", "Hispanic", 5), ("White", "Black", 20), ("Hispanic", "Black", 10), ("Hispanic", "Asian", 5))
# A label of a hierarchy stands for one group, so that the document's 'Other' has a number a level.
FIG_1 = (
    ("White", "White", "White", "*"), ("Black", "Black", "Other 2", "*"), ("Hispanic", "Other 1", "Other 2", "*"),
    ("Asian", "Other 1", "Other 2", "*"),
)  # fmt: skip
MIXED = (
    ("White", "White", "*"), ("Black", "Black or Hispanic", "*"), ("Hispanic", "Black or Hispanic", "*"),
    ("Asian", "Asian", "*"),
)  # fmt: skip
TABLE_3 = (
    ("W", "W", "W", "W", "*"), ("B", "B", "B", "O 3", "*"), ("L", "L", "O 2", "O 3", "*"),
    ("A", "O 1", "O 2", "O 3", "*"), ("O", "O 1", "O 2", "O 3", "*"),
)  # fmt: skip
# Tables 4 and 5: the highest research value of a success, global and local; None where there was none.
PRINTED = (
    ("m03", 3, 0.15, 0.15), ("m03", 5, 0.15, 0.15), ("m08", 3, 1.1, 1.1), ("m08", 5, 1.1, None), ("m12", 3, 1.0, 1.15),
    ("m12", 5, 1.0, None), ("m24", 3, None, 1.2), ("r03", 3, 0.95, 0.95), ("r03", 5, 0.48, 0.95), ("r08", 3, 1.0, 1.05),
    ("r08", 5, 1.0, None), ("r12", 3, 1.0, 1.05), ("r12", 5, 1.0, None), ("r24", 5, None, None),
)  # fmt: skip
# Table 2, with the two commas restored that are lost at the ends of lines.
ATTRIBUTES = (
    "Race, Sex, Age in Days, College, Industry, Autopsy, Census Tract, Cause of Death, Certifier Type, Citizenship, "
    "City of Birth, Date of Birth, Date of Death, Disposition Method, Education, Farm, Informant Relationship, Injury "
    "AM/PM, Injury Census, Injury County Code, Injury Date, Manner of Death, Marital Status, Military, Motor Vehicle "
    "Accident, Occupation Category, Occupation Code, Place of Death City, Place of Death Code, Place of Death State, "
    "Place of Death Zip, Pregnant, State of Birth, US Vet, Zipcode, Injury Time, Time of Death"
)


def _column(name: str, values: Sequence[Any], tree: Hierarchy) -> Column:
    return read(pl.DataFrame({name: values}), quasi=[name], hierarchies={name: tree}).quasi[0]


def _categories(rows: Sequence[Sequence[str]]) -> Column:
    return _column("race", [row[0] for row in rows], Hierarchy.from_rows("race", rows))


def _race_rules() -> list[Constraint]:
    return [Constraint(column="race", separate=(one, other), importance=worth) for one, other, worth in RACE_RULES]


def _values(column: Column, weight: float, rules: Sequence[Constraint] = ()) -> list[float]:
    """Research values of a column's levels, with its weight as it is."""
    measure = ResearchValue(rules=rules, normalise=False)
    found = measure.level_values([column], pl.Series([weight]).to_numpy())[0]
    return [float(value) for value in found]


def _numbers() -> Column:
    """25, 45 and 55 records in groups of 10, 15 and 25 values."""
    values = [1 + place % 10 for place in range(25)]
    values += [11 + place % 15 for place in range(45)]
    values += [26 + place % 25 for place in range(55)]
    tree = intervals("x", [str(value) for value in range(1, 51)], [[1, 11, 26, 51]])
    return _column("x", values, tree)


def _jim() -> tuple[int, int]:
    """The document's own example of disclosure, with k = 3: class size, and values of AIDS of those with syphilis."""
    rows = [("yes", "yes")] * 3 + [("no", "no")] * 4 + [("no", "yes")] * 3
    frame = pl.DataFrame(rows, schema=["syphilis", "aids"], orient="row")
    whole = audit(frame, quasi=["syphilis", "aids"]).own_value.k
    return whole, audit(frame, quasi=["syphilis"], sensitive=["aids"]).own_value.sensitive["aids"].distinct_l


def _claims() -> list[tuple[str, Claim]]:
    numbers = _numbers()
    halves = [Constraint(column="x", boundary=at, importance=50) for at in ("10", "30")]
    worth = _values(numbers, 0.2, halves)
    upside_down = 0.2 / detail_shares(numbers)[1] * kept_importance(halves, numbers)[1]
    race = _categories(FIG_1)
    ratios = kept_importance(_race_rules(), race)
    mixed = kept_importance(_race_rules(), _categories(MIXED))[1]
    five = _categories(TABLE_3)
    hand = [Constraint(column="race", separate=("W", "B"), importance=18),
            Constraint(column="race", separate=("A", "O"), importance=1)]  # fmt: skip
    better = [f"{name} k={k}" for name, k, ours, local in PRINTED if local is not None and local > (ours or 0)]
    failed = sum(local is None for name, _, _, local in PRINTED if name[0] == "m")
    size, values = _jim()
    names = len(ATTRIBUTES.split(", "))
    return [
        ("MO-01", equals("Research value of the example of Sec. 4", worth[1], 1 / 184, tolerance=1e-12)),
        ("MO-01", equals("At its most specific level a column is worth its weight", worth[0], 0.2)),
        ("MO-01", info("The same, as printed", round(worth[1], 4), 0.0054)),
        ("MO-02", info("The formula as printed, which is upside down", float(upside_down), 0.0054)),
        ("MO-03", equals("Rules kept where Hispanic and Black are mixed", float(mixed), 30 / 40)),
        ("MO-04", equals("Rules kept by White, Black, Other", float(ratios[1]), 35 / 40)),
        ("MO-05", equals("Rules kept by White, Other", float(ratios[2]), 25 / 40)),
        ("MO-06", equals("Race as W, B, O, with no rule broken", _values(five, 0.95)[2], 0.57, tolerance=1e-12)),
        ("MO-06", info("Race as W, B, O in Table 3, above what the formula allows", _values(five, 0.95)[2], 0.58)),
        ("MO-07", equals("Race as W, B, L, O, 1 of 19 broken", _values(five, 0.95, hand)[1], 0.72, tolerance=1e-12)),
        ("MO-08", equals("Race as White, Other under Table 1", _values(race, 1.0, _race_rules())[2], 5 / 16)),
        ("MO-13", equals("Runs in which the printed local value beats the 'optimal' global one", better,
                         ["m12 k=3", "m24 k=3", "r03 k=5", "r08 k=3", "r12 k=3"])),
        ("MO-14", equals("Sets of most levels for which Table 5 has no local success", failed, 2)),
        ("MO-14", info("The same, by the text", failed, 3)),
        ("MO-15", info("Attributes that Table 2 names", names, 36)),
        ("C12", equals("Everybody with syphilis has AIDS, and the table is 3-anonymous on both: AIDS told for sure",
                       [size, values], [3, 1])),
    ]  # fmt: skip


def _run(context: Context) -> Outcome:
    found = _claims()
    notes = [
        "The printed formula has level k over level 0; the example, 'RV equals the weight at the most specific "
        "level' and 'the denominator will continue to grow' need the reverse.",
        "A ratio of 18/19 was solved for from Table 3's 0.72, so that MO-07 shows only that it is possible.",
        "Sec. 2.6 groups White, Black, Other; Sec. 5.2 turns only Asian into Other and says that Black is in three "
        "levels, of which Sec. 2.6 has two: the groups of Sec. 2.6 are used.",
        "Research values go from 0 to 1 in the tables and to 100 in the text; weights sum to 1 in Sec. 4 and not "
        "in Table 3; 'root' is the most general level, and once the most specific one.",
        "MO-09 to MO-12 are on Adult: see items 6 and 7.",
    ]
    return worked_examples(found, notes)


EXAMPLES = Item(
    id="examples",
    key="EXP-MO-examples",
    title="Worked examples",
    shows="Research values, rules and tables of the document, recomputed.",
    statement="The research values that the document works out, and what its tables say.",
    run=_run,
    fixed=True,
)
