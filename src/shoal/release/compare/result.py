"""What a comparison found: points side by side, their front, and one that is recommended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.release.compare.figures import CLOSE, Axis, oriented, pareto, ranked
from shoal.release.compare.points import DONE, EMPTY, FAILED, GATE, INFEASIBLE, REFUSED, Outcome, Point, plain

# ----------------------------------------
# The recommendation in words: which point, why, what it costs against the others, and what it leaves open.


_WHAT = {
    EMPTY: "gave an empty release",
    INFEASIBLE: "cannot satisfy the models",
    REFUSED: "cannot run as {} set",
    GATE: "failed at the gate",
    FAILED: "failed by a fault of our own",
}


def advise(comparison: Comparison) -> str:
    """One paragraph by the rules that the documentation states."""
    found = [_counts(comparison)]
    ranking = comparison.ranking
    if not ranking:
        found.append("So there is nothing to recommend: relax the models or the limits, or compare other algorithms.")
        return " ".join(found)
    (best, near), others = ranking[0], ranking[1:]
    named = ", ".join(axis.name for axis in comparison.axes)
    found.append(f"{len(ranking)} of them {'is' if len(ranking) == 1 else 'are'} on the Pareto front of {named}.")
    equal = [entry for entry, far in others if far <= near + CLOSE]
    if not others:
        found.append(f"Recommended is {best.point.label}: no other point is better on any axis.")
    elif equal:
        found.append(
            f"Nothing stands out: {best.point.label} is nearest to the ideal corner of the front (distance {near:.2f}, "
            f"every axis scaled to 0..1), but {_listed(equal)} {'is' if len(equal) == 1 else 'are'} within {CLOSE:g} "
            "of that, so choose by the axis that matters most to you."
        )
    else:
        found.append(
            f"Recommended is {best.point.label}: of the front it is nearest to the ideal corner (distance {near:.2f}, "
            f"every axis scaled to 0..1; the next is at {others[0][1]:.2f})."
        )
    found.append(_has(comparison, best))
    found += [_against(comparison, best, entry) for entry, _ in others[:2]]
    if best.outcome.not_protected:
        sentences = best.outcome.not_protected
        more = f" (and {len(sentences) - 1} more, which its manifest would list)" if len(sentences) > 1 else ""
        found.append(f"What it does not protect: {_inside(sentences[0])}{more}.")
    return " ".join(found)


def _counts(comparison: Comparison) -> str:
    """How many points there are, and what became of those that cannot be recommended."""
    entries = comparison.entries
    lost = Counter(entry.outcome.status for entry in entries if entry.outcome.status != DONE)
    parts = [f"{count} {_WHAT[status].format('it is' if count == 1 else 'they are')}" for status, count in lost.items()]
    done = [entry for entry in entries if entry.outcome.status == DONE]
    over = sum(bool(entry.outcome.over) for entry in done)
    blank = sum(not entry.outcome.over and not entry.is_placed(comparison.axes) for entry in done)
    parts += [f"{over} exceed{'s' if over == 1 else ''} the limits"] if over else []
    parts += [f"{blank} lack{'s' if blank == 1 else ''} a figure to be placed by"] if blank else []
    left = f"; {', '.join(parts)}" if parts else ""
    return f"{len(entries)} point{' was' if len(entries) == 1 else 's were'} compared{left}."


def _has(comparison: Comparison, entry: Entry) -> str:
    parts = [f"{axis.name} {axis.show(entry.value(axis))}{_beside(entry, axis.name)}" for axis in comparison.axes]
    return f"It has {', '.join(parts)}, with {entry.outcome.suppressed:.2%} of the rows suppressed."


def _beside(entry: Entry, name: str) -> str:
    """What an attack's success is to be compared with."""
    known = entry.outcome.beside.get(name, {})
    for word in ("control", "baseline"):
        value = known.get(word)
        if value is not None:
            return f" ({word} {value:.2%})"
    return ""


