"""Poovammal & Ponnavaikko, sections 5.3 and 6.2.2: associations and regressions of T and of T'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.utility.association_rules import Rule, mine
from shoal.utility.features import frame_features
from shoal.utility.regression import fit_and_score
from shoal_papers.base import Context, Item, Outcome
from shoal_papers.claims import checked
from shoal_papers.plots import Plot
from shoal_papers.poovammal_ponnavaikko.common import (
    CATEGORY,
    EQUAL,
    NUMBER,
    QUASI,
    ROWS,
    Pair,
    people,
    transform,
)
from shoal_papers.runs import curves, summarise

SAME_R2 = 1e-9


def _mined(frame: pl.DataFrame, target: str, support: float, confidence: float, longest: int) -> set[Rule]:
    """Rules from any other columns to one, of a plain frame."""
    features = frame_features(frame)
    items = [replace(one, role="quasi") for name, one in features.items() if name != target]
    found = mine(items, features[target], original=True, support=support, confidence=confidence, longest=longest)
    return set(found.rules)


def _read_back(rules: set[Rule], target: str, pair: Pair) -> set[Rule]:
    """Rules with their codes read back."""
    codes = pair.after[CATEGORY].unique()
    values = dict(zip(codes.to_list(), pair.secret(CATEGORY).decode(codes).to_list(), strict=True))

    def value(column: str, text: str) -> str:
        return values.get(text, text) if column == CATEGORY else text

    return {(tuple((column, value(column, text)) for column, text in items), value(target, last))
            for items, last in rules}  # fmt: skip


def _associations(context: Context) -> Outcome:
    given = context.parameters
    columns = [CATEGORY, *QUASI]
    rows = []
    spots = [(seed, limits) for seed in context.seeds for limits in given["limits"]]
    for seed, (support, confidence) in context.each(spots, lambda spot: f"seed {spot[0]}, limits {spot[1]}"):
        frame = people(context, seed)
        pair = transform(frame, seed, EQUAL)
        for target in columns:
            limits = (support, confidence, given["longest"])
            ours, theirs = (_mined(one.select(columns), target, *limits) for one in (frame, pair.after))
            rows.append({"to": target, "support": support, "confidence": confidence, "seed": seed, "before": len(ours),
                         "after": len(theirs), "same": ours == _read_back(theirs, target, pair),
                         "about_education": sum(_about(rule, target) for rule in ours)})  # fmt: skip
    runs = pl.DataFrame(rows)
    other = int((runs["before"] != runs["after"]).sum())
    changed = int((~runs["same"]).sum())
    table = runs.group_by("support", "confidence", "seed", maintain_order=True).agg(
        pl.sum("before"), pl.sum("after"), pl.sum("about_education")
    )
    first = table.filter(seed=context.seeds[0])
    return Outcome(
        table=table,
        runs=runs,
        plots=[
            Plot(title="association rules", figure="Section 5.3", x="Least support and confidence", y="Number of rules",
                 kind="bar", study="T'",
                 series=curves(_sides(table, pl.format("{}, {}", "support", "confidence")), "at", "value",
                               by="table"))
        ],
        claims=[
            checked("T and T' have equally many association rules, age left out", not other,
                    f"{other} of {runs.height} counts differ."),
            checked("Read back, they are the same rules", not changed, f"{changed} of {runs.height} sets differ."),
        ],
        notes=[
            ROWS,
            f"Apriori with one item on the right, at most {given['longest']} on the left, every column in turn on the "
            "right. The document's support and confidence are not given.",
            "Predictive Apriori and Tertius are not rebuilt. Any miner that only asks whether values are equal finds "
            "as many rules in T' as in T, because codes are one to one.",
            "WEKA's Apriori stops at ten rules unless told otherwise, which would make the numbers equal by itself.",
        ],
        readings=[
            f"Support {row['support']:g}, confidence {row['confidence']:g}: {row['before']} rules in T, {row['after']} "
            f"in T', {row['about_education']} of them about education." for row in first.iter_rows(named=True)
        ],
    )  # fmt: skip


def _sides(runs: pl.DataFrame, at: pl.Expr | str) -> pl.DataFrame:
    """Figures of T and T' below each other."""
    place = (pl.col(at) if isinstance(at, str) else at).alias("at")
    return pl.concat([runs.select(place, "seed", pl.lit(name).alias("table"), pl.col(column).alias("value"))
                      for name, column in (("T", "before"), ("T'", "after"))])  # fmt: skip


def _about(rule: Rule, target: str) -> bool:
    return target == CATEGORY or any(column == CATEGORY for column, _ in rule[0])


