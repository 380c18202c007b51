"""What a measure is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shoal.recoding.released import PriceStats
from shoal.results import Score


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure for a release, with its orientation and bounds; a corner case gives None and a reason.

    Class attributes
    ----------------
    name
        As in recipes and on the command line.
    better
        ``"down"`` when smaller is better.
    """

    name: ClassVar[str]
    better: ClassVar[str] = "down"

    def score(self, stats: PriceStats) -> Score:
        """Price a release."""
        low, high = self.bounds(stats)
        value: float | None
        also: dict[str, float | None] = {}
        reason = self.undefined(stats)
        if reason is None:
            value, also = self.value(stats)
        else:
            value = None
        if value is not None and not math.isfinite(value):
            value, reason = None, "the figure is not finite on this release"
        return Score(
            name=self.name,
            value=value,
            better=self.better,
            low=low,
            high=high,
            also=also,
            reason=reason,
            suppression=stats.n_suppressed / stats.n if stats.n else 0.0,
        )

    def value(self, stats: PriceStats) -> tuple[float, dict[str, float | None]]:
        """The figure, and related figures to show beside it."""
        raise NotImplementedError

    def bounds(self, stats: PriceStats) -> tuple[float, float]:
        """What the figure cannot leave."""
        return 0.0, 1.0

    def undefined(self, stats: PriceStats) -> str | None:
        """Why the figure does not exist, or None."""
        return None


NOTHING_RELEASED = "the release is empty"
