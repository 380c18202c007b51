"""What the experiments of Loukides' Chapters 5 and 6 share: roles, sensitive ranges, methods, and range diversity as
it is counted in published cells."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.algorithms.cluster.upc import UPC
from shoal.algorithms.lattice.incognito import Incognito
from shoal.algorithms.links.personalised import PersonalisedAnonymity
from shoal.data.hierarchy import Hierarchy
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.errors import InfeasibleError
from shoal.models.base import Model
from shoal.models.closeness import TCloseness
from shoal.models.diversity import RecursiveCL
from shoal.models.size import KAnonymity
from shoal.recipe.source import read
from shoal.results import Release
from shoal.utility.count_queries import answer
from shoal.utility.queries import Query
from shoal.utility.reading import Reading, read_release
from shoal_papers.base import Claim, Context
from shoal_papers.claims import within
from shoal_papers.plots import Series
from shoal_papers.runs import release
from shoal_papers.standins import StandIn

CENSUS_QUASI = ("age", "gender", "education", "marital", "occupation")
INCOME = "income"
B_QUASI, B_SENSITIVE = ("q1", "q2", "q3", "q4", "q5"), ("s1", "s2")
# The sensitive range of a value is its ancestor on this level of its hierarchy.
LEVEL = 2
# Limits that a sum of floats may miss by rounding.
ROUNDING = 1e-9
OURS, CL, CLOSE, PERSONAL = "UPC", "Incognito (c,l)", "Incognito t", "Personalised"
# Other readings: of how Personalised was configured, and of what UPC's s was.
BREACH, TIGHT, SMALL = "Personalised, 1/k", "UPC, s = k", "UPC, at most 2k - 1"
# Table 6.5's UM is the same up to k = 25 and then jumps: 50,000 records halved to 49, and to 98 for k = 50.
FIXED = "UPC, s = 50"
OFFERED = (
    "UPC runs as printed: leftovers may join any cluster, no size limit, s = 4k as in the document's own runs of its "
    "heuristic (4/P where that is more, since no class smaller than 1/P can meet P)."
)
SEEN = (
    "Range diversity is counted in published cells; where Personalised lifts incomes, each value that a cell covers is "
    "equally likely. Incomes are categories with a hierarchy, as in Table 6.1."
)
STANDIN = (
    "CENSUS may not be shared: the stand-in named under data has its columns, and hierarchies of ours. Figures are "
    "those of all of Adult; generated people, as many as the document has, are beside them."
)
GUARDED = (
    "How Personalised was configured is not printed, and it has no k of its own although its figures move with k. It "
    "is run with classes of k, a breach limit of 1/2 and guards one level above every income; 'Personalised, 1/k' is "
    "the reading with a breach limit of 1/k, everybody guarding their own value, and no smallest class."
)
LOOSE = "t = 0.9 hardly limits anything: the distance is at most 1, so what t-closeness did here is the choice of t."


# A measured column, its label, horizontal lines, and the document's figures: one panel.
Panel = tuple[str, str, dict[str, float], str]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """The same rows twice: with age (or all quasi-identifiers) as numbers, and with a hierarchy on every column."""

    plain: Table
    trees: Table


def census_of(context: Context, seed: int, rows: int | None, *, generated: bool = False) -> StandIn:
    """So many rows of the census or its stand-in (None: all of it), or so many generated people."""
    if generated:
        return context.data.standin("census-standin", n=rows, seed=seed)
    return context.data.census(seed=seed, n=rows)


def census_tables(made: StandIn, quasi: Sequence[str] = CENSUS_QUASI) -> Tables:
    """The census extract or its stand-in; income is a category whose sensitive range is the node on level 2."""
    frame = made.frame.select([*quasi, INCOME])
    hierarchies = {name: made.hierarchies[name] for name in frame.columns}

    def table(trees: Mapping[str, Hierarchy]) -> Table:
        return read(frame, quasi=list(quasi), sensitive=[INCOME], hierarchies=trees,
                    policies={INCOME: {"level": LEVEL}}, settings={INCOME: {"type": "categorical"}})  # fmt: skip

    numeric = {name: one for name, one in hierarchies.items() if name != "age"}
    return Tables(plain=table(numeric), trees=table(hierarchies))


def synthetic_tables(
    made: StandIn, sensitive: Sequence[str] = B_SENSITIVE, policy: Any = None, *, level: int = LEVEL
) -> Tables:
    """The generated integers; quasi-identifiers as numbers, or with the one hierarchy that all attributes have."""
    frame = made.frame.select([*B_QUASI, *sensitive])
    ranges = dict.fromkeys(sensitive, {"level": level} if policy is None else policy)

    def table(names: Sequence[str]) -> Table:
        trees = {name: made.hierarchies[name] for name in names}
        return read(frame, quasi=list(B_QUASI), sensitive=list(sensitive), hierarchies=trees, policies=ranges)

    return Tables(plain=table(sensitive), trees=table(frame.columns))


def fewest(k: int, protection: float) -> int:
    """The smallest class that k and P allow."""
    return max(k, int(np.ceil(1.0 / protection - ROUNDING)))


def upc(k: int, utility: float, protection: float, **options: Any) -> UPC:
    """UPC as its listing has it, but that P is asked for where a class can first meet it.

    Every cluster is open to leftovers, and grows as far as U and P allow.
    """
    printed = {"listing": "corrected", "size": 4 * fewest(k, protection), "assign": "value", "leftover_scope": "all"}
    return UPC(k=k, utility=utility, protection=protection, **{**printed, **options})


def upc_named(name: str, k: int, utility: float, protection: float) -> UPC:
    """UPC as printed, or in one of its other readings."""
    least = fewest(k, protection)
    options = {TIGHT: {"size": least}, SMALL: {"max_size": 2 * least - 1}, FIXED: {"size": max(50, 2 * least)}}
    return upc(k, utility, protection, **options.get(name, {}))


class Watch:
    """Processor seconds of the algorithm alone, told by the steps of a run: what comes after it is the gate's time.

    Processor time, since what else a machine does would otherwise be measured with it.
    """

    def __init__(self) -> None:
        self._began = time.process_time()
        self.seconds = float("nan")

    def __call__(self, step: str) -> None:
        if step == "judging the classes":
            self.seconds = time.process_time() - self._began


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """A release (None where everything is suppressed), its figures, and the range diversity of its records."""

    release: Release | None
    figures: dict[str, Any]
    rd: np.ndarray


def make(
    table: Table, algorithm: Algorithm, seed: int, limit: float, models: Sequence[Model] = (), *, maybe: bool = False,
    level: int | None = LEVEL,
) -> Made:  # fmt: skip
    """Release a table and measure it; with ``maybe``, a release of nothing is a finding and not an error.

    Range diversity is counted record by record where sensitive ranges are the nodes of one ``level``.
    """
    watch = Watch()
    try:
        made = release(table, algorithm, seed=seed, models=models, progress=watch)
    except InfeasibleError:
        if not maybe:
            raise
        nothing = dict.fromkeys(("wgu", "um", "um_rows", "wgp", "unprotected", "confidence", "seconds"), float("nan"))
        return Made(release=None, rd=np.empty(0), figures={**nothing, "suppressed": 1.0, "classes": 0, "smallest": 0})
    um, sizes = made.measure("um"), made.frame.group_by(list(table.schema.quasi)).len("size")["size"].to_numpy()
    rd = np.empty(0) if level is None else seen_range_diversity(read_release(made), table, level)
    figures = {
        "wgu": made.measure("wgu").value, "um": um.value, "um_rows": um.also["tuple-weighted"],
        "wgp": float(rd.max()) if rd.size else made.measure("wgp").value,
        "unprotected": float((rd > limit + ROUNDING).mean()) if rd.size else float("nan"),
        "confidence": made.measure("range-diversity").also["worst range confidence"],
        "suppressed": made.evidence["counts"]["suppressed"] / table.n, "classes": sizes.size,
        "smallest": int(sizes.min()), "seconds": watch.seconds,
    }  # fmt: skip
    return Made(release=made, figures=figures, rd=rd)


def protected(name: str, k: int, t: float = 0.9, measure: str = "height") -> tuple[Algorithm, list[Model]]:
    """A protection constrained method of Section 6.3, by its name."""
    if name == CL:
        return Incognito(measure=measure), [KAnonymity(k=k), RecursiveCL(c=2, l=2)]
    if name == CLOSE:
        return Incognito(measure=measure), [KAnonymity(k=k), TCloseness(t=t)]
    if name == PERSONAL:
        return PersonalisedAnonymity(p=0.5, guard_level=1, k=k), []
    return PersonalisedAnonymity(p=1.0 / k, guard_level=0), []


def pair_weights(tree: Hierarchy, level: int) -> np.ndarray:
    """Pairwise contribution of every two leaves (Def. 5.1.2), 0 where the second is outside the first's range."""
    size = len(tree.labels[0])
    leaves = np.full((size, size), size)
    for nodes in reversed(list(tree.ancestors)):
        same = nodes[:, None] == nodes[None, :]
        leaves = np.where(same, np.bincount(nodes)[nodes][:, None], leaves)
    own = tree.ancestors[level]
    return np.where(own[:, None] == own[None, :], 1.0 - (leaves - 1) / (size - 1), 0.0)


