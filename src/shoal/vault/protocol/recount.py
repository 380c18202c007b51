"""Statements counted again on the released table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.recoding.secrets import Secret
from shoal.vault.grading_inference import Steps
from shoal.vault.protocol.statements import GRADING, MAPPING, Condition, Figure, Released, Statement
from shoal.verify.folder import read_folder

# A code that was written with six digits still is one.
_CLOSE = 1e-5
# Bytes of masks at hand.
_KEPT = 64 << 20
_STEPS = 50  # categories of a column, each with what somebody else knows
# Figures that say how many of the covered rows meet the conclusion.
_OF_CONCLUSION = ("right", "wrong", "confidence", "lift")


class Tally:
    """How many rows of a release have which code: all that it takes to say how much of a column is known."""

    def __init__(self, coded: Mapping[str, str], codes: dict[str, tuple[np.ndarray, np.ndarray]]) -> None:
        self.coded, self._codes = coded, codes
        self._steps: dict[tuple[str, tuple[float, ...]], Steps] = {}

    def codes(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """Different values of a column, ascending, and the rows of each."""
        return self._codes[column]

    def plain(self) -> dict[str, Any]:
        """In JSON's types."""
        return {
            column: {"kind": kind, "codes": self.codes(column)[0].tolist(), "rows": self.codes(column)[1].tolist()}
            for column, kind in self.coded.items()
        }  # fmt: skip

    @classmethod
    def of_plain(cls, plain: Mapping[str, Any]) -> Tally:
        """What :meth:`plain` gave."""
        made = {
            column: (np.array(one["codes"], dtype=np.float64 if one["kind"] == GRADING else object),
                     np.array(one["rows"], dtype=np.int64))
            for column, one in plain.items()
        }  # fmt: skip
        return cls({column: one["kind"] for column, one in plain.items()}, made)

    def renamed(self, columns: Mapping[str, str]) -> Tally:
        """Counts of some columns, by other names: ``{new: old}``."""
        return Tally(
            {new: self.coded[old] for new, old in columns.items()},
            {new: self.codes(old) for new, old in columns.items()},
        )

    def steps(self, column: str, known: Iterable[float | str] = ()) -> Steps:
        """What the codes of a graded column show of its categories, together with others that somebody knows."""
        codes, _ = self.codes(column)
        also = np.setdiff1d(np.array([float(one) for one in known]), codes)
        key = column, tuple(also.tolist())
        found = self._steps.get(key)  # another thread may clear them at any moment
        if found is None:
            if len(self._steps) > _STEPS:
                self._steps.clear()
            self._steps[key] = found = Steps(np.union1d(codes, also))
        return found


