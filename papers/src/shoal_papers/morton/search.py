"""Morton et al.: searches for the largest research value on the stand-in for death certificates (Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.research.base import ResearchSearch
from shoal.algorithms.research.distributed import ResearchDistributed
from shoal.algorithms.research.methods import ResearchGlobal, ResearchHybrid, ResearchLocal
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import below, checked, inconclusive, info, summary, within
from shoal_papers.morton import printed
from shoal_papers.morton.common import STANDIN, VALUES, DataSet, at_levels, certificates, data_set, smallest_class, told
from shoal_papers.morton.printed import GLOBAL, LOCAL, NOTHING, OUTLYING, SIZES, STATED, STRINGS, Outliers
from shoal_papers.plots import Plot
from shoal_papers.runs import beside, curves, release, summarise

HYBRID, DISTRIBUTED, PRINTED = "hybrid", "distributed", "local as printed"
METHODS: Mapping[str, Any] = {
    GLOBAL: ResearchGlobal, LOCAL: ResearchLocal, HYBRID: ResearchHybrid, DISTRIBUTED: ResearchDistributed,
}  # fmt: skip
# The document has one k for the sets of 24 attributes.
LARGE = {"m24": (3,), "r24": (5,)}
SHOWN = 5
# Sets of at most so many strings are searched through, one by one.
FEW = 28


def method(name: str, k: int, **settings: Any) -> ResearchSearch:
    """One of the searches, for the best string alone and with weights as they are: the document's do not sum to 1."""
    settings = {"top": 1, "normalise": False, **settings}
    if name == PRINTED:
        return ResearchLocal(k=k, variant="printed", **settings)
    made: ResearchSearch = METHODS[name](k=k, **settings)
    return made


def one_run(data: DataSet, name: str, k: int, seed: int, **settings: Any) -> dict[str, Any]:
    """What one search finds, and independent counts of what it says."""
    made = release(data.table, method(name, k, rv=data.values, **settings), seed=seed)
    found = made.evidence["search"]
    kept = {
        column: [value for level, value in enumerate(values) if level not in found["pruned_levels"][column]]
        for column, values in found["values"].items()
    }
    best, suppressed = found["ranked"][0], made.evidence["counts"]["suppressed"]
    others = [one for one in found["ranked"][:SHOWN] if one["suppressed"] == 0]
    counted = [smallest_class(at_levels(data.frame, data.hierarchies, one["levels"]), data.frame.columns)
               for one in others]  # fmt: skip
    return {
        "set": data.name, "method": name, "k": k, "seed": seed, "run": f"{name}, k = {k}", "strings": found["strings"],
        "rv": best["rv"], "roots": best["roots"] + data.attributes - data.frame.width, "attributes": data.attributes,
        "low": sum(min(values) for values in kept.values()), "high": sum(max(values) for values in kept.values()),
        "tests": found["tests"], "seconds": made.evidence["seconds"], "suppressed": suppressed / data.table.n,
        "smallest": min([smallest_class(made.frame, data.frame.columns), *counted]),
        "pruned": sum(len(levels) for levels in found["pruned_levels"].values()),
    }  # fmt: skip


def _sets(context: Context) -> list[tuple[int, str]]:
    return [(seed, name) for seed in context.seeds for name in context.parameters["sets"]]


def _data(context: Context, seed: int, name: str) -> DataSet:
    given = context.parameters
    return data_set(certificates(context, seed, given["rows"]), name, min(STRINGS[name], given["strings"]))


def _ks(context: Context, name: str) -> Sequence[int]:
    return LARGE.get(name, context.parameters["k"])


