"""Which columns are quasi-identifiers: the smallest sets of them that single people out.

Whoever stands alone on some columns stands alone on more of them, so that sets are visited by size and none is
looked at that contains one already found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from shoal.data.domain import Domain
from shoal.data.rows import PeopledRows
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.params import real, whole
from shoal.risk.classes import counted_rows
from shoal.risk.report import FoundSet

_ROLES = ("quasi", "sensitive", "neutral")
# Each is one pass over the rows.
_MOST_SETS = 100_000


def discover(
    table: Table | PeopledRows, *, share: float = 0.05, most: int = 4, progress: Callable[[str], None] | None = None
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
    rows = counted_rows(table)
    names = _names(rows.domain)
    most = min(most, len(names))
    _refuse_many(len(names), most)
    people = rows.domain.n_subjects if rows.domain.by_people else rows.domain.n
    found: list[FoundSet] = []
    kept: set[tuple[int, ...]] = set()
    for size in range(1, most + 1):
        here, sets = [], math.comb(len(names), size)
        for number, places in enumerate(combinations(range(len(names)), size), 1):
            step(f"looking at sets of {size} columns: {number:,} of {sets:,}")
            if any(part in kept for small in range(1, size) for part in combinations(places, small)):
                continue
            columns = tuple(names[place] for place in places)
            alone = rows.singled(columns)
            if alone > 0 and alone >= share * people - 1e-9:
                kept.add(places)
                here.append(FoundSet(columns=columns, people=alone, share=alone / people))
        found += sorted(here, key=lambda one: (-one.people, one.columns))
    return found


def _names(domain: Domain) -> list[str]:
    """The columns that are or could be published."""
    roles = domain.schema.roles()
    names = [name for name in domain.types if roles.get(name) in _ROLES]
    if not names:
        raise ParameterError("There is no column that quasi-identifiers could be found among: give some a role.")
    return names


def _refuse_many(columns: int, most: int) -> None:
    sets = sum(math.comb(columns, size) for size in range(1, most + 1))
    if sets > _MOST_SETS:
        raise ParameterError(
            f"{columns} columns have {sets:,} sets of up to {most}, too many to look at: look for smaller ones, or "
            "leave columns out."
        )
