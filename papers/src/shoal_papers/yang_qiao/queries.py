"""Yang & Qiao, Fig. 6: relative errors of count queries, against the number of quasi-identifiers and against l."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.data.table import Table
from shoal.utility.count_queries import answer
from shoal.utility.queries import Query, RandomQueries
from shoal.utility.reading import Reading
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, falls_with, info, rises_with, summary
from shoal_papers.plots import Plot
from shoal_papers.runs import curves, points, sample, summarise
from shoal_papers.yang_qiao.common import (
    CHANCES,
    DIVERSE,
    ENTROPY,
    GROUPS,
    NEIGHBOURS,
    PERMUTED,
    PLAIN,
    RA,
    at_all,
    made_by,
    reading_of,
    table_of,
    told,
)  # fmt: skip

# How the errors of a workload are summed up; a mean of relative errors hangs on a few tiny answers.
WAYS = {"mean": "mean", "median": "median"}
FLOORED = "floored mean"
AVERAGED = (
    "the document averages relative errors, and an average hangs on a few queries with tiny answers: it jumps from "
    "draw to draw, so that one draw, which is what the document has, decides nothing"
)
OF_MEANS = "the document says it of averages; by medians, which no tiny answer moves, it is otherwise"
Curve = Mapping[Any, np.ndarray]
NOTES = [
    GROUPS,
    "Queries whose true answer is 0 have no relative error and are left out; the document does not say what it does.",
    "A generalised cell counts for each value that it covers alike (Xiao & Tao's estimate): the document's eq. (12) "
    "counts the occurrence of values in a class, which nobody sees in generalised data.",
    ENTROPY,
    CHANCES,
]


def errors_of(reading: Reading, queries: Sequence[Query]) -> dict[str, Any]:
    """Relative errors of a workload on one release, summed up, and query by query."""
    found = answer(reading, queries)
    errors = found.errors()
    floored = np.abs(found.estimate - found.truth) / np.maximum(found.truth, 0.001 * found.n)
    return {
        "mean": float(errors.mean()), "median": float(np.median(errors)), FLOORED: float(floored.mean()),
        "asked": errors.size, "each": errors,
    }  # fmt: skip


def _tables(context: Context, seed: int) -> dict[bool, Table]:
    frame = sample(context.data.adult(), context.parameters["rows"], seed)
    return {True: table_of(frame), False: table_of(frame, trees=False)}


def _rows(readings: Mapping[tuple[str, float], Reading], count: int, quasi: int, seed: int) -> list[dict[str, Any]]:
    """One row a release, for one workload; ``closer`` is the share of queries on which RA is nearer to the truth."""
    first = readings[RA, 0]
    queries = RandomQueries(count=count, quasi=quasi).make(first)
    rows, ours = [], np.empty(0)
    for (method, l), reading in readings.items():  # noqa: E741
        found = errors_of(reading, queries)
        each = found.pop("each")
        ours = each if method == RA else ours
        closer = float((ours < each).mean() + (ours == each).mean() / 2)
        groups = int(reading.groups.max()) + 1
        rows.append({"method": method, "l": l, "quasi": quasi, "seed": seed, **found, "closer": closer,
                     "groups": groups})  # fmt: skip
    return rows


def _against_quasi(context: Context) -> Outcome:
    given = context.parameters
    rows: list[dict[str, Any]] = []
    methods = [(RA, 0), *((name, given["l"]) for name in (PERMUTED, NEIGHBOURS, DIVERSE, PLAIN))]
    pa, readings = 0.0, {}
    spots = [(seed, j) for seed in context.seeds for j in given["quasi"]]
    for seed, j in context.each(spots, lambda spot: f"seed {spot[0]}, {spot[1]} quasi-identifiers"):
        if j == given["quasi"][0]:
            tables = _tables(context, seed)
            made = {(method, l): made_by(method, tables, l, seed) for method, l in methods}  # noqa: E741
            readings = {key: reading_of(one, seed) for key, one in made.items()}
            pa = made[RA, 0].measure("pa").value or 0.0
        rows += _rows(readings, given["queries"], j, seed)
    runs = pl.DataFrame(rows)
    at = {(way, name): points(runs, "quasi", way, {"method": name}) for way in (*WAYS, FLOORED) for name, _ in methods}
    small = [j for j in given["quasi"] if j <= given["small"]]
    claims = [info("Pa of the last sample's release", round(pa, 2), 34)]
    claims += [claim for way in WAYS for claim in _shape(at, way)]
    return Outcome(
        table=summarise(runs, ["method", "l", "quasi"], [*WAYS, FLOORED, "closer"]),
        runs=runs,
        plots=[
            Plot(title=f"l = {given['l']}", figure="Fig. 6a", study=RA,
                 x="quasi-identifiers in a query", y=f"{way} relative error", better="down", log_y=True,
                 series=curves(runs, "quasi", way, by="method"))
            for way in WAYS
        ],
        claims=claims,
        notes=[*NOTES, "That RA has the least error is said of Fig. 6b, five attributes and every l; the text says it "
               f"of no number of attributes in Fig. 6a. Readings give it for few of them, up to {given['small']}."],
        readings=_other_readings(runs, at, small),
    )  # fmt: skip


def _first(curve: Curve, chosen: Sequence[int]) -> dict[int, np.ndarray]:
    return {point: curve[point] for point in chosen}


def _order(at: Mapping[tuple[str, str], Curve], way: str, small: Sequence[int], other: str = PERMUTED) -> list[Claim]:
    ours = _first(at[way, RA], small)
    return [
        below(f"RA's {way} error is below that of {name} where queries have few attributes", ours,
              _first(at[way, name], small))
        for name in (other, DIVERSE)
    ]  # fmt: skip


def _range(curve: Curve, *, ratio: bool = False) -> np.ndarray:
    """Largest less smallest over the points, or the logarithm of their ratio, a seed each."""
    stacked = np.stack([np.log(values) if ratio else values for values in curve.values()])
    return np.asarray(stacked.max(axis=0) - stacked.min(axis=0))


def _halves(curve: Curve, *, ratio: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Mean growth a further attribute in the first and in the second half of a curve, as difference or as log ratio."""
    places = list(curve)
    first, middle, last = places[0], places[len(places) // 2], places[-1]
    low, mid, high = (np.log(curve[at]) if ratio else curve[at] for at in (first, middle, last))
    return (mid - low) / (middle - first), (high - mid) / (last - middle)


def _shape(at: Mapping[tuple[str, str], Curve], way: str, other: str = PERMUTED) -> list[Claim]:
    mine = _range(at[way, other])
    early, late = _halves(at[way, RA])
    return [
        rises_with(f"The {way} error of l-diverse data grows with the number of attributes", at[way, DIVERSE]),
        below(f"The {way} error of {other} varies less with the number of attributes than RA's", mine,
              _range(at[way, RA])),
        below(f"The {way} error of {other} varies less with the number of attributes than that of l-diverse data",
              mine, _range(at[way, DIVERSE])),
        below(f"The growth of RA's {way} error slows with the number of attributes", late, early),
    ]  # fmt: skip


def _other_readings(runs: pl.DataFrame, at: Mapping[tuple[str, str], Curve], small: Sequence[int]) -> list[str]:
    told_ones = []
    for way in WAYS:
        told_ones += [told(one, "With l = 10, too") for one in _order(at, way, small)]
        told_ones += [told(one, "Mondrian's classes") for one in _order(at, way, small, NEIGHBOURS)[:1]]
        told_ones += [told(one, "Mondrian's classes") for one in _shape(at, way, NEIGHBOURS)[1:2]]
        everywhere = below(f"RA's {way} error is below permutation's", at[way, RA], at[way, PERMUTED])
        told_ones.append(told(everywhere, "Every number of attributes"))
        early, late = _halves(at[way, RA], ratio=True)
        slower = below(f"The factor by which RA's {way} error grows falls", late, early)
        told_ones.append(told(slower, "Growth as a factor"))
        spread = below(
            f"The {way} error of permutation varies by a smaller factor than RA's",
            _range(at[way, PERMUTED], ratio=True), _range(at[way, RA], ratio=True),
        )  # fmt: skip
        told_ones.append(told(spread, "Variation as a factor"))
        flat = rises_with(f"The {way} error of l-diverse data grows", at[way, PLAIN])
        told_ones.append(told(flat, "Mondrian without hierarchies"))
    told_ones += [
        told(one, "Errors over max(truth, 0.1 % of the rows), answers of 0 included")
        for one in (*_order(at, FLOORED, small), *_shape(at, FLOORED))
    ]
    for name in (PERMUTED, NEIGHBOURS, DIVERSE):
        share = points(runs, "quasi", "closer", {"method": name})
        ends = ", ".join(f"{summary(values).mean:.1%} at {j}" for j, values in share.items())
        told_ones.append(f"Query by query, RA is nearer to the truth than {name} for {ends} attributes (ties halved).")
    return told_ones


def _against_l(context: Context) -> Outcome:
    given = context.parameters
    rows: list[dict[str, Any]] = []
    names = (PERMUTED, NEIGHBOURS, DIVERSE, PLAIN)
    spots = [(RA, 0), *((name, l) for name in names for l in given["l"])]  # noqa: E741
    for seed in context.each(context.seeds, lambda seed: f"seed {seed}"):
        tables = _tables(context, seed)
        readings = {(method, l): reading_of(made_by(method, tables, l, seed), seed) for method, l in spots}  # noqa: E741
        rows += _rows(readings, given["queries"], given["quasi"], seed)
    runs = pl.DataFrame(rows)
    claims, readings_told = [], []
    for way in (*WAYS, FLOORED):
        at = {name: points(runs, "l", way, {"method": name}) for name in (RA, *names)}
        ours = at[RA][0]
        found = [
            rises_with(f"The {way} error of l-diverse data falls as l falls", at[DIVERSE]),
            rises_with(f"The {way} error of permuted data falls as l falls", at[PERMUTED]),
            below(f"RA's {way} error is below that of l-diverse data, at every l", at_all(at[DIVERSE], ours),
                  at[DIVERSE]),
            below(f"RA's {way} error is below that of permuted data, at every l", at_all(at[PERMUTED], ours),
                  at[PERMUTED]),
        ]  # fmt: skip
        if way in WAYS:
            claims += found
        else:
            readings_told += [told(one, "Errors over max(truth, 0.1 % of the rows)") for one in found]
        near = at[NEIGHBOURS]
        beside = below(f"RA's {way} error is below that of permuted data, at every l", at_all(near, ours), near)
        down = rises_with(f"The {way} error of permuted data falls as l falls", near)
        readings_told += [told(one, "Mondrian's classes") for one in (beside, down)]
        plain = rises_with(f"The {way} error of l-diverse data falls as l falls", at[PLAIN])
        readings_told.append(told(plain, "Mondrian without hierarchies"))
    closer = falls_with("RA is nearer than permutation on a smaller share of the queries as l falls",
                        dict(reversed(points(runs, "l", "closer", {"method": PERMUTED}).items())))  # fmt: skip
    readings_told.append(told(closer, "Query by query"))
    return Outcome(
        table=summarise(runs, ["method", "l"], [*WAYS, FLOORED, "closer", "groups"]),
        runs=runs,
        plots=[
            Plot(title=f"{given['quasi']} quasi-identifiers in a query", figure="Fig. 6b", x="l",
                 y=f"{way} relative error", better="down", log_y=True, study=RA,
                 series=curves(_spread(runs, given["l"]), "l", way, by="method"))
            for way in WAYS
        ],
        claims=claims,
        notes=[*NOTES, "RA has no l: its one value is drawn at every l."],
        readings=readings_told,
    )  # fmt: skip


def _spread(runs: pl.DataFrame, levels: Sequence[float]) -> pl.DataFrame:
    """RA's rows at every l, so that it can be drawn beside the others."""
    mine = runs.filter(pl.col("method") == RA)
    again = [mine.with_columns(l=pl.lit(level, dtype=runs.schema["l"])) for level in levels]
    return pl.concat([*again, runs.filter(pl.col("method") != RA)])


QUERIES = [
    Item(
        id="6a",
        key="EXP-YQ-6a",
        title="Error of count queries against the number of quasi-identifiers",
        shows="Mean and median relative error of random count queries on occupation and 1 to 8 quasi-identifiers.",
        statement=(
            "The error of l-diverse data grows with the number of attributes in a query, that of permuted data varies "
            "least, and the growth of RA's slows down."
        ),
        run=_against_quasi,
        needs=["adult"],
        parameters={"rows": 30162, "l": 10, "quasi": list(range(1, 9)), "queries": 1000, "small": 2},
        quick={"rows": 10000, "quasi": [1, 2, 5, 8], "queries": 500},
        refuted=dict.fromkeys(
            ("The growth of RA's mean error", "The growth of RA's median error"),
            "a query finds a record only if none of the attributes it asks for was redrawn, and each further one takes "
            "a ninth of all records away: the error grows by as much again, or more",
        ),
        undecidable={
            "The mean error of permutation varies": AVERAGED,
            "The mean error of l-diverse data grows": AVERAGED,
            "The median error of permutation varies": OF_MEANS,
        },
    ),
    Item(
        id="6b",
        key="EXP-YQ-6b",
        title="Error of count queries against l",
        shows="Mean and median relative error of random count queries on occupation and 5 quasi-identifiers, by l.",
        statement=(
            "Errors on l-diverse and on permuted data fall as l falls from 10 to 8 and 5, and RA's error stays below "
            "both throughout."
        ),
        run=_against_l,
        needs=["adult"],
        parameters={"rows": 30162, "l": [5, 8, 10], "quasi": 5, "queries": 1000},
        quick={"rows": 10000, "queries": 500},
        undecidable={"RA's mean error is below that of permuted": AVERAGED},
    ),
]  # fmt: skip
