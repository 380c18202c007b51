"""A comparison as plain data, for JSON and for its page."""

from __future__ import annotations

from typing import Any

from shoal.comparing.comparison import Comparison, Entry
from shoal.comparing.points import DONE


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
        "reused": comparison.reused,
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
