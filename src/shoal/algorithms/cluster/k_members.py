"""K-Members (Byun, Kamra, Bertino & Li 2007) and K-Members-p, which clusters for protection (Loukides 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.records import Clusterer, Parts, across_parts, equal_records, local_values
from shoal.algorithms.prices import (
    ColumnPrices,
    pack,
    quasi_columns,
    quasi_weights,
    sensitive_columns,
    ticks_of,
    units_of,
)
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.policies import policy_of
from shoal.data.stats import unknown_flags
from shoal.errors import ParameterError
from shoal.kernels.cluster.k_members import COST, PAIRS, SPREAD, TIE, Guide, Plan, cluster_parts
from shoal.params import choice
from shoal.recoding.recodings import Grouping

# Range diversity sums over all pairs of a group, which takes room: 2**32 pairs at 2**30 ticks each.
_SENSITIVE_ONE = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Members(Clusterer):
    """What the methods share that grow clusters of k, a record at a time."""

    seeds: str = "furthest"
    loss: str = "height"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice(type(self).__name__, "seeds", self.seeds, ("furthest", "random"))
        choice(type(self).__name__, "loss", self.loss, ("height", "spread", "byun"))

    def priced(self, domain: Domain) -> tuple[list[ColumnPrices], np.ndarray]:
        """What cells cost, and the weights of the columns."""
        return quasi_columns(domain, self.loss), quasi_weights(domain)

    def _cluster(
        self, problem: Problem, sensitive: Sequence[Column], roles: Sequence[int], parts: Parts | None = None
    ) -> Grouping:
        """Group all rows; ``roles`` says what quasi-identifiers and sensitive columns decide."""
        table = problem.table
        parts = parts or self.parts(problem)
        (quasi, weights), shown = self.priced(table.domain), sensitive_columns(sensitive)
        priced, (units, one) = [*quasi, *shown], units_of(quasi, weights, ticks_of(table.n))
        prices = pack(priced, np.append(units, [_SENSITIVE_ONE / len(shown) for _ in shown]), one)
        secret = [table.codes[column.name][parts.rows][None] for column in sensitive]
        codes = np.concatenate([parts.codes.T.astype(np.int32), *secret])
        problem.progress(f"clustering {table.n} rows" + parts.said)
        guide = make_guide(priced, sensitive, roles)
        plan = make_plan(parts, codes, priced)
        ids, left = cluster_parts(prices, guide, plan, problem.judge.k, self.seeds == "furthest")
        notes = {"leftovers": int(left.sum())}
        return self.grouping(parts, across_parts(parts, ids, np.diff(parts.starts) // problem.judge.k), notes)


@dataclass(frozen=True, kw_only=True)
class KMembers(Members):
    """Clusters of k records, each grown by the record that raises its loss least; O(n²) without subspaces.

    A cluster begins at the record furthest from the last one placed. The fewer than k records that are left in the
    end each join the cluster they cost least.

    Parameters
    ----------
    seeds
        ``furthest`` as above, or ``random`` records.
    loss
        ``height`` is the paper's: level of a node over its tree's height. ``spread`` counts leaves, as ``lm`` does.
        Numbers are priced by width and sets by their size either way. ``byun`` is ``height``, and also prices sets as
        the paper does: one value costs nothing and more cost everything.

    Examples
    --------
    >>> KMembers(k=5, loss="spread").parameters()
    {'name': 'k-members', 'suppression_limit': 0.0, 'seeds': 'furthest', 'loss': 'spread'}
    """

    name: ClassVar[str] = "k-members"

    def group(self, problem: Problem) -> Grouping:
        """Group all rows."""
        return self._cluster(problem, [], [COST] * len(problem.table.quasi))


@dataclass(frozen=True, kw_only=True)
class KMembersP(Members):
    """K-Members that grows clusters by protection first and loss second; clusters of k records and leftovers.

    Parameters
    ----------
    objective
        ``s-diversity``: add the record that spreads the sensitive values furthest (Loukides, Def. 3.1.3).
        ``range-diversity``: the one that leaves least of the cluster in its own sensitive ranges (Def. 5.1.4).
    seeds
        ``furthest``, by sensitive values, or ``random``.
    loss
        What breaks ties, as in `KMembers`.
    """

    name: ClassVar[str] = "k-members-p"
    objective: str = "s-diversity"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("KMembersP", "objective", self.objective, ("s-diversity", "range-diversity"))

    def group(self, problem: Problem) -> Grouping:
        """Group all rows."""
        sensitive = problem.table.sensitive
        if not sensitive:
            raise ParameterError("The algorithm 'k-members-p' needs a sensitive attribute: name one under 'sensitive'.")
        role = PAIRS if self.objective == "range-diversity" else SPREAD
        return self._cluster(problem, sensitive, [TIE] * len(problem.table.quasi) + [role] * len(sensitive))


def make_guide(priced: Sequence[ColumnPrices], sensitive: Sequence[Column], roles: Sequence[int]) -> Guide:
    """What each column decides; quasi-identifiers have no unknown values and no policy."""
    plain = [one.card for one in priced[: len(priced) - len(sensitive)]]
    policies = [policy_of(column) for column in sensitive]
    blank = [np.zeros(card, dtype=np.int64) for card in plain]
    return Guide(
        role=np.array(roles, dtype=np.int64),
        known=np.concatenate(
            [*(np.ones(card, dtype=np.uint8) for card in plain), *(1 - unknown_flags(one) for one in sensitive)]
        ),
        axis=np.concatenate([*blank, *(policy.axis for policy in policies)]),
        low=np.concatenate([*blank, *(policy.low for policy in policies)]),
        high=np.concatenate([*blank, *(policy.high for policy in policies)]),
        at=np.cumsum([0, *(one.card for one in priced)], dtype=np.int64),
    )


def make_plan(parts: Parts, codes: np.ndarray, priced: Sequence[ColumnPrices]) -> Plan:
    """Equal records of a part as one entry, and each part's own values of every column."""
    cards = np.array([one.card for one in priced], dtype=np.int64)
    rows, entry_at, part = equal_records(parts, codes, cards)
    mine = np.ascontiguousarray(codes[:, rows[entry_at[:-1]]])
    local, values, value_at = local_values(part, parts.count, mine, cards)
    return Plan(
        rows=rows,
        entry_at=entry_at,
        part_at=np.searchsorted(part, np.arange(parts.count + 1)),
        codes=mine,
        local=local,
        values=values,
        value_at=value_at,
    )
