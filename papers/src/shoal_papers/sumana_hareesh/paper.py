"""Sumana & Hareesh: a survey of anonymity models, with what (alpha, k)-anonymity costs against k and quasi-identifiers.

The document names neither the data nor the measure of its two figures. Ours: a sample of UCI Adult with occupation as
the sensitive attribute, the clustering ``alpha-k``, and the normalised certainty penalty a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal.algorithms.cluster.alpha_k import AlphaK
from shoal.data.table import Table
from shoal.models.base import Model
from shoal.models.diversity import AlphaKComplete, AlphaKGeneral, AlphaKSimple
from shoal.recipe.source import read
from shoal.results import Release
from shoal_papers.adult import adult_hierarchies
from shoal_papers.base import Claim, Context, Item, Outcome, Paper
from shoal_papers.claims import below, checked, rises_with
from shoal_papers.plots import Plot
from shoal_papers.runs import curves, points, release, sample, summarise
from shoal_papers.sumana_hareesh.examples import EXAMPLES

QUASI = (
    "age", "sex", "education", "marital-status", "workclass", "race", "native-country", "salary-class",
)  # fmt: skip
SENSITIVE = "occupation"
# The values that the models protect, and the cap of the others in the complete model.
GUARDED = ("Exec-managerial", "Prof-specialty")
OTHERS = 0.9
MODELS = ("k-anonymity", "simple", "complete", "general")
# Where curves lie this near to each other, what nobody prints decides.
UNPRINTED = dict.fromkeys(
    ("k-anonymity loses no more", "simple loses no more", "complete loses no more"),
    "the document prints neither data, method, measure nor alpha, and the clustering is greedy, so that a constraint "
    "more can lead it to a slightly better end",
)


def model(name: str, k: int, alpha: float) -> Model:
    """One of the four models of the figures."""
    if name == "simple":
        return AlphaKSimple(k=k, alpha=alpha, value=GUARDED[0])
    if name == "complete":
        return AlphaKComplete(k=k, alpha=dict.fromkeys(GUARDED, alpha), default=OTHERS)
    # Shares of at most 1 forbid nothing: what is left is k-anonymity, by the same clustering.
    return AlphaKGeneral(k=k, alpha=1.0 if name == "k-anonymity" else alpha)


def caps(name: str, alpha: float) -> tuple[Mapping[str, float], float]:
    """The cap of each value that has its own, and that of the others."""
    if name == "simple":
        return {GUARDED[0]: alpha}, 1.0
    if name == "complete":
        return dict.fromkeys(GUARDED, alpha), OTHERS
    return {}, 1.0 if name == "k-anonymity" else alpha


def worst_share(made: Release, quasi: Sequence[str], name: str, alpha: float) -> tuple[int, float]:
    """Smallest class, and the largest share over its cap, counted in the published cells."""
    own, others = caps(name, alpha)
    counted = made.frame.group_by([*quasi, SENSITIVE]).len("of")
    counted = counted.with_columns(size=pl.col("of").sum().over(list(quasi)))
    cap = pl.col(SENSITIVE).replace_strict({**own, None: others}, default=others, return_dtype=pl.Float64)
    found = counted.select(pl.col("size").min(), worst=(pl.col("of") / pl.col("size") / cap).max())
    return int(found["size"][0]), float(found["worst"][0])


def one_run(table: Table, quasi: Sequence[str], name: str, k: int, alpha: float, seed: int) -> dict[str, Any]:
    """Loss of one model's release, and what an independent count says about its classes."""
    made = release(table, AlphaK(), models=[model(name, k, alpha)], seed=seed)
    smallest, worst = worst_share(made, quasi, name, alpha)
    loss = made.measure("ncp").value or 0.0
    return {
        "model": name, "alpha": alpha, "k": k, "quasi": len(quasi), "seed": seed,
        "loss": loss / table.n, "loss_cell": loss / table.n / len(quasi),
        "suppressed": made.evidence["counts"]["suppressed"] / table.n, "smallest": smallest, "share_over_cap": worst,
    }  # fmt: skip


def table_of(frame: pl.DataFrame, quasi: Sequence[str]) -> Table:
    """A table on some of the quasi-identifiers; categories have a hierarchy, age is an interval."""
    trees = adult_hierarchies([name for name in quasi if name != "age"])
    return read(frame.select([*quasi, SENSITIVE]), quasi=list(quasi), sensitive=[SENSITIVE], hierarchies=trees)


def _runs(context: Context, axis: str) -> pl.DataFrame:
    given = context.parameters
    rows = []
    whole = context.data.adult()
    spots = [(seed, value) for seed in context.seeds for value in given[axis]]
    for seed, value in context.each(spots, lambda spot: f"seed {spot[0]}, {axis} = {spot[1]}"):
        quasi = QUASI[: value if axis == "quasi" else given["quasi"]]
        table = table_of(sample(whole, given["rows"], seed), quasi)
        k = value if axis == "k" else given["k"]
        rows += [one_run(table, quasi, name, k, alpha, seed) for alpha in given["alpha"] for name in MODELS]
    return pl.DataFrame(rows)


