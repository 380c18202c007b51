"""Poovammal & Ponnavaikko, Fig. 2: the rules of a tree on T', and what they say about T."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import polars as pl

from shoal.algorithms.links.pseudonyms import Graded
from shoal.recoding.grading import GradingTable
from shoal.utility.partition_tree import Partition, grow_frame
from shoal_papers.base import Context, Item, Outcome
from shoal_papers.claims import checked, equals, info
from shoal_papers.plots import Plot, Series
from shoal_papers.poovammal_ponnavaikko.common import (
    CATEGORY,
    EQUAL,
    GRADES,
    GRADINGS,
    NUMBER,
    ROWS,
    Pair,
    people,
    table_of,
    transform,
)

TARGET, LABEL = "workclass", "Private"
# The conditions of Fig. 2 that lead to private employment.
FIGURE = {
    "education = 1st-4th": pl.col(CATEGORY) == "1st-4th", "education = assoc-voc": pl.col(CATEGORY) == "Assoc-voc",
    "relation = unmarried": pl.col("relationship") == "Unmarried", "age < 42": pl.col(NUMBER) < 42,
    "race = black": pl.col("race") == "Black",
    "whole table": pl.lit(True),
}  # fmt: skip
AGE, THRESHOLD = 42, 1.9
Asked = tuple[str, str | None, str]


def _grading(pair: Pair) -> GradingTable:
    secret = pair.secret(NUMBER)
    assert isinstance(secret, GradingTable)
    return secret


def _code(grading: GradingTable, age: int) -> float:
    return float(grading.encode(pl.Series([age]))[0])


def _asked(tree: Partition, pair: Pair | None = None) -> list[Asked]:
    """Questions of a tree, those about codes read back by whoever has the secrets."""
    found: list[Asked] = []
    for question in tree.questions:
        if question is None:
            continue
        value, least = question.value, f"{question.least:g}"
        if pair is not None and question.column == NUMBER:
            least = str(_grading(pair).value_text(question.least))
        if pair is not None and question.column == CATEGORY:
            value = pair.secret(CATEGORY).decode(pl.Series([value]))[0]
        found.append((question.column, value, least))
    return found


def _coded(pair: Pair) -> dict[str, pl.Expr]:
    """The same conditions as readers of T' see them."""
    named = pair.secret(CATEGORY).encode(pl.Series(["1st-4th", "Assoc-voc"])).to_list()
    found = dict(FIGURE)
    found["education = 1st-4th"], found["education = assoc-voc"] = (pl.col(CATEGORY) == one for one in named)
    found["age < 42"] = pl.col(NUMBER) < pair.after.filter(pair.before[NUMBER] >= AGE)[NUMBER].min()
    return found


def _counts(frame: pl.DataFrame, condition: pl.Expr) -> tuple[int, int]:
    chosen = frame.filter(condition)
    return chosen.height, chosen.filter(pl.col(TARGET) == LABEL).height


