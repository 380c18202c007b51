"""Loukides, Section 6.3: UPC against protection constrained methods on the census, Figs 6.14 to 6.22."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.results import Release
from shoal.utility.queries import Condition, Query, RangeQueries
from shoal.utility.reading import read_release
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, checked, within
from shoal_papers.loukides.upc_common import (
    BREACH,
    CL,
    CLOSE,
    GUARDED,
    INCOME,
    LOOSE,
    OFFERED,
    OURS,
    PERSONAL,
    ROUNDING,
    SEEN,
    SMALL,
    STANDIN,
    TIGHT,
    Made,
    Panel,
    Tables,
    census_of,
    census_tables,
    errors_of,
    keeps,
    limit,
    make,
    mean_of,
    protected,
    ranked,
    told,
    upc_named,
)  # fmt: skip
from shoal_papers.plots import Plot
from shoal_papers.runs import curves, points, summarise

OTHERS = (CL, CLOSE, PERSONAL)
LEAST_LOSS = "least loss"
# How far beyond u an income may lie: type 1 and type 2.
SPANS = {1: 10, 2: 0}
NOTES = (OFFERED, SEEN, STANDIN, GUARDED, LOOSE)
GUESSED = "it hangs on how Personalised was configured, of which the document says only that it was as in its own paper"
# The document's figures of queries, type by type and k by k.
DRAWN = ("6.14", "6.15", "6.16", "6.17")
ZEROS = "Queries whose true answer is 0 have no relative error and are left out: the document does not say."


def _released(name: str, tables: Tables, k: int, seed: int, given: Mapping[str, Any]) -> Made:
    """The release of a method, by its name."""
    if name in (OURS, SMALL, TIGHT):
        return make(tables.plain, upc_named(name, k, given["u"], given["p"]), seed, given["p"], maybe=True)
    measure = "lm" if name.endswith(LEAST_LOSS) else "height"
    algorithm, models = protected(name.removesuffix(f", {LEAST_LOSS}"), k, given["t"], measure)
    return make(tables.trees, algorithm, seed, given["p"], models)


def _all(
    context: Context, names: Sequence[str], seeds: Sequence[int], rows: int | None, *, generated: bool = False
) -> Iterator[tuple[int, int, str, Made]]:
    """Every method at every k and seed."""
    given = context.parameters
    sizes = [k for k in given["k"] if not generated or k >= given["people_k"]]
    spots = [(seed, k) for seed in seeds for k in sizes]
    tables, last = None, None
    for seed, k in context.each(spots, lambda spot: f"seed {spot[0]}, k = {spot[1]}"):
        if tables is None or seed != last:
            tables, last = census_tables(census_of(context, seed, rows, generated=generated)), seed
        for name in names:
            yield seed, k, name, _released(name, tables, k, seed, given)


def census_queries(made: Release, count: int, span: int, seed: int) -> list[Query]:
    """Figs 6.12 and 6.13: a random quasi-identifier in a range, and incomes from u to u + span for u below 40."""
    reading = read_release(made, keys=Keys.from_seed(seed))
    asked = RangeQueries(count=count, width=15.0, level=1).make(reading)
    starts = Keys.from_seed(seed).generator("papers/loukides/incomes").integers(0, 40, count)
    incomes = [Condition(INCOME, tuple(str(value) for value in range(u, u + span + 1))) for u in starts.tolist()]
    return [
        Query((*(one for one in query.conditions if one.column != INCOME), income))
        for query, income in zip(asked, incomes, strict=True)
    ]


def _asked(
    context: Context, names: Sequence[str], seeds: Sequence[int], count: int | None
) -> tuple[pl.DataFrame, dict[tuple[int, int, str], np.ndarray]]:
    """Summed errors of every release, and the first seed's errors, query by query."""
    rows: list[dict[str, Any]] = []
    first: dict[tuple[int, int, str], np.ndarray] = {}
    queries: dict[int, list[Query]] = {}
    ours: dict[int, np.ndarray] = {}
    for seed, k, name, made in _all(context, names, seeds, count):
        assert made.release is not None
        if name == OURS and k == context.parameters["k"][0]:
            queries = {
                kind: census_queries(made.release, context.parameters["queries"], span, seed)
                for kind, span in SPANS.items()
            }
        for kind, asked in queries.items():
            errors = errors_of(made.release, asked, seed)
            ours[kind] = errors if name == OURS else ours[kind]
            first.setdefault((kind, k, name), errors)
            rows.append({
                "method": name, "type": kind, "k": k, "seed": seed, "mean": float(errors.mean()),
                "median": float(np.median(errors)), "tenfold": float((10 * ours[kind] <= errors).mean()),
                "closer": float((ours[kind] < errors).mean()), "suppressed": made.figures["suppressed"],
                "um": made.figures["um"], "asked": errors.size,
            })  # fmt: skip
    return pl.DataFrame(rows), first