def _orders(runs: pl.DataFrame, axis: str, label: str) -> list[Claim]:
    """Loss in the order k-anonymity, simple, complete, general, at every point."""
    at = {name: points(runs, axis, "loss", {"model": name}) for name in MODELS}
    ladder = zip(MODELS[:-1], MODELS[1:], strict=True)
    return [
        below(f"{less} loses no more than {more}, at every {label}", at[less], at[more], strict=False)
        for less, more in ladder
    ]


def _both(runs: pl.DataFrame, axis: str, label: str) -> list[Claim]:
    """What the document says of one alpha: loss rises, in the same order everywhere."""
    rises = [
        rises_with(f"Loss rises with {label}: {name}", points(runs, axis, "loss", {"model": name})) for name in MODELS
    ]
    return [*rises, *_orders(runs, axis, label)]


def _best_of_larger(runs: pl.DataFrame) -> pl.DataFrame:
    """Loss of the best release for k or more: rule 1 can leave a small k less room than a larger one."""
    best = pl.col("loss").reverse().cum_min().reverse().over("seed", "model", "alpha", order_by="k")
    return runs.with_columns(loss=best)


def _hard(runs: pl.DataFrame) -> list[Claim]:
    small = int((runs["smallest"] - runs["k"]).to_numpy().min())
    worst = float(runs["share_over_cap"].to_numpy().max())
    return [
        checked(
            "Every class has at least k records", small >= 0,
            f"The smallest class has {small} records more than k, over {runs.height} releases.",
        ),
        checked(
            "No value's share is above its alpha in any class", worst <= 1 + 1e-12,
            f"The largest share is {worst:.4g} of its alpha, over {runs.height} releases.",
        ),
    ]  # fmt: skip


def _outcome(context: Context, axis: str, label: str) -> Outcome:
    runs = _runs(context, axis)
    first, *others = context.parameters["alpha"]
    shown = runs.filter(pl.col("alpha") == first)
    readings = [
        f"With alpha {alpha:g} in place of {first:g}: {claim.text}: {claim.verdict}. {claim.evidence}"
        for alpha in others
        for claim in _both(runs.filter(pl.col("alpha") == alpha), axis, label)
    ]
    if axis == "k":
        readings += [
            f"The best release for k or more, which serves k too: {claim.text}: {claim.verdict}. {claim.evidence}"
            for claim in _both(_best_of_larger(shown), axis, label)
        ]
    plots = [
        Plot(title=f"alpha = {first:g}", figure="Fig. 1" if axis == "k" else "Fig. 2", study="complete",
             x=label, y=f"NCP a {what}", better="down",
             series=curves(shown, axis, column, by="model"))
        for what, column in (("record", "loss"), ("cell", "loss_cell"))
    ]  # fmt: skip
    return Outcome(
        table=summarise(runs, ["alpha", "model", "k", "quasi"], ["loss", "loss_cell", "suppressed"]),
        runs=runs,
        plots=plots[: 2 if axis == "quasi" else 1],
        claims=[*_hard(runs), *_both(shown, axis, label)],
        notes=[
            "The document names neither data nor measure: Adult, occupation, clustering and NCP are ours.",
            f"Guarded values: {' and '.join(GUARDED)}; simple guards the first, complete caps others at {OTHERS:g}.",
            "The document prints no alpha for its figures. 0.5 comes first: at k = 2 two records cannot satisfy less, "
            "and with 0.4, that of its Table 4, what is drawn at k = 2 is what rule 1 leaves of classes of three.",
            "Rule 1 is read as at most 2k - 1 records, as in the document's formula, not 2k, as in its prose.",
        ],
        readings=readings,
    )


def _against_k(context: Context) -> Outcome:
    return _outcome(context, "k", "k")


def _against_quasi(context: Context) -> Outcome:
    return _outcome(context, "quasi", "number of quasi-identifiers")


PAPER = Paper(
    name="sumana-hareesh",
    authors="Sumana & Hareesh",
    about="a survey of k-anonymity, l-diversity, t-closeness and (alpha, k)-anonymity",
    items=[
        EXAMPLES,
        Item(
            id="1",
            key="EXP-SH-1",
            title="Information loss against k for four models",
            shows="Loss of k-anonymity and of simple, complete and general (alpha, k)-anonymity, for k from 2 to 10.",
            statement=(
                "Loss grows with k; k-anonymity loses least, then simple, complete and general (alpha, k)-anonymity."
            ),
            run=_against_k,
            needs=["adult"],
            parameters={"rows": 1000, "quasi": 6, "k": list(range(2, 11)), "alpha": [0.5, 0.4]},
            quick={"rows": 400, "k": [2, 4, 6, 8, 10], "alpha": [0.5]},
            undecidable=UNPRINTED,
        ),
        Item(
            id="2",
            key="EXP-SH-2",
            title="Information loss against the number of quasi-identifiers",
            shows="Loss of the same four models on the first 2 to 8 quasi-identifiers.",
            statement="Loss grows with the number of quasi-identifiers, in the same order of models.",
            run=_against_quasi,
            needs=["adult"],
            parameters={"rows": 1000, "k": 5, "quasi": list(range(2, 9)), "alpha": [0.5, 0.4]},
            quick={"rows": 400, "quasi": [2, 4, 6, 8], "alpha": [0.5]},
            undecidable=UNPRINTED,
        ),
    ],
)
