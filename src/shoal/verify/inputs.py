"""Values of columns of the input, or of its released rows, and how many people have each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from shoal.verify.cells import ENDS
from shoal.verify.claims import Column
from shoal.verify.tally import Counts, Dictionary


class Inputs:
    """Values of some columns, read batch by batch before the release is looked at."""

    def __init__(self, columns: Iterable[Column]) -> None:
        columns = list(columns)
        self._values = {column.name: Dictionary(column.type) for column in columns}
        # People are kept only for columns whose ends must be common values: there is one entry a person and value.
        self._by_people = {column.name for column in columns if column.cells in ENDS}
        self._counts = {name: Counts() for name in self._values}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def read(self, original: pl.DataFrame, who: np.ndarray | None) -> None:
        """Take in some rows, and whose they are."""
        for name, values in self._values.items():
            owner = {"who": who} if who is not None and name in self._by_people else {}
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

    def numbers(self, name: str, crowd: int = 1) -> np.ndarray:
        """Numbers that at least so many people have."""
        counted = self._counts[name].total()
        if not counted.height:
            return np.zeros(0)
        people = pl.len() if "who" in counted.columns else pl.col("rows").sum()
        many = counted.group_by("value").agg(people=people).filter(pl.col("people") >= crowd)["value"]
        return self._values[name].numbers[many.to_numpy()]
