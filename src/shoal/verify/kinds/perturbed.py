"""A perturbed release against its input: columns keep what their method keeps, and nothing else was touched.

Whose record is whose cannot be checked, and nothing here says how well anybody is hidden.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.accounts import Accounts
from shoal.verify.cells import Inputs
from shoal.verify.kinds.randomised import Drawn, Noised, Untouched
from shoal.verify.report import Check
from shoal.verify.tally import Counts, Dictionary
from shoal.verify.values import read_together

_WAYS = ("swapped", "shuffled", "condensed", "pram", "invariant-pram", "noise")
# Those that change every row by itself.
_BY_ROW = ("pram", "invariant-pram", "noise")
# A mean may move by so much of the standard deviation; by as much as rounding where numbers are whole.
_MOVED, _ROUNDED = 0.1, 0.5


class Perturbed:
    """What must hold for swapping, shuffling, condensation, PRAM and noise, looked at batch by batch.

    Parameters
    ----------
    claims
        The manifest: ``columns`` with name, role and type, and ``stay`` or ``noise``; and ``perturbation``.
    inputs
        The values of quasi-identifiers of the whole input.
    """

    def __init__(self, claims: Mapping[str, Any], inputs: Inputs) -> None:
        columns, self._way, self._inputs = claims["columns"], claims.get("perturbation"), inputs
        self._quasi = {column["name"]: column["type"] for column in columns if column["role"] == "quasi"}
        others = [column for column in columns if column["role"] in ("sensitive", "neutral")]
        self._types = {column["name"]: column["type"] for column in others}
        self._changed = dict.fromkeys(self._types, 0)
        self._values = {name: Dictionary(kind) for name, kind in self._quasi.items()}
        self._counts = {name: Counts() for name in self._quasi}
        self._rows = [_by_row(column, self._way) for column in columns if column["role"] == "quasi"]

    def see(self, released: pl.DataFrame, original: pl.DataFrame) -> None:
        """Compare rows with those they stand for."""
        for name, kind in self._types.items():
            values, theirs = read_together(released[name], original[name], kind)
            self._changed[name] += int((values.codes != theirs).sum())
        for name, known in self._values.items():
            self._counts[name].see(pl.DataFrame({"value": known.see(released[name])}))
        for one in self._rows if self._way in _BY_ROW else ():
            one.see(released[one.name], original[one.name])

    def checks(self, accounts: Accounts) -> list[Check]:
        """What all batches hold."""
        detail = "Every input row is released exactly once."
        if not accounts.everybody:
            detail = "Some input rows are not released exactly once."
        rows = Check(name="rows once", passed=accounts.everybody, detail=detail)
        if self._way not in _WAYS:
            told = "The manifest does not say how records were perturbed."
            return [rows, Check(name="perturbation", passed=False, detail=told)]
        if not rows.passed:
            return [rows]
        return [rows, self._check_others(), self._check_rows() if self._way in _BY_ROW else self._check_columns()]

    def _check_others(self) -> Check:
        found = " and ".join(f"{count:,} rows of '{name}'" for name, count in self._changed.items() if count)
        fine = "Sensitive and neutral values are those of their source rows."
        detail = f"Values differ from their source in {found}." if found else fine
        return Check(name="values", passed=not found, detail=detail)

    def _check_rows(self) -> Check:
        """What is said to be changed is changed as it is said, and nothing else."""
        wrong = [one for one in self._rows if not one.holds(self._inputs, self._texts(one.name))]
        detail = "Quasi-identifiers are changed as often and as much as the manifest says, others not at all."
        if wrong:
            detail = f"The quasi-identifier '{wrong[0].name}' does not keep {wrong[0].kept}."
        return Check(name="perturbed columns", passed=not wrong, detail=detail)

    def _texts(self, name: str) -> dict[str | None, int]:
        texts, _, rows = self._released(name)
        return dict(zip(texts.to_list(), rows.tolist(), strict=True))

    def _check_columns(self) -> Check:
        """Columns have the values that they had; numbers that were made up have their range and mean."""
        drawn = [name for name, kind in self._quasi.items() if self._way == "condensed" and kind in ("numeric", "date")]
        wrong = [name for name in self._quasi if not (self._near(name) if name in drawn else self._same(name))]
        detail = "Every quasi-identifier has exactly the values that it had, each as often."
        if drawn:
            detail = "Numbers keep their range and their mean, and other quasi-identifiers the values that they had."
        if wrong:
            kept = "its range and mean" if wrong[0] in drawn else "the values that it had"
            detail = f"The quasi-identifier '{wrong[0]}' does not keep {kept}."
        return Check(name="perturbed columns", passed=not wrong, detail=detail)

    def _released(self, name: str) -> tuple[pl.Series, np.ndarray, np.ndarray]:
        """Texts, numbers and rows of the values released."""
        counted = self._counts[name].total()
        at = counted["value"].to_numpy()
        return self._values[name].texts.gather(at), self._values[name].numbers[at], counted["rows"].to_numpy()

    def _same(self, name: str) -> bool:
        return self._texts(name) == self._inputs.counted(name)

    def _near(self, name: str) -> bool:
        _, made, rows = self._released(name)
        true, weights = self._inputs.weighed(name)
        if np.isnan(made).any() or np.isnan(true).any() or not made.size:
            return False
        # Differences to one of the values: squares of large numbers would lose their digits.
        origin = true[0]
        made, true = made - origin, true - origin
        mean = np.average(true, weights=weights)
        deviation = float(np.sqrt(np.average((true - mean) ** 2, weights=weights)))
        slack = _MOVED * deviation + (_ROUNDED if self._inputs.whole(name) else 0.0)
        close = 1e-9 * max(1.0, float(np.abs(true).max()))
        inside = made.min() >= true.min() - close and made.max() <= true.max() + close
        return bool(inside and abs(np.average(made, weights=rows) - mean) <= slack)


def _by_row(column: Mapping[str, Any], way: Any) -> Untouched:
    """What one quasi-identifier is held to, where every row was changed by itself."""
    name, kind = column["name"], column["type"]
    if "stay" in column and way in ("pram", "invariant-pram"):
        return Drawn(name, kind, float(column["stay"]), invariant=way == "invariant-pram")
    if "noise" in column and way == "noise":
        return Noised(name, kind, float(column["noise"]))
    return Untouched(name, kind)
