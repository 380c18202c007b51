"""Research value (Morton et al.): what a column at a level is worth to its researchers, summed over columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.kinds.base import Trait
from shoal.measures.association import Joints, association_weights, pairs
from shoal.measures.base import NOTHING_RELEASED, Measure, Prices
from shoal.measures.constraints import Constraint, named_column
from shoal.measures.scale import is_numeric, level_groups, spans
from shoal.params import choice, real
from shoal.recoding.applied import PriceStats
from shoal.table.column import Column
from shoal.table.domain import Domain

_OWNER = "research value"


@dataclass(frozen=True, kw_only=True)
class ResearchValue(Measure):
    """Sum over columns of weight times detail kept times rules kept, by levels alone.

    Parameters
    ----------
    rules
        Distinctions to keep, as tables: a column, ``separate`` (two values) or ``boundary`` (a number or date), and
        an ``importance``.
    weights
        ``"given"`` (the table's attribute weights) or ``"association"`` (columns that others do not tell weigh more).
    normalise
        Let the weights sum to 1.
    rv
        Column to research values set by hand, a level each, most specific first; they replace the formula.

    Examples
    --------
    >>> ResearchValue(rules=[{"column": "age", "boundary": 20, "importance": 10}]).rules[0].boundary
    '20'
    """

    name: ClassVar[str] = "rv"
    needs: ClassVar[Trait | None] = Trait.COVERING
    better: ClassVar[str] = "up"
    rules: Sequence[Any] = ()
    weights: str = "given"
    normalise: bool = True
    rv: Mapping[str, Sequence[float]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        choice(_OWNER, "weights", self.weights, ("given", "association"))
        if not isinstance(self.normalise, bool):
            raise ParameterError(f"The 'normalise' of {_OWNER} must be true or false. Got {self.normalise!r}.")
        if isinstance(self.rules, str | Mapping) or not isinstance(self.rules, Sequence):
            raise ParameterError(f"The 'rules' of {_OWNER} must be a list of tables. Got {self.rules!r}.")
        object.__setattr__(self, "rules", tuple(Constraint.of(rule) for rule in self.rules))
        if not isinstance(self.rv, Mapping):
            raise ParameterError(f"The 'rv' of {_OWNER} must be a table of a list a column. Got {self.rv!r}.")
        object.__setattr__(self, "rv", {name: _table_by_hand(name, given) for name, given in self.rv.items()})

    def level_values(
        self, columns: Sequence[Column], weights: np.ndarray, joint: Joints = MappingProxyType({})
    ) -> list[np.ndarray]:
        """Research value of every level of every column, most specific first (algorithms.md 15.1).

        ``joint`` has the joint counts of the tuples that the measure asks for.
        """
        for rule in self.rules:
            named_column(rule.column, columns, "A rule")
        for name in self.rv:
            named_column(name, columns, "'rv'")
        return [
            self._by_hand(column) if column.name in self.rv else float(weight) * self._shares(column)
            for column, weight in zip(columns, self.attribute_weights(columns, weights, joint), strict=True)
        ]

    def attribute_weights(self, columns: Sequence[Column], weights: np.ndarray, joint: Joints) -> np.ndarray:
        """The columns' weights, as asked for."""
        asked = self.weights == "association"
        found = association_weights(columns, joint) if asked else np.asarray(weights, dtype=float)
        return found / found.sum() if self.normalise else found

    def tuples(self, domain: Domain) -> list[tuple[str, ...]]:
        """Pairs of quasi-identifiers, where weights follow from what these have in common."""
        return pairs(domain.quasi) if self.weights == "association" else []

    def prices(self, domain: Domain) -> Prices:
        """Minus the value of the levels, whatever is suppressed."""
        columns, zero = domain.quasi, np.zeros(len(domain.quasi))
        values = self.level_values(columns, domain.quasi_weights, domain.joint)
        leaf = [np.repeat(-mine[:, None], column.card, axis=1) for mine, column in zip(values, columns, strict=True)]
        full = [np.zeros(column.card) for column in columns]
        return Prices(leaf=leaf, full=full, factor=zero + 1, offset=zero, weight=zero + 1, levels_only=True)

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The sum, and each column's value beside it."""
        assert stats.levels is not None
        columns = [cells.column for cells in stats.cells]
        values = self.level_values(columns, stats.weights, self._joint(stats))
        mine = [float(levels[stats.levels[c.name]]) for c, levels in zip(columns, values, strict=True)]
        return sum(mine), {c.name: value for c, value in zip(columns, mine, strict=True)}

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Nothing to what the columns are worth as they are."""
        columns = [cells.column for cells in stats.cells]
        weights = self.attribute_weights(columns, stats.weights, self._joint(stats))
        most = [
            max(self.rv[column.name]) if column.name in self.rv else float(weight)
            for column, weight in zip(columns, weights, strict=True)
        ]
        return 0.0, sum(most)

    def undefined(self, stats: PriceStats) -> str | None:
        """Only full-domain recodings have one level a column."""
        if stats.levels is None:
            return "only a full-domain recoding has a research value"
        return NOTHING_RELEASED if stats.n_released == 0 else None

    def _joint(self, stats: PriceStats) -> Joints:
        return {names: stats.joined(names) for names in self.tuples(stats.domain)}

    def _shares(self, column: Column) -> np.ndarray:
        """Share of its weight that a column keeps at each level."""
        shares = detail_shares(column)
        rules = [rule for rule in self.rules if rule.column == column.name]
        if rules:
            shares *= kept_importance(rules, column)
        return shares

    def _by_hand(self, column: Column) -> np.ndarray:
        given, levels = self.rv[column.name], len(level_groups(column))
        if len(given) != levels:
            raise ParameterError(
                f"The 'rv' of '{column.name}' must have {levels} values, one for each of its levels 0 to {levels - 1}, "
                f"most specific first. Got {len(given)}."
            )
        if levels > 1 and given[-1] != 0:
            raise ParameterError(
                f"The 'rv' of '{column.name}' must end with 0, since its level {levels - 1} publishes nothing of it. "
                f"Got {given[-1]:g}."
            )
        return np.array(given)


def detail_shares(column: Column) -> np.ndarray:
    """Detail that each level keeps, from 1 as it is to 0 where everything is one group.

    Numbers and dates: records over the sum over groups of records times values spanned. Others: labels of the level
    over labels of level 0. Both count what the hierarchy has, so that a value nobody holds still widens a group.
    """
    groups = level_groups(column)
    shares = np.ones(len(groups))
    for level, mine in enumerate(groups[1:], 1):
        labels = int(mine.max(initial=0)) + 1
        if labels == 1:
            shares[level] = 0.0
        elif is_numeric(column):
            records = np.bincount(mine, weights=column.frequencies)
            shares[level] = column.frequencies.sum() / float((records * spans(column, mine)).sum())
        else:
            shares[level] = labels / column.card
    return shares


def kept_importance(rules: Sequence[Constraint], column: Column) -> np.ndarray:
    """Share of the rules' importance that each level keeps."""
    importance = np.array([rule.importance for rule in rules])
    kept = np.stack([rule.kept(column) for rule in rules])
    return importance @ kept / importance.sum()


def _table_by_hand(name: Any, given: Any) -> tuple[float, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise ParameterError(f"The 'rv' of '{name}' must be a list of a value a level. Got {given!r}.")
    return tuple(real(f"the column '{name}'", "rv", value, low=0.0) for value in given)
