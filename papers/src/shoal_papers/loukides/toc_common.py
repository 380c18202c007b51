"""What the experiments of Loukides' Chapters 3 and 4 share: roles, the order of occupations, methods and figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.algorithms.cluster.k_members import KMembers, KMembersP
from shoal.algorithms.cluster.toc import TOC
from shoal.algorithms.mondrian import Mondrian
from shoal.data.table import Table
from shoal.engines.memory import MemoryRows
from shoal.recipe.source import read
from shoal.recoding.recodings import CellGrouping, Grouping
from shoal.results import Release
from shoal_papers.adult import adult_hierarchies
from shoal_papers.base import Claim, Context
from shoal_papers.claims import checked
from shoal_papers.runs import release
from shoal_papers.standins import StandIn

QUASI = ("age", "sex", "race", "salary-class", "native-country", "workclass")
SENSITIVE = ("marital-status", "occupation")
# The document makes occupation a number, close meanings side by side, and does not print the order; this one is ours:
# service, manual work, trades, safety, offices and shops, leading and expert work.
OCCUPATIONS = (
    "Priv-house-serv", "Other-service", "Handlers-cleaners", "Farming-fishing", "Machine-op-inspct",
    "Transport-moving", "Craft-repair", "Protective-serv", "Armed-Forces", "Tech-support", "Adm-clerical", "Sales",
    "Exec-managerial", "Prof-specialty",
)  # fmt: skip
A_QUASI, A_SENSITIVE = ("q1", "q2", "q3", "q4", "q5", "q6"), ("s1", "s2")
# The share of rows that Sections 3.3 and 4.3 sample.
SHARE = 0.025

Make = Callable[[int], Algorithm]


def adult_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The eight columns of Table 4.2, with occupation as a number from 0 to 13."""
    places = {name: place for place, name in enumerate(OCCUPATIONS)}
    number = pl.col("occupation").replace_strict(places, return_dtype=pl.Int64)
    return frame.select(*QUASI, "marital-status", number)


def adult_table(frame: pl.DataFrame, *, trees: bool = False) -> Table:
    """Rows of Adult in those roles; categories become sets, or nodes of our own hierarchies."""
    hierarchies = adult_hierarchies([name for name in QUASI if name != "age"]) if trees else {}
    return read(adult_frame(frame), quasi=list(QUASI), sensitive=list(SENSITIVE), hierarchies=hierarchies)


def synthetic_table(made: StandIn) -> Table:
    """The generated integers in their roles."""
    return read(made.frame, quasi=list(A_QUASI), sensitive=list(A_SENSITIVE))


def mrg(k: int, weight: float = 0.5, **options: Any) -> TOC:
    """MRG with a weight of utility; delta and s are chosen on the sample unless given.

    Leftovers join the best of all clusters, as Algorithm 5 has it (steps 15 and 16).
    Where no cluster reaches k, all rows are one: the figures then say so, and an experiment goes on.
    """
    printed: dict[str, Any] = {
        "listing": "printed", "sample_fraction": SHARE, "leftover_scope": "all", "fallback": "single",
    }  # fmt: skip
    return TOC(k=k, utility_weight=weight, protection_weight=1.0 - weight, **{**printed, **options})


def fitting(k: int, weight: float = 0.5) -> TOC:
    """The one reading of MRG that fits Fig. 4.10: the next record is the nearest to the cluster, which stops at k.

    Algorithm 1 does neither. Subspaces have 16k records.
    """
    return mrg(k, weight, linkage="cluster", delta=1.0, size=16 * k)


FITS = "MRG, fits Fig. 4.10"
# The printed MRG by the name of its column.
LISTED = {"MRG": "MRG, listing"}
METHODS: dict[str, Make] = {
    "Mondrian": lambda k: Mondrian(k=k, cut="widest", mode="relaxed"),
    "Mondrian, strict": lambda k: Mondrian(k=k, cut="widest"),
    "K-Members": lambda k: KMembers(k=k, loss="byun"),
    "K-Members-p": lambda k: KMembersP(k=k, loss="byun"),
    "MRG": mrg,
}
WITHOUT: Make = partial(mrg, prepartition=False)
MODES = (
    "Mondrian deals equal rows out to both sides unless it is called strict: the document says that its groups have at "
    "most 2k - 1 records, which is true of relaxed cuts only. K-Members prices categories as Byun et al. do, 0 for one "
    "value and 1 for several: a category without a hierarchy has two levels (Definition 3.1.1)."
)
COLUMNS = (
    "Two columns: 'Listing' is MRG as Algorithms 1 to 5 are printed. 'Fits Fig. 4.10' adds to a cluster what is "
    "nearest to the cluster, as Algorithm 6 does, and stops at k: of all readings tried the only one whose DM is "
    "slightly below Mondrian's, as Figure 4.10 has it. It contradicts the listing."
)
ORDER = f"Occupation is a number in an order of ours: {', '.join(OCCUPATIONS)}."
RELEASED = (
    "UM and MPM are means over classes of equal published cells, not over records; smaller is better in both. Nothing "
    "is suppressed in any release."
)


