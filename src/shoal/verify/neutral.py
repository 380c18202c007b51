"""How many rows are unique on quasi-identifiers and neutral columns together."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.claims import Claims
from shoal.verify.classes import Classes, Placed
from shoal.verify.coded import Coded, plain
from shoal.verify.tally import Counts
from shoal.verify.types import Check, Setting


class Neutral:
    """Rows of each class by what stands in their neutral columns, of which a hash is kept."""

    def __init__(self, setting: Setting, claims: Claims) -> None:
        self._setting, self._made = setting, claims.made
        self._names = [column.name for column in claims.role("neutral")]
        self._counts = Counts()

    def see(self, batch: Coded, placed: Placed) -> None:
        """Count a batch of the release."""
        if self._names:
            neutral = plain(batch.frame.select(self._names))[placed.rows]
            self._counts.see(pl.DataFrame({"class": placed.of_row, "hash": neutral.hash_rows(seed=0)}))

    def check(self, classes: Classes) -> Check:
        """Few rows are unique."""
        if not self._names or not classes.count:
            return Check(name="neutral columns", passed=True, detail="No neutral column is released.")
        setting, counted = self._setting, self._counts.total()
        alone = (counted["rows"] == 1).to_numpy()
        detail = "of the rows are unique on quasi-identifiers and neutral columns together"
        if self._made in ("randomised", "pseudonymised", "bucketised", "perturbed"):
            # Where quasi-identifiers are values, most rows are unique already: what counts is what neutral columns add.
            alone &= classes.sizes[counted["class"].to_numpy()] > 1
            detail += ", and not on quasi-identifiers alone"
        share = float(np.sum(alone) / classes.sizes.sum())
        detail = f"{share:.1%} {detail}"
        accepted = "W-NEUTRAL" in setting.acknowledged
        if share > setting.neutral_limit:
            above = f", above the limit of {setting.neutral_limit:.1%}"
            detail += ", which W-NEUTRAL accepts" if accepted else above
        passed = accepted or share <= setting.neutral_limit
        return Check(name="neutral columns", passed=passed, detail=f"{detail}.", code="W-NEUTRAL")
