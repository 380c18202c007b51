"""Breaches record by record (Poovammal & Ponnavaikko): values close to one's own, and values that are not one's own.

Whoever links a person t to a group G of records associates t with every value of G. ``P_b(t)`` is the share of G whose
numbers lie within eps of t's (Sec. 6.4); the divergence breach of t is the share whose values are other than t's
(Sec. 2.5: 1 - 1/L in a group of L different values).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.data.stats import unknown_flags
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.params import nearest, real
from shoal.recoding.kinds import Trait
from shoal.results import Release

_SHARE_OF_RANGE = 0.05


def near_share(groups: np.ndarray, numbers: np.ndarray, eps: float) -> np.ndarray:
    """float64 a record: share of its group whose numbers are within eps of its own, itself included; O(n log n)."""
    slack = eps + 1e-9 * max(1.0, eps)
    if not numbers.size:
        return np.empty(0)
    # By ranks, in whole numbers: sums with the numbers themselves would round away what is just within eps.
    values = np.unique(numbers)
    begin, end = np.searchsorted(values, numbers - slack), np.searchsorted(values, numbers + slack, side="right")
    away = groups.astype(np.int64) * (values.size + 1)
    order = np.sort(away + np.searchsorted(values, numbers))
    near = np.searchsorted(order, away + end) - np.searchsorted(order, away + begin)
    return near / np.bincount(groups)[groups]


def other_share(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """float64 a record: share of its group whose values are not its own."""
    pair = groups.astype(np.int64) * (int(values.max(initial=0)) + 1) + values
    _, of, counts = np.unique(pair, return_inverse=True, return_counts=True)
    return 1.0 - counts[of] / np.bincount(groups)[groups]


def usual_eps(numbers: np.ndarray) -> float:
    """How close is close by default: 5 % of the range of the numbers that are released."""
    seen = numbers[np.isfinite(numbers)]
    return _SHARE_OF_RANGE * float(np.ptp(seen)) if seen.size else 0.0


def known_places(column: Column) -> np.ndarray:
    """The number of every value, NaN where it is unknown."""
    return np.where(unknown_flags(column) == 1, np.nan, column.positions)


def breaches(release: Release, column: str, *, eps: float | None = None) -> pl.DataFrame:
    """Every released record's breaches in one sensitive column, before and after; private.

    Parameters
    ----------
    eps
        How close numbers are to be close; by default 5 % of the range of those that are released.

    Returns
    -------
    polars.DataFrame
        ``row`` of the input; ``divergence_before`` and ``divergence_after``; for numbers and dates ``proximity_before``
        and ``proximity_after`` (P_b), and ``proximity_table``, where all records are one group, as the document counts
        for a table that is not grouped. Before, a group is who agrees on all quasi-identifiers; after, a class. Models
        and codes change no value here: these are those of whoever can read them. Records without a known value are
        left out.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.example_census(200).select("age", "sex", "income")
    >>> table = shoal.read(people, quasi=["age", "sex"], sensitive=["income"], missing="drop")
    >>> release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), acknowledge=["W-UNMODELLED:income"], seed=1)
    >>> breaches(release, "income")["proximity_after"].max() <= 1
    True
    """
    table = release.table
    if column not in table.schema.sensitive:
        near = nearest(column, table.schema.sensitive)
        hint = f" Did you mean '{near}'?" if near else ""
        raise ParameterError(f"Breaches are of a sensitive column, and '{column}' is none.{hint}")
    made = release.released.made
    if not made.has(Trait.ALIKE):
        raise ParameterError(f"A {made} release has no breaches by class: {made.lacks[Trait.ALIKE]}.")
    if eps is not None:
        real("breaches", "eps", eps, low=0.0)
    one, codes = table.columns[column], table.codes[column]
    real_rows = np.arange(table.n) < table.n - table.counterfeits
    rows = np.flatnonzero((release.released.classes >= 0) & real_rows & (unknown_flags(one)[codes] == 0))
    exact = group_rows(table.quasi_codes, np.array([each.card for each in table.quasi]))[0][rows].astype(np.int64)
    after = release.released.classes[rows].astype(np.int64)
    found = {
        "row": rows,
        "divergence_before": other_share(exact, codes[rows]),
        "divergence_after": other_share(after, codes[rows]),
    }
    if one.numbers is not None:
        places = known_places(one)
        numbers = places[codes[rows]]
        close = usual_eps(numbers) if eps is None else float(eps)
        groups = {"before": exact, "after": after, "table": np.zeros(rows.size, dtype=np.int64)}
        found |= {f"proximity_{when}": near_share(ids, numbers, close) for when, ids in groups.items()}
    return pl.DataFrame(found)