def _pairs(runs: pl.DataFrame, one: str, other: str, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Values of two methods on the same seed, set and k."""
    keys = ["seed", "set", "k"]
    mine = runs.filter(pl.col("method") == one).select([*keys, value])
    joined = mine.join(runs.filter(pl.col("method") == other).select([*keys, value]), on=keys, suffix="_other")
    return joined[value].to_numpy(), joined[f"{value}_other"].to_numpy()


def _plots(
    runs: pl.DataFrame, study: str, figure: str = "", stated: Mapping[str, Mapping[str, float]] | None = None
) -> list[Plot]:
    """Value and cost of the methods, with the smallest k that each set has; those of another k look alike."""
    shown = runs.filter(pl.col("k") == pl.col("k").min().over("set"))
    ks = shown["k"].unique().sort().to_list()
    which = ", ".join([f"k = {ks[0]}", *(f"r24: k = {k}" for k in ks[1:])])
    return [
        Plot(title=f"{title} ({which})", figure=figure, x="data set", y=label, better=better, kind="bar", study=study,
             log_y=value != "rv",
             series=beside(curves(shown, "set", value, by="method"), (stated or {}) if value == "rv" else {}))
        for title, value, label, better in (
            ("best string", "rv", "research value", "up"), ("cost", "tests", "strings tested", "down"),
        )
    ]  # fmt: skip


def _anonymous(runs: pl.DataFrame) -> Claim:
    spare = int((runs["smallest"] - runs["k"]).to_numpy().min())
    return checked(
        "Every string that a method calls a success is k-anonymous", spare >= 0,
        f"Counted anew, the smallest class has {spare} records more than k, over {runs.height} searches and up to "
        f"{SHOWN} strings of each.",
    )  # fmt: skip


def _same(text: str, runs: pl.DataFrame, one: str, other: str) -> Claim:
    mine, theirs = _pairs(runs, one, other, "rv")
    gap = float(np.abs(mine - theirs).max())
    return checked(text, gap <= 1e-9, f"The largest difference is {gap:.3g}, over {mine.size} pairs of searches.")


def _exhaustive(data: DataSet, ks: Sequence[int]) -> dict[int, float]:
    """The largest research value of a k-anonymous string, by counting the classes of every string."""
    values = release(data.table, method(LOCAL, 2, rv=data.values), seed=1).evidence["search"]["values"]
    names = data.frame.columns
    coded = {
        (name, level): at_levels(data.frame, data.hierarchies, {name: level})[name]
        for name in names
        for level in range(len(values[name]))
    }
    best = dict.fromkeys(ks, -1.0)
    for levels in product(*(range(len(values[name])) for name in names)):
        worth = sum(values[name][level] for name, level in zip(names, levels, strict=True))
        if worth > min(best.values()):
            frame = pl.DataFrame([coded[name, level] for name, level in zip(names, levels, strict=True)])
            least = smallest_class(frame, names)
            best = {k: max(worth, most) if least >= k else most for k, most in best.items()}
    return best


def _pruning(context: Context) -> Claim:
    """Whether pre-pruning leaves out the levels that fail by themselves, and no other, where there are few rows."""
    given = context.parameters
    wrong = pruned = kept = 0
    for seed in context.seeds:
        made = certificates(context, seed, given["few"])
        for name, k in product(("m12", "r12"), given["k"]):
            data = data_set(made, name)
            gone = release(data.table, method(LOCAL, k), seed=seed).evidence["search"]["pruned_levels"]
            for column, tree in data.hierarchies.items():
                for level in range(len(tree.rows()[0])):
                    least = smallest_class(at_levels(data.frame, data.hierarchies, {column: level}), [column])
                    wrong += (level in gone[column]) != (least < k)
                    pruned, kept = pruned + (level in gone[column]), kept + (level not in gone[column])
    return checked(
        "Pre-pruning removes no level that a k-anonymous string uses",
        wrong == 0 and pruned > 0,
        f"{pruned} levels were removed and {kept} kept, with {given['few']} rows; counted alone, {wrong} of them were "
        "treated wrongly (a level that fails alone fails in every string).",
    )


def _outliers(context: Context) -> Outliers:
    """Of the 24-attribute sets: records too rare although no attribute shows more than it has to, and classes."""
    shares, few, sizes = [], [], []
    for seed, name in _sets(context):
        if name in LARGE:
            made = certificates(context, seed, context.parameters["rows"])
            data = data_set(made, name)
            levels = {column: len(tree.rows()[0]) - 2 for column, tree in data.hierarchies.items()}
            counted = at_levels(data.frame, data.hierarchies, levels).group_by(data.frame.columns).len()["len"]
            size = counted.to_numpy()
            rare = size[size < LARGE[name][0]]
            shares.append(float(rare.sum() / size.sum()))
            few.append(float(size.size / size.sum()))
            sizes.append(int(size.min()))
    return shares, few, sizes


def _tables(context: Context) -> Outcome:
    rows, exact = [], []
    for seed, name in context.each(_sets(context), lambda spot: f"seed {spot[0]}, {spot[1]}"):
        data = _data(context, seed, name)
        rows += [one_run(data, one, k, seed) for k in _ks(context, name) for one in (GLOBAL, LOCAL, PRINTED)]
        if STRINGS[name] <= FEW:
            exact += [
                {"seed": seed, "set": name, "k": k, "exhaustive": most}
                for k, most in _exhaustive(data, _ks(context, name)).items()
            ]
    runs, outliers = pl.DataFrame(rows), _outliers(context)
    return Outcome(
        table=summarise(runs, ["set", "k", "method"], ["rv", "low", "high", "strings", "tests", "seconds"]),
        runs=runs,
        plots=_plots(runs.filter(pl.col("method") != PRINTED), GLOBAL, "Tables 4, 5", STATED),
        claims=[*_table_hard(context, runs, exact), *_table_soft(runs, outliers)],
        notes=[
            STANDIN, VALUES, SIZES,
            "The document's own tables contradict its claim that the global result is the optimum: see the examples.",
            "Every attribute has the level 'any', as Sec. 5.2 has it; so the string of 'any' alone always passes.",
        ],
        readings=_table_readings(context, runs, outliers),
    )  # fmt: skip


def _table_hard(context: Context, runs: pl.DataFrame, exact: Sequence[Mapping[str, Any]]) -> list[Claim]:
    mine, theirs = _pairs(runs, GLOBAL, LOCAL, "rv")
    claims = [
        checked("The global string is worth at least the local one", bool((mine >= theirs - 1e-9).all()),
                f"The smallest difference is {float((mine - theirs).min()):.4g}, over {mine.size} pairs of searches."),
        _anonymous(runs),
        _pruning(context),
        checked("Global keeps something whenever local does", bool((mine[theirs > 0] > 0).all()),
                f"Local keeps more than 'any' in {int((theirs > 0).sum())} of {mine.size} pairs, global in "
                f"{int((mine > 0).sum())}."),
    ]  # fmt: skip
    if exact:
        found = pl.DataFrame(exact).join(runs.filter(pl.col("method") == GLOBAL), on=["seed", "set", "k"])
        gap = float((found["exhaustive"] - found["rv"]).abs().to_numpy().max())
        claims.append(
            checked(f"Global finds the optimum of an exhaustive search (sets of at most {FEW} strings)", gap <= 1e-9,
                    f"The largest difference is {gap:.3g}, over {found.height} searches.")
        )  # fmt: skip
    return claims


def _near(runs: pl.DataFrame, other: str = LOCAL) -> Claim:
    best, mine = _pairs(runs, GLOBAL, other, "rv")
    share = np.divide(mine, best, out=np.ones(best.size), where=best > 0)
    return within("Local reaches at least nine tenths of the global research value", share, low=0.9)


def _table_soft(runs: pl.DataFrame, outliers: Outliers) -> list[Claim]:
    drawn = runs.filter(pl.col("set").str.starts_with("r"))
    claims = [
        below("Local tests fewer strings than global", *_pairs(runs, LOCAL, GLOBAL, "tests")),
        below("Local takes less time than global", *_pairs(runs, LOCAL, GLOBAL, "seconds")),
        _near(runs),
        below("Global is far superior on random attributes: worth at least twice the local string",
              *_pairs(drawn, LOCAL, GLOBAL, "rv"), factor=2.0),
    ]  # fmt: skip
    twelve = runs.filter(pl.col("set") == "m12")
    if twelve.height:
        claims.append(info("Total strings of m12, in the median", float(np.median(twelve["strings"].to_numpy())), 28))
    large = runs.filter(pl.col("set").is_in(list(LARGE)) & (pl.col("method") == GLOBAL))
    return [*claims, *_with_24(large, outliers)]


def _with_24(large: pl.DataFrame, outliers: Outliers) -> list[Claim]:
    """That nothing passes for 24 attributes, and that outliers are why, are two statements."""
    if large.is_empty():
        return [inconclusive(text, "No set of 24 attributes was run.") for text in (NOTHING, OUTLYING)]
    worth, roots = large["rv"].to_numpy(), large["roots"].to_numpy()
    shares, _, sizes = outliers
    return [
        checked(NOTHING, bool((worth == 0).all()),
                f"Where every attribute may become 'any', one passes in all {large.height} searches, worth "
                f"{worth.min():.3g} to {worth.max():.3g}, with {roots.min()} to {roots.max()} of 24 attributes at "
                f"'any'; where none may, none does: the smallest class has at most {max(sizes)} record.", kind="soft"),
        checked(OUTLYING, max(shares) <= 0.01,
                f"{min(shares):.1%} to {max(shares):.1%} of the records are in classes below k.", kind="soft"),
    ]  # fmt: skip


def _table_readings(context: Context, runs: pl.DataFrame, outliers: Outliers) -> list[str]:
    found = [told(_near(runs, PRINTED), "The local loop as printed")]
    lenient = []
    for seed in context.seeds:
        for name in ("m03", "r03"):
            data = _data(context, seed, name)
            for k in context.parameters["k"]:
                lenient += [one_run(data, one, k, seed, suppression_limit=0.01) for one in (GLOBAL, LOCAL)]
    found.append(told(_near(pl.DataFrame(lenient)), "One record in a hundred may be left out (m03, r03)"))
    shares, classes, sizes = outliers
    if shares:
        found.append(
            "24 attributes, no attribute at 'any' (the document's tables have minimum values above 0, which 'any' "
            "would not give): holds. With every attribute one level below 'any' the smallest class has "
            f"{max(sizes)} record, in all {len(shares)} sets, so no such string is k-anonymous; {min(shares):.1%} to "
            f"{max(shares):.1%} of the records are in classes below k."
        )
        found.append(
            "24 attributes, outliers left out first, no attribute at 'any': still none passes with 1 % left out, since "
            f"at least {min(shares):.1%} of the records are in classes below k; there is a class for every "
            f"{1 / max(classes):.1f} to {1 / min(classes):.1f} records, so it is the number of attributes and not a "
            "few outliers."
        )
    return found


def _hybrid(context: Context) -> Outcome:
    rows = []
    for seed, name in context.each(_sets(context), lambda spot: f"seed {spot[0]}, {spot[1]}"):
        data = _data(context, seed, name)
        rows += [one_run(data, one, k, seed) for k in _ks(context, name) for one in (GLOBAL, HYBRID, LOCAL)]
    runs = pl.DataFrame(rows)
    shown = runs.filter(pl.col("method") != LOCAL)

    def alike(value: str) -> Claim:
        one, other = _pairs(runs, HYBRID, GLOBAL, value)
        return within(f"Hybrid needs about as many {value} as global (within a quarter)", one / other, low=0.75,
                      high=1.25)  # fmt: skip

    large = runs.filter(pl.col("attributes") == runs["attributes"].max())
    one, other = _pairs(large, HYBRID, GLOBAL, "tests")
    return Outcome(
        table=summarise(runs, ["set", "k", "method"], ["rv", "tests", "seconds"]),
        runs=runs,
        plots=[
            Plot(title=f"k = {k}", x="data set", y="strings tested", better="down", kind="bar", log_y=True,
                 study=HYBRID,
                 series=curves(shown.filter(pl.col("k") == k), "set", "tests", by="method"))
            for k in context.parameters["k"]
        ],
        claims=[
            _same("Hybrid finds the global research value", runs, HYBRID, GLOBAL),
            _anonymous(runs),
            alike("tests"),
        ],
        notes=[STANDIN, VALUES, SIZES, "Tests are counted, because times of a busy machine say little."],
        readings=[
            told(alike("seconds"), "Time in place of tests"),
            told(within("Hybrid's tests are global's, within a quarter", one / other, low=0.75, high=1.25),
                 "Only the largest sets, which the document speaks of"),
        ],
    )  # fmt: skip


def _distributed(context: Context) -> Outcome:
    rows = []
    block = context.parameters["block"]
    for seed, name in context.each(_sets(context), lambda spot: f"seed {spot[0]}, {spot[1]}"):
        data = _data(context, seed, name)
        for k in _ks(context, name):
            rows += [one_run(data, DISTRIBUTED, k, seed, max_strings=block), one_run(data, GLOBAL, k, seed)]
    runs = pl.DataFrame(rows)
    large = runs.filter(pl.col("set").is_in(list(LARGE)))
    found = [
        _same("The distributed search finds the global research value", runs, DISTRIBUTED, GLOBAL),
        _anonymous(runs),
    ]
    if large.height:
        found.append(below("The distributed search tests fewer strings than global (24 attributes)",
                           *_pairs(large, DISTRIBUTED, GLOBAL, "tests")))  # fmt: skip
        spent = summary(large.filter(pl.col("method") == DISTRIBUTED)["seconds"].to_numpy())
        found.append(info("Seconds for 24 attributes (the document: global, m24 and r24)", str(spent), [25764, 14961]))
    return Outcome(
        table=summarise(runs, ["set", "k", "method"], ["rv", "strings", "tests", "seconds"]),
        runs=runs,
        plots=_plots(runs, DISTRIBUTED),
        claims=found,
        notes=[
            STANDIN, VALUES, SIZES,
            "Blocks hold every string that does not fail by itself; the document combines only what its pruning "
            "leaves, which can lose every solution.",
            "The document says both that this method was not needed and that it was used above 18 attributes.",
        ],
    )  # fmt: skip


_SETS = {"rows": 20_000, "strings": 60_000, "k": [3, 5]}
_UP_TO_12 = ["m03", "m08", "m12", "r03", "r08", "r12"]
SEARCHES = [
    Item(
        id="T4", key="EXP-MO-T4", also=["T5", "EXP-MO-T5"],
        title="Global and local search on sets of 3 to 24 attributes (Tables 4 and 5)",
        shows="Research value of the best string, and the strings tested, of the global and the local search.",
        statement=(
            "Global finds the string of the largest research value; local is faster, its values are extremely close "
            "and yet far behind on random attributes; with 24 attributes no string passes, because of outliers."
        ),
        run=_tables, parameters={**_SETS, "few": 1000, "sets": [*_UP_TO_12[:3], "m24", *_UP_TO_12[3:], "r24"]},
        quick={"rows": 2000, "few": 500, "strings": 500, "sets": ["m03", "m08", "r03", "r24"]},
        refuted=printed.REFUTED, undecidable=printed.UNDECIDABLE,
    ),
    Item(
        id="hybrid", key="EXP-MO-hybrid", title="Hybrid search",
        shows="Strings tested by the hybrid and by the global search.",
        statement="Hybrid mirrors global in execution time and in the research value found.",
        run=_hybrid, parameters={**_SETS, "rows": 5000, "sets": _UP_TO_12},
        quick={"rows": 2000, "strings": 500, "sets": ["m03", "r08"]},
    ),
    Item(
        id="dist", key="EXP-MO-dist", title="Distributed search",
        shows="Research value and strings tested by the distributed and the global search.",
        statement="Blocks of attributes make 24 attributes tractable, and give what global gives.",
        run=_distributed,
        parameters={**_SETS, "rows": 5000, "block": 100, "sets": ["m08", "m12", "r08", "r12", "m24", "r24"]},
        quick={"rows": 2000, "strings": 500, "sets": ["m08", "r12", "m24"]},
    ),
]  # fmt: skip
