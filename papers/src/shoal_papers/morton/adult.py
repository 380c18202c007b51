"""Morton et al. on UCI Adult: recursive partitioning of the raw table and after global search, and local search."""

from __future__ import annotations

import polars as pl

from shoal.algorithms.research.methods import ResearchGlobal, ResearchLocal
from shoal.results import Release
from shoal.utility.partition_tree import Bucket, Partition, grow_frame
from shoal_papers.base import Claim, Context, Item, Outcome
from shoal_papers.claims import checked, equals, info
from shoal_papers.morton.common import QUASI, RULES, TARGET, adult_table, smallest_class, told
from shoal_papers.morton.trees import (
    ASKED,
    CUT,
    GLOBAL,
    LEAVES,
    SALARY,
    UNASKED,
    VALUES,
    Parted,
    count,
    kept,
    label_tree,
    levels_of,
    research,
    salary_plot,
    words,
)
from shoal_papers.plots import Plot, Series
from shoal_papers.runs import release, sample


def _raw(context: Context) -> Outcome:
    whole = context.data.adult().select(QUASI)
    gain, age = pl.col("capital-gain"), pl.col("age")
    trees = {
        "entropy": grow_frame(whole, TARGET, columns=ASKED, leaves=LEAVES),
        "gini": grow_frame(whole, TARGET, columns=ASKED, leaves=LEAVES, criterion="gini"),
        "with marital status": grow_frame(whole, TARGET, leaves=LEAVES),
    }
    main = {" and ".join(one.conditions): one for one in trees["entropy"].nodes}
    first = main.get("capital-gain >= 7298")
    second = main.get("capital-gain < 7298 and age < 28")
    asked = list(dict.fromkeys(one.column for one in trees["entropy"].questions if one is not None))
    rich, young = count(whole, gain >= 7298, ">50K"), count(whole, (gain < 7298) & (age < 28), "<=50K")
    rows = [
        {"tree": name, "bucket": " and ".join(one.conditions) or "all", "records": round(one.records),
         "commonest": one.label, "share": one.share, "leaf": one.leaf}
        for name, tree in trees.items() for one in tree.nodes
    ]  # fmt: skip
    leaves = trees["entropy"].buckets
    return Outcome(
        table=pl.DataFrame(rows),
        plots=[salary_plot("raw table", None, "Fig. 6", leaves, {1330: 0.98, 7162: 0.03})],
        claims=[
            equals("Records with a capital gain of at least 7,298, and those above 50K", list(rich), [1330, 1312]),
            equals("Records below that and under 28, and those of at most 50K", list(young), [7162, 6952]),
            equals("Records, and those of at most 50K", list(count(whole, age >= 0, "<=50K")), [30162, 22654]),
            checked("Partitioning finds the bucket of capital gains of at least 7,298", first is not None,
                    "missing" if first is None else first.words()),
            checked("Partitioning finds the bucket of people under 28", second is not None,
                    "missing" if second is None else second.words()),
            checked("Capital gain, age and education number part the salaries",
                    set(asked) == {"capital-gain", "age", "education-num"}, f"Asked about: {', '.join(asked)}.",
                    kind="soft"),
            info("Share above 50K in the first bucket, in per cent", 100 * rich[1] / rich[0], 98),
            info("Share of at most 50K in the second bucket, in per cent", 100 * young[1] / young[0], 97),
        ],
        notes=[UNASKED, "The document truncates 98.65 % to 98 %."],
        readings=[
            f"Gini in place of entropy: {words(trees['gini'].buckets)}",
            f"With marital status, which the document lists among the attributes: "
            f"{words(trees['with marital status'].buckets)}. Marital status comes first, so it cannot have been asked.",
        ],
    )  # fmt: skip


def _certain(made: Release) -> float:
    """Share of records whose salary the other published columns tell for sure."""
    others = [name for name in QUASI if name != TARGET]
    told_by = made.frame.select(certain=(pl.col(TARGET).n_unique().over(others) == 1) & (pl.col(TARGET) != "*"))
    return float(told_by["certain"].to_numpy().mean())


def _bucket(tree: Partition | None, records: int) -> Bucket | None:
    """The leaf that holds the capital gains from 6,001 on, as far as its size tells."""
    leaves = [] if tree is None else tree.buckets
    return next((one for one in leaves if round(one.records) == records and one.label == ">50K"), None)


