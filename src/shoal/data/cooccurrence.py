"""Categories grouped by the company they keep: values that go with the same values of other columns stand together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.data.hierarchy import ROOT, Hierarchy

# Of more values, the rarest start in one group: every pair is looked at.
MOST_VALUES = 256
_LONGEST_LABEL = 40


def group_together(
    name: str, counts: Mapping[str, int], beside: Mapping[str, np.ndarray], groups: Sequence[int]
) -> Hierarchy:
    """A hierarchy of as many groups a level as asked for, each level joining groups of the one below.

    Two groups join where that changes least what records go with: the weighted squared distance between the square
    roots of their distributions over the other columns (Ward's method on Hellinger distances). Cost: O(values³).

    Parameters
    ----------
    counts
        How often each value occurs.
    beside
        Other column to an array (values, values there): how often each of its values goes with each of ours.
    groups
        Falling numbers of groups, one a level.

    Examples
    --------
    >>> pets = {"cat": 5, "dog": 5, "carp": 5, "koi": 5}
    >>> group_together("pet", pets, {"lives in": np.array([[5, 0], [4, 1], [0, 5], [0, 5]])}, [2]).labels[1]
    ('cat / dog', 'carp / koi')
    """
    values = list(counts)
    weights = np.array([max(counts[value], 0) for value in values], dtype=np.float64) + 1e-9
    place = _joined(weights, _profiles(beside, len(values)), groups)
    rows = [[value] for value in values]
    for of in place:
        labels = _labels(values, counts, of)
        for row, group in zip(rows, of.tolist(), strict=True):
            row.append(labels[group])
    return Hierarchy.from_rows(name, [[*row, ROOT] for row in rows])


def _profiles(beside: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """Square roots of the share that each value of the others has among a value's records."""
    parts = []
    for table in beside.values():
        total = table.sum(axis=1, keepdims=True)
        parts.append(np.sqrt(np.divide(table, total, out=np.zeros(table.shape), where=total > 0)))
    return np.hstack(parts) if parts else np.zeros((n, 1))


def _joined(weights: np.ndarray, profiles: np.ndarray, groups: Sequence[int]) -> list[np.ndarray]:
    """Group of every value at each number of groups."""
    n = len(weights)
    of = np.arange(n)
    order = np.argsort(-weights, kind="stable")
    of[order[MOST_VALUES:]] = order[-1] if n > MOST_VALUES else of[order[MOST_VALUES:]]
    weight, centre = np.zeros(n), np.zeros_like(profiles)
    np.add.at(weight, of, weights)
    np.add.at(centre, of, profiles * weights[:, None])
    alive = np.flatnonzero(weight > 0)
    centre[alive] /= weight[alive, None]
    found = []
    for size in groups:
        while alive.size > size:
            first, second = _nearest(weight[alive], centre[alive])
            one, other = int(alive[first]), int(alive[second])
            both = weight[one] + weight[other]
            centre[one] = (weight[one] * centre[one] + weight[other] * centre[other]) / both
            weight[one] = both
            of[of == other] = one
            alive = np.delete(alive, second)
        found.append(of.copy())
    return found


def _nearest(weight: np.ndarray, centre: np.ndarray) -> tuple[int, int]:
    """The two groups whose joining changes least; the first of them in order where several are equal."""
    squared = (centre**2).sum(axis=1)
    apart = np.maximum(squared[:, None] + squared[None, :] - 2 * centre @ centre.T, 0)
    price = apart * (weight[:, None] * weight[None, :]) / (weight[:, None] + weight[None, :])
    price[np.tril_indices(len(weight))] = np.inf
    place = int(np.argmin(np.round(price, 9)))
    return place // len(weight), place % len(weight)


def _labels(values: Sequence[str], counts: Mapping[str, int], of: np.ndarray) -> dict[int, str]:
    """A name for every group: its values where they are few and short, else the commonest and how many more."""
    taken = set(values)
    found = {}
    for group in dict.fromkeys(of.tolist()):
        members = [values[place] for place in np.flatnonzero(of == group).tolist()]
        mine = sorted(members, key=lambda one: (-counts[one], one))
        if len(mine) == 1:
            found[group] = mine[0]
            continue
        label = " / ".join(mine)
        if len(label) > _LONGEST_LABEL:
            label = f"{mine[0]} and {len(mine) - 1} more"
        while label in taken:
            label += " (group)"
        found[group] = label
    return found
