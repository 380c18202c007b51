"""What the checks need to know of the whole input: values of quasi-identifiers, and how many people have each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.verify.claims import Claims
from shoal.verify.tally import Counts, Dictionary


class Inputs:
    """Values of some columns of the input, read batch by batch before the release is looked at.

    Values are kept where a check asks for them: of columns whose intervals end on a grid, whose cells are
    representatives, or whose values are drawn from the whole column or perturbed.
    """

    def __init__(self, claims: Claims, grids: Mapping[str, float | None]) -> None:
        asked = [
            column
            for column in claims.role("quasi")
            if claims.made in ("randomised", "perturbed") or column.name in grids or column.cells == "representative"
        ]
        self._values = {column.name: Dictionary(column.type) for column in asked}
        self._counts = {name: Counts() for name in self._values}

    def read(self, original: pl.DataFrame, who: np.ndarray | None) -> None:
        """Take in rows of the input, and whose they are."""
        for name, values in self._values.items():
            owner = {} if who is None else {"who": who}
            self._counts[name].see(pl.DataFrame({"value": values.see(original[name]), **owner}))

    def texts(self, name: str) -> pl.Series:
        """Different values of a column, as canonical texts."""
        return self._values[name].texts

    def counted(self, name: str) -> dict[str | None, int]:
        """Rows of every value of a column, by canonical text."""
        counted = self._counts[name].total().group_by("value").agg(pl.col("rows").sum())
        texts = self.texts(name).gather(counted["value"])
        return dict(zip(texts.to_list(), counted["rows"].to_list(), strict=True))

    def weighed(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The different numbers of a column, nan for those that are none, and the rows of each."""
        counted = self._counts[name].total().group_by("value", maintain_order=True).agg(pl.col("rows").sum())
        return self._values[name].numbers[counted["value"].to_numpy()], counted["rows"].to_numpy()

    def whole(self, name: str) -> bool:
        """Whether all numbers of a column are whole."""
        numbers = self._values[name].numbers
        known = numbers[~np.isnan(numbers)]
        return bool((known == np.floor(known)).all())

    def rare(self, name: str, crowd: int) -> np.ndarray:
        """Numbers that fewer than so many people have."""
        counted = self._counts[name].total()
        people = pl.len() if "who" in counted.columns else pl.col("rows").sum()
        few = counted.group_by("value").agg(people=people).filter(pl.col("people") < crowd)["value"]
        return self._values[name].numbers[few.to_numpy()]