def _survives(made: Release, records: int, k: int) -> Claim:
    """Whether a leaf of the tree holds what lies above the boundary, and nothing else."""
    tree = label_tree(made)
    found = _bucket(tree, records)
    seen = "no salary is released" if tree is None else words(tree.buckets)
    return checked(
        f"After global search with k = {k} a bucket holds the capital gains of at least 6,001", found is not None,
        f"Buckets: {seen}. Kept: {kept(made)}.", kind="soft",
    )  # fmt: skip


def _after_global(context: Context) -> Outcome:
    whole = context.data.adult().select(QUASI)
    table = adult_table(whole)
    raw = count(whole, pl.col("capital-gain") > CUT, ">50K")
    rows, found = [], {}
    ks = context.parameters["k"]
    spots = [(k, keep) for k in ks for keep in (False, True)]
    for k, keep in context.each(spots, lambda spot: f"k = {spot[0]}"):
        made = release(table, research(k, keep=keep), seed=1)
        found[k, keep] = made
        bucket = _bucket(label_tree(made), raw[0])
        rows.append({
            "k": k, "age and capital gain": "must be kept" if keep else "may go", "kept": kept(made),
            "rv": made.evidence["search"]["ranked"][0]["rv"], "bucket": "none" if bucket is None else bucket.words(),
            "smallest": smallest_class(made.frame, QUASI), "explained": Parted(made).explained,
            "salary told for sure": _certain(made),
        })  # fmt: skip
    table_ = pl.DataFrame(rows)
    spare = int((table_["smallest"] - table_["k"]).to_numpy().min())
    main = found[ks[-1], False]
    tree = label_tree(main)
    bucket = _bucket(tree, raw[0])
    share = [0, 0] if bucket is None else [round(bucket.records), int(100 * bucket.share)]
    numbers = release(adult_table(whole, numbers=True), _as_numbers(ks[-1]), seed=1)
    values = numbers.evidence["search"]["values"]["capital-gain"]
    return Outcome(
        table=table_,
        plots=[
            *([] if tree is None else [salary_plot(GLOBAL, ks[-1], "Fig. 7", tree.buckets, {1387: 0.95})]),
            Plot(title="uncertainty about salary", x="k", y="share taken away", better="up", kind="bar",
                 series=[Series(name=label, x=[str(k) for k in ks],
                                y=[one["explained"] for one in rows if one["age and capital gain"] == label])
                         for label in ("may go", "must be kept")]),
        ],
        claims=[
            equals("Records with a capital gain of at least 6,001, and those above 50K", list(raw), [1387, 1324]),
            checked("Every release is k-anonymous on all ten attributes", spare >= 0,
                    f"The smallest class has {spare} records more than k, over {table_.height} releases."),
            *(_survives(found[k, False], raw[0], k) for k in ks),
            equals("Its records, and the share above 50K in per cent, cut off", share, [1387, 95], kind="soft"),
            info("Share of records whose salary the other published columns tell for sure", _certain(main), "nothing"),
        ],
        notes=[
            SALARY, VALUES, UNASKED,
            "k identical rows say everything about their members: k-anonymity over all attributes protects none of "
            "them against somebody who knows the others.",
        ],
        readings=[
            told(_survives(found[ks[-1], True], raw[0], ks[-1]), "Neither age nor capital gain may become 'any'"),
            told(_survives(numbers, raw[0], ks[-1]), "Capital gain a number") + f" The formula divides by the values "
            f"that a group spans, so capital gain is worth {values[0]:.3g} as it is and {values[1]:.2g}, "
            f"{values[2]:.2g} in groups: no rule, which only multiplies, can make up for it.",
        ],
    )  # fmt: skip


def _as_numbers(k: int) -> ResearchGlobal:
    rules = [{"column": "capital-gain", "boundary": CUT, "importance": 1}, *RULES[1:]]
    return ResearchGlobal(k=k, rules=rules, top=1)