class Watch:
    """Processor seconds of the algorithm alone, told by the steps of a run: what comes after it is the gate's time.

    Those of the process, so that other work on the machine does not count.
    """

    def __init__(self) -> None:
        self._began = time.process_time()
        self.seconds = float("nan")

    def __call__(self, step: str) -> None:
        if step == "judging the classes":
            self.seconds = time.process_time() - self._began


def figures(table: Table, algorithm: Algorithm, seed: int, **settings: Any) -> tuple[Release, dict[str, Any]]:
    """A release and its figures: loss, protection, sizes, and what MRG chose."""
    watch = Watch()
    made = release(table, algorithm, seed=seed, progress=watch, **settings)
    notes = made.evidence["search"]
    um, mpm = made.measure("um"), made.measure("mpm")
    sizes = made.frame.group_by(list(table.schema.quasi)).len("size")["size"]
    k = int(getattr(algorithm, "k", 0) or 0)
    return made, {
        "um": um.value, "mpm": mpm.value, "both": (um.value or 0.0) + (mpm.value or 0.0),
        "dm": made.measure("dm").value, "um_rows": um.also["tuple-weighted"],
        "suppressed": made.evidence["counts"]["suppressed"] / table.n, "classes": sizes.len(),
        "spare": int(sizes.to_numpy().min()) - k, "largest": int(sizes.to_numpy().max()),
        "delta": notes.get("delta"), "size": notes.get("size"), "leftovers": notes.get("leftovers", 0) / table.n,
        "seconds": watch.seconds,
    }  # fmt: skip


def group_ids(made: Release) -> np.ndarray:
    """The method's own group of each input row, also where it grouped combinations of values in place of rows."""
    recoding = made.released.recoding
    assert isinstance(recoding, Grouping | CellGrouping)
    return MemoryRows(made.table).ids(recoding.classmap)


def by_cluster(made: Release, table: Table) -> dict[str, float]:
    """UM, MPM and DM over the method's own groups, before groups with equal cells count as one class."""
    ids = pl.Series("group", group_ids(made))
    names = [*table.schema.quasi, *table.schema.sensitive]
    numeric = {name for name in names if table.frame[name].dtype.is_numeric()}

    def width(name: str) -> pl.Expr:
        column = pl.col(name)
        return column.max() - column.min() if name in numeric else column.n_unique() - 1

    whole = table.frame.select(width(name) for name in names).row(0, named=True)
    spread = table.frame.group_by(ids).agg(width(name) / max(whole[name], 1) for name in names)
    means = {name: float(spread[name].to_numpy().mean()) for name in names}
    sizes = np.bincount(ids.to_numpy())
    um = float(np.mean([means[name] for name in table.schema.quasi]))
    mpm = 1.0 - float(np.mean([means[name] for name in table.schema.sensitive]))
    return {"um_clusters": um, "mpm_clusters": mpm, "both_clusters": um + mpm, "dm_clusters": float(sizes @ sizes)}


def guarantees(runs: pl.DataFrame) -> list[Claim]:
    """What every release has to keep: k, and every row."""
    spare, lost = int(runs["spare"].to_numpy().min()), float(runs["suppressed"].to_numpy().max())
    return [
        checked(
            "Every class has at least k records", spare >= 0,
            f"The smallest class has {spare} records more than k, over {runs.height} releases.",
        ),
        checked("Nothing is suppressed", lost == 0.0, f"{lost:.4g} of the rows at most, over {runs.height} releases."),
    ]  # fmt: skip


def in_column(name: str, claims: Sequence[Claim]) -> list[Claim]:
    """The same claims, each saying which MRG it is about."""
    return [replace(claim, text=f"{name}: {claim.text}") for claim in claims]


def told(reading: str, claims: Iterable[Claim], ours: Iterable[Claim] = ()) -> list[str]:
    """Claims under another reading, as sentences; those that hold either way, or do not change at all, are left out."""
    first = {claim.text: claim for claim in ours}
    return [
        f"{reading}: {claim.text}: {claim.verdict}. {claim.evidence}"
        for claim in claims
        if claim.text not in first
        or (claim.evidence != first[claim.text].evidence
            and not claim.verdict == first[claim.text].verdict == "holds")
    ]  # fmt: skip


def spots(context: Context, *axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Every combination of a seed and a point on each axis."""
    found: list[tuple[Any, ...]] = [(seed,) for seed in context.seeds]
    for axis in axes:
        found = [(*one, value) for one in found for value in axis]
    return found
