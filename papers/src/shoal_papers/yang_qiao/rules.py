"""Yang & Qiao, Figs. 7 and 8: associations between quasi-identifiers and occupation that survive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.links.random import RandomAnonymisation
from shoal.evaluation.estimate import answer
from shoal.evaluation.queries import Condition, Query
from shoal.evaluation.reading import Reading
from shoal.evaluation.rules import AssociationRules
from shoal.evaluation.run import evaluate
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, checked, falls_with, inconclusive, rises_with, summary
from shoal_papers.plots import Plot, Series
from shoal_papers.runs import curves, points, release, sample, summarise
from shoal_papers.yang_qiao.common import (
    ANATOMY,
    GROUPS,
    PERMUTED,
    RA,
    SENSITIVE,
    made_by,
    reading_of,
    table_of,
    told,
)  # fmt: skip

NOTES = [
    "An association has one or more quasi-identifiers on its left and an occupation on its right; its support is that "
    "of both together, its length the number of values on its left.",
    "Percentages are of the associations of the original data; shares are nan where it has none.",
]


def associations(reading: Reading, support: float, confidence: float) -> dict[str, Any]:
    """What is left of the original's associations, what is new, and the same by length."""
    spec = AssociationRules(support=support, confidence=confidence, longest=None, on=SENSITIVE)
    recovered, artificial, items = evaluate(reading, [spec])
    return {
        "rules": recovered.also["rules"], "recovered": _percent(recovered.value), "artificial": artificial.value,
        "items": _percent(items.value), "lengths": recovered.also["by length"],
    }  # fmt: skip


def expected(reading: Reading, support: float, confidence: float) -> float:
    """Percentage of the original's associations that hold by eq. (13) instead of in one shuffled table."""
    spec = AssociationRules(support=support, confidence=confidence, longest=None)
    ours, _ = spec.mined(reading, SENSITIVE)
    if not ours.rules:
        return float("nan")
    left = [[Condition(name, (value,)) for name, value in items] for items, _ in ours.rules]
    right = [Condition(SENSITIVE, (value,)) for _, value in ours.rules]
    both = answer(reading, [Query((*some, last)) for some, last in zip(left, right, strict=True)]).estimate
    alone = answer(reading, [Query(tuple(some)) for some in left]).estimate
    kept = (both >= support * reading.n - 1e-6) & (both >= confidence * alone - 1e-6)
    return float(100 * kept.mean())


def _said(share: float) -> str:
    return f"{100 * share:g} %"


def _percent(value: float | None) -> float:
    return float("nan") if value is None else 100 * value


def _methods(context: Context) -> Outcome:
    given = context.parameters
    rows = []
    spots = [(RA, 0), *((PERMUTED, l) for l in given["l"]), *((ANATOMY, l) for l in given["anatomy"])]  # noqa: E741
    both = [(seed, spot) for seed in context.seeds for spot in spots]
    for seed, (method, l) in context.each(both, lambda one: f"seed {one[0]}, {one[1][0]} {one[1][1]}"):  # noqa: E741
        table = table_of(sample(context.data.adult(), given["rows"], seed))
        reading = reading_of(made_by(method, {True: table}, l, seed), seed)
        for support in given["support"]:
            found = associations(reading, support, given["confidence"])
            found.pop("lengths")
            if method != RA:
                found["expected"] = expected(reading, support, given["confidence"])
            else:
                found["expected"] = found["recovered"]
            name = method if method == RA else f"{method} {l}"
            rows.append({"method": name, "support": support, "seed": seed, **found})
    runs = pl.DataFrame(rows, infer_schema_length=None)
    first = given["support"][0]
    at = {(support, how): points(runs.filter(pl.col("support") == support), "method", how)
          for support in given["support"] for how in ("recovered", "expected")}  # fmt: skip
    claims = [
        _above(at[first, "recovered"], name, [f"{name} {l}" for l in given[key]])  # noqa: E741
        for name, key in ((PERMUTED, "l"), (ANATOMY, "anatomy"))
    ]
    readings = []
    for (support, how), found in at.items():
        if (support, how) != (first, "recovered"):
            words = f"Support {_said(support)}" + (", expected counts of eq. (13)" if how == "expected" else "")
            readings += [
                told(_above(found, name, [f"{name} {l}" for l in given[key]]), words)  # noqa: E741
                for name, key in ((PERMUTED, "l"), (ANATOMY, "anatomy"))
            ]
    return Outcome(
        table=summarise(runs, ["method", "support", "rules"], ["recovered", "expected", "artificial"]),
        runs=runs,
        plots=[_bars(at[support, "recovered"], support) for support in dict.fromkeys((first, given["support"][-1]))],
        claims=claims,
        notes=[GROUPS, *NOTES, "On permuted data associations are those of one shuffled table, as an analyst has it."],
        readings=readings,
    )  # fmt: skip