def _against(comparison: Comparison, best: Entry, other: Entry) -> str:
    """What taking the best instead of another point gains and costs."""
    gains: list[str] = []
    costs: list[str] = []
    for axis in comparison.axes:
        mine, theirs = best.value(axis), other.value(axis)
        assert mine is not None
        assert theirs is not None
        text = f"{axis.name} ({axis.show(mine)}, not {axis.show(theirs)})"
        if mine != theirs:
            (gains if (mine < theirs) == (axis.better == "down") else costs).append(text)
    if not gains and not costs:
        return f"{other.point.label} has the same figures."
    words = [f"better {' and '.join(gains)}"] if gains else []
    words += [f"worse {' and '.join(costs)}"] if costs else []
    return f"Against {other.point.label} it has {' but '.join(words)}."


def _listed(entries: Sequence[Entry]) -> str:
    shown = [entry.point.label for entry in entries[:3]]
    if len(entries) > 3:
        return f"{'; '.join(shown)} and {len(entries) - 3} more"
    return "; ".join(shown)


def _inside(sentence: str) -> str:
    """A sentence as part of another one."""
    return sentence.strip().removesuffix(".")


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
    notes
        What else there is to say.
    """

    entries: Sequence[Entry]
    axes: Sequence[Axis]
    varied: Sequence[str]
    evaluated: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    held_out: int = 0
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


# ----------------------------------------
# A comparison as plain data, for JSON and for its page.


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Axes, points, fronts and the recommendation; points are named by their numbers."""
    best = comparison.recommended
    return {
        "rows": comparison.rows,
        "held_out": comparison.held_out,
        "axes": [
            {"role": axis.role, "name": axis.name, "better": axis.better, "about": axis.about, "share": axis.is_share}
            for axis in comparison.axes
        ],
        "varied": list(comparison.varied),
        "evaluated": dict(comparison.evaluated),
        "points": [_point(comparison, entry) for entry in comparison.entries],
        "front": [entry.point.number for entry in comparison.front],
        "fronts": {
            axis.role: [entry.point.number for entry in comparison.plane_front(0, place)]
            for place, axis in enumerate(comparison.axes)
            if place > 0
        },
        "recommended": None if best is None else best.point.number,
        "distances": {str(entry.point.number): far for entry, far in comparison.ranking},
        "recommendation": comparison.recommendation,
        "notes": list(comparison.notes),
    }


def _point(comparison: Comparison, entry: Entry) -> dict[str, Any]:
    point, outcome = entry.point, entry.outcome
    done = outcome.status == DONE
    return {
        "number": point.number,
        "label": point.label,
        "series": point.series,
        "algorithm": dict(point.algorithm),
        "models": [dict(model) for model in point.models],
        "settings": dict(point.settings),
        "status": outcome.status,
        "reason": outcome.reason or _blank(comparison, entry),
        "values": {axis.role: entry.value(axis) for axis in comparison.axes},
        "shown": {axis.role: axis.show(entry.value(axis)) for axis in comparison.axes},
        "evaluated": {name: outcome.figures.get(name) for name in comparison.evaluated},
        "beside": dict(outcome.beside.get(comparison.axes[-1].name, {})),
        "over": list(outcome.over),
        "suppressed": outcome.suppressed if done else None,
        "classes": outcome.classes if done else None,
        "smallest": outcome.smallest if done else None,
        "seconds": outcome.seconds,
        "statement": outcome.statement,
        "not_protected": list(outcome.not_protected),
    }


def _blank(comparison: Comparison, entry: Entry) -> str:
    """Why a release cannot be placed on some axis."""
    for axis in comparison.axes:
        if entry.outcome.status == DONE and entry.value(axis) is None:
            # Where one of several attacks would do, it says nothing that the others are not for this kind.
            alone = len(axis.attacks) == 1
            reasons = {name: entry.outcome.reasons.get(name, "") for name in (*axis.attacks, axis.name)}
            known = [why for name, why in reasons.items() if alone or not why.startswith(f"'{name}' does not apply")]
            why = next(filter(None, known), None) or "it does not apply to this kind of release"
            return f"No {axis.name}: {why.removesuffix('.')}."
    return ""
