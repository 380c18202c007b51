"""Whether releases taken together leave everybody among enough people and values.

Somebody is safe on either of two grounds, and no method of publication has to be known for them:

- *Company.* At least k people, with at least l values between them, were in the same class of every release and
  absent from the same ones. Any two of them can change places without a release looking different, whatever an intruder
  knows about who was in which release, and even if rows of one person could be linked.
- *Invariance.* All classes that the person's releases connect them with, through whoever shares one, have the same set
  of at least l values, each equally often, in classes of at least k people. Any permutation of that set over all those
  people leaves every release as it is, so each has every value with the same probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.data.domain import set_ids
from shoal.vault.known_before import Past


@dataclass(frozen=True, kw_only=True)
class Weakened:
    """People whom all releases together leave with less than was asked for.

    Attributes
    ----------
    people
        How many in all.
    by_size
        Among fewer than k people.
    by_values
        Column to how many are left with fewer than l of its values.
    """

    people: int
    by_size: int
    by_values: Mapping[str, int]


def weakened(past: Past, k: int, least: Mapping[str, int]) -> Weakened:
    """Who is below k people, or below ``least`` distinct values of a column; nobody before the second release."""
    sizes = past.sizes
    if sum(note["tracked"] for note in past.releases) < 2:  # what one release promises is for the gate to say
        return Weakened(people=0, by_size=0, by_values={})
    small = sizes < k
    poor = {name: _poor(past, name, count) for name, count in least.items() if count > 1 and name in past.texts}
    bad = small | np.any([small, *poor.values()], axis=0)
    if bad.any():
        safe = invariant_companies(past, k, max([1, *least.values()]))
        bad, small = bad & ~safe, small & ~safe
        poor = {name: found & ~safe for name, found in poor.items()}
    return Weakened(
        people=int(sizes[bad].sum()),
        by_size=int(sizes[small].sum()),
        by_values={name: int(sizes[found].sum()) for name, found in poor.items()},
    )


def _poor(past: Past, name: str, count: int) -> np.ndarray:
    found = past.distinct(name)
    return (found >= 0) & (found < count)


def invariant_companies(past: Past, k: int, least: int) -> np.ndarray:
    """Companies that are safe by invariance.

    Only where one sensitive column is all that releases have beside quasi-identifiers: any other column, or rows of one
    person in several classes, would tell records of equal values apart.
    """
    places = past.places
    safe = np.zeros(places.shape[0], dtype=bool)
    if not all(note["bare"] and note["tracked"] for note in past.releases) or len(past.texts) != 1:
        return safe
    release, group = np.divmod(np.arange(places.size), places.shape[1])[::-1]
    there = places[group, release] >= 0
    group, release = group[there], release[there]
    stride = int(max(places.max(initial=0), past.shown["class"].max() or 0)) + 1  # type: ignore[type-var, operator]
    key, at = np.unique(release * stride + places[group, release], return_inverse=True)
    sets = _even_sets(past, key, stride, least)
    sets[np.bincount(at, past.sizes[group], minlength=key.size) < k] = -1
    # A company of two signatures, and every class that cannot be permuted, spoil all that they are connected with.
    bad_class = sets < 0
    low, high = np.full(safe.size, np.iinfo(np.int64).max), np.full(safe.size, -2)
    np.minimum.at(low, group, sets[at])
    np.maximum.at(high, group, sets[at])
    bad = low != high
    while True:
        spoilt = bad_class.copy()
        spoilt[at[bad[group]]] = True
        worse = bad.copy()
        worse[group[spoilt[at]]] = True
        if (worse == bad).all() and (spoilt == bad_class).all():
            return ~bad
        bad, bad_class = worse, spoilt


def _even_sets(past: Past, key: np.ndarray, stride: int, least: int) -> np.ndarray:
    """A number for the set of values of each class, -1 where they are uneven, too few, or not all known."""
    shown = past.shown.with_columns(key=pl.col("release") * stride + pl.col("class"))
    even = (pl.col("count").min() == pl.col("count").max()) & (pl.col("value").min() >= 0) & (pl.len() >= least)
    fine = shown.group_by("key").agg(even=even).filter("even")["key"].to_numpy()
    shown = shown.filter(pl.col("key").is_in(fine))
    place = np.searchsorted(key, shown["key"].to_numpy())
    inside = place < key.size
    inside[inside] = key[place[inside]] == shown["key"].to_numpy()[inside]
    return set_ids(place[inside], shown["value"].to_numpy()[inside], key.size)
