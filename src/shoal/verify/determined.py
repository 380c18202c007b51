"""Whether a published column tells quasi-identifiers more finely than their cells do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from shoal.verify.classes import Placed
from shoal.verify.coded import Coded
from shoal.verify.tally import Counts, Numbering
from shoal.verify.types import Check


class Determined:
    """Values of quasi-identifiers in each class, with and without a column that fixes them over the whole table.

    Parameters
    ----------
    fixed
        Published columns, and quasi-identifiers that each of them fixes in the input.
    """

    def __init__(self, fixed: Sequence[tuple[str, str]]) -> None:
        self._counts = {pair: Counts() for pair in fixed}
        self._codes = {name: Numbering() for pair in fixed for name in pair}

    def see(self, released: Coded, original: Coded, placed: Placed) -> None:
        """Count a batch of the release, whose rows in classes are ``placed``."""
        if not self._counts:
            return
        codes = {}
        for name, numbering in self._codes.items():
            held = original[name]
            codes[name] = numbering.see(held.distinct.to_frame("cell")).codes[held.codes][placed.rows]
        for (name, quasi), counts in self._counts.items():
            if name in released.frame.columns:
                counts.see(pl.DataFrame({"class": placed.of_row, "column": codes[name], "quasi": codes[quasi]}))

    def checks(self, accepted: Collection[str]) -> list[Check]:
        """One check for each column that tells more than cells do."""
        found: dict[str, tuple[int, str]] = {}
        for (name, quasi), counts in self._counts.items():
            rows = _rows_told(counts.total())
            if rows > found.get(name, (0, ""))[0]:
                found[name] = rows, quasi
        checks = []
        for name, (rows, quasi) in found.items():
            code = f"W-DETERMINES:{name}"
            accepts = f", which {code} accepts" if code in accepted else ""
            detail = f"'{name}' tells the '{quasi}' of {rows:,} rows more finely than their cells do{accepts}."
            checks.append(Check(name=f"{quasi} by {name}", passed=code in accepted, detail=detail, code=code))
        return checks


def _rows_told(counted: pl.DataFrame) -> int:
    """Rows of which a column leaves at most half of the values that their class has."""
    if not counted.width:
        return 0
    of_class = counted.group_by("class").agg(pl.col("quasi").n_unique().alias("all"))
    left = counted.group_by("class", "column").agg(pl.col("quasi").n_unique().alias("left"), pl.col("rows").sum())
    told = left.join(of_class, on="class").filter((pl.col("all") > 1) & (2 * pl.col("left") <= pl.col("all")))
    return int(np.sum(told["rows"].to_numpy()))
