"""How a model fares on every class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Outcome:
    """One figure a class.

    Attributes
    ----------
    value
        The figure of each class; meaningless where the class is not judged.
    passes
        Whether each class meets the model.
    judged
        Whether the class has any known sensitive value. One without has nothing to disclose.
    worst
        ``"low"`` when small figures are bad, else ``"high"``.
    """

    value: np.ndarray
    passes: np.ndarray
    judged: np.ndarray
    worst: str

    def worst_value(self, limit: float) -> float:
        """The worst judged class's figure; the limit itself when no class has a known value."""
        if not self.judged.any():
            return limit
        judged = self.value[self.judged]
        return float(judged.min() if self.worst == "low" else judged.max())


def at_least(value: np.ndarray, limit: float) -> np.ndarray:
    """``value >= limit`` up to rounding (relative above 1)."""
    return value >= limit - TOLERANCE * max(1.0, abs(limit))


def at_most(value: np.ndarray, limit: float) -> np.ndarray:
    """``value <= limit`` up to rounding (relative above 1)."""
    return value <= limit + TOLERANCE * max(1.0, abs(limit))