TARGETS = ("hours-per-week", "capital-gain", "education-num", "fnlwgt")
INDICATORS, ALPHABET, FIRST = "an indicator a value", "numbers in alphabetical order", "numbers as they first occur"


def _numbered(values: pl.Series, how: str) -> pl.Series:
    order = values.unique(maintain_order=True)
    order = order.sort() if how == ALPHABET else order
    return values.replace_strict(order, pl.Series(range(order.len())), return_dtype=pl.Int64)


def _r2(frame: pl.DataFrame, target: str, how: str, beside: Sequence[str]) -> float:
    chosen = frame.select(target, CATEGORY, *beside)
    if how != INDICATORS:
        chosen = chosen.with_columns(_numbered(chosen[CATEGORY], how).alias(CATEGORY))
    return fit_and_score(chosen, chosen, target) or 0.0


def _regressions(context: Context) -> Outcome:
    given = context.parameters
    rows = []
    for seed in context.each(context.seeds, lambda seed: f"seed {seed}"):
        pair = transform(people(context, seed, also=TARGETS), seed, EQUAL)
        for target in TARGETS:
            for how in (INDICATORS, ALPHABET, FIRST):
                for name, beside in (("alone", ()), ("with other columns", given["beside"])):
                    before, after = (_r2(one, target, how, beside) for one in (pair.before, pair.after))
                    rows.append({"explained": target, "coding": how, "education": name, "seed": seed, "before": before,
                                 "after": after, "difference": after - before})  # fmt: skip
            ages = [one.select(target, NUMBER) for one in (pair.before, pair.after)]
            before, after = (fit_and_score(one, one, target) or 0.0 for one in ages)
            rows.append({"explained": target, "coding": "graded age", "education": "not used", "seed": seed,
                         "before": before, "after": after, "difference": after - before})  # fmt: skip
    runs = pl.DataFrame(rows)

    def away(how: str) -> np.ndarray:
        return runs.filter(coding=how)["difference"].abs().to_numpy()

    return Outcome(
        table=summarise(runs, ["explained", "coding", "education"], ["before", "after", "difference"]),
        runs=runs,
        plots=[
            Plot(title=how, figure="Section 6.2.2", x="Explained column", y="R² of education alone", kind="bar",
                 better="up", study="T'",
                 series=curves(_sides(runs.filter(education="alone", coding=how), "explained"), "at", "value",
                               by="table")) for how in (INDICATORS, ALPHABET)
        ],
        claims=[
            checked("R² is equal for T and T' with an indicator a value", bool((away(INDICATORS) < SAME_R2).all()),
                    f"R² differs by up to {away(INDICATORS).max():.2g} over {away(INDICATORS).size} pairs of fits."),
            checked("R² is equal whatever the equation, also where categories enter as numbers in alphabetical order",
                    bool((away(ALPHABET) < SAME_R2).all()), f"R² differs by up to {away(ALPHABET).max():.3g}.",
                    kind="soft"),
        ],
        notes=[
            ROWS,
            "The document does not say how categories enter its equations, nor what they explain. education-num is a "
            "number for education, so that indicators explain it fully.",
        ],
        readings=[
            f"{how}: R² differs by up to {away(how).max():.3g}." for how in (INDICATORS, FIRST, ALPHABET, "graded age")
        ],
    )  # fmt: skip


MINING = [
    Item(
        id="assoc",
        key="EXP-PP-assoc",
        title="Number of association rules in T and T'",
        shows="Rules between all columns but age, at several supports and confidences.",
        statement="Both tables give equally many rules, by Apriori, predictive Apriori and Tertius.",
        run=_associations,
        needs=["adult"],
        parameters={"rows": 32561, "limits": [[0.1, 0.9], [0.05, 0.8], [0.02, 0.5]], "longest": 3},
        quick={"rows": 5000, "limits": [[0.1, 0.9], [0.05, 0.5]]},
    ),
    Item(
        id="R2",
        key="EXP-PP-R2",
        title="Coefficient of determination with education and with its codes",
        shows="R² of linear regressions on education and on its codes, by how categories enter.",
        statement="R² is equal in both cases, whatever the regression equation.",
        run=_regressions,
        needs=["adult"],
        parameters={"rows": 8000, "beside": ["sex", "race", "workclass"]},
        quick={"rows": 3000},
        refuted={
            "R² is equal whatever the equation": "codes are one to one and in no order, so that R² is the same where "
            "an equation asks which value it is, and another where it takes the numbers of values for sizes"
        },
    ),
]