def _local(context: Context) -> Outcome:
    whole = sample(context.data.adult().select(QUASI), context.parameters["rows"], context.seeds[0])
    table = adult_table(whole)
    rows = []
    for k in context.each(context.parameters["k"], lambda k: f"k = {k}"):
        for name, algorithm in (
            ("global", research(k)),
            ("local", ResearchLocal(k=k, rules=RULES)),
            ("local as printed", ResearchLocal(k=k, rules=RULES, variant="printed")),
        ):
            made = release(table, algorithm, seed=1)
            best = made.evidence["search"]["ranked"][0]
            rows.append({
                "k": k, "method": name, "rv": best["rv"], "roots": best["roots"], "kept": kept(made),
                "salary kept": TARGET in levels_of(made), "tests": made.evidence["search"]["tests"],
                "smallest": smallest_class(made.frame, QUASI),
            })  # fmt: skip
    found = pl.DataFrame(rows)
    mine = {name: found.filter(pl.col("method") == name) for name in ("global", "local", "local as printed")}
    spare = int((found["smallest"] - found["k"]).to_numpy().min())
    local, printed = mine["local"], mine["local as printed"]

    def nothing(text: str, chosen: pl.DataFrame, passes: pl.Expr) -> Claim:
        some = chosen.filter(passes)
        example = f" Kept with k = {chosen['k'][0]}: {chosen['kept'][0]}."
        evidence = f"One in {some.height} of {chosen.height} searches.{example}"
        return checked(text, some.is_empty(), evidence, kind="soft")

    gap = float((mine["global"]["rv"] - local["rv"]).to_numpy().min())
    return Outcome(
        table=found,
        plots=[Plot(title="Adult", x="method", y="research value", better="up", kind="bar", series=[
            Series(name=f"k = {k}", x=list(mine), y=found.filter(pl.col("k") == k)["rv"].to_list())
            for k in context.parameters["k"]])],
        claims=[
            checked("The global string is worth at least the local one", gap >= -1e-9,
                    f"The smallest difference is {gap:.4g}, over {local.height} values of k."),
            checked("Every success is k-anonymous, and the corrected loop finds one", spare >= 0 and local.height > 0,
                    f"The smallest class has {spare} records more than k, over {found.height} searches."),
            nothing("Local search finds no string that passes", local, pl.col("rv") >= 0),
        ],
        notes=[SALARY, VALUES, "Every attribute has the level 'any', so the string of 'any' alone passes."],
        readings=[
            told(nothing("Local search finds no string that passes", printed, pl.col("rv") >= 0),
                 "The loop as printed"),
            told(nothing("Local search finds no string that keeps salary", local, pl.col("salary kept")),
                 "A string counts if it keeps salary, the attribute of interest"),
            told(nothing("Local search finds no string without 'any'", local, pl.col("roots") == 0),
                 "A string counts if no attribute is at 'any', as the document would have it chosen"),
        ],
    )  # fmt: skip


ADULT = [
    Item(
        id="6", key="EXP-MO-6", title="Recursive partitioning of the raw table (Fig. 6)",
        shows="Share above 50K in the buckets of a tree grown on Adult as it is.",
        statement=(
            "Capital gain, age and education number part the salaries: 98 % of 1,330 people with a capital gain of at "
            "least 7,298 are above 50K, and 97 % of 7,162 others under 28 are not."
        ),
        run=_raw, needs=["adult"], fixed=True,
    ),
    Item(
        id="7", key="EXP-MO-7", title="Recursive partitioning after global search (Fig. 7)",
        shows="Share above 50K in the buckets of a tree grown on the release of the global search.",
        statement="With k = 3 or 5 the split by capital gain survives: 95 % of 1,387 from 6,001 on are above 50K.",
        run=_after_global, needs=["adult"], fixed=True, parameters={"k": [3, 5]},
    ),
    Item(
        id="local", key="EXP-MO-local", title="Local search on Adult",
        shows="Research value of the global and the local search on Adult.",
        statement="Local search found no string that passes, for k = 3, 5 and 10.",
        run=_local, needs=["adult"], fixed=True, parameters={"k": [3, 5, 10], "rows": 30_162}, quick={"rows": 5000},
        refuted={
            "Local search finds no string that passes": (
                "Every attribute has the level 'any', so that the string of 'any' alone passes. None is found that "
                "keeps salary, or that has no attribute at 'any': see the other readings."
            ),
        },
    ),
]  # fmt: skip
