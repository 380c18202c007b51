"""Poovammal & Ponnavaikko, sections 5.3 and 6.2.2: clusters, associations and regressions of T and of T'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.evaluation.clustering import k_means, largest, largest_clusters
from shoal.evaluation.features import Rows, frame_features
from shoal.evaluation.learners import train_and_score
from shoal.evaluation.mining import Rule, mine
from shoal.evaluation.regression import fit_and_score
from shoal.table.keys import Keys
from shoal_papers.base import Context, Item, Outcome
from shoal_papers.claims import checked, info, summary, within
from shoal_papers.plots import Plot, Series
from shoal_papers.poovammal_ponnavaikko.common import (
    CATEGORY,
    EQUAL,
    GRADES,
    GRADINGS,
    LINE,
    NUMBER,
    QUASI,
    ROWS,
    Pair,
    people,
    transform,
)
from shoal_papers.runs import curves, summarise

ORIGINAL = "T"
# Ways of clustering, and the share of the largest cluster in per cent where the document gives it.
CLUSTERS = {
    "density (DBSCAN)": 57.0, "k-means, 2, no age": 63.0, "k-means, 2": 63.0, "likelihood, 2": 57.0, "k-means, 4": None,
}  # fmt: skip
# Ways that see no age, or only by differences in units of its own spread.
LINEAR = ("k-means, 2", "likelihood, 2", "k-means, 4", "k-means, 2, no age")
# A whole per cent, as the document prints: two shares that round alike are no further apart.
ALIKE = 1.0
SAME_R2 = 1e-9


def _shares(frame: pl.DataFrame, seed: int, sample: int) -> dict[str, float]:
    """Share of the largest cluster, in per cent, by every way."""
    two, ageless = (_two(one, seed) for one in (frame, frame.drop(NUMBER)))
    named = frame.with_columns(cluster=pl.Series(two).cast(pl.String))
    four = largest_clusters(frame, clusters=4, sample=sample, seed=seed)
    likelier = train_and_score(named, named, "cluster").guess
    found = [four["density"], largest(ageless), largest(two), largest(likelier), four["k-means"]]
    return {name: 100 * share for name, share in zip(CLUSTERS, found, strict=True)}


def _two(frame: pl.DataFrame, seed: int) -> np.ndarray:
    """Which of two clusters of k-means every record is in."""
    features = list(frame_features(frame).values())
    return k_means(Rows(features=features, released=False, rows=np.arange(frame.height)), 2, Keys.from_seed(seed))


def _clusters(context: Context) -> Outcome:
    given = context.parameters
    rows = []
    for seed in context.each(context.seeds, lambda seed: f"seed {seed}"):
        frame = people(context, seed)
        frames = {ORIGINAL: frame, **{how: transform(frame, seed, how).after for how in given["gradings"]}}
        made = {name: _shares(one, seed, given["sample"]) for name, one in frames.items()}
        rows += [
            {"table": name, "way": way, "seed": seed, "share": share, "difference": share - made[ORIGINAL][way]}
            for name, shares in made.items() for way, share in shares.items()
        ]  # fmt: skip
    runs = pl.DataFrame(rows)

    def away(way: str, how: str) -> np.ndarray:
        return runs.filter(way=way, table=how)["difference"].abs().to_numpy()

    stated = {way: share for way, share in CLUSTERS.items() if share is not None}
    claims = [
        within(f"The largest cluster has the same share in T and T' to a point: {way}", away(way, EQUAL), high=ALIKE)
        for way in CLUSTERS
    ]
    if LINE in given["gradings"]:
        claims.append(within("Codes on a straight line change no share of k-means or likelihood by a tenth of a point",
                             np.concatenate([away(way, LINE) for way in LINEAR]), high=0.1))  # fmt: skip
    claims += [
        info(f"Per cent of T in the largest cluster: {way}",
             summary(runs.filter(way=way, table=ORIGINAL)["share"].to_numpy()).mean, share)
        for way, share in stated.items()
    ]  # fmt: skip
    return Outcome(
        table=summarise(runs, ["way", "table"], ["share", "difference"]),
        runs=runs,
        plots=[
            Plot(title="Largest cluster", x="Way of clustering", y="Share of the records in per cent", kind="bar",
                 series=[*curves(runs.filter(pl.col("table").is_in([ORIGINAL, EQUAL])), "way", "share", by="table",
                                 names={EQUAL: "T'"}),
                         Series(name="document", x=list(stated), y=list(stated.values()))]),
            Plot(title="T' less T", x="Way of clustering", y="Difference in points", kind="bar",
                 series=curves(runs.filter(pl.col("table") != ORIGINAL), "way", "difference", by="table")),
        ],
        claims=claims,
        notes=[
            ROWS, GRADES,
            "The document names neither parameters nor the density method. 'likelihood, 2' gives every record of two "
            "k-means clusters to the one under which it is likelier (normal age, counted categories), as "
            "WEKA's density-based clusterer does; DBSCAN takes its radius from the table it is run on.",
            "Ages count in standard deviations, and two different categories are one apart. DBSCAN's radius is a "
            "distance that occurs, so that rounding decides who just is a neighbour, even on a straight line.",
            "63 % is said of k-means without saying whether of T, T' or both.",
        ],
        readings=[
            f"{how}, {way}: shares differ by {summary(away(way, how))} points." for how in given["gradings"]
            for way in CLUSTERS
        ],
    )  # fmt: skip


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
            Plot(title="Association rules", x="Least support and confidence", y="Number of rules", kind="bar",
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
            Plot(title=how, x="Explained column", y="R² of education alone", kind="bar", better="up",
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
        id="cluster",
        key="EXP-PP-cluster",
        title="Share of the largest cluster in T and T'",
        shows="Largest cluster by k-means, by likelihood and by density, of the table and of its transformations.",
        statement="Density-based clustering puts 57 % of both tables in one cluster, k-means 63 %.",
        run=_clusters,
        needs=["adult"],
        parameters={"rows": 8000, "sample": 2000, "gradings": list(GRADINGS)},
        quick={"rows": 1500, "sample": 600},
    ),
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
    ),
]
