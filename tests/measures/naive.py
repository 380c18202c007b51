"""Cells and measures straight from their definitions, in plain Python, one record at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.table.random_tables import ORDER, Case, day

MISSING = "<missing>"
ALL = "everything"


class NaiveColumn:
    """One quasi-identifier: its domain, and what a set of its values generalises to."""

    def __init__(self, case: Case, name: str) -> None:
        self.name, self.kind = name, case.kinds[name]
        self.weight = case.weights.get(name, 1.0)
        self.values = [self._axis(value) for value in case.data[name]]
        self.has_missing = None in self.values
        self.counts = Counter(self.values)
        known = [value for value in self.values if value is not None]
        if self.kind == "tree":
            rows = case.hierarchies[name]
            height = len(rows[0]) - 1
            extra = [[None] * height + ["*"]] if self.has_missing else []
            self.rows = {row[0]: row for row in [*rows, *extra]}
            self.domain: list[Any] = list(self.rows)
        elif self.kind == "flat":
            self.domain = sorted(set(known)) + ([None] if self.has_missing else [])
        elif self.kind == "ordinal":
            self.domain = list(range(len(ORDER)))
        else:
            self.domain = sorted(set(known))
        self.interval = self.kind not in ("tree", "flat")
        self.span = (
            Fraction(self.domain[-1] - self.domain[0]) if self.interval and self.domain else Fraction(0)
        )
        self.whole = all(value == int(value) for value in self.domain) if self.interval else True

    def _axis(self, value: Any) -> Any:
        """The place of a value on its axis, for ordered columns."""
        if value is None or self.kind in ("tree", "flat"):
            return value
        if self.kind == "date":
            return day(value)
        return ORDER.index(value) if self.kind == "ordinal" else Fraction(value)

    def cell(self, values: Sequence[Any]) -> Any:
        """What a class with these values is published as; equal cells are equal objects."""
        found = set(values)
        if self.kind == "tree":
            return self._node(found)
        if None in found:
            return MISSING if len(found) == 1 else ALL
        if self.kind == "flat":
            return ALL if len(found) == len(self.domain) > 1 else frozenset(found)
        return min(found), max(found)

    def _node(self, found: set[Any]) -> frozenset[Any]:
        for level in range(len(next(iter(self.rows.values())))):
            labels = {(self.rows[value][level], self.rows[value][level] is None and value) for value in found}
            if len(labels) == 1:
                label = next(iter(labels))[0]
                if label is None:
                    return frozenset([None])
                return frozenset(leaf for leaf, row in self.rows.items() if row[level] == label)
        raise AssertionError("a tree has a root")

    def level(self, values: Sequence[Any]) -> int:
        """Smallest level on which all values share a node."""
        if self.kind != "tree":
            return int(self.spread(self.cell(values)) > 0)
        return next(
            level
            for level in range(len(next(iter(self.rows.values()))))
            if len({self.rows[value][level] for value in values}) == 1
        )

    @property
    def height(self) -> int:
        if self.kind == "tree":
            return len(next(iter(self.rows.values()))) - 1
        return int(len(self.domain) + (self.interval and self.has_missing) > 1)

    def spread(self, cell: Any) -> Fraction:
        if cell == MISSING:
            return Fraction(0)
        if cell == ALL:
            return Fraction(1)
        if self.interval:
            return (cell[1] - cell[0]) / self.span if self.span else Fraction(0)
        return Fraction(len(cell) - 1, len(self.domain) - 1) if len(self.domain) > 1 else Fraction(0)

    def penalty(self, cell: Any) -> Fraction:
        if self.interval or cell == MISSING:
            return self.spread(cell)
        covered = self.covered(cell)
        return Fraction(covered, len(self.domain)) if covered > 1 else Fraction(0)

    def covered(self, cell: Any) -> int:
        """Number of domain values; only for columns of whole numbers."""
        if cell == MISSING:
            return 1
        if self.interval:
            return self.size if cell == ALL else int(cell[1] - cell[0]) + 1
        return len(self.domain) if cell == ALL else len(cell)

    @property
    def size(self) -> int:
        return int(self.span) + 1 if self.interval else len(self.domain)

    def mass(self, cell: Any) -> int:
        """Records of the whole table that the cell covers."""
        if cell == ALL:
            return len(self.values)
        if cell == MISSING:
            return self.counts[None]
        if self.interval:
            return sum(value is not None and cell[0] <= value <= cell[1] for value in self.values)
        return sum(value in cell for value in self.values)


def record_price(columns: Sequence[NaiveColumn], rows: Sequence[int]) -> float:
    """Weighted loss of one record of a group."""
    return sum(
        column.weight * float(column.spread(column.cell([column.values[row] for row in rows])))
        for column in columns
    )


@dataclass
class NaiveRelease:
    """Records by class of equal cells; groups that generalise alike are one class."""

    case: Case
    ids: Sequence[int]

    def __post_init__(self) -> None:
        self.columns = [NaiveColumn(self.case, name) for name in self.case.quasi]
        self.n = len(self.ids)
        self.suppressed = [row for row, group in enumerate(self.ids) if group < 0]
        groups: dict[int, list[int]] = {}
        for row, group in enumerate(self.ids):
            if group >= 0:
                groups.setdefault(group, []).append(row)
        self.classes: dict[tuple[Any, ...], list[int]] = {}
        self.levels: dict[tuple[Any, ...], list[int]] = {}
        for rows in groups.values():
            cells = tuple(column.cell([column.values[row] for row in rows]) for column in self.columns)
            self.classes.setdefault(cells, []).extend(rows)
            self.levels[cells] = [
                column.level([column.values[row] for row in rows]) for column in self.columns
            ]
        self.total_weight = sum(column.weight for column in self.columns)

    def per_record(self, price: str) -> float:
        """Weighted sum of a price over all released cells."""
        return sum(
            len(rows) * column.weight * float(getattr(column, price)(cell))
            for cells, rows in self.classes.items()
            for column, cell in zip(self.columns, cells, strict=True)
        )

    def measures(self, k: int = 1) -> dict[str, float | None]:
        """Every measure by name; None where it is undefined."""
        countable = all(column.whole for column in self.columns)
        return {
            "dm": float(
                sum(len(rows) ** 2 for rows in self.classes.values()) + self.n * len(self.suppressed)
            ),
            "c-avg": self.n / (len(self.classes) * k) if self.classes else None,
            "cm": self._classification(),
            "genc": self._cost(),
            "precision": None if self._cost() is None else 1 - self._cost() / (self.n * len(self.columns)),
            "height": None,
            "ncp": self.per_record("penalty") + len(self.suppressed) * self.total_weight,
            "lm": (self.per_record("spread") + len(self.suppressed) * self.total_weight)
            / (self.n * self.total_weight),
            "ilm": self._leaves(),
            "am": self._ambiguity() if countable else None,
            "um": self._um(),
            "entropy": self._entropy(),
        }

    def _classification(self) -> float | None:
        if not self.case.sensitive:
            return None
        label = self.case.data[self.case.sensitive[0]]
        wrong = sum(
            len(rows) - max(Counter(label[row] for row in rows).values()) for rows in self.classes.values()
        )
        return (wrong + len(self.suppressed)) / self.n

    def _cost(self) -> float | None:
        cost = Fraction(len(self.suppressed) * sum(column.height > 0 for column in self.columns))
        for cells, rows in self.classes.items():
            for place, (column, cell) in enumerate(zip(self.columns, cells, strict=True)):
                if column.interval and cell not in (ALL, MISSING) and cell[0] != cell[1]:
                    return None
                if column.height:
                    cost += Fraction(len(rows) * self.levels[cells][place], column.height)
        return float(cost)

    def _leaves(self) -> float:
        total = 0.0
        for column in self.columns:
            for place, cells in enumerate([*self.classes, None]):
                cell = ALL if cells is None else cells[self.columns.index(column)]
                count = len(self.suppressed) if cells is None else len(list(self.classes.values())[place])
                price = (
                    (column.covered(cell) - 1) / column.size if column.whole else float(column.spread(cell))
                )
                total += count * column.weight * price
        return total

    def _ambiguity(self) -> float:
        whole = math.prod(column.size for column in self.columns)
        inside = sum(
            len(rows) * math.prod(c.covered(cell) for c, cell in zip(self.columns, cells, strict=True))
            for cells, rows in self.classes.items()
        )
        return (inside + whole * len(self.suppressed)) / self.n

    def _um(self) -> float | None:
        if not self.classes:
            return None
        return sum(float(value) for value in self.diversities()) / len(self.classes)

    def diversities(self) -> list[Fraction]:
        """Mean Q-diversity of each class."""
        return [
            sum((c.spread(cell) for c, cell in zip(self.columns, cells, strict=True)), Fraction(0))
            / len(self.columns)
            for cells in self.classes
        ]

    def _entropy(self) -> float:
        bits = 0.0
        for place, column in enumerate(self.columns):
            for cells, rows in self.classes.items():
                for row in rows:
                    bits -= math.log2(column.counts[column.values[row]] / column.mass(cells[place]))
            for row in self.suppressed:
                bits -= math.log2(column.counts[column.values[row]] / self.n)
        return bits
