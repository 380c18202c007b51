"""Verdicts from numbers: what it takes to say that one curve lies below another, falls, or stays within bounds.

Values are paired by their place (a seed, a query) and an interval is the 95 % percentile bootstrap of a mean, drawn
from a fixed stream. Curves map points, such as k, to the values there; every point has to agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.data.keys import Keys
from shoal.errors import ParameterError
from shoal_papers.base import Claim

DRAWS = 2000
_CELLS = 2_000_000
Curve = Mapping[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Mean, median and 95 % bootstrap interval of the mean, of ``count`` numbers."""

    mean: float
    median: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.4g} ({self.low:.4g} to {self.high:.4g})"


def summary(values: Any) -> Summary:
    """Sum up numbers; those that are not finite are left out, and NaN stands where none is left."""
    known = np.asarray(values, dtype=float).ravel()
    known = known[np.isfinite(known)]
    if known.size == 0:
        return Summary(mean=math.nan, median=math.nan, low=math.nan, high=math.nan, count=0)
    low, high = bootstrap(known)
    return Summary(
        mean=float(known.mean()), median=float(np.median(known)), low=low, high=high, count=int(known.size)
    )


def bootstrap(values: Any) -> tuple[float, float]:
    """95 % percentile interval of the mean; the same values always give the same one."""
    known = np.asarray(values, dtype=float)
    if known.size == 0 or known.min() == known.max():
        only = float(known[0]) if known.size else math.nan
        return only, only
    drawn = Keys.from_seed(0).generator(f"papers/bootstrap/{known.size}")
    means: list[np.ndarray] = []
    step = max(1, _CELLS // known.size)
    for first in range(0, DRAWS, step):
        picked = drawn.integers(0, known.size, (min(step, DRAWS - first), known.size))
        means.append(known[picked].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)


def below(
    text: str,
    lower: Any,
    upper: Any,
    *,
    kind: str = "soft",
    strict: bool = True,
    margin: float = 0.0,
    factor: float = 1.0,
) -> Claim:
    """``factor`` times ``lower`` lies below ``upper + margin``, at every point of the curves, or of two plain series.

    It holds where the interval of the paired difference lies above 0 (``strict=False``: not below), does not hold where
    it lies below at some point, and is inconclusive otherwise.
    """
    first, second = _curve(lower), _curve(upper)
    if list(first) != list(second):
        raise ParameterError(f"The two curves of the claim '{text}' have different points.")
    gaps = {point: _paired(text, second[point], first[point], factor) + margin for point in first}
    found = {point: summary(gap) for point, gap in gaps.items()}
    verdicts = {point: _above_zero(one, strict) for point, one in found.items()}
    order = ("does not hold", "inconclusive", "holds")
    worst = min(found, key=lambda point: (order.index(verdicts[point]), _rank(found[point].mean)))
    agree = sum(verdict == "holds" for verdict in verdicts.values())
    at = "" if worst is None else f" at {worst}, the worst of {len(found)} points, {agree} of which agree"
    return Claim(
        kind=kind,
        text=text,
        verdict=_all(verdicts.values()),
        evidence=f"Difference {found[worst]}{at}; {found[worst].count} pairs.",
        numbers={"differences": _numbers(found), "verdicts": {str(key): one for key, one in verdicts.items()}},
    )


def falls_with(text: str, curve: Curve, *, kind: str = "soft", strict: bool = True, tolerance: float = 0.0) -> Claim:
    """Values fall from point to point: no step clearly rises by more than the tolerance, and the last lies below the
    first (``strict=False`` leaves the last condition out: they never rise)."""
    return _moves(text, curve, kind, strict, tolerance, -1.0)


def rises_with(text: str, curve: Curve, *, kind: str = "soft", strict: bool = True, tolerance: float = 0.0) -> Claim:
    """The opposite of :func:`falls_with`."""
    return _moves(text, curve, kind, strict, tolerance, 1.0)


def _moves(text: str, curve: Curve, kind: str, strict: bool, tolerance: float, sign: float) -> Claim:
    if len(curve) < 2:
        raise ParameterError(f"The curve of the claim '{text}' needs two points at least.")
    points = list(curve)
    steps = {(a, b): summary(sign * _paired(text, curve[b], curve[a], 1.0)) for a, b in pairwise(points)}
    whole = summary(sign * _paired(text, curve[points[-1]], curve[points[0]], 1.0))
    wrong = [f"{a} to {b}" for (a, b), one in steps.items() if one.count and one.high < -tolerance]
    unknown = any(one.count == 0 for one in steps.values())
    verdict = "does not hold" if wrong else _above_zero(whole, strict) if strict else "holds"
    if unknown and verdict == "holds":
        verdict = "inconclusive"
    ends = " to ".join(f"{summary(curve[point]).mean:.4g}" for point in (points[0], points[-1]))
    way = f"; the wrong way from {', '.join(wrong)}" if wrong else ""
    values = {str(point): summary(curve[point]).mean for point in points}
    return Claim(
        kind=kind,
        text=text,
        verdict=verdict,
        evidence=f"{ends} from {points[0]} to {points[-1]}{way}; {whole.count} pairs.",
        numbers={"means": values, "against": wrong},
    )


def within(
    text: str,
    values: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    kind: str = "soft",
    every: bool | None = None,
) -> Claim:
    """Values lie within bounds: every one of them (as for hard claims), or the interval of the mean at every point."""
    single = kind == "hard" if every is None else every
    curve = _curve(values)
    found = {point: summary(one) for point, one in curve.items()}
    verdicts = []
    for point, one in found.items():
        numbers = np.asarray(curve[point], dtype=float)
        if one.count == 0:
            verdicts.append("inconclusive")
        elif single:
            verdicts.append("holds" if ((numbers >= low) & (numbers <= high)).all() else "does not hold")
        elif low <= one.low and one.high <= high:
            verdicts.append("holds")
        else:
            verdicts.append("does not hold" if one.high < low or one.low > high else "inconclusive")
    everything = np.concatenate([np.empty(0), *(np.asarray(one, dtype=float).ravel() for one in curve.values())])
    return Claim(
        kind=kind,
        text=text,
        verdict=_all(verdicts),
        evidence=f"{_span(everything)}, to lie {_bounds(low, high)}; {everything.size} values.",
        numbers={"values": _numbers(found), "low": low, "high": high},
    )


def equals(text: str, ours: Any, stated: Any, *, kind: str = "hard", tolerance: float = 0.0) -> Claim:
    """What comes out is what is expected: numbers within a tolerance, anything else exactly."""
    same = bool(np.allclose(ours, stated, rtol=0, atol=tolerance)) if tolerance else ours == stated
    return Claim(
        kind=kind,
        text=text,
        verdict="holds" if same else "does not hold",
        evidence=f"Ours {_said(ours)}, expected {_said(stated)}.",
        numbers={"ours": ours, "stated": stated},
    )


def checked(text: str, holds: bool, evidence: str, *, kind: str = "hard", **numbers: Any) -> Claim:
    """A claim that was judged by other means."""
    return Claim(
        kind=kind, text=text, verdict="holds" if holds else "does not hold", evidence=evidence, numbers=numbers
    )


def inconclusive(text: str, evidence: str, *, kind: str = "soft", **numbers: Any) -> Claim:
    """A claim that these runs cannot decide."""
    return Claim(kind=kind, text=text, verdict="inconclusive", evidence=evidence, numbers=numbers)


def info(text: str, ours: Any, stated: Any) -> Claim:
    """A number of the document's, beside ours."""
    evidence = f"Ours {_said(ours)}, the document's {_said(stated)}."
    return Claim(
        kind="info", text=text, verdict="info", evidence=evidence, numbers={"ours": ours, "stated": stated}
    )


def _curve(values: Any) -> Curve:
    """A plain series is a curve of one unnamed point."""
    return values if isinstance(values, Mapping) else {None: values}


def _paired(text: str, upper: Any, lower: Any, factor: float) -> np.ndarray:
    one, other = np.asarray(upper, dtype=float).ravel(), np.asarray(lower, dtype=float).ravel()
    if one.size != other.size:
        raise ParameterError(f"The values of the claim '{text}' are not pairs: {one.size} and {other.size} of them.")
    return one - factor * other


def _above_zero(one: Summary, strict: bool) -> str:
    if one.count == 0:
        return "inconclusive"
    if one.low > 0 or (not strict and one.low >= 0):
        return "holds"
    return "does not hold" if one.high < 0 or (strict and one.high <= 0) else "inconclusive"


def _all(verdicts: Any) -> str:
    given = list(verdicts)
    if "does not hold" in given:
        return "does not hold"
    return "holds" if given and all(verdict == "holds" for verdict in given) else "inconclusive"


def _rank(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _numbers(found: Mapping[Any, Summary]) -> dict[str, list[float]]:
    """Mean and interval of every point, for machines."""
    return {"" if point is None else str(point): [one.mean, one.low, one.high] for point, one in found.items()}


def _span(values: np.ndarray) -> str:
    known = values[np.isfinite(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if known.size else "no values"


def _bounds(low: float, high: float) -> str:
    if math.isinf(low):
        return f"at or below {high:.4g}"
    return f"at or above {low:.4g}" if math.isinf(high) else f"from {low:.4g} to {high:.4g}"


def _said(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, list | tuple | np.ndarray):
        return ", ".join(_said(one) for one in value) or "nothing"
    return str(value)
