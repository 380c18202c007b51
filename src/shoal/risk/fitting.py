"""Fitting two parameters by likelihood, without a library for it: both models here have smooth, single-peaked ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Function = Callable[[np.ndarray], float]
_STEPS = 400
_TOLERANCE = 1e-9


def maximise(function: Function, starts: Sequence[Sequence[float]]) -> np.ndarray:
    """Where a function is largest: Nelder & Mead's simplex (1965) from several starts, the best of them."""
    found = [_simplex(function, np.array(start, dtype=np.float64)) for start in starts]
    return max(found, key=function)


def _simplex(function: Function, start: np.ndarray) -> np.ndarray:
    points = [start, *(start + 0.5 * unit for unit in np.eye(start.size))]
    values = [function(point) for point in points]
    for _ in range(_STEPS):
        order = sorted(range(len(points)), key=lambda place: -values[place])
        points, values = [points[place] for place in order], [values[place] for place in order]
        if values[0] - values[-1] < _TOLERANCE and np.abs(points[0] - points[-1]).max() < 1e-6:
            break
        centre = np.mean(points[:-1], axis=0)
        point, value = _moved(function, centre, points[-1], values)
        if value > values[-1]:
            points[-1], values[-1] = point, value
        else:
            points = [points[0], *((points[0] + other) / 2.0 for other in points[1:])]
            values = [values[0], *(function(point) for point in points[1:])]
    return points[int(np.argmax(values))]


def _moved(
    function: Function, centre: np.ndarray, worst: np.ndarray, values: Sequence[float]
) -> tuple[np.ndarray, float]:
    """The worst corner reflected, farther where that is best of all, nearer where it is still worst."""
    reflected = 2.0 * centre - worst
    value = function(reflected)
    if value > values[0]:
        farther = 3.0 * centre - 2.0 * worst
        other = function(farther)
        return (farther, other) if other > value else (reflected, value)
    if value > values[-2]:
        return reflected, value
    nearer = 0.5 * centre + 0.5 * (reflected if value > values[-1] else worst)
    return nearer, function(nearer)


def standard_error(function: Function, figure: Function, best: np.ndarray, step: float = 1e-3) -> float | None:
    """Standard error of a figure of the parameters, by the curvature of their log-likelihood and the delta method.

    None where the likelihood is flat, so that the parameters, and the figure, could be anything.
    """
    units = step * np.eye(best.size)
    curvature = np.array([[_second(function, best, a, b) for b in units] for a in units]) / step**2
    slope = np.array([figure(best + unit) - figure(best - unit) for unit in units]) / (2.0 * step)
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).max() > -1e-6:
        return None
    return float(np.sqrt(slope @ np.linalg.solve(-curvature, slope)))


def _second(function: Function, at: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    return (function(at + a + b) - function(at + a - b) - function(at - a + b) + function(at - a - b)) / 4.0