def _of(runs: pl.DataFrame, kind: int, name: str, y: str) -> dict[Any, np.ndarray]:
    return points(runs.filter(pl.col("type") == kind), "k", y, {"method": name})


def _query_claims(runs: pl.DataFrame, way: str, ours: str = OURS, personal: str = PERSONAL) -> list[Claim]:
    mine = {kind: _of(runs, kind, ours, way) for kind in SPANS}
    theirs = _of(runs, 1, personal, way)
    ratio = {k: mine[1][k] / theirs[k] for k in theirs}
    claims = [
        below(f"Type 1: ten times UPC's {way} error is below that of {name}", mine[1], _of(runs, 1, name, way),
              factor=10.0)
        for name in (CL, CLOSE)
    ]  # fmt: skip
    near = f"Type 1: UPC's {way} error is from half to twice that of Personalised"
    claims.append(within(near, ratio, low=0.5, high=2.0))
    return claims + [
        below(f"Type 2: UPC's {way} error is below that of {name}", mine[2], _of(runs, 2, name, way))
        for name in (CL, CLOSE, personal)
    ]


def _queries(context: Context) -> Outcome:
    given = context.parameters
    runs, first = _asked(context, (OURS, *OTHERS), context.seeds, given["rows"])
    tried, _ = _asked(context, (OURS, *OTHERS, BREACH, SMALL, TIGHT), context.seeds[:2], given["tried"])
    shares = [
        within(f"Type 1: UPC's error is a tenth of that of {name} or less, for most queries",
               _of(runs, 1, name, "tenfold"), low=0.5)
        for name in (CL, CLOSE)
    ]  # fmt: skip
    lost = runs.filter(pl.col("method") == OURS)["suppressed"].to_numpy()
    return Outcome(
        table=summarise(runs, ["method", "type", "k"], ["mean", "median", "tenfold", "closer", "suppressed", "um"]),
        runs=runs,
        plots=[
            Plot(title=f"type {kind}, k = {k}, seed {context.seeds[0]}", x="queries, per cent", y="relative error",
                 figure=f"Fig. {figure}", kind="sorted", better="down", log_y=True, study=OURS,
                 series=[ranked(name, np.maximum(first[kind, k, name], 1e-3)) for name in (OURS, *OTHERS)])
            for (kind, k), figure in zip(product(SPANS, given["k"]), DRAWN, strict=False)
        ],
        claims=[
            checked("UPC suppresses nothing, so that all methods answer for the same people",
                    bool((lost == 0).all()), f"{lost.max():.4g} of the records suppressed at most.", kind="soft"),
            *shares,
            *_query_claims(runs, "median"),
        ],
        notes=[
            *NOTES, ZEROS,
            f"{given['queries']:,} queries of each type; readings other than by means are of {given['tried']:,} "
            "records. Errors are drawn from 0.001 up; medians are judged, since means hang on a few tiny answers.",
        ],
        readings=[
            *told("By means", _query_claims(runs, "mean")),
            *told("UPC's clusters have at most 2k - 1 records", _query_claims(tried, "median", SMALL)),
            *told("UPC with s = k", _query_claims(tried, "median", TIGHT)),
            *told("Personalised with a breach limit of 1/k", _query_claims(tried, "median", personal=BREACH)[2::3]),
        ],
    )  # fmt: skip