class Counter(Tally):
    """Counts rows of a release that meet conditions."""

    def __init__(self, released: Released) -> None:
        super().__init__(released.coded, {})
        self.released = released
        self.n = released.frame.height
        self._masks: dict[Condition, np.ndarray] = {}

    def codes(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """Different values of a column, ascending, and the rows of each."""
        if column not in self._codes:
            counted = self.released.frame[column].drop_nulls().alias("code").value_counts(name="rows").sort("code")
            self._codes[column] = counted["code"].to_numpy(), counted["rows"].cast(pl.Int64).to_numpy()
        return super().codes(column)

    def tally(self) -> Tally:
        """The counts of its codes, without the table."""
        return Tally(self.coded, {column: self.codes(column) for column in self.coded})

    def mask(self, condition: Condition) -> np.ndarray:
        """Which rows meet a condition; one without a value meets none."""
        found = self._masks.get(condition)
        if found is None:
            if len(self._masks) * self.n > _KEPT:
                self._masks.clear()
            cells = self.released.frame[condition.column]
            self._masks[condition] = found = self._met(cells, condition).fill_null(False).to_numpy()
        return found

    def rows(self, conditions: Iterable[Condition], within: np.ndarray | None = None) -> np.ndarray:
        """Which rows meet all conditions."""
        found = np.ones(self.n, dtype=bool) if within is None else within.copy()
        for one in conditions:
            found &= self.mask(one)
        return found

    def _met(self, cells: pl.Series, condition: Condition) -> pl.Series:
        sign, first = condition.sign, condition.values[0]
        if sign in ("=", "!="):
            met = cells.is_in(self.known(condition))
            return met if sign == "=" else ~met
        if isinstance(first, str):
            return pl.Series(np.zeros(self.n, dtype=bool))
        return {"<": cells < first, "<=": cells <= first, ">": cells > first, ">=": cells >= first}[sign]

    def known(self, condition: Condition) -> list[float | str]:
        """The values of a condition that its column has, each once; of plain texts, which may be many, none is kept."""
        column, given = condition.column, dict.fromkeys(condition.values)
        if self.released.is_number(column) or column in self.coded:
            near = (self.nearest(column, value) for value in given)
            return [value for value in near if value is not None]
        cells = self.released.frame[column]
        texts = [value for value in given if isinstance(value, str)]
        return cells.filter(cells.is_in(texts)).unique().to_list()

    def nearest(self, column: str, value: float | str) -> float | str | None:
        """The number or code of a column that is meant; None where it has no such value."""
        codes, _ = self.codes(column)
        if isinstance(value, str):
            return value if not self.released.is_number(column) and value in codes else None
        if not len(codes) or not self.released.is_number(column):
            return None
        if not np.isfinite(value):
            return None
        near = float(codes[np.abs(codes - value).argmin()])
        close = _CLOSE if self.released.coded.get(column) == GRADING else 1e-9
        return near if abs(near - value) <= close * max(1.0, abs(value)) else None


def snapped(statement: Statement, counter: Counter) -> Statement:
    """The same with thresholds of graded columns at codes that the release has: it means the same rows.

    A threshold anywhere between two codes then gets one answer, so that asking for many of them tells nothing more.
    """
    if statement.centre:
        moved = [(column, _nearest_code(column, value, counter)) for column, value in statement.centre]
        return replace(statement, centre=tuple(moved))
    made = [one for one in (_snap(each, counter) for each in statement.conditions) if one is not None]
    concluded = None if statement.concluded is None else _snap(statement.concluded, counter)
    return replace(statement, conditions=tuple(made), concluded=concluded)


def _snap(condition: Condition, counter: Counter) -> Condition | None:
    """None where every row meets it, so that it says nothing."""
    if counter.released.coded.get(condition.column) != GRADING:
        return condition
    if condition.sign in ("=", "!="):
        known = [counter.nearest(condition.column, value) for value in condition.values]
        return replace(condition, values=tuple(value for value in known if value is not None))
    codes, counts = counter.codes(condition.column)
    met = int(counter.mask(condition).sum())
    if met in (0, counts.sum()):  # left as it is where nobody meets it, or all who have a value, and refused as rare
        return None if 0 < met == counter.n else condition
    value = float(condition.values[0])
    # At most t: the largest code that is. Below t: the smallest code that is not.
    closed = condition.sign in ("<=", ">")
    at = np.searchsorted(codes, value, side="right") - 1 if closed else np.searchsorted(codes, value)
    return replace(condition, values=(float(codes[at]),))


def _nearest_code(column: str, value: float | str, counter: Counter) -> float | str:
    if counter.released.coded.get(column) != GRADING or isinstance(value, str):
        return value
    codes, _ = counter.codes(column)
    return float(codes[np.abs(codes - value).argmin()]) if len(codes) else value


def check(statement: Statement, counter: Counter, minimum: int, within: np.ndarray | None = None) -> str | None:
    """What is wrong with a statement, None where the release bears it out.

    Parameters
    ----------
    minimum
        Rows that have to meet it.
    within
        Rows that it is about: those that no rule before it in an ordered list has met.
    """
    if statement.concluded is None and not statement.stated:
        return "states nothing that can be checked: add a count, a support or a confidence"
    if statement.concluded is None and any(one.name in _OF_CONCLUSION for one in statement.stated):
        return "states how often a conclusion is right, and has none: write it as a rule"
    covered = counter.rows(statement.conditions, within)
    n = int(covered.sum())
    met = covered if statement.concluded is None else covered & counter.mask(statement.concluded)
    right = int(met.sum())
    if min(n, right) < minimum:
        return f"is about fewer than {minimum:,} rows of the release"
    total = counter.n if within is None else int(within.sum())
    base = right if statement.concluded is None else int(counter.rows((statement.concluded,), within).sum())
    for one in statement.stated:
        problem = _figure(one, n, right, total, base, covered, counter)
        if problem is not None:
            return problem
    proved = any(one.name in _OF_CONCLUSION for one in statement.stated)
    if statement.concluded is not None and not proved and not is_commonest(statement.concluded, covered, counter):
        return "concludes with what is not the commonest among its rows, and states no confidence"
    return None


def _figure(
    one: Figure, n: int, right: int, total: int, base: int, covered: np.ndarray, counter: Counter
) -> str | None:
    if one.name == "mean":
        if one.column is None or not counter.released.is_number(one.column):
            return "states a mean of what are not numbers"
        cells = counter.released.frame[one.column].filter(pl.Series(covered)).drop_nulls()
        found = [float(cells.mean() or 0.0)]  # type: ignore[arg-type]
    else:
        counted: dict[str, list[float]] = {
            "rows": [n, right],
            "covered": [n],
            "right": [right],
            "wrong": [n - right],
            "support": [right / total, n / total],
            "coverage": [n / total],
            "confidence": [right / n],
            "lift": [right / n / (base / total)],
        }
        found = counted[one.name]
    if any(abs(each - one.number) <= one.slack for each in found):
        return None
    return f"states {one}, and the release has {found[-1]:.6g}"


def is_commonest(concluded: Condition, covered: np.ndarray, counter: Counter) -> bool:
    """Whether rows mostly meet a conclusion: a share over half, or as many rows as any other value has."""
    met = int((covered & counter.mask(concluded)).sum())
    if 2 * met > int(covered.sum()):
        return True
    if concluded.sign != "=" or len(concluded.values) > 1:
        return False
    counts = counter.released.frame[concluded.column].filter(pl.Series(covered)).drop_nulls().value_counts()
    return met > 0 and met >= int(counts["count"].max() or 0)  # type: ignore[arg-type]


def after(statement: Statement, counter: Counter, before: np.ndarray) -> np.ndarray:
    """Rows that are left for the rules behind one in an ordered list."""
    return before & ~counter.rows(statement.conditions)


# ----------------------------------------
# A written release, ready for statements to be counted on it.


def counter_of(folder: str | Path, secrets: Sequence[Secret]) -> Counter:
    """The table of a release, after checking its hash, with the columns coded that the secrets are of."""
    coded = {one.column: one.kind for one in secrets if one.kind in (MAPPING, GRADING)}
    tables, _ = read_folder(folder)
    fitting = [table for table in tables.values() if coded and set(coded) <= set(table.columns)]
    if not fitting:
        raise InputError("The release has no columns whose codes its secrets turn back: there is nothing to interpret.")
    return Counter(Released.of(fitting[0], coded))
