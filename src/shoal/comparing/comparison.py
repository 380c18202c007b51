"""What a comparison found: points side by side, their front, and one that is recommended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.comparing.advice import advise
from shoal.comparing.figures import Axis
from shoal.comparing.front import oriented, pareto, ranked
from shoal.comparing.grid import Point, plain
from shoal.comparing.points import DONE, Outcome


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """A point and what came of it."""

    point: Point
    outcome: Outcome

    def value(self, axis: Axis) -> float | None:
        """Its figure on an axis."""
        return self.outcome.figures.get(axis.name)

    def is_placed(self, axes: Sequence[Axis]) -> bool:
        """Whether it has a figure on every axis."""
        return all(self.value(axis) is not None for axis in axes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """Points side by side. Private: its figures tell about suppressed people.

    Attributes
    ----------
    entries
        Points with their outcomes, an algorithm after another.
    axes
        Utility, protection and measured risk.
    varied
        Parameters of the grid.
    evaluated
        Evaluations beside the axes, and which way each is better.
    rows, held_out
        Rows that releases were made from, and rows kept back as a control.
    reused
        Points whose outcomes an earlier sweep had left.
    notes
        What else there is to say.
    """

    entries: Sequence[Entry]
    axes: Sequence[Axis]
    varied: Sequence[str]
    evaluated: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    held_out: int = 0
    reused: int = 0
    notes: Sequence[str] = ()

    @cached_property
    def costs(self) -> np.ndarray:
        """float64, shape (points, axes): smaller is better, NaN in rows that take no part in fronts."""
        values = np.full((len(self.entries), len(self.axes)), np.nan)
        for row, entry in enumerate(self.entries):
            if entry.outcome.status == DONE and not entry.outcome.over and entry.is_placed(self.axes):
                values[row] = [entry.value(axis) for axis in self.axes]
        return oriented(values, [axis.better for axis in self.axes])

    @cached_property
    def front(self) -> list[Entry]:
        """Points that no other beats on all axes together."""
        return [self.entries[row] for row in np.flatnonzero(pareto(self.costs)).tolist()]

    def plane_front(self, first: int, second: int) -> list[Entry]:
        """Points that no other beats on two of the axes, by the first of them."""
        costs = self.costs[:, [first, second]]
        rows = np.flatnonzero(pareto(costs))
        return [self.entries[row] for row in rows[np.lexsort((costs[rows, 1], costs[rows, 0]))].tolist()]

    @cached_property
    def ranking(self) -> list[tuple[Entry, float]]:
        """The front with distances to its ideal corner, nearest first."""
        front = self.front
        if not front:
            return []
        costs = self.costs[[entry.point.number for entry in front]]
        suppressed = np.array([entry.outcome.suppressed for entry in front])
        order, far = ranked(costs, suppressed)
        return [(front[row], float(away)) for row, away in zip(order, far, strict=True)]

    @property
    def recommended(self) -> Entry | None:
        """The point of the front nearest to the ideal corner, None where there is no front."""
        return self.ranking[0][0] if self.ranking else None

    @property
    def recommendation(self) -> str:
        """One paragraph: which point, why, and what it costs."""
        return advise(self)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row a point."""
        rows = pl.DataFrame([self._row(entry) for entry in self.entries], infer_schema_length=None)
        # Where no point has a figure, its column is still one of numbers.
        texts = {"point", "algorithm", "status", "reason", "over_limits", *self.varied}
        empty = [name for name, dtype in rows.schema.items() if dtype == pl.Null and name not in texts]
        return rows.with_columns(pl.col(empty).cast(pl.Float64))

    def _row(self, entry: Entry) -> dict[str, Any]:
        outcome, risk = entry.outcome, self.axes[-1].name
        named = dict.fromkeys([*(axis.name for axis in self.axes), *self.evaluated])
        beside = outcome.beside.get(risk, {})
        return {
            "point": entry.point.label,
            "algorithm": entry.point.series,
            **{key: self._setting(entry, key) for key in self.varied},
            "status": outcome.status,
            "reason": outcome.reason or None,
            **{name: outcome.figures.get(name) for name in named},
            **{f"{risk} {word}": beside.get(word) for word in ("low", "high", "baseline", "control")},
            "over_limits": " ".join(outcome.over) or None,
            "suppressed": outcome.suppressed if outcome.status == DONE else None,
            "classes": outcome.classes if outcome.status == DONE else None,
            "smallest": outcome.smallest if outcome.status == DONE else None,
            "seconds": round(outcome.seconds, 3),
            "front": entry in self.front,
            "recommended": entry is self.recommended,
        }

    def _setting(self, entry: Entry, key: str) -> Any:
        """A setting as a cell; a parameter with values of several types is text throughout."""
        value = entry.point.settings.get(key)
        mine = [other.point.settings[key] for other in self.entries if key in other.point.settings]
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in mine)
        return value if value is None or numbers else plain(value)