def _quality_claims(runs: pl.DataFrame, k_small: int = 10) -> list[Claim]:
    """What Figs 6.18 to 6.22 are said to show."""
    um = {name: points(runs, "k", "um", {"method": name}) for name in (OURS, *OTHERS)}
    wgp = {name: points(runs, "k", "wgp", {"method": name}) for name in OTHERS}
    loose = {name: points(runs, "k", "lowest", {"method": name}) for name in OTHERS}
    unprotected = points(runs, "k", "unprotected", {"method": CLOSE})
    # Where Personalised publishes quasi-identifiers as they are, its UM is 0.
    ratio = {k: um[OURS][k] / np.maximum(um[PERSONAL][k], ROUNDING) for k in um[OURS]}
    large = {k: values for k, values in um[PERSONAL].items() if k > k_small}
    drawn = [k for k in wgp[CL] if k in (2, 10)]
    claims = [below(f"UPC's UM is below that of {name}", um[OURS], um[name]) for name in (CL, CLOSE)]
    return [
        *claims,
        within("UPC's UM is from half to twice that of Personalised", ratio, low=0.5, high=2.0),
        within("Personalised generalises everything for k above 10", large, low=1.0),
        within("Every record of Incognito (c,l) has a range diversity above 0.85, at k = 2 and 10",
               {k: loose[CL][k] for k in drawn}, low=0.85),
        within("Some records of Personalised have a range diversity of 0.9, at k = 2 and 10",
               {k: wgp[PERSONAL][k] for k in drawn}, low=0.9),
        within("Incognito t protects as UPC does, at k = 2 and 10: no record above P",
               {k: unprotected[k] for k in drawn}, high=0.0),
        *(within(f"The worst class of {name} is above P for k up to 10",
                 {k: values for k, values in wgp[name].items() if k <= k_small}, low=0.5) for name in (CL, PERSONAL)),
    ]  # fmt: skip


def _quality_runs(
    context: Context, names: Sequence[str], seeds: Sequence[int], count: int | None, *, generated: bool = False
) -> tuple[pl.DataFrame, dict[tuple[int, str], np.ndarray]]:
    rows: list[dict[str, Any]] = []
    rd: dict[tuple[int, str], np.ndarray] = {}
    for seed, k, name, made in _all(context, names, seeds, count, generated=generated):
        rows.append({"method": name, "k": k, "seed": seed, **made.figures,
                     "lowest": float(made.rd.min()) if made.rd.size else float("nan")})  # fmt: skip
        rd.setdefault((k, name), made.rd)
    return pl.DataFrame(rows), rd


def _quality(context: Context) -> Outcome:
    given = context.parameters
    loss = [f"{name}, {LEAST_LOSS}" for name in (CL, CLOSE)]
    runs, rd = _quality_runs(context, (OURS, *OTHERS), context.seeds, given["rows"])
    people, _ = _quality_runs(context, (OURS, *OTHERS), context.seeds[:1], given["people"], generated=True)
    tried, _ = _quality_runs(
        context, (OURS, *OTHERS, BREACH, SMALL, TIGHT, *loss), context.seeds[:2], given["tried"]
    )
    ours = runs.filter(pl.col("method") == OURS)
    swap = {
        "Incognito takes the node of least loss (LM), not of least height": dict(zip(loss, (CL, CLOSE), strict=True)),
        "UPC's clusters have at most 2k - 1 records": {SMALL: OURS},
        "UPC with s = k": {TIGHT: OURS},
        "Personalised with a breach limit of 1/k": {BREACH: PERSONAL},
    }
    claims = _quality_claims(runs)
    both = pl.concat([one.with_columns(people=pl.lit(which)) for one, which in (
        (runs, "Adult"), (people, "generated"), (tried, "Adult, fewer"),
    )])  # fmt: skip
    readings = told(f"{given['people']:,} generated people", _quality_claims(people))
    few = _quality_claims(tried.filter(pl.col("method").is_in([OURS, *OTHERS])))
    readings += told(f"{given['tried']:,} records", few, claims)
    for label, names in swap.items():
        other = tried.filter(~pl.col("method").is_in(list(names.values())))
        readings += told(label, _quality_claims(other.with_columns(pl.col("method").replace(names))), few)
    k_drawn = [k for k in given["k"] if k in (2, 10)]
    panels: list[Panel] = [
        ("wgu", "WGU", limit("U", given["u"]), "Fig. 6.18"), ("um", "UM", {}, "Fig. 6.19"),
        ("wgp", "WGP", limit("P", given["p"]), "Fig. 6.22"),
    ]  # fmt: skip
    return Outcome(
        table=summarise(both, ["people", "method", "k"],
                        ["wgu", "um", "um_rows", "wgp", "unprotected", "confidence", "suppressed", "classes"]),
        runs=both,
        plots=[
            *(Plot(title="census stand-in", figure=figure, x="k", y=label, better="down", lines=lines, study=OURS,
                   series=curves(runs, "k", name, by="method")) for name, label, lines, figure in panels),
            *(Plot(title=f"k = {k}, seed {context.seeds[0]}", figure={2: "Fig. 6.20", 10: "Fig. 6.21"}[k],
                   x="records, per cent", y="range diversity", kind="sorted", better="down",
                   lines=limit("P", given["p"]), study=OURS,
                   series=[ranked(name, rd[k, name]) for name in (OURS, *OTHERS)])
              for k in k_drawn),
            Plot(title=f"{given['people']:,} generated people", figure="Fig. 6.19", x="k", y="UM", better="down",
                 study=OURS, series=curves(people, "k", "um", by="method")),
        ],
        claims=[
            keeps(ours, "wgu", given["u"], "UPC's WGU is at most U"),
            keeps(ours, "wgp", given["p"], "The range diversity of every record of UPC, hence WGP, is at most P"),
            within("UPC suppresses nothing", points(ours, "k", "suppressed"), high=ROUNDING),
            *claims,
        ],
        notes=[
            *NOTES,
            f"Range diversity is an average of pairs: the largest share of a class of UPC in one sensitive range is "
            f"{mean_of(ours, 'confidence')}.",
            f"Readings other than those of generated people are of {given['tried']:,} records and two seeds.",
        ],
        readings=readings,
    )  # fmt: skip


