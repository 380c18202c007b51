"""Which columns are quasi-identifiers: the smallest sets of them that single people out.

Whoever stands alone on some columns stands alone on more of them, so that sets are visited by size and none is
looked at that contains one already found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import polars as pl

from shoal.errors import ParameterError
from shoal.kernels.count.grouping import group_rows
from shoal.params import real, whole
from shoal.risk.report import FoundSet
from shoal.table.table import Table

_ROLES = ("quasi", "sensitive", "neutral")
# Each is one pass over the rows.
_MOST_SETS = 100_000


def discover(
    table: Table, *, share: float = 0.05, most: int = 4, progress: Callable[[str], None] | None = None
) -> list[FoundSet]:
    """Minimal sets of columns on which at least ``share`` of the people stand alone (0: at least one of them).

    Quasi-identifiers, sensitive and neutral columns count alike: anything published may be known from elsewhere.

    Parameters
    ----------
    most
        Largest set to look at.

    Returns
    -------
    list
        The smallest sets first, among them those that single most people out.
    """
    real("the discovery", "share", share, low=0.0, high=1.0)
    whole("the discovery", "most", most, least=1)
    step = progress if progress is not None else lambda text: None
    names, codes, cards = _coded(table)
    most = min(most, len(names))
    _refuse_many(len(names), most)
    people = table.n_subjects if table.subjects is not None else table.n
    found: list[FoundSet] = []
    kept: set[tuple[int, ...]] = set()
    for size in range(1, most + 1):
        step(f"looking at sets of {size} columns")
        here = []
        for places in combinations(range(len(names)), size):
            if any(part in kept for small in range(1, size) for part in combinations(places, small)):
                continue
            alone = _alone(table, codes[list(places)], cards[list(places)])
            if alone > 0 and alone >= share * people - 1e-9:
                kept.add(places)
                columns = tuple(names[place] for place in places)
                here.append(FoundSet(columns=columns, people=alone, share=alone / people))
        found += sorted(here, key=lambda one: (-one.people, one.columns))
    return found


def _coded(table: Table) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, codes and numbers of codes of the columns that are or could be published; missing is a value."""
    roles = table.schema.roles()
    names = [name for name in table.frame.columns if roles.get(name) in _ROLES]
    if not names:
        raise ParameterError("There is no column that quasi-identifiers could be found among: give some a role.")
    codes = np.empty((len(names), table.n), dtype=np.int32)
    for place, name in enumerate(names):
        codes[place] = table.codes[name] if name in table.codes else _ranks(table.frame[name])
    return names, codes, codes.max(axis=1, initial=0).astype(np.int64) + 1


def _ranks(values: pl.Series) -> np.ndarray:
    return values.cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int32)


def _alone(table: Table, codes: np.ndarray, cards: np.ndarray) -> int:
    """People who alone have some combination of values."""
    ids, first, counts = group_rows(codes, cards)
    if table.subjects is None:
        return int((counts == 1).sum())
    pairs = np.stack([ids, table.subjects])
    _, met, _ = group_rows(pairs, np.array([first.size, max(table.n_subjects, 1)], dtype=np.int64))
    owners = np.bincount(ids[met], minlength=first.size)
    return int(np.unique(table.subjects[first[owners == 1]]).size)


def _refuse_many(columns: int, most: int) -> None:
    sets = sum(math.comb(columns, size) for size in range(1, most + 1))
    if sets > _MOST_SETS:
        raise ParameterError(
            f"{columns} columns have {sets:,} sets of up to {most}, too many to look at: look for smaller ones, or "
            "leave columns out."
        )
