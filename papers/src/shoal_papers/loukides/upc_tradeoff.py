"""Loukides, Section 6.2: guarantees (UPC) against a trade-off (TOC) on the census, Figs 6.4 to 6.11."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.cluster.toc import TOC
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, checked, summary, within
from shoal_papers.loukides.upc_common import (
    OFFERED,
    OURS,
    SEEN,
    STANDIN,
    Panel,
    Tables,
    census_of,
    census_tables,
    keeps,
    limit,
    make,
    told,
    upc,
)  # fmt: skip
from shoal_papers.plots import Plot
from shoal_papers.runs import curves, points, summarise

TRADING = "TOC"
# Below this delta the document's TOC suppressed every record.
STARTS = 0.3


def toc(k: int, delta: float, **options: Any) -> TOC:
    """TOC in its plain version: clusters below k are suppressed."""
    return TOC(k=k, listing="printed", delta=delta, leftover="suppress", suppression_limit=1.0, **options)


def _rows(tables: Tables, given: Mapping[str, Any], k: int, seed: int, ours: Any, trading: Any) -> list[dict[str, Any]]:
    """UPC, whose figures no delta changes, and TOC at every delta."""
    mine = make(tables.plain, ours(k), seed, given["p"], maybe=True).figures
    rows = [{"method": OURS, "k": k, "delta": delta, "seed": seed, **mine} for delta in given["delta"]]
    for delta in given["delta"]:
        found = make(tables.plain, trading(k, delta), seed, given["p"], maybe=True).figures
        rows.append({"method": TRADING, "k": k, "delta": delta, "seed": seed, **found})
    return rows


def _other(
    context: Context, trading: Any = toc, seeds: Sequence[int] | None = None, *, generated: bool = False, **options: Any
) -> pl.DataFrame:
    """Runs under another reading, of fewer rows and two seeds: other options of UPC, of TOC, or other people."""
    given, rows = context.parameters, []
    for seed in context.seeds[:2] if seeds is None else seeds:
        context.progress(f"another reading, seed {seed}", None)
        tables = census_tables(census_of(context, seed, given["tried"], generated=generated))
        for k in given["k"]:
            ours = upc(k, given["u"], given["p"], **{name: value(k) for name, value in options.items()})
            rows += _rows(tables, given, k, seed, lambda _, ours=ours: ours, trading)
    return pl.DataFrame(rows)


def _at(runs: pl.DataFrame, y: str, method: str) -> dict[str, np.ndarray]:
    """Values at every (k, delta), named."""
    named = runs.with_columns(at=pl.format("k = {}, delta = {}", "k", "delta"))
    return points(named, "at", y, {"method": method})


def _soft(runs: pl.DataFrame) -> list[Claim]:
    low, high = runs.filter(pl.col("delta") < STARTS), runs.filter(pl.col("delta") >= STARTS)
    theirs = high.filter(pl.col("method") == TRADING)
    unprotected = _at(high, "unprotected", TRADING)
    met = theirs.group_by("seed").agg((pl.col("wgu") <= 0.7).mean())["wgu"].to_numpy()
    return [
        within("UPC suppresses nothing", _at(runs, "suppressed", OURS), high=0.0),
        within("TOC suppresses everything where delta is below 0.3", _at(low, "suppressed", TRADING), low=1.0),
        below("TOC has a lower UM than UPC where delta is at least 0.3", _at(high, "um", TRADING),
              _at(high, "um", OURS)),
        within("TOC's WGU is at most 0.7 for most k and delta from 0.3 on", met, low=0.5),
        below("TOC releases records whose range diversity is above P, wherever delta is at least 0.3",
              {at: np.zeros(values.size) for at, values in unprotected.items()}, unprotected),
    ]  # fmt: skip


def _readings(context: Context) -> list[str]:
    near = _other(context, leftover_scope=lambda k: "near")
    tight = _other(context, lambda k, delta: toc(k, delta, size=k))
    named = [
        ("UPC's leftovers join clusters near them only", _soft(near)[:1]),
        ("TOC with s = k", _soft(tight)[1:3]),
    ]
    if context.quick:
        return [line for label, claims in named for line in told(label, claims)]
    small = _other(context, max_size=lambda k: 2 * max(k, 2) - 1)
    close = _other(context, size=lambda k: max(k, 2))
    whole = _other(context, lambda k, delta: toc(k, delta, prepartition=False))
    people = _other(context, generated=True)
    named += [
        ("UPC's clusters have at most 2k - 1 records", _soft(small)[2:3]),
        ("UPC with s = k", _soft(close)[:3:2]),
        ("TOC without pre-partitioning", _soft(whole)[1:3]),
        ("Generated people in place of the stand-in", _soft(people)[:3]),
    ]
    rows = small.rename({"um": "um_classes", "um_rows": "um"})
    named.append(("UM as a mean over records, UPC's clusters of at most 2k - 1", _soft(rows)[2:3]))
    return [line for label, claims in named for line in told(label, claims)]


def _run(context: Context) -> Outcome:
    given = context.parameters
    rows: list[dict[str, Any]] = []
    for seed in context.each(context.seeds, lambda seed: f"seed {seed}"):
        tables = census_tables(census_of(context, seed, given["rows"]))
        for k in given["k"]:
            rows += _rows(tables, given, k, seed, lambda k: upc(k, given["u"], given["p"]), toc)
    runs = pl.DataFrame(rows)
    ours = runs.filter(pl.col("method") == OURS)
    made = runs.filter(pl.col("classes") > 0)
    spare = int((made["smallest"] - made["k"]).to_numpy().min())
    confidence = summary(ours["confidence"].to_numpy())
    panels: list[Panel] = [
        ("wgu", "WGU", limit("U", given["u"]), "Figs 6.4, 6.7"), ("um", "UM of released records", {}, "Figs 6.5, 6.8"),
        ("suppressed", "share of records suppressed", {}, "Figs 6.6, 6.9"),
        ("unprotected", "share released with rd > P", {}, "Figs 6.10, 6.11"),
    ]  # fmt: skip
    shown = runs.with_columns(which=pl.format("{}, k = {}", "method", "k"))
    return Outcome(
        table=summarise(runs, ["method", "k", "delta"],
                        ["wgu", "um", "um_rows", "suppressed", "unprotected", "wgp", "confidence"]),
        runs=runs,
        plots=[
            Plot(title="census stand-in", figure=figure, x="delta", y=label, better="down", lines=lines,
                 study=[f"{OURS}, k = {k}" for k in given["k"]], series=curves(shown, "delta", name, by="which"))
            for name, label, lines, figure in panels
        ],
        claims=[
            checked("Every class has at least k records", spare >= 0, f"The smallest has {spare} more than k."),
            keeps(ours, "wgu", given["u"], "UPC's WGU is at most U"),
            keeps(ours, "wgp", given["p"], "No record that UPC releases has a range diversity above P"),
            *_soft(runs),
        ],
        notes=[
            OFFERED, SEEN, STANDIN,
            "TOC suppresses clusters below k, as in the document's figures; weights are 1/2, s is its heuristic's.",
            "WGU and UM are undefined, and not drawn, where everything is suppressed. UM is of released records only, "
            "which flatters whoever suppresses: read it beside the share suppressed.",
            f"Range diversity is an average: at P = {given['p']:g}, one sensitive range still holds up to "
            f"{confidence.mean:.2f} of some class of UPC.",
            f"Other readings are of {given['tried']:,} records and two seeds.",
        ],
        readings=_readings(context),
    )  # fmt: skip


TRADE = Item(
    id="6.4",
    key="EXP-LO-6.4",
    title="Guarantees against a trade-off: UPC and TOC",
    shows="WGU, UM, records suppressed, and released records that are not protected, against TOC's delta, for two k.",
    statement=(
        "Both methods keep WGU at most 0.7 in most cases; TOC suppresses everything for delta below 0.3, has a lower "
        "UM from there on, and leaves records unprotected; UPC suppresses nothing and protects everybody."
    ),
    run=_run,
    needs=["census"],
    parameters={
        "rows": None, "tried": 4000, "k": [2, 5], "u": 0.7, "p": 0.5,
        "delta": [0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0],
    },
    quick={"rows": 1000, "tried": 500, "delta": [0.1, 0.2, 0.3, 0.6]},
    repeats=2,
    also=["6.5", "6.6", "6.7", "6.8", "6.9", "6.10", "6.11"],
    refuted={
        "TOC suppresses everything": (
            "by the document's own definitions a pair with equal quasi-identifiers and incomes of different branches "
            "costs 0, so that TOC releases it at any delta; with s = k, without pre-partitioning and on generated "
            "people it is the same"
        ),
    },
    undecidable={
        "TOC has a lower UM": "it hangs on TOC's s, which a heuristic chose and nobody prints: with s = k it holds",
        "TOC's WGU is at most 0.7": "it hangs on TOC's s, which a heuristic chose and nobody prints",
    },
)
