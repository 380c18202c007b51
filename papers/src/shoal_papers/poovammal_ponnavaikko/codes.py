"""Poovammal & Ponnavaikko, section 6: correlation, time, and (ours) what an attacker reads off codes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.links.pseudonyms import Graded, TableTransform
from shoal.data.column import Column
from shoal.data.keys import Keys
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.attacks.proximity import breaches
from shoal.risk.attacks.run import attack
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, checked, info, summary, within
from shoal_papers.plots import Plot, Series
from shoal_papers.poovammal_ponnavaikko.common import (
    CATEGORIES,
    CATEGORY,
    COMPLETE,
    DOUBLED,
    EQUAL,
    GRADES,
    NUMBER,
    QUASI,
    ROWS,
    UNEQUAL,
    Pair,
    people,
    table_of,
    transform,
)
from shoal_papers.runs import curves, points, release, summarise

CONSECUTIVE, EVEN, DRAWN = "1, 2, 3, ...", "2, 4, 6, ...", "drawn from 1 to 100"
# Names of K categories; the document allows any increasing positive whole numbers, ours end at a million.
NAMES: Mapping[str, Any] = {
    CONSECUTIVE: lambda k, drawn: list(range(1, k + 1)),
    EVEN: lambda k, drawn: list(range(2, 2 * k + 1, 2)),
    "1, 2, 4, 8, ...": lambda k, drawn: [2**place for place in range(k)],
    "1, 3, 9, 27, ...": lambda k, drawn: [3**place for place in range(k)],
    "1, 10, 100, ...": lambda k, drawn: [10**place for place in range(k)],
    DRAWN: lambda k, drawn: sorted(int(name) for name in 1 + drawn.choice(100, k, replace=False)),
}
# More curves would hide each other; the table has all.
LOWER = "Transforming lowers the risk of a proximity breach, P_b, of a record (5 % of the range of ages)"
BENT = "step 1 allows any increasing names, and unevenly spaced ones bend the code away from a straight line"
SHOWN = (CONSECUTIVE, EVEN, "1, 3, 9, 27, ...", "1, 10, 100, ...")
UNIFORM, QUANTILE, CUTS = "equal widths", "equal counts", "widths drawn"
LEAST = {UNIFORM: 0.9, CUTS: 0.8}
_MOST = 1_000_000


def _bounds(column: Column, how: str, k: int, drawn: np.random.Generator) -> Any:
    if how != CUTS:
        return "equal_width" if how == UNIFORM else "quantile"
    assert column.numbers is not None
    ages = [int(age) for age in column.numbers]
    cuts = [0, *sorted((1 + drawn.choice(len(ages) - 1, k - 1, replace=False)).tolist()), len(ages)]
    return [[ages[low], ages[high - 1]] for low, high in zip(cuts[:-1], cuts[1:], strict=True)]


def _correlation_runs(context: Context) -> pl.DataFrame:
    given = context.parameters
    rows = []
    for seed in context.each(context.seeds, lambda seed: f"seed {seed}"):
        table = table_of(people(context, seed))
        column, values = table.columns[NUMBER], table.codes[NUMBER]
        drawn = context.keys(seed).generator("papers/grades")
        for k in given["k"]:
            for widths in (UNIFORM, QUANTILE, CUTS):
                bounds = _bounds(column, widths, k, drawn)
                for label, named in NAMES.items():
                    names = named(k, drawn)
                    if names[-1] <= _MOST:
                        made = Graded(bounds=bounds, categories=k, names=names).grade(column, values)[2]
                        rows.append({"k": k, "widths": widths, "names": label, "seed": seed,
                                     "correlation": made["correlation"]})  # fmt: skip
    return pl.DataFrame(rows)


def _correlations(context: Context) -> Outcome:
    runs = _correlation_runs(context)
    uniform, other = runs.filter(widths=UNIFORM), runs.filter(pl.col("widths") != UNIFORM)

    def above(text: str, chosen: pl.DataFrame, low: float) -> Any:
        found = chosen["correlation"].to_numpy()
        worst = chosen.row(int(found.argmin()), named=True)
        evidence = (
            f"From {found.min():.4f} (K = {worst['k']}, {worst['widths']}, names {worst['names']}, seed "
            f"{worst['seed']}) to {found.max():.4f}; {int((found > low).sum())} of {found.size} are above {low:g}."
        )
        return checked(text, bool((found > low).all()), evidence, kind="soft", lowest=found.min())

    spaced = pl.col("names").is_in([CONSECUTIVE, EVEN])
    drawn = runs.filter(pl.col("names").is_in(SHOWN))
    shown = {title: drawn.filter(widths=title) for title in (UNIFORM, CUTS)}
    return Outcome(
        table=summarise(runs, ["widths", "names", "k"], ["correlation"]),
        runs=runs,
        plots=[
            Plot(title=f"{title}, by names", figure="Section 6.2.1", x="Number of categories K", study=CONSECUTIVE,
                 y="Correlation of age with its code", series=curves(one, "k", "correlation", by="names"),
                 lines={f"above {LEAST[title]:g}, in the document": LEAST[title]})
            for title, one in shown.items()
        ],
        claims=[
            above("Correlation is above 0.9 for any K with uniform ranges, names equally spaced",
                  uniform.filter(spaced), 0.9),
            above("Correlation is above 0.9 for any K with uniform ranges, whatever the names", uniform, 0.9),
            above("Correlation is above 0.8 for different ranges, names equally spaced", other.filter(spaced), 0.8),
            above("Correlation is above 0.8 for different ranges, whatever the names", other, 0.8),
        ],
        notes=[
            ROWS,
            "Names are any increasing positive whole numbers by the document's first step; correlation is high only "
            "where they rise about as age does. Different ranges are quantiles, and cuts drawn anew for every seed.",
            "A high correlation is what keeps codes useful, and also what gives ages away.",
        ],
        readings=[
            f"{widths}, names {label}: correlation {found.min():.4f} to {found.max():.4f}."
            for widths in (UNIFORM, QUANTILE, CUTS) for label in NAMES
            for found in [runs.filter(widths=widths, names=label)["correlation"].to_numpy()]
        ],
    )  # fmt: skip


def _timed(frame: pl.DataFrame, seed: int, repeats: int) -> tuple[float, float]:
    """Best seconds to code both sensitive columns, and to make the whole release, from a plain frame."""
    spec, keys = TableTransform(), Keys.from_seed(seed)
    method, whole = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        table = table_of(frame)
        spec.map(table.columns[CATEGORY], table.codes[CATEGORY], keys)
        spec.grade(table.columns[NUMBER], table.codes[NUMBER])
        method.append(time.perf_counter() - began)
        began = time.perf_counter()
        release(table_of(frame), spec, seed=seed)
        whole.append(time.perf_counter() - began)
    return min(method), min(whole)


def _times(context: Context) -> Outcome:
    given = context.parameters
    every = context.data.adult(complete=False)
    rows = []
    _timed(people(context, 0)[:1000], 0, 1)  # what is loaded only once
    spots = [(seed, n) for seed in context.seeds for n in given["sizes"]]
    for seed, n in context.each(spots, lambda spot: f"seed {spot[0]}, {spot[1]:,} rows"):
        copies = -(-n // every.height)
        frame = pl.concat([people(context, seed)] * copies)
        drawn = context.keys(seed).generator("papers/rows").permutation(frame.height)[:n]
        method, whole = _timed(frame[drawn], seed, given["repeats"])
        rows.append({"rows": n, "seed": seed, "method": method, "release": whole})
    runs = pl.DataFrame(rows)
    at = {column: points(runs, "rows", column) for column in ("method", "release")}
    slopes = {column: _slopes(runs, column, context.seeds) for column in at}
    nearest = min(given["sizes"], key=lambda n: abs(n - every.height))
    names = {"method": "mapping and grading", "release": "whole release, gated and attacked"}
    return Outcome(
        table=summarise(runs, ["rows"], ["method", "release"]),
        runs=runs,
        plots=[
            Plot(title="time to transform Adult", figure="Section 6.1", x="Rows", y="Seconds", log_x=True, log_y=True,
                 better="down", study=names["method"],
                 series=[replace_name(curves(runs, "rows", column)[0], names[column]) for column in at])
        ],
        claims=[
            within("Time grows no faster than linearly: slope of log seconds against log rows", slopes["method"],
                   high=1.15),
            within("Adult takes less than 28 seconds", at["release"][nearest], high=28.0),
            info(f"Seconds for {nearest:,} rows: mapping and grading", summary(at["method"][nearest]).mean, 28),
            info(f"Seconds for {nearest:,} rows: the whole release", summary(at["release"][nearest]).mean, 28),
        ],
        notes=[
            "Seconds are of this machine and of whatever else it was doing; the document's are of 2009. The best of "
            f"{given['repeats']} repetitions counts.",
            "Tables larger than Adult repeat its records, so that values stay as many while rows grow.",
        ],
        readings=[f"Slope of the whole release: {summary(slopes['release'])}; of the method: "
                  f"{summary(slopes['method'])}."],
    )  # fmt: skip


def replace_name(series: Series, name: str) -> Series:
    """The same curve under another name."""
    return Series(name=name, x=series.x, y=series.y, low=series.low, high=series.high)


def _slopes(runs: pl.DataFrame, column: str, seeds: Any) -> list[float]:
    """How fast logarithms of seconds rise with those of rows, a seed each."""
    found = []
    for seed in seeds:
        one = runs.filter(seed=seed)
        found.append(float(np.polyfit(np.log(one["rows"].to_numpy()), np.log(one[column].to_numpy()), 1)[0]))
    return found


RANK, FREQUENCY = "rank-matching", "frequency-matching"
READ = {"exactly": RANK, "within one year": f"{RANK}-within-one-unit",
        "within 5 % of the range": f"{RANK}-within-5-percent-of-the-range"}  # fmt: skip


def _attacked(pair: Pair, seed: int, name: str, sizes: list[int]) -> dict[tuple[str, int], AttackFigure]:
    """Figures by their name and by how many true values the attacker holds."""
    n = pair.before.height
    (result,) = attack(pair.made, only=[{"name": name, "shares": [size / n for size in sizes]}], seed=seed)
    found = {}
    for figure in result.figures:
        what, _, ending = figure.name.partition(":")
        found[what, int(ending.split(", ", 1)[1].split(" ")[0].replace(",", ""))] = figure
    return found


def _attacks(context: Context) -> Outcome:
    given = context.parameters
    rows = []
    undone = 0
    ways = [(missing, how) for missing in given["missing"] for how in given["gradings"]]
    spots = [(seed, *way) for seed in context.seeds for way in ways]
    for seed, missing, how in context.each(spots, lambda spot: f"seed {spot[0]}, {spot[1]}, {spot[2]}"):
        pair = transform(people(context, seed, missing), seed, how)
        back = [pair.secret(name).decode(pair.after[name]).equals(pair.before[name]) for name in (NUMBER, CATEGORY)]
        undone += all(back)
        rank = _attacked(pair, seed, RANK, given["known"])
        counted = _attacked(pair, seed, FREQUENCY, given["known"])
        wanted = [(NUMBER, label, rank, name) for label, name in READ.items()]
        wanted.append((CATEGORY, "exactly", counted, FREQUENCY))
        rows += [
            {"column": column, "read": label, "known": size, "grading": how, "missing": missing, "seed": seed,
             "share": 100 * found[name, size].value, "baseline": 100 * (found[name, size].baseline or 0.0)}
            for column, label, found, name in wanted for size in given["known"]
        ]  # fmt: skip
    runs = pl.DataFrame(rows)
    return _read_off(context, runs, undone, len(spots))


def _read_off(context: Context, runs: pl.DataFrame, undone: int, releases: int) -> Outcome:
    given = context.parameters
    main = runs.filter(grading=given["gradings"][0], missing=given["missing"][0])
    ages, schools = main.filter(column=NUMBER), main.filter(column=CATEGORY)
    spread = runs.filter(column=NUMBER).group_by("read", "known", "missing", "seed").agg(
        (pl.max("share") - pl.min("share")).alias("away")
    )["away"].to_numpy().max()  # fmt: skip
    frame = people(context, context.seeds[0])
    alone = 100 * frame.filter(pl.struct(QUASI).is_unique()).height / frame.height
    where = {"read": "exactly"}
    complete = [one for one in given["missing"] if one != given["missing"][0]]
    return Outcome(
        table=summarise(runs, ["column", "read", "known", "grading", "missing"], ["share", "baseline"]),
        runs=runs,
        plots=[
            Plot(title="age, by sorting the codes", x="True values that the attacker holds",
                 y="Records read in per cent", log_x=True, study="exactly",
                 series=[*curves(ages, "known", "share", by="read"),
                         replace_name(curves(ages.filter(read="exactly"), "known", "baseline")[0],
                                      "one guess for all, exactly")]),
            Plot(title="education, by counting the codes", x="True values that the attacker holds",
                 y="Records read in per cent", log_x=True, study="exactly",
                 series=[replace_name(curves(schools, "known", "share")[0], "exactly"),
                         replace_name(curves(schools, "known", "baseline")[0], "commonest for all")]),
        ],
        claims=[
            checked("Whoever has the mapping table and the grades reads every cell", undone == releases,
                    f"{undone} of {releases} releases are undone without an error."),
            checked("Ranges and names of the categories do not matter to who sorts the codes", spread < 1e-9,
                    f"Shares differ by up to {spread:.2g} points between gradings."),
            below("Without K, names and ranges nobody guesses ages: sorting reads no more than one guess for all",
                  points(ages, "known", "share", where), points(ages, "known", "baseline", where), strict=False),
            below("Mapped values cannot be guessed: counting reads no more than the commonest value",
                  points(schools, "known", "share"), points(schools, "known", "baseline"), strict=False),
            _lower(frame, given["gradings"][0], context.seeds[0]),
            info("Per cent of records alone with their quasi-identifiers, which stay as they are", alone, "none named"),
        ],
        notes=[
            ROWS, GRADES,
            "Ours, not the document's. The attacker has a sample of true values from the same table, whose records are "
            "not scored, and neither K nor names, bounds or the mapping table; 200 samples a size and seed.",
            "Quasi-identifiers are released as they are, so that whoever reads a code knows whose it is.",
        ],
        readings=[_read_out(main, column, label) for column, label in
                  [*((NUMBER, label) for label in READ), (CATEGORY, "exactly")]]
        + [f"Complete rows only: {_read_out(runs.filter(grading=given['gradings'][0], missing=one), column, 'exactly')}"
           for one in complete for column in (NUMBER, CATEGORY)],
    )  # fmt: skip


def _lower(frame: pl.DataFrame, how: str, seed: int) -> Claim:
    """P_b before and after, groups being who agrees on all quasi-identifiers."""
    found = breaches(transform(frame, seed, how).made, NUMBER)
    means = [float(found[f"proximity_{when}"].to_numpy().mean()) for when in ("before", "after", "table")]
    before, after, whole = means
    evidence = f"P_b is {before:.3f} before and {after:.3f} after in the mean, and {whole:.3f} with all records as one."
    return checked(LOWER, after < before, evidence, kind="soft", before=before, after=after, table=whole)


def _read_out(runs: pl.DataFrame, column: str, label: str) -> str:
    at = points(runs, "known", "share", {"column": column, "read": label})
    return f"{column} {label}: " + ", ".join(f"{size:,} known {summary(values)} %" for size, values in at.items()) + "."


CODES = [
    Item(
        id="corr",
        key="EXP-PP-corr",
        title="Correlation of age with its code",
        shows="Correlation against the number of categories, by names and by ranges.",
        statement="Above 0.9 for any number of categories with uniform ranges, still above 0.8 with different ones.",
        run=_correlations,
        needs=["adult"],
        parameters={"rows": 32561, "k": list(range(3, 16))},
        quick={"rows": 3000, "k": [3, 5, 8, 12]},
        refuted={
            "Correlation is above 0.9 for any K with uniform ranges, whatever the names": BENT,
            "Correlation is above 0.8 for different ranges, names equally spaced": "a category that is much wider than "
            "the others bends the code as uneven names do, and step 2 allows any widths",
            "Correlation is above 0.8 for different ranges, whatever the names": BENT,
        },
    ),
    Item(
        id="time",
        key="EXP-PP-time",
        title="Time against the number of rows",
        shows="Seconds of the transformation, and of the whole release, against rows.",
        statement="Time varies linearly with the size of the table, and Adult takes less than 28 seconds.",
        run=_times,
        needs=["adult"],
        parameters={"rows": 32561, "sizes": [8000, 16000, 32561, 65122, 130244], "repeats": 2},
        quick={"sizes": [4000, 16000, 32561], "repeats": 1},
    ),
    Item(
        id="attack",
        key="EXP-PP-attack",
        title="What sorting and counting read off the codes",
        shows="Records whose age and education are read, against how many true values the attacker holds.",
        statement="Without the number of categories, their names and ranges, nobody can guess the actual values.",
        run=_attacks,
        needs=["adult"],
        parameters={"rows": 32561, "known": [100, 200, 1000, 5000], "gradings": [EQUAL, UNEQUAL, DOUBLED],
                    "missing": [CATEGORIES, COMPLETE]},
        quick={"rows": 6000, "known": [100, 1000], "missing": [CATEGORIES]},
        refuted={
            "Without K, names and ranges nobody guesses ages": "codes keep the order of the values, and sorting needs "
            "neither names nor ranges",
            "Mapped values cannot be guessed": "codes keep the frequencies of the values",
            LOWER: "quasi-identifiers stay as they are, so that whoever can be linked is in the group that they were "
            "in; n is the size of the group only for who links nobody",
        },
    ),
]  # fmt: skip