def seen_range_diversity(reading: Reading, table: Table, level: int = LEVEL) -> np.ndarray:
    """Range diversity of every released record's class (Def. 5.1.4), in the worst of the sensitive attributes.

    Own count, from published cells: the chance of each value in a class, and the mean over pairs.
    """
    sizes = np.bincount(reading.groups)
    worst = np.zeros(sizes.size)
    for name in reading.sensitive:
        one, column = reading.features[name], table.columns[name]
        tree = column.hierarchy
        assert tree is not None
        weights = pair_weights(tree, level)
        shares = one.shares()[:, [one.place[label] for label in tree.labels[0]]]
        chances = np.zeros((sizes.size, shares.shape[1]))
        np.add.at(chances, reading.groups, shares[one.cell])
        chances /= sizes[:, None]
        worst = np.maximum(worst, ((chances @ weights) * chances).sum(axis=1))
    return worst[reading.groups]


def errors_of(made: Release, queries: Sequence[Query], seed: int) -> np.ndarray:
    """Relative errors of the queries that have an answer."""
    return answer(read_release(made, keys=Keys.from_seed(seed)), queries).errors()


def ranked(name: str, values: np.ndarray, count: int = 101) -> Series:
    """So many quantiles of the values, for a curve in descending order that stays small."""
    return Series(name=name, x=[], y=np.quantile(values, np.linspace(0.0, 1.0, count)).tolist())


def limit(name: str, value: float) -> dict[str, float]:
    """A horizontal line that says what it is."""
    return {f"{name} = {value:g}": value}


def keeps(runs: pl.DataFrame, column: str, limit: float, text: str) -> Claim:
    """A hard limit of every release that has any records, up to rounding."""
    values = runs[column].to_numpy().astype(float)
    return within(text, values[~np.isnan(values)], high=limit + ROUNDING, kind="hard")


def told(reading: str, claims: Iterable[Claim], beside: Iterable[Claim] = ()) -> list[str]:
    """Claims under another reading, as sentences; without those that it leaves as they are in ``beside``."""
    same = {(claim.text, claim.evidence) for claim in beside}
    return [
        f"{reading}: {claim.text}: {claim.verdict}. {claim.evidence}"
        for claim in claims
        if (claim.text, claim.evidence) not in same
    ]


def mean_of(runs: pl.DataFrame, column: str) -> str:
    """Mean and range of a column, in words."""
    values = runs[column].to_numpy().astype(float)
    known = values[~np.isnan(values)]
    return f"{known.mean():.3g} ({known.min():.3g} to {known.max():.3g})" if known.size else "undefined"
