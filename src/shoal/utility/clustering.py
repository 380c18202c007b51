"""Clusters found in a release and in its original: whether the same people come together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.params import whole
from shoal.utility.classifiers import quiet, sklearn
from shoal.utility.domains import Reading
from shoal.utility.features import Rows, Scale, columns_of, frame_features, listed, looked_at, pick
from shoal.utility.holdout import sides
from shoal.utility.reading import Evaluation, Finding

_STREAM = "evaluation clustering"
_STARTS = 4
_NEIGHBOURS = 10
_RESAMPLES = 200


@dataclass(frozen=True, kw_only=True)
class Clustering(Evaluation):
    """Cluster the rows of a release and those of its original, and compare.

    Numbers are measured in standard deviations; two different texts are as far apart as one. By k-means, the figure
    is the adjusted Rand agreement over people who are in both (1: the same clusters, 0: as by chance); beside it
    stands how far two runs on the original agree. By density (DBSCAN, its radius taken from the original), the
    figure is the share of rows in the largest cluster.

    Parameters
    ----------
    columns
        Columns to cluster by; all by default.
    clusters
        Number of clusters of k-means.
    most, sample
        Most people looked at by k-means and by density, drawn by the run's key.
    """

    name: ClassVar[str] = "clustering"
    columns: Sequence[str] | None = None
    clusters: int = 4
    most: int = 20_000
    sample: int = 2_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", listed("Clustering", "columns", self.columns))
        whole("Clustering", "clusters", self.clusters, least=2)
        whole("Clustering", "most", self.most, least=2)
        whole("Clustering", "sample", self.sample, least=_NEIGHBOURS + 1)

    def run(self, reading: Reading) -> list[Finding]:
        """Agreement where it is known whose rows are whose, and the shares of the largest clusters."""
        after, before = reading.mined
        release, _ = sides(after, pick(after.features, self.columns))
        _, original = sides(before, pick(before.features, self.columns))
        mine, theirs, paired = _drawn(reading, release, original, self.most)
        clusters = [k_means(rows, self.clusters, reading.keys) for rows in (mine, theirs)]
        again = k_means(theirs, self.clusters, reading.keys, run=1)
        findings = [self._agreement(reading, clusters, again, theirs.rows.size)] if paired else []
        findings.append(self._largest("k-means", [largest(one) for one in clusters]))
        mine, theirs, _ = _drawn(reading, release, original, self.sample)
        radius = radius_of(theirs)
        return [*findings, self._largest("density", [largest(by_density(rows, radius)) for rows in (mine, theirs)])]

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """What rows are clustered by."""
        return looked_at(self.columns, reading.mined[0].features, None)

    def _agreement(self, reading: Reading, found: list[np.ndarray], again: np.ndarray, rows: int) -> Finding:
        value, stable = agreement(*found), agreement(found[1], again)
        table = contingency(*found).ravel()
        generator = reading.keys.generator(f"{_STREAM} resampling")
        shape = (int(found[0].max()) + 1, -1)
        drawn = [
            agreement_of(generator.multinomial(rows, table / rows).reshape(shape)) for _ in range(_RESAMPLES)
        ]
        sentence = (
            f"{self.clusters} clusters of the release agree with those of the original to {value:.3f} (adjusted Rand; "
            f"1 is the same, 0 is chance), where two runs on the original agree to {stable:.3f}."
        )
        return Finding(
            name=f"{self.name} agreement", value=value, better="up", baseline=0.0, sentence=sentence,
            interval=(float(np.quantile(drawn, 0.025)), float(np.quantile(drawn, 0.975))),
            also={"original": stable, "rows": rows},
        )  # fmt: skip

    def _largest(self, how: str, shares: list[float]) -> Finding:
        mine, theirs = shares
        sentence = (
            f"The largest cluster by {how} holds {mine:.1%} of the rows of the release, and {theirs:.1%} of those of "
            f"the original: a difference of {100 * abs(mine - theirs):.1f} points."
        )
        return Finding(
            name=f"{self.name} {how}", value=abs(mine - theirs), better="down", sentence=sentence,
            also={"release": mine, "original": theirs},
        )  # fmt: skip


def _drawn(reading: Reading, release: Rows, original: Rows, most: int) -> tuple[Rows, Rows, bool]:
    """At most so many rows of each side; rows of the same people in the same order where these are known."""
    source = reading.source
    if source is None:
        return _some(release, most, reading.keys), _some(original, most, reading.keys), False
    both = Rows(features=original.features, released=False, rows=source[release.rows])
    order = np.sort(reading.keys.shuffle(_STREAM, both.rows.astype(np.uint64))[:most])
    return _rows(release, order), _rows(both, order), True


def _some(rows: Rows, most: int, keys: Keys) -> Rows:
    return _rows(rows, np.sort(keys.shuffle(_STREAM, rows.rows.astype(np.uint64))[:most]))


def _rows(rows: Rows, places: np.ndarray) -> Rows:
    return Rows(features=rows.features, released=rows.released, rows=rows.rows[places])


def points(rows: Rows) -> np.ndarray:
    """Rows as points: numbers in standard deviations, different texts at a distance of one."""
    columns = columns_of(rows.features)
    size = np.repeat([1.0 if one.of is None else np.sqrt(0.5) for one in columns], [len(one.names) for one in columns])
    return Scale.of(rows, columns)(rows.matrix(columns)) * size


def k_means(rows: Rows, clusters: int, keys: Keys, run: int = 0) -> np.ndarray:
    """Cluster of every row; fewer clusters where there are fewer different rows."""
    state = int(keys.generator(f"{_STREAM} {run}").integers(2**31))
    model = sklearn("Clustering", "cluster").KMeans(
        n_clusters=min(clusters, rows.rows.size), n_init=_STARTS, random_state=state
    )
    with quiet():  # fewer different rows than clusters is no fault of theirs
        return model.fit_predict(points(rows))


def radius_of(rows: Rows) -> float:
    """Distance within which half of the rows have their tenth neighbour."""
    near = sklearn("Clustering", "neighbors").NearestNeighbors(n_neighbors=min(_NEIGHBOURS + 1, rows.rows.size))
    made = points(rows)
    with quiet():
        distance, _ = near.fit(made).kneighbors(made)
    return max(float(np.median(distance[:, -1])), 1e-6)


def by_density(rows: Rows, radius: float) -> np.ndarray:
    """Cluster of every row by density, -1 for rows in none."""
    model = sklearn("Clustering", "cluster").DBSCAN(eps=radius, min_samples=_NEIGHBOURS)
    with quiet():
        return model.fit_predict(points(rows))


def largest(cluster: np.ndarray) -> float:
    """Share of the rows in the largest cluster."""
    return float(np.bincount(cluster + 1)[1:].max(initial=0) / cluster.size)


def contingency(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rows of each pair of clusters."""
    size = int(other.max()) + 1
    return np.bincount(one * size + other, minlength=(int(one.max()) + 1) * size).reshape(-1, size)


def agreement(one: np.ndarray, other: np.ndarray) -> float:
    """Adjusted Rand index of two clusterings of the same rows."""
    return agreement_of(contingency(one, other))


def agreement_of(table: np.ndarray) -> float:
    """Adjusted Rand index of a contingency table; 1 where both put everybody together."""
    pairs = [float((count * (count - 1.0) / 2.0).sum()) for count in (table, table.sum(1), table.sum(0), table.sum())]
    chance = pairs[1] * pairs[2] / max(pairs[3], 1.0)
    most = (pairs[1] + pairs[2]) / 2.0
    return (pairs[0] - chance) / (most - chance) if most > chance else 1.0


def largest_clusters(
    frame: pl.DataFrame, *, clusters: int = 4, columns: Sequence[str] | None = None, sample: int = 2_000, seed: int = 0
) -> dict[str, float]:
    """Share of the largest cluster of a plain frame by k-means, and by density on a sample."""
    keys = Keys.from_seed(seed)
    features = pick(frame_features(frame), columns)
    rows = Rows(features=features, released=False, rows=np.arange(frame.height))
    some = _some(rows, sample, keys)
    return {
        "k-means": largest(k_means(rows, clusters, keys)),
        "density": largest(by_density(some, radius_of(some))),
    }
