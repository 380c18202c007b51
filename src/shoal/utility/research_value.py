"""Research value (Morton et al.): what a column at a level is worth to its researchers, summed over columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from shoal.data.column import FLAT, TREE, Column
from shoal.data.domain import Domain
from shoal.errors import ParameterError
from shoal.params import choice, real
from shoal.recoding.cells import CellColumn, IntervalCells, TreeCells
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import PriceStats
from shoal.utility.association import Joints, association_weights, pairs
from shoal.utility.base import NOTHING_RELEASED, Measure, Prices
from shoal.utility.research_labels import Labels, is_numeric, level_groups, spans
from shoal.utility.research_rules import Constraint, breaking_cells, named_column

# ----------------------------------------
# What cells lose of their column's research value, from 0 to 1, for methods that group records by prices.


# What a column of numbers is taken to span, as a share of all, before there are groups.
_FIRST = 0.1


def cell_prices(column: Column, by_hand: Sequence[float] | None, rules: Sequence[Constraint]) -> np.ndarray | None:
    """Price of every code's cell at every level, shape (levels, codes); of sets by their size; None for intervals.

    Whoever breaks a rule pays the rule's share of what is left, and for one that must be kept everything.
    """
    if column.kind == FLAT:
        size = np.arange(column.card + 1, dtype=np.float64)
        price = np.where(size > 0, 1.0 - 1.0 / np.maximum(size, 1.0), 0.0)
        price[-1] = float(column.card > 1)
        return price if by_hand is None else (size > 1).astype(np.float64)
    tree = column.hierarchy
    if column.kind != TREE or tree is None:
        return None
    levels = [_level_prices(column, level, by_hand) for level in range(tree.height + 1)]
    total = sum(rule.importance for rule in rules)
    broken = [np.zeros(price.size) for price in levels]
    for rule in rules:
        for flags, mine in zip(rule.breaking(Labels(column)), broken, strict=True):
            mine += flags * (1.0 if rule.keep else 0.0 if by_hand is not None else rule.importance / total)
    return np.stack(
        [
            (price + (1.0 - price) * np.minimum(share, 1.0))[nodes]
            for price, share, nodes in zip(levels, broken, tree.ancestors, strict=True)
        ]
    )


def _level_prices(column: Column, level: int, by_hand: Sequence[float] | None) -> np.ndarray:
    """Price of each node of a level, without rules."""
    tree = column.hierarchy
    assert tree is not None
    nodes = tree.ancestors[level]
    count = len(tree.labels[level])
    if by_hand is not None:
        most = max(by_hand)
        return np.full(count, (most - by_hand[level]) / most if most else 0.0)
    if is_numeric(column):
        return (spans(column, nodes) - 1.0) / max(numbers_spanned(column) - 1.0, 1.0)
    leaves = np.bincount(nodes, minlength=count)
    return np.where(leaves == column.card, float(column.card > 1), 1.0 - 1.0 / leaves)


def numbers_spanned(column: Column) -> float:
    """Number of values that a cell of everything reaches over."""
    if column.kind == TREE:
        return float(spans(column, np.zeros(column.card, dtype=np.int64))[0])
    return float(column.domain_size)


def slope(column: Column, spread: float | None) -> float:
    """How fast the detail of a column falls with the mean price of its cells, where that stands now.

    Detail of numbers is one over the mean of the values spanned; that of others is one less the price.
    """
    if not is_numeric(column):
        return 1.0
    wide = numbers_spanned(column) - 1.0
    return float(wide / (1.0 + (_FIRST if spread is None else spread) * wide) ** 2)


# ----------------------------------------
# Detail that a column keeps: at a level of its hierarchy, and in the cells of a local recoding.


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


def local_detail(stats: PriceStats, place: int) -> float:
    """Detail that the cells of a column keep, whatever levels they are on; on one level for all, that level's.

    Numbers and dates: records over the sum of the values that their cells span. Others: a value is worth one over the
    values that its cell covers, on average over its records, which adds up to the number of labels; mean over values.
    """
    cells = stats.cells[place]
    whole = _is_everything(cells)
    if whole.all():
        return 0.0
    if is_numeric(cells.column):
        return float(stats.sizes.sum() / (stats.sizes @ cell_spans(cells)))
    worth = np.where(whole, 0.0, 1.0 / np.maximum(cells.covered(), 1.0))
    records, kept, at = np.zeros(cells.column.card), np.zeros(cells.column.card), 0
    for run in stats.values_in(place).runs():
        of = np.repeat(np.arange(at, at + run.known.size), np.diff(run.indptr))
        np.add.at(records, run.codes, run.counts)
        np.add.at(kept, run.codes, run.counts * worth[of])
        at += run.known.size
    there = records > 0
    return float((kept[there] / records[there]).mean())


def cell_spans(cells: CellColumn) -> np.ndarray:
    """Number of values that each cell of a column of numbers or dates reaches over, both ends included."""
    column = cells.column
    if isinstance(cells, TreeCells):
        tree = column.hierarchy
        assert tree is not None
        by_node = np.concatenate([spans(column, level) for level in tree.ancestors])
        return np.asarray(by_node[cells.nodes], dtype=np.float64)
    assert isinstance(cells, IntervalCells)
    if column.whole and column.numbers is not None and column.numbers.size:
        low, high = (np.asarray(ends, dtype=np.float64) for ends in cells.bounds)
        wide = high - low + 1.0
    else:
        wide = (cells.high - cells.low + 1).astype(np.float64)
    return np.where(cells.star, float(column.domain_size), np.where(cells.missing, 1.0, wide))


def _is_everything(cells: CellColumn) -> np.ndarray:
    """Which cells say nothing of a column that has more than one value."""
    if isinstance(cells, IntervalCells):
        return cells.star | (cells.spread() >= 1.0)
    return np.asarray((cells.covered() >= cells.column.card) & (cells.column.card > 1))


_OWNER = "research value"


@dataclass(frozen=True, kw_only=True)
class ResearchValue(Measure):
    """Sum over columns of weight times detail kept times rules kept.

    Without parameters it is the research value that the table was read or recoded with, if there is one.

    Parameters
    ----------
    rules
        Distinctions to keep, as tables: a column, ``separate`` (two domains of values) or ``boundary`` (a number or
        date), an ``importance``, and ``keep`` where the rule must hold.
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

    def on(self, domain: Domain) -> ResearchValue:
        """Itself, or where nothing is asked of it the one that the table came with."""
        return ResearchValue(**domain.research) if domain.research and self == ResearchValue() else self

    def parameters(self) -> dict[str, Any]:
        """The research value as a recipe writes it."""
        return {
            "rules": [rule.parameters() for rule in self.rules],
            "weights": self.weights,
            "normalise": self.normalise,
            "rv": {name: list(values) for name, values in self.rv.items()},
        }

    def level_values(
        self, columns: Sequence[Column], weights: np.ndarray, joint: Joints = MappingProxyType({})
    ) -> list[np.ndarray]:
        """Research value of every level of every column, most specific first (algorithms.md 15.1).

        ``joint`` has the joint counts of the tuples that the measure asks for.
        """
        self.check(columns)
        return [
            np.array(self.rv[column.name])
            if column.name in self.rv
            else float(weight) * detail_shares(column) * self.rules_kept(column)
            for column, weight in zip(columns, self.attribute_weights(columns, weights, joint), strict=True)
        ]

    def check(self, columns: Sequence[Column]) -> None:
        """Refuse what does not fit the columns."""
        for rule in self.rules:
            named_column(rule.column, columns, "A rule")
        for name in self.rv:
            self._check_by_hand(named_column(name, columns, "'rv'"))

    def rules_of(self, column: Column) -> list[Constraint]:
        """The rules on one column."""
        return [rule for rule in self.rules if rule.column == column.name]

    def rules_kept(self, column: Column) -> np.ndarray:
        """Share of the importance of a column's rules that each level keeps; 1 without rules."""
        rules = self.rules_of(column)
        return kept_importance(rules, column) if rules else np.ones(len(level_groups(column)))

    def must_keep(self, column: Column) -> np.ndarray:
        """Flags of the levels that keep all rules that have to be kept."""
        flags = np.ones(len(level_groups(column)), dtype=bool)
        for rule in self.rules_of(column):
            if rule.keep:
                flags &= rule.kept(column)
        return flags

    def attribute_weights(self, columns: Sequence[Column], weights: np.ndarray, joint: Joints) -> np.ndarray:
        """The columns' weights, as asked for."""
        asked = self.weights == "association"
        if asked and any(pair not in joint for pair in pairs(columns)):
            raise ParameterError(
                "Weights by association need the whole table, and there is a part of it: give weights."
            )
        found = association_weights(columns, joint) if asked else np.asarray(weights, dtype=float)
        return found / found.sum() if self.normalise else found

    def tuples(self, domain: Domain) -> list[tuple[str, ...]]:
        """Pairs of quasi-identifiers, where weights follow from what these have in common."""
        return pairs(domain.quasi) if self.on(domain).weights == "association" else []

    def prices(self, domain: Domain) -> Prices:
        """Minus the value of the levels, whatever is suppressed; one that breaks what must be kept costs more than all.

        That is how a search that knows nothing of rules keeps them wherever it can.
        """
        me, columns, zero = self.on(domain), domain.quasi, np.zeros(len(domain.quasi))
        values = me.level_values(columns, domain.quasi_weights, domain.joint)
        most = 1.0 + sum(float(mine.max()) for mine in values)
        values = [np.where(me.must_keep(column), mine, -most) for mine, column in zip(values, columns, strict=True)]
        leaf = [np.repeat(-mine[:, None], column.card, axis=1) for mine, column in zip(values, columns, strict=True)]
        full = [np.zeros(column.card) for column in columns]
        return Prices(leaf=leaf, full=full, factor=zero + 1, offset=zero, weight=zero + 1, levels_only=True)

    def node_prices(self, domain: Domain) -> list[np.ndarray | None]:
        """What cells lose of their column's value, rules included."""
        me = self.on(domain)
        return [cell_prices(column, me.rv.get(column.name), me.rules_of(column)) for column in domain.quasi]

    def spread_weights(self, domain: Domain, spreads: np.ndarray | None) -> np.ndarray:
        """What each column is worth, times how fast its detail falls where it stands."""
        me, columns = self.on(domain), domain.quasi
        given = me.attribute_weights(columns, domain.quasi_weights, domain.joint)
        now = [None] * len(columns) if spreads is None else spreads.tolist()
        return np.array(
            [
                max(me.rv[column.name]) if column.name in me.rv else weight * slope(column, spread)
                for column, weight, spread in zip(columns, given, now, strict=True)
            ]
        )

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The sum, and each column's value beside it."""
        me = self.on(stats.domain)
        columns = [cells.column for cells in stats.cells]
        if stats.levels is None:
            mine = me.local_values(stats)
        else:
            values = me.level_values(columns, stats.weights, me._joint(stats))
            mine = [float(levels[stats.levels[c.name]]) for c, levels in zip(columns, values, strict=True)]
        return sum(mine), {c.name: value for c, value in zip(columns, mine, strict=True)}

    def local_values(self, stats: PriceStats) -> list[float]:
        """Each column's value in a local recoding: the detail of its cells, and the rules that no cell breaks.

        By hand: the mean over records of what the level of their cell is worth.
        """
        columns = [cells.column for cells in stats.cells]
        self.check(columns)
        weights = self.attribute_weights(columns, stats.weights, self._joint(stats))
        found = []
        for place, (cells, weight) in enumerate(zip(stats.cells, weights, strict=True)):
            if cells.column.name in self.rv:
                levels = np.array(self.rv[cells.column.name])[cells.levels()]
                found.append(float(stats.sizes @ levels / stats.n_released))
                continue
            rules = self.rules_of(cells.column)
            kept = sum(rule.importance for rule in rules if not breaking_cells(rule, cells))
            share = kept / sum(rule.importance for rule in rules) if rules else 1.0
            found.append(float(weight) * local_detail(stats, place) * share)
        return found

    def unkept(self, stats: PriceStats) -> list[str]:
        """Rules that must be kept and that some published cell breaks."""
        by_name = {cells.column.name: cells for cells in stats.cells}
        return [rule.text for rule in self.rules if rule.keep and breaking_cells(rule, by_name[rule.column])]

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """Nothing to what the columns are worth as they are."""
        me = self.on(stats.domain)
        columns = [cells.column for cells in stats.cells]
        weights = me.attribute_weights(columns, stats.weights, me._joint(stats))
        most = [
            max(me.rv[column.name]) if column.name in me.rv else float(weight)
            for column, weight in zip(columns, weights, strict=True)
        ]
        return 0.0, sum(most)

    def undefined(self, stats: PriceStats) -> str | None:
        """An empty release is worth nothing and something."""
        return NOTHING_RELEASED if stats.n_released == 0 else None

    def _joint(self, stats: PriceStats) -> Joints:
        wanted = pairs(stats.domain.quasi) if self.weights == "association" else []
        return {names: stats.joined(names) for names in wanted}

    def _check_by_hand(self, column: Column) -> None:
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


def kept_importance(rules: Sequence[Constraint], column: Column) -> np.ndarray:
    """Share of the rules' importance that each level keeps."""
    importance = np.array([rule.importance for rule in rules])
    kept = np.stack([rule.kept(column) for rule in rules])
    return importance @ kept / importance.sum()


def _table_by_hand(name: Any, given: Any) -> tuple[float, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise ParameterError(f"The 'rv' of '{name}' must be a list of a value a level. Got {given!r}.")
    return tuple(real(f"the column '{name}'", "rv", value, low=0.0) for value in given)
