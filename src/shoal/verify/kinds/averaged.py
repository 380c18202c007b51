"""A microaggregated release against its input: every cell is the mean, median or mode of its own class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.accounts import Accounts
from shoal.verify.report import Check
from shoal.verify.tally import Counts, Dictionary, Numbering
from shoal.verify.values import canonical, read_together

_CLOSE = 1e-9


class Microaggregated:
    """What must hold for microaggregation, on classes of equal released quasi-identifiers, batch by batch.

    Classes that publish the same cells are one here; the mean, median and mode of their union are the same again.

    Parameters
    ----------
    claims
        The manifest: ``columns`` with name, role and type; ``order`` of an ordinal column, ``hierarchy`` where it has
        one (its cells are then modes).
    """

    def __init__(self, claims: Mapping[str, Any]) -> None:
        columns = list(claims["columns"])
        self._names = [column["name"] for column in columns]
        quasi = [column for column in columns if column["role"] == "quasi"]
        self._centres = {column["name"]: _centre(column) for column in quasi}
        self._types = {column["name"]: column["type"] for column in columns if column["role"] != "quasi"}
        self._changed = dict.fromkeys(self._types, 0)
        self._classes, self._fits = Numbering(), True

    def see(self, released: pl.DataFrame, original: pl.DataFrame) -> None:
        """Compare rows with those they come from."""
        self._fits &= sorted(released.columns) == sorted(self._names)
        if not self._fits:
            return
        if self._centres:
            classes = self._classes.see(released.select(list(self._centres))).codes
            for name, centre in self._centres.items():
                centre.see(classes, original[name])
        for name, kind in self._types.items():
            values, theirs = read_together(released[name], original[name], kind)
            self._changed[name] += int((values.codes != theirs).sum())

    def checks(self, accounts: Accounts) -> list[Check]:
        """What all batches hold."""
        if not self._fits:
            told = "Released columns are not those of the manifest."
            return [Check(name="columns", passed=False, detail=told)]
        if not accounts.once:
            told = "A released row has no source row, or shares it with another."
            return [Check(name="rows", passed=False, detail=told)]
        wrong = {name: centre.wrong(self._classes.rows[name]) for name, centre in self._centres.items()}
        return [
            _check("centroids", wrong, "are not the mean, median or mode of their class", "Every quasi-identifier cell "
                   "is the mean, median or mode of its class."),
            _check("values", self._changed, "differ from their source",
                   "Sensitive and neutral values are those of their source rows."),
        ]  # fmt: skip


def _check(name: str, problems: Mapping[str, int], what: str, fine: str) -> Check:
    found = " and ".join(f"{count:,} cells of '{column}'" for column, count in problems.items() if count)
    return Check(name=name, passed=not found, detail=f"{found} {what}." if found else fine)


class _Centre:
    """The true values of a column by class, and the rows of classes that show something else than their centre."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._values, self._counts = Dictionary(kind), Counts()

    def see(self, classes: np.ndarray, truth: pl.Series) -> None:
        self._counts.see(pl.DataFrame({"class": classes, "value": self._values.see(truth)}))

    def wrong(self, shown: pl.Series) -> int:
        """Rows of the classes whose cell, one each, is not their centre."""
        counted = self._counts.total()
        sizes = _sums(counted["class"].to_numpy(), counted["rows"].to_numpy(), len(shown))
        right = self._right(shown, counted, sizes)
        return int(sizes[~right].sum())

    def _right(self, shown: pl.Series, counted: pl.DataFrame, sizes: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class _Mean(_Centre):
    """Means of numbers to rounding, of dates to the nearest day."""

    def _right(self, shown: pl.Series, counted: pl.DataFrame, sizes: np.ndarray) -> np.ndarray:
        truth = self._values.numbers[counted["value"].to_numpy()]
        middle = _sums(counted["class"].to_numpy(), counted["rows"].to_numpy() * truth, len(shown)) / sizes
        slack = 0.5 + _CLOSE if self.kind == "date" else _CLOSE * np.abs(truth).max(initial=1.0)
        return np.abs(canonical(shown, self.kind)[1] - middle) <= slack


class _Median(_Centre):
    """Lower medians by the declared order; what is not in it is never right."""

    def __init__(self, order: Sequence[str]) -> None:
        super().__init__("ordinal")
        self._places = {value: float(place) for place, value in enumerate(order)}

    def see(self, classes: np.ndarray, truth: pl.Series) -> None:
        self._counts.see(pl.DataFrame({"class": classes, "value": self._ranks(truth)}))

    def _ranks(self, values: pl.Series) -> pl.Series:
        return values.cast(pl.String).replace_strict(self._places, default=None, return_dtype=pl.Float64)

    def _right(self, shown: pl.Series, counted: pl.DataFrame, sizes: np.ndarray) -> np.ndarray:
        ordered = counted.sort("class", "value", nulls_last=True)
        before = np.cumsum(sizes) - sizes
        at = np.searchsorted(np.cumsum(ordered["rows"].to_numpy()), before + (sizes - 1) // 2, side="right")
        return self._ranks(shown).to_numpy() == ordered["value"].to_numpy()[at]


class _Mode(_Centre):
    """Any of the commonest values of the class."""

    def _right(self, shown: pl.Series, counted: pl.DataFrame, sizes: np.ndarray) -> np.ndarray:
        modes = counted.filter(pl.col("rows") == pl.col("rows").max().over("class"))
        modes = modes.select("class", text=self._values.texts.gather(modes["value"]))
        cells = pl.DataFrame({"class": np.arange(len(shown)), "text": canonical(shown, self.kind)[0]})
        met = cells.join(modes, on=["class", "text"], how="semi", nulls_equal=True)
        return np.isin(np.arange(len(shown)), met["class"].to_numpy())


def _centre(column: Mapping[str, Any]) -> _Centre:
    if column["type"] in ("numeric", "date"):
        return _Mean(column["type"])
    if column["type"] == "ordinal" and not column.get("hierarchy"):
        return _Median([str(value) for value in column["order"]])
    return _Mode(column["type"])


def _sums(group: np.ndarray, weights: np.ndarray, groups: int) -> np.ndarray:
    found = np.zeros(groups, dtype=weights.dtype)
    np.add.at(found, group, weights)
    return found