def _above(at: Mapping[str, np.ndarray], name: str, rivals: Sequence[str]) -> Claim:
    return below(
        f"More associations are recovered from RA than from {name}, at every l",
        {rival: at[rival] for rival in rivals},
        dict.fromkeys(rivals, at[RA]),
    )


def _bars(at: Mapping[str, np.ndarray], support: float) -> Plot:
    sums = [summary(values) for values in at.values()]
    series = Series(name="recovered", x=list(at), y=[one.mean for one in sums], low=[one.low for one in sums],
                    high=[one.high for one in sums])  # fmt: skip
    return Plot(title=f"support {_said(support)}", figure="Fig. 7", kind="bar", x="method",
                y="associations recovered (%)", better="up",
                series=[series])  # fmt: skip


def _lambdas(context: Context) -> Outcome:
    given = context.parameters
    rows, lengths = [], []
    spots = [(seed, redraw) for seed in context.seeds for redraw in given["lambda"]]
    for seed, redraw in context.each(spots, lambda spot: f"seed {spot[0]}, lambda = {spot[1]}"):
        table = table_of(sample(context.data.adult(), given["rows"], seed))
        reading = reading_of(release(table, RandomAnonymisation(redraw=redraw), seed=seed), seed)
        limits = [(support, given["confidence"]) for support in given["support"]]
        for support, confidence in [*limits, (given["support"][0], 0.0)]:
            found = associations(reading, support, confidence)
            shared = {"support": support, "confidence": confidence, "lambda": redraw, "seed": seed}
            by = found.pop("lengths")
            rows.append({**shared, **found})
            if redraw == given["at"]:
                shared["items"] = found["items"]
                lengths += [{**shared, "length": int(length), **one} for length, one in by.items()]
    runs = pl.DataFrame(rows, infer_schema_length=None)
    parts = pl.DataFrame(lengths).filter(pl.col("rules") > 0).with_columns(
        recovered=100 * pl.col("kept") / pl.col("rules")
    )  # fmt: skip
    first, *others = given["support"]
    limit = given["confidence"]
    claims = [*_with_lambda(_some(runs, first, limit)), *_with_length(_some(parts, first, limit))]
    readings = []
    for support in others:
        for claim in (*_with_lambda(_some(runs, support, limit)), *_with_length(_some(parts, support, limit))):
            readings.append(told(claim, f"Support {_said(support)}"))
    words = f"Support {_said(first)}, no limit on confidence"
    loose = (*_with_lambda(_some(runs, first, 0.0)), *_with_length(_some(parts, first, 0.0)))
    readings += [told(one, words) for one in loose]
    readings += [
        told(one, "Single frequent items as length 1, associations of n values as length n + 1")
        for support in given["support"]
        for one in _with_items(_some(parts, support, limit), support)
    ]
    return Outcome(
        table=summarise(runs, ["support", "confidence", "lambda"], ["recovered", "artificial", "items"]),
        runs=runs,
        plots=[*_lambda_plots(runs.filter(pl.col("confidence") == limit)), _length_plot(parts, given)],
        claims=claims,
        notes=[
            *NOTES,
            f"Recovery by length is that of lambda = {given['at']}, means over seeds.",
            "The document's Proposition 13, that a change becomes likelier with every further column redrawn, is wrong "
            "for long combinations (see the worked examples): nothing here rests on it.",
        ],
        readings=readings,
    )  # fmt: skip


def _some(frame: pl.DataFrame, support: float, confidence: float) -> pl.DataFrame:
    return frame.filter((pl.col("support") == support) & (pl.col("confidence") == confidence))


def _with_lambda(runs: pl.DataFrame) -> list[Claim]:
    return [
        falls_with("Fewer associations are recovered as lambda grows", points(runs, "lambda", "recovered")),
        rises_with("More artificial associations come up as lambda grows", points(runs, "lambda", "artificial")),
    ]