CENSUS = [
    Item(
        id="6.14",
        key="EXP-LO-6.14",
        title="Relative errors of count queries: UPC and protection constrained methods",
        shows="Relative errors of queries of types 1 and 2, in descending order, for k = 2 and 10.",
        statement=(
            "Type 1: UPC's errors are an order of magnitude below Incognito's for most queries and comparable to "
            "Personalised's. Type 2: UPC's are the lowest."
        ),
        run=_queries,
        needs=["census"],
        parameters={
            "rows": None, "tried": 4000, "k": [2, 10], "queries": 10_000, "u": 0.7, "p": 0.5, "t": 0.9,
        },
        quick={"rows": 1000, "tried": 500, "queries": 1000},
        repeats=2,
        also=["6.15", "6.16", "6.17"],
        refuted={
            **dict.fromkeys(
                ("Type 1: UPC's error is a tenth", "Type 1: ten times UPC's median error"),
                "queries ask for whole nodes on level 1, and a full-domain release that keeps a column on that level "
                "answers them without any error: two fifths of all queries or more",
            ),
        },
        undecidable={
            **dict.fromkeys(
                ("Type 2: UPC's median error is below that of Incognito", "Type 2: UPC's median error is below that of "
                 "Personalised", "Type 1: UPC's median error is from half to twice"),
                "it hangs on hierarchies, incomes and a configuration of Personalised that are not printed: medians "
                "and means disagree about it",
            ),
        },
    ),
    Item(
        id="6.18",
        key="EXP-LO-6.18",
        title="Utility and protection: UPC and protection constrained methods",
        shows="WGU, UM, WGP and suppression against k, and the range diversity of every record for k = 2 and 10.",
        statement=(
            "UPC keeps WGU at most 0.7 and WGP at most 0.5 at every k, with a UM below Incognito's and near "
            "Personalised's, which generalises everything for k above 10. Every record of (c,l)-diverse data has a "
            "range diversity above 0.85, some of Personalised 0.9, while t-closeness protects as UPC does."
        ),
        run=_quality,
        needs=["census"],
        parameters={
            "rows": None, "people": 100_000, "people_k": 5, "tried": 4000, "k": [2, 5, 10, 25, 50], "u": 0.7, "p": 0.5,
            "t": 0.9,
        },
        quick={"rows": 1000, "people": 1000, "tried": 500, "k": [2, 10, 25]},
        repeats=2,
        also=["6.19", "6.20", "6.21", "6.22"],
        refuted={
            "Every record of Incognito (c,l)": (
                "(2,2)-diversity and t = 0.9 allow nearly the same nodes, and give the same release from k = 5 on, so "
                "that one cannot leave everybody exposed while the other protects; on all of Adult and on generated "
                "people at least nine in ten records are below P"
            ),
            "Incognito t protects as UPC does": (
                "t = 0.9 limits next to nothing, as the distance is at most 1: its release is that of (c,l)-diversity "
                "from k = 5 on, which the document calls unprotected"
            ),
        },
        undecidable={
            "Personalised generalises everything": GUESSED,
            "Some records of Personalised": GUESSED,
            "UPC's UM is from half to twice": GUESSED,
            "The worst class of Personalised": GUESSED,
        },
    ),
]