def _figure_2(context: Context) -> Outcome:
    given = context.parameters
    rows, shares = [], {}
    wrong_trees, wrong_counts, codes, drawn = 0, 0, {}, {}
    spots = [(seed, how) for seed in context.seeds for how in given["gradings"]]
    for seed, how in context.each(spots, lambda spot: f"seed {spot[0]}, {spot[1]}"):
        frame = people(context, seed)
        pair = transform(frame, seed, how)
        ours, theirs = (grow_frame(one, TARGET, leaves=given["leaves"]) for one in (frame, pair.after))
        wrong_trees += _asked(ours) != _asked(theirs, pair)
        for name, condition in _coded(pair).items():
            before, after = _counts(frame, FIGURE[name]), _counts(pair.after, condition)
            wrong_counts += before != after
            shares[name] = 100 * before[1] / max(1, before[0])
            rows.append({"rule": name, "grading": how, "seed": seed, "records": before[0], "records_after": after[0],
                         "private": before[1], "private_after": after[1]})  # fmt: skip
        codes[how] = _grading(pair)
        drawn[how] = pl.DataFrame({"age": pair.before[NUMBER], "code": pair.after[NUMBER]}).unique().sort("age")
    table = table_of(people(context, context.seeds[0]))
    ages = table.columns[NUMBER], table.codes[NUMBER]
    scanned = {k: Graded(categories=k, on=NUMBER).grade(*ages)[1] for k in range(2, 16)}
    at_42 = {str(k): round(_code(grading, AGE), 4) for k, grading in scanned.items()}
    near = [k for k, code in at_42.items() if abs(code - THRESHOLD) < 0.05]
    fitted = GradingTable(NUMBER, bounds=[(Decimal(15), Decimal(45)), (Decimal(46), Decimal(91))], names=[1, 2],
                          rule="paper", decimals=0)  # fmt: skip
    return Outcome(
        table=pl.DataFrame(rows).drop("seed").unique(maintain_order=True),
        runs=pl.DataFrame(rows),
        plots=[
            _drawn(drawn),
            Plot(title="its conditions", figure="Fig. 2", x="Condition", y="Privately employed, in per cent",
                 kind="bar", study="T and T'",
                 series=[Series(name="T and T'", x=list(shares), y=list(shares.values()))]),
        ],
        claims=[
            checked("Every question of the tree on T', read back, is that of the tree on T", not wrong_trees,
                    f"{wrong_trees} of {len(spots)} pairs of trees ask anything else."),
            checked("The conditions of Fig. 2 choose the same records in T and T'", not wrong_counts,
                    f"{wrong_counts} of {len(rows)} conditions have other counts."),
            equals("With a first category [15, 45], H-age < 1.9 is age < 42", fitted.threshold("<", THRESHOLD),
                   ("<", "42")),
            equals("With a first category [15, 45], the code of 42", _code(fitted, AGE), THRESHOLD, tolerance=1e-12),
            info("Code of age 42 with two to fifteen equal widths", list(at_42.values()), THRESHOLD),
        ],
        notes=[
            ROWS, GRADES,
            "Fig. 2 itself shows that age < 42 and H-age < 1.9 are the same rule: whoever sees both knows one point of "
            "the secret, and any reader of T' alone learns that some age lies at that rank.",
            "Fig. 2 does not show the confidence of its rules; the plot does.",
        ],
        readings=[
            f"1.9 as the code of 42 to one digit: equal widths on the observed ages give it for {_some(near)}; "
            f"the codes are {', '.join(f'{k}: {code:g}' for k, code in at_42.items())}.",
            "Bounds other than the observed range: a first category from 15, the lowest value of Table 8, to 45 gives "
            "1.9 exactly; one from 0 to 45 gives 1.93.",
            *(f"{how}: code of 42 is {_code(grading, AGE):.4g}, of 41 {_code(grading, 41):.4g}."
              for how, grading in codes.items()),
        ],
    )  # fmt: skip


def _drawn(codes: Mapping[str, pl.DataFrame]) -> Plot:
    series = [
        Series(name=how, x=one["age"].gather_every(4).to_list(), y=one["code"].gather_every(4).to_list())
        for how, one in codes.items()
    ]
    lines = {"1.9, for age 42 in the document": THRESHOLD}
    return Plot(title="codes of age", figure="Fig. 2", x="Age in years", y="Code", lines=lines, study=EQUAL,
                series=series)  # fmt: skip


def _some(found: list[str]) -> str:
    return f"K = {', '.join(found)}" if found else "no K from 2 to 15"


FIG_2 = Item(
    id="rules",
    key="EXP-PP-rules",
    title="Fig. 2: rules with work class as class variable",
    shows="Codes of age by grading, with the threshold of Fig. 2, and how sure its rules are.",
    statement="Both tables give the same rules, with codes in place of values: age < 42 becomes H-age < 1.9.",
    run=_figure_2,
    needs=["adult"],
    parameters={"rows": 32561, "gradings": list(GRADINGS), "leaves": 24},
    quick={"rows": 3000},
    also=["Fig2"],
)
