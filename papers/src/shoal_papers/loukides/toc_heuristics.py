"""Loukides, Sections 3.3.1 and 4.2: choosing the threshold and the subspace size on a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.cluster.toc import delta_candidates
from shoal.data.table import Table
from shoal.errors import InfeasibleError
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import falls_with, info, within
from shoal_papers.loukides.toc_common import (
    ORDER,
    RELEASED,
    adult_table,
    figures,
    guarantees,
    mrg,
    spots,
    synthetic_table,
    told,
)  # fmt: skip
from shoal_papers.loukides.toc_printed import DELTAS_PRINTED, SIZES_PRINTED
from shoal_papers.plots import Plot
from shoal_papers.runs import beside, curves, points, sample, summarise

ROUNDS = 3
LEAST = 5
PARTS, POOL = "all rows, pre-partitioned", "fewer rows, as one"
NO_SIZE = "s is 4k wherever delta is studied, so that delta alone makes the difference."


def grid(rounds: int) -> list[float]:
    """Every threshold that so many rounds of Algorithm 3 try."""
    return sorted({delta for i in range(1, rounds + 1) for delta in delta_candidates(i)})


def scored(table: Table, seed: int, k: int, delta: float, **options: Any) -> dict[str, Any] | None:
    """Figures of MRG at a threshold, None where no cluster reaches k."""
    try:
        return figures(table, mrg(k, delta=delta, fallback="error", **options), seed)[1]
    except InfeasibleError:
        return None


def chosen(table: Table, seed: int, k: int, **options: Any) -> dict[str, Any]:
    """What the heuristics say: thresholds and sizes tried on the sample, and those chosen."""
    made, _ = figures(table, mrg(k, **options), seed)
    found: dict[str, Any] = made.evidence["search"]
    return found


def _deltas(context: Context) -> Outcome:
    given = context.parameters
    whole, k = context.data.adult(), given["k"]
    rows: list[dict[str, Any]] = []
    for (seed,) in context.each(spots(context), lambda one: f"seed {one[0]}"):
        tables = {
            PARTS: (adult_table(sample(whole, given["rows"], seed)), {"size": 4 * k}),
            POOL: (adult_table(sample(whole, given["small"], seed)), {"prepartition": False}),
        }
        for one in chosen(tables[PARTS][0], seed, k, size=4 * k)["deltas"]:
            rows.append({"on": "sample", "seed": seed} | {name: one[name] for name in ("delta", "um", "mpm")})
        for name, (table, options) in tables.items():
            for delta in grid(ROUNDS):
                found = scored(table, seed, k, delta, **options)
                if found is not None:
                    kept = {part: found[part] for part in ("um", "mpm", "spare", "suppressed", "leftovers")}
                    rows.append({"on": name, "seed": seed, "delta": delta} | kept)
    runs = pl.DataFrame(rows, infer_schema_length=None).filter(pl.col("um").is_not_null())
    claims = _near(runs, POOL)
    return Outcome(
        table=summarise(runs, ["on", "delta"], ["um", "mpm"]),
        runs=runs,
        plots=[
            Plot(title=name, figure="Fig. 3.8", x="delta", y=name, better="down", study="sample",
                 series=curves(runs, "delta", y, by="on"))
            for name, y in (("UM", "um"), ("MPM", "mpm"))
        ],
        claims=[*guarantees(runs.filter(pl.col("spare").is_not_null())), *claims],
        notes=[ORDER, RELEASED, NO_SIZE,
               f"Algorithm 1 as it is, without pre-partitioning, takes the square of the rows: on {given['small']} of "
               "them. The figure is about it; pre-partitioned, hardly anything depends on delta.",
               "Thresholds under which no cluster reaches k have no figures; curves are compared where both have some.",
               "The sample is drawn without replacement: with it, copies of a record are at no distance."],
        readings=told("The whole table pre-partitioned", _near(runs, PARTS), claims)
        + told("From delta 0.3 on", _near(runs.filter(pl.col("delta") > 0.3), POOL), claims),
    )  # fmt: skip


def _near(runs: pl.DataFrame, on: str) -> list[Claim]:
    found = []
    for y in ("um", "mpm"):
        ours, theirs = (_by_seed(runs, name, y) for name in (on, "sample"))
        gaps: dict[float, list[float]] = {}
        for (delta, seed), value in ours.items():
            if (delta, seed) in theirs:
                gaps.setdefault(delta, []).append(abs(value - theirs[delta, seed]))
        text = f"{y.upper()} on the sample is within 0.05 of that on the whole table at every delta"
        found.append(within(text, {delta: np.array(gap) for delta, gap in gaps.items()}, high=0.05))
    return found


def _by_seed(runs: pl.DataFrame, on: str, y: str) -> dict[tuple[float, int], float]:
    mine = runs.filter(pl.col("on") == on)
    return {(delta, seed): value for delta, seed, value in mine.select("delta", "seed", y).rows()}


def _sizes(context: Context) -> Outcome:
    given = context.parameters
    whole, k, rounds = context.data.adult(), given["k"], given["rounds"]
    rows: list[dict[str, Any]] = []
    picked = []
    for (seed,) in context.each(spots(context), lambda one: f"seed {one[0]}"):
        table = adult_table(sample(whole, given["rows"], seed))
        usual = chosen(table, seed, k)
        picked.append(usual["size"] / k)
        delta = usual["delta"]
        # No change is below 0, so that every size is tried.
        for one in chosen(table, seed, k, delta=delta, max_iterations=rounds, epsilon=0.0)["sizes"]:
            rows.append({"on": "sample", "times": one["size"] // k, "seed": seed, "um": one["um"], "mpm": one["mpm"]})
        for times in [2**i for i in range(rounds)]:
            found = scored(table, seed, k, delta, size=k * times)
            assert found is not None
            kept = {name: found[name] for name in ("um", "mpm", "spare", "suppressed")}
            rows.append({"on": "whole table", "times": times, "seed": seed} | kept)
    runs = pl.DataFrame(rows, infer_schema_length=None).with_columns(both=pl.col("um") + pl.col("mpm"))
    claims = [_stable(runs, "sample")]
    return Outcome(
        table=summarise(runs, ["on", "times"], ["um", "mpm", "both"]),
        runs=runs,
        plots=[
            Plot(title=name, figure="Fig. 3.9", x="s / k", y=name, better="down", log_x=True, study="sample",
                 series=curves(runs, "times", y, by="on"))
            for name, y in (("UM", "um"), ("MPM", "mpm"), ("UM + MPM", "both"))
        ],
        claims=[*guarantees(runs.filter(pl.col("spare").is_not_null())), *claims,
                info("s / k that Algorithm 4 chose, a seed each", picked, 4)],
        notes=[ORDER, RELEASED,
               "Delta is the one that Algorithm 3 chose; every s is tried, whatever Algorithm 4 says."],
        readings=told("On the whole table", [_stable(runs, "whole table")])
        + told("With 0.05 in place of 0.01", [_stable(runs, "sample", 0.05), _stable(runs, "whole table", 0.05)]),
    )  # fmt: skip


def _stable(runs: pl.DataFrame, on: str, most: float = 0.01) -> Claim:
    at = points(runs, "times", "both", {"on": on})
    known = [times for times in at if times >= 4]
    steps = {
        f"{a}k to {b}k": abs(at[b] - at[a])
        for a, b in zip(known[:-1], known[1:], strict=True)
        if at[a].size == at[b].size
    }
    return within(f"UM + MPM on the {on} changes by less than {most:g} from s = 4k on", steps, high=most)


def _best(table: Table, seed: int, k: int, deltas: list[float]) -> dict[float, float]:
    """UM + MPM on the whole table at each threshold."""
    found = {delta: scored(table, seed, k, delta, size=4 * k) for delta in deltas}
    return {delta: one["both"] for delta, one in found.items() if one is not None}


def _suggested(table: Table, seed: int, k: int, known: dict[float, float], **options: Any) -> dict[str, float]:
    """The threshold that a sample suggests, and UM + MPM at it, which becomes known."""
    delta = float(chosen(table, seed, k, size=4 * k, **options)["delta"])
    if delta not in known:
        found = scored(table, seed, k, delta, size=4 * k)
        # Without any cluster, everything could be lost.
        known[delta] = 2.0 if found is None else found["both"]
    return {"delta": delta, "both": known[delta]}


def _quality_cases(context: Context) -> list[tuple[str, Any, dict[str, Any]]]:
    """Table, the value varied, and what it changes: of the data (sigma, k) or of the heuristic."""
    given = context.parameters
    n = given["rows"]
    shares = {"sqrt(n)": n**0.5 / n, **{f"{share:.1%}": share for share in given["shares"]}}
    return [
        *(("T4.3", name, {"sample_fraction": share}) for name, share in shares.items()),
        *(("T4.4", sigma, {"sigma": sigma}) for sigma in given["sigma"]),
        ("T4.4", "Adult", {"adult": True}),
        *(("drawn", sigma, {"sigma": sigma, "with_replacement": True}) for sigma in given["sigma"]),
        *(("T4.5", k, {"k": k}) for k in given["k"]),
        *(("T4.6", rounds, {"max_iterations": rounds}) for rounds in given["rounds"]),
    ]  # fmt: skip


def _quality(context: Context) -> Outcome:
    given = context.parameters
    rows: list[dict[str, Any]] = []
    best: dict[Any, float] = {}
    deltas = grid(given["grid"])
    for (seed,) in context.each(spots(context), lambda one: f"seed {one[0]}"):
        tables: dict[Any, Table] = {}
        known: dict[Any, dict[float, float]] = {}
        for table, value, changed in _quality_cases(context):
            options = {"sample_fraction": 0.02} | changed
            data = "Adult" if options.pop("adult", False) else float(options.pop("sigma", 2.5))
            k = int(options.pop("k", LEAST))
            if data not in tables:
                tables[data] = _data(context, data, seed)
            if (data, k) not in known:
                known[data, k] = _best(tables[data], seed, k, deltas)
            found = _suggested(tables[data], seed, k, known[data, k], **options)
            rows.append({"table": table, "value": str(value), "seed": seed, "of": (data, k, seed)} | found)
        best |= {(data, k, seed): min(scores.values()) for (data, k), scores in known.items()}
    runs = pl.DataFrame(
        [{**row, "best": best[row["of"]], "rql": row["both"] / best[row["of"]] - 1.0, "of": None} for row in rows],
        infer_schema_length=None,
    ).drop("of")
    of = {name: runs.filter(pl.col("table") == name) for name in ("T4.3", "T4.4", "T4.5", "T4.6")}
    at = {name: points(part, "value", "rql") for name, part in of.items()}
    drawn = points(runs.filter(pl.col("table") == "drawn"), "value", "rql")
    axes = {"T4.3": "sample size", "T4.4": "standard deviation", "T4.5": "k", "T4.6": "iterations"}
    return Outcome(
        table=summarise(runs, ["table", "value"], ["rql", "delta", "best"]),
        runs=runs,
        plots=[
            Plot(title=axes[name], figure=f"Table {name[1:]}", x=axes[name], y="RQL", better="down", study="rql",
                 lines={"0.05": 0.05},
                 series=beside(curves(part, "value", "rql"), {"rql": DELTAS_PRINTED.get(name, {})}))
            for name, part in of.items()
        ],
        claims=_quality_claims(at),
        notes=[NO_SIZE, f"The generated data has {given['rows']} rows here, 100,000 in the document.",
               f"The best delta is the best of {len(deltas)}, tried on the whole table; the document does not say "
               "which it tried. What samples suggest between them is tried too.",
               "The smallest sample of this program is 20k rows, so that every k has clusters in it.",
               "Column heads of Table 4.3 are lost: the sizes between sqrt(n) and 10 % are ours."],
        readings=told("Samples drawn with replacement, as the document has it", [
            within("RQL is at most 0.05 for every dispersion (Table 4.4)", drawn, high=0.05)])
        + told("Half of all seeds", [
            within(f"Median RQL of Table {name[1:]} is at most 0.05", np.array([np.median(v) for v in curve.values()]),
                   high=0.05, every=True) for name, curve in at.items()]),
    )  # fmt: skip


def _data(context: Context, data: Any, seed: int) -> Table:
    given = context.parameters
    if data == "Adult":
        return adult_table(sample(context.data.adult(), given["rows"], seed))
    return synthetic_table(context.data.standin("synthetic-a", n=given["rows"], sigma=data, seed=seed))


def _quality_claims(at: dict[str, dict[Any, np.ndarray]]) -> list[Claim]:
    means = {name: [float(values.mean()) for values in curve.values()] for name, curve in at.items()}
    six = at["T4.6"]
    late = {rounds: values for rounds, values in six.items() if int(rounds) >= 3}
    return [
        within("RQL is never negative", np.concatenate([v for c in at.values() for v in c.values()]), low=0.0,
               kind="hard"),
        within("RQL is at most 0.05 for every sample size (Table 4.3)", at["T4.3"], high=0.05),
        within("RQL is at most 0.05 for every dispersion (Table 4.4)", at["T4.4"], high=0.05),
        within("RQL is at most 0.01 for every k (Table 4.5)", at["T4.5"], high=0.01),
        falls_with("RQL never rises with iterations (Table 4.6)", six, strict=False),
        within("RQL is at most 0.01 from three iterations on (Table 4.6)", late, high=0.01),
        info("RQL by sample size", means["T4.3"], [0, 0.04, 0.04, 0, 0.04]),
        info("RQL by dispersion 0.5, 1, 2.5, 5, and on Adult", means["T4.4"], [0, 0, 0.041, 7.62e-4, 0.043]),
        info("RQL by k", means["T4.5"], [1.47e-5, 0, 1.47e-5, 0, 0.0075]),
        info("RQL by iterations 2 to 6", means["T4.6"], [0.041, 2.99e-5, 2.99e-5, 2.99e-5, 0]),
    ]  # fmt: skip


def _subspaces(context: Context) -> Outcome:
    given = context.parameters
    rows: list[dict[str, Any]] = []
    steps = given["iterations"]
    for seed, k in context.each(spots(context, given["k"]), lambda one: f"seed {one[0]}, k = {one[1]}"):
        table = synthetic_table(context.data.standin("synthetic-a", n=given["rows"], sigma=2.5, seed=seed))
        tried = chosen(table, seed, k, sample_fraction=0.02)
        delta = float(tried["delta"])
        sizes = [k * 2**i for i in range(max(steps))]
        both = {}
        for size in sizes:
            found = scored(table, seed, k, delta, size=size)
            both[size] = 2.0 if found is None else found["both"]
        best = min(both.values())
        for iterations in steps:
            size = int(chosen(table, seed, k, delta=delta, sample_fraction=0.02, max_iterations=iterations)["size"])
            rows.append({"k": k, "iterations": iterations, "seed": seed, "size": size / k,
                         "best_size": min(both, key=both.__getitem__) / k,
                         "rql": both[size] / best - 1.0,
                         "rql_usual": both[sizes[min(2, len(sizes) - 1)]] / best - 1.0})  # fmt: skip
    runs = pl.DataFrame(rows)
    at = {k: points(runs, "iterations", "rql", {"k": k}) for k in given["k"]}
    last = {k: abs(curve[steps[-1]] - curve[steps[-2]]) for k, curve in at.items()}
    every = {(k, step): values for k, curve in at.items() for step, values in curve.items()}
    ends = runs.filter(pl.col("iterations") == steps[-1]).group_by("k", maintain_order=True).mean()
    return Outcome(
        table=summarise(runs, ["k", "iterations"], ["rql", "size", "best_size"]),
        runs=runs,
        plots=[
            Plot(title=f"k = {k}", figure="Table 4.7", x="iterations", y="RQL", better="down", study="rql",
                 series=beside(curves(runs.filter(pl.col("k") == k), "iterations", "rql"),
                               {"rql": SIZES_PRINTED.get(k, {})}))
            for k in given["k"]
        ],
        claims=[
            within("RQL is at most 0.056 at every k and iteration", every, high=0.056),
            within("RQL does not change after four iterations", last, high=0.001),
            info("RQL after the last iteration, by k", [float(c[steps[-1]].mean()) for c in at.values()],
                 [0, 4.23e-4, 0.0106, 0.0221, 0.0204]),
        ],
        notes=[f"The generated data has {given['rows']} rows here, 100,000 in the document.",
               "The best s is the best of k, 2k, 4k, 8k, 16k on the whole table, at the delta that the sample "
               "suggests; the one after i iterations is where Algorithm 4 stops within them.",
               "The sample has 2 % of the rows, at least 20k of them: subspaces larger than it cannot be tried."],
        readings=told("With s = 4k whatever the sample says", [
            within("RQL is at most 0.056 at every k and iteration",
                   {k: points(runs, "iterations", "rql_usual", {"k": k})[steps[-1]] for k in given["k"]}, high=0.056)])
        + [f"At k = {k} the best s on the whole table is {best:.3g}k and Algorithm 4 ends at {size:.3g}k, on "
                  "average over seeds." for k, best, size in ends.select("k", "best_size", "size").rows()],
    )  # fmt: skip


DELTAS = Item(
    id="3.8",
    key="EXP-LO-3.8",
    title="Choosing delta on a sample",
    shows="UM and MPM against delta, on a sample of 2.5 % and on the whole table.",
    statement="Scores on the sample and on the whole table are similar at every delta tried in three iterations.",
    run=_deltas,
    needs=["adult"],
    parameters={"rows": 30_162, "small": 5_000, "k": 5},
    quick={"rows": 4_000, "small": 1_000},
    refuted=dict.fromkeys(
        ("UM on the sample is within 0.05", "MPM on the sample is within 0.05"),
        "near the delta that is chosen they agree, but just above the least delta that makes clusters of k a few "
        "records decide on a sample, and above it one cluster takes everybody",
    ),
)
SIZES = Item(
    id="3.9",
    key="EXP-LO-3.9",
    title="Choosing s on a sample",
    shows="UM and MPM against the subspace size s, doubled from k on.",
    statement="Utility and protection are stable from s = 4k on.",
    run=_sizes,
    needs=["adult"],
    parameters={"rows": 30_162, "k": 5, "rounds": 7},
    quick={"rows": 4_000, "rounds": 5},
    refuted={
        "UM + MPM on the sample changes": (
            "clusters have no largest size and swallow the subspace that s allows, so that UM rises with s throughout; "
            "on the whole table, too, the sum changes by up to 0.05 a step, and is least at 4k and 8k"
        ),
    },
)
QUALITY = Item(
    id="T4.3",
    key="EXP-LO-T4.3",
    title="What the sample's delta costs: sample size, dispersion, k and iterations",
    shows="Relative quality loss of the delta chosen on a sample against the best one on the whole table.",
    statement=(
        "The loss is 0.04 at most for any sample size and dispersion, 0.0075 at most for any k, and next to nothing "
        "from three iterations on."
    ),
    run=_quality,
    needs=["adult"],
    parameters={
        "rows": 10_000, "shares": [0.01, 0.02, 0.05, 0.1], "sigma": [0.5, 1.0, 2.5, 5.0], "k": [2, 5, 10, 50, 100],
        "rounds": [2, 3, 4, 5, 6], "grid": 3,
    },
    quick={"rows": 3_000, "k": [2, 10, 50], "sigma": [0.5, 2.5], "rounds": [2, 3, 6], "shares": [0.1], "grid": 2},
    also=["T4.4", "T4.5", "T4.6"],
    refuted={
        "RQL is at most 0.05 for every dispersion": (
            "at a standard deviation of 0.5 nearly all records are equal, the sum of UM and MPM is near 0, and the "
            "smallest difference is a large share of it; drawing with replacement and medians give the same"
        ),
        "RQL is at most 0.01 for every k": (
            "figures such as 1e-5 need a sample that hits the table's own best delta nearly always; over several seeds "
            "it does not, at any k"
        ),
        "RQL is at most 0.01 from three iterations on": (
            "figures such as 1e-5 need a sample that hits the table's own best delta nearly always; over several seeds "
            "it does not"
        ),
    },
)  # fmt: skip
SUBSPACES = Item(
    id="T4.7",
    key="EXP-LO-T4.7",
    title="What the sample's s costs",
    shows="Relative quality loss of the s chosen on a sample, by k and iterations.",
    statement="The loss is 0.056 at most and does not change after four iterations.",
    run=_subspaces,
    parameters={"rows": 20_000, "k": [2, 5, 10, 50, 100], "iterations": [1, 2, 3, 4, 5]},
    quick={"rows": 4_000, "k": [2, 10, 50]},
    refuted=dict.fromkeys(
        ("RQL is at most 0.056", "RQL does not change after four"),
        "doubling s is no search: on the whole table s = k is best at k = 2 and 100 and about 16k at k = 5, while the "
        "sample stops where two scores happen to be alike",
    ),
)