def _with_length(parts: pl.DataFrame) -> list[Claim]:
    by = points(parts, "length", "recovered")
    by = {length: by[length] for length in sorted(by) if by[length].size == max(one.size for one in by.values())}
    text = "Shorter associations are recovered better than longer ones"
    falls = falls_with(text, by) if len(by) > 1 else inconclusive(text, "All associations have the same length.")
    return [falls, _most(parts)]


def _most(parts: pl.DataFrame) -> Claim:
    """More than half of the associations of at most three values, counted together, a seed each."""
    short = parts.filter(pl.col("length") <= 3).group_by("seed", maintain_order=True).agg(pl.sum("kept", "rules"))
    shares = 100 * short["kept"].to_numpy() / short["rules"].to_numpy()
    return below("Most associations of at most three values are recovered", np.full(shares.size, 50.0), shares)


def _with_items(parts: pl.DataFrame, support: float) -> list[Claim]:
    """The document's own count of lengths."""
    items = points(parts.filter(pl.col("length") == 1), "length", "items")
    by = {1: items.get(1, np.empty(0))}
    by |= {length + 1: values for length, values in sorted(points(parts, "length", "recovered").items())}
    by = {length: values for length, values in by.items() if values.size and values.size == by[1].size}
    if len(by) < 2:
        return []
    means = {length: float(np.mean(values)) for length, values in by.items()}
    told_ones = ", ".join(f"{mean:.0f} % of length {length}" for length, mean in means.items())
    most = all(mean > 50 for length, mean in means.items() if length <= 3)
    return [
        falls_with(f"At support {_said(support)} shorter associations are recovered better", by),
        checked(f"At support {_said(support)} most of each of lengths 1 to 3 are recovered", most, f"{told_ones}.",
                kind="soft", means=means),
    ]  # fmt: skip


def _lambda_plots(runs: pl.DataFrame) -> list[Plot]:
    names = {support: f"support {_said(support)}" for support in runs["support"].unique().to_list()}
    return [
        Plot(title=title, figure="Fig. 8a", x="lambda", y=words, better=better, study=names.get(0.08, ()),
             series=curves(runs, "lambda", column, by="support", names=names))
        for title, column, words, better in (
            ("recovered", "recovered", "associations recovered (%)", "up"),
            ("made up", "artificial", "artificial associations", "down"),
        )
    ]  # fmt: skip


def _length_plot(parts: pl.DataFrame, given: Mapping[str, Any]) -> Plot:
    series = []
    for support in given["support"]:
        mine = _some(parts, support, given["confidence"]).sort("length")
        [one] = curves(mine, "length", "recovered") if mine.height else [Series(name="", x=[], y=[])]
        series.append(Series(name=f"support {_said(support)}", x=one.x, y=one.y, low=one.low, high=one.high))
    return Plot(title=f"by length, lambda = {given['at']}", figure="Fig. 8b", x="length of the association",
                better="up", y="associations recovered (%)", series=series, lines={"half": 50.0})  # fmt: skip


RULES = [
    Item(
        id="7",
        key="EXP-YQ-7",
        title="Associations recovered, RA against permutation",
        shows="Per cent of the original's associations found again: support 8 %, confidence 15 %.",
        statement="RA gives back more associations than permutation does, for l of 5, 8 and 10.",
        run=_methods,
        needs=["adult"],
        parameters={
            "rows": 30162, "l": [5, 8, 10], "anatomy": [5, 7], "support": [0.08, 0.04, 0.02, 0.01], "confidence": 0.15,
        },
        quick={"rows": 10000, "support": [0.08, 0.02]},
    ),
    Item(
        id="8a",
        key="EXP-YQ-8a",
        title="Associations against lambda, and against their length",
        shows="Associations recovered and artificial ones for lambda of 1 to 9; and recovered by length, lambda = 5.",
        statement=(
            "With lambda, fewer associations are recovered and more artificial ones come up. With lambda = 5, shorter "
            "ones are recovered better than longer ones, and most of those of length 1 to 3 are."
        ),
        run=_lambdas,
        needs=["adult"],
        parameters={
            "rows": 30162, "lambda": [1, 3, 5, 7, 9], "at": 5, "support": [0.08, 0.04, 0.02, 0.01], "confidence": 0.15,
        },
        quick={"rows": 4000, "support": [0.08, 0.01]},
        also=["8b", "EXP-YQ-8b"],
    ),
]  # fmt: skip
