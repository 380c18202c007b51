"""Poovammal & Ponnavaikko, section 5.3: the share of the largest cluster in T and in T', as WEKA makes clusters."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.utility.clustering import k_means, largest, largest_clusters
from shoal.utility.features import Rows, frame_features
from shoal_papers.base import Context, Item, Outcome
from shoal_papers.claims import info, summary, within
from shoal_papers.plots import Plot
from shoal_papers.poovammal_ponnavaikko import weka
from shoal_papers.poovammal_ponnavaikko.common import EQUAL, GRADES, GRADINGS, LINE, ROWS, people, transform
from shoal_papers.runs import beside, curves, summarise

ORIGINAL = "T"
SIMPLE, DENSE = "k-means, as WEKA", "density, as WEKA"
DBSCAN, SPREAD = "density (DBSCAN)", "k-means, in deviations"
# Ways of clustering, and the share of the largest cluster in per cent that the document gives.
CLUSTERS = {SIMPLE: 63.0, DENSE: 57.0, SPREAD: 63.0, DBSCAN: 57.0}
# What the document ran, as far as it says so; the others are readings.
WEKA = (SIMPLE, DENSE)
# Ways that see age by differences in units of its own range or spread.
LINEAR = (SIMPLE, DENSE, SPREAD)
# A whole per cent, as the document prints: two shares that round alike are no further apart.
ALIKE = 1.0


def _shares(frame: pl.DataFrame, seed: int, rows: int, sample: int) -> dict[str, float]:
    """Share of the largest cluster, in per cent, by every way."""
    records = weka.Records.of(frame)
    simple = weka.k_means(records, seed=weka.SEED + seed - 1)
    some = frame.head(rows)
    features = list(frame_features(some).values())
    spread = k_means(Rows(features=features, released=False, rows=np.arange(some.height)), 2, Keys.from_seed(seed))
    dense = largest_clusters(frame, clusters=2, sample=sample, seed=seed)["density"]
    found = [largest(simple), largest(weka.by_density(records, simple)), largest(spread), dense]
    return {name: 100 * share for name, share in zip(CLUSTERS, found, strict=True)}


def _starts(frame: pl.DataFrame, count: int) -> str:
    """What other starts make of the whole table."""
    records = weka.Records.of(frame)
    made = [weka.k_means(records, seed=weka.SEED + place) for place in range(count)]
    ways = {SIMPLE: made, DENSE: [weka.by_density(records, one) for one in made]}
    said = [
        f"{min(shares):.1f} to {max(shares):.1f} % ({way})"
        for way, found in ways.items() for shares in [[100 * largest(one) for one in found]]
    ]  # fmt: skip
    return f"Over {count} starts the largest cluster of T has {' and '.join(said)}."


def _clusters(context: Context) -> Outcome:
    given = context.parameters
    rows = []
    for seed in context.each(context.seeds, lambda seed: f"seed {seed}"):
        frame = people(context, seed)
        frames = {ORIGINAL: frame, **{how: transform(frame, seed, how).after for how in given["gradings"]}}
        made = {name: _shares(one, seed, given["some"], given["sample"]) for name, one in frames.items()}
        rows += [
            {"table": name, "way": way, "seed": seed, "share": share, "difference": share - made[ORIGINAL][way]}
            for name, shares in made.items() for way, share in shares.items()
        ]  # fmt: skip
    return _told(context, pl.DataFrame(rows))


def _told(context: Context, runs: pl.DataFrame) -> Outcome:
    gradings = context.parameters["gradings"]

    def away(way: str, how: str) -> np.ndarray:
        return runs.filter(way=way, table=how)["difference"].abs().to_numpy()

    claims = [
        within(f"The largest cluster has the same share in T and T' to a point: {way}", away(way, EQUAL), high=ALIKE)
        for way in WEKA
    ]
    if LINE in gradings:
        claims.append(within("Codes on a straight line change no share of k-means or densities by a tenth of a point",
                             np.concatenate([away(way, LINE) for way in LINEAR]), high=0.1))  # fmt: skip
    claims += [
        info(f"Per cent of T in the largest cluster: {way}",
             summary(runs.filter(way=way, table=ORIGINAL)["share"].to_numpy()).mean, share)
        for way, share in CLUSTERS.items()
    ]  # fmt: skip
    return Outcome(
        table=summarise(runs, ["way", "table"], ["share", "difference"]),
        runs=runs,
        plots=[
            Plot(title="largest cluster", figure="Section 5.3", x="Way of clustering", kind="bar", study="T'",
                 y="Share of the records in per cent",
                 series=beside(curves(runs.filter(pl.col("table").is_in([ORIGINAL, EQUAL])), "way", "share",
                                      by="table", names={EQUAL: "T'"}), dict.fromkeys((ORIGINAL, "T'"), CLUSTERS))),
            Plot(title="T' less T", figure="Section 5.3", x="Way of clustering", y="Difference in points", kind="bar",
                 series=curves(runs.filter(pl.col("table") != ORIGINAL), "way", "difference", by="table")),
        ],
        claims=claims,
        notes=[
            ROWS, GRADES,
            "The document names WEKA, simple k-means with Euclidean distance and a density-based clusterer, and no "
            "settings. As WEKA does by default: two clusters, numbers scaled to [0, 1], modes for categories, '?' "
            "missing and put at the mode, one start, drawn by Java's generator with seed 10 (seed 1 here; 11, 12, ... "
            "for the others); the density-based clusterer gives every record of these clusters to the likelier one.",
            "Other readings: ages in standard deviations, categories as indicators, the best of four starts; DBSCAN, "
            "whose radius is a distance that occurs, so that rounding decides who just is a neighbour.",
            "63 % is said of k-means without saying whether of T, T' or both.",
        ],
        readings=[
            _starts(people(context, context.seeds[0]), context.parameters["starts"]),
            *(f"{how}, {way}: shares differ by {summary(away(way, how))} points."
              for how in gradings for way in CLUSTERS),
        ],
    )  # fmt: skip


CLUSTER = Item(
    id="cluster",
    key="EXP-PP-cluster",
    title="Share of the largest cluster in T and T'",
    shows="Largest cluster by k-means and by density, as WEKA makes them and otherwise, of T and of T'.",
    statement="Density-based clustering puts 57 % of both tables in one cluster, k-means 63 %.",
    run=_clusters,
    needs=["adult"],
    parameters={"rows": 32561, "some": 8000, "sample": 2000, "starts": 40, "gradings": list(GRADINGS)},
    quick={"rows": 3000, "some": 1500, "sample": 600, "starts": 5},
    undecidable={
        f"The largest cluster has the same share in T and T' to a point: {way}": (
            "it hangs on bounds and names of the categories, the number of clusters and the start: none is printed"
        )
        for way in WEKA
    },
)
