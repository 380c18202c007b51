"""What must hold for a pseudonymised release: all but the coded columns unchanged, every code one to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.accounts import Accounts
from shoal.verify.report import Check
from shoal.verify.tally import Counts, Dictionary, Numbering
from shoal.verify.values import canonical

# What a column's entry in the manifest may say under "coded".
GRADED, MAPPED, TOKEN = "graded", "mapping", "token"


class Pseudonymised:
    """A release against its input, cell by cell and batch by batch.

    Parameters
    ----------
    claims
        The manifest; a column whose values are codes says so in its ``"coded"`` (``"graded"``, ``"mapping"`` or
        ``"token"``).
    """

    def __init__(self, claims: Mapping[str, Any]) -> None:
        self._entries = list(claims["columns"])
        self._coded = {entry["name"]: _Codes(entry["type"]) for entry in self._entries if "coded" in entry}
        self._changed = {entry["name"]: 0 for entry in self._entries}
        self._released: Sequence[str] = ()
        self._original: Sequence[str] = ()

    def see(self, released: pl.DataFrame, original: pl.DataFrame) -> None:
        """Compare rows with those they come from."""
        self._released, self._original = released.columns, original.columns
        if not self._check_columns().passed:
            return
        for entry in self._entries:
            name, kind = entry["name"], entry["type"]
            if name in self._coded:
                self._coded[name].see(original[name], released[name])
            else:
                old, new = canonical(original[name], kind)[0], canonical(released[name], kind)[0]
                self._changed[name] += int(old.ne_missing(new).sum())

    def checks(self, accounts: Accounts) -> list[Check]:
        """What all batches hold."""
        rows, columns = _check_rows(accounts.once), self._check_columns()
        if not rows.passed or not columns.passed:
            return [rows, columns]
        checks = [rows, columns]
        for entry in self._entries:
            name = entry["name"]
            if name in self._coded:
                checks += self._coded[name].checks(name, entry["coded"])
            else:
                checks.append(_check_unchanged(name, self._changed[name]))
        return checks

    def _check_columns(self) -> Check:
        named = [entry["name"] for entry in self._entries]
        lost = [name for name in named if name not in self._original]
        coded = [entry["coded"] for entry in self._entries if "coded" in entry]
        unknown = [what for what in coded if what not in (GRADED, MAPPED, TOKEN)]
        same = list(self._released) == named
        detail = f"The release has the manifest's {len(named)} columns."
        if not same:
            detail = "The release does not have the manifest's columns in their order."
        elif lost:
            detail = f"The column '{lost[0]}' is not in the input."
        elif unknown:
            detail = "A column is coded in a way that the verifier does not know."
        elif not coded:
            detail = "No column is coded, so nothing is pseudonymised."
        passed = same and not lost and not unknown and bool(coded)
        return Check(name="columns", passed=passed, detail=detail)


class _Codes:
    """A code a value and a value a code, in the order of the values where they are graded, and no value left."""

    def __init__(self, kind: str) -> None:
        self._values, self._codes = Dictionary(kind), Numbering()
        self._pairs = Counts()

    def see(self, old: pl.Series, new: pl.Series) -> None:
        codes = self._codes.see(new.to_frame("code")).codes
        self._pairs.see(pl.DataFrame({"value": self._values.see(old), "code": codes}))

    def checks(self, name: str, how: str) -> list[Check]:
        texts, codes = self._values.texts, self._codes.rows["code"]
        value, of_pair = (self._pairs.total()[part].to_numpy() for part in ("value", "code"))
        one_to_one = len(texts) == len(codes) == len(value)
        gaps = int((texts.is_null().to_numpy()[value] != codes.is_null().to_numpy()[of_pair]).sum())
        detail = f"{len(texts):,} values of '{name}' have {len(codes):,} codes, in {len(value):,} pairs."
        checks = [Check(name=f"one to one: {name}", passed=one_to_one and not gaps, detail=detail)]
        if how != GRADED:
            return [*checks, _check_absent(name, texts, codes)]
        known = codes.is_not_null().to_numpy()[of_pair] & texts.is_not_null().to_numpy()[value]
        numbers = codes.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()[of_pair[known]]
        return [*checks, _check_increasing(name, self._values.numbers[value[known]], numbers)]


def _check_rows(once: bool) -> Check:
    """Every released row is an input row, and none is released twice."""
    detail = "Every released row is another input row." if once else "Released rows are not input rows, each once."
    return Check(name="rows", passed=once, detail=detail)


def _check_unchanged(name: str, changed: int) -> Check:
    detail = f"{changed:,} cells of '{name}' differ from the input." if changed else f"'{name}' is as it was."
    return Check(name=f"unchanged: {name}", passed=not changed, detail=detail)


def _check_increasing(name: str, numbers: np.ndarray, codes: np.ndarray) -> Check:
    """Larger values have larger codes, and codes are not simply the values."""
    order = np.lexsort((codes, numbers))
    up, rise = np.diff(numbers[order]), np.diff(codes[order])
    # Numbers too large for a float may look equal; that they have codes of their own is checked before.
    rising = bool(np.isfinite(codes).all() and np.isfinite(numbers).all() and (rise[up > 0] > 0).all())
    bare = bool(len(codes)) and np.array_equal(numbers, codes)
    detail = f"The codes of '{name}' {'rise' if rising else 'do not rise'} with its values"
    detail += ", because they are the values themselves." if bare else "."
    return Check(name=f"increasing: {name}", passed=rising and not bare, detail=detail)


def _check_absent(name: str, texts: pl.Series, codes: pl.Series) -> Check:
    left = int(codes.drop_nulls().cast(pl.String).is_in(texts.drop_nulls().to_list()).sum())
    detail = f"{left:,} codes of '{name}' are values of the input." if left else f"No value of '{name}' is left."
    return Check(name=f"originals absent: {name}", passed=not left, detail=detail)


# ----------------------------------------
# Shifted dates against the input: every date of a person moved alike, and no further than the manifest says.


# Below this many people nobody may have moved by chance.
_PEOPLE = 20


class Shifted:
    """What must hold for columns of shifted dates, looked at batch by batch."""

    def __init__(self) -> None:
        self._lost: dict[tuple[str, int], int] = {}
        self._far: dict[tuple[str, int], int] = {}
        self._moves = Counts()
        self._owned = True

    def see(self, column: str, days: int, ours: pl.Series, theirs: pl.Series, who: np.ndarray | None) -> None:
        """Compare published dates with the true ones of the same rows.

        Parameters
        ----------
        days
            The largest move.
        who
            Whose dates they are.
        """
        if who is None:
            self._owned = False
            return
        (_, new), (_, old) = canonical(ours, "date"), canonical(theirs, "date")
        known = ~np.isnan(old)
        place = column, days
        self._lost[place] = self._lost.get(place, 0) + int((known == np.isnan(new)).sum())
        self._far[place] = self._far.get(place, 0) + int((np.abs(new - old)[known] > days).sum())
        self._moves.see(pl.DataFrame({"who": who[known], "move": (new - old)[known]}))

    def check(self) -> Check:
        """What all batches hold."""
        name, problems = "shifted dates", []
        if not self._owned:
            told = "Dates are said to be shifted, but nobody is said to own them."
            return Check(name=name, passed=False, detail=told)
        for column, days in self._lost:
            lost, far = self._lost[column, days], self._far[column, days]
            if lost:
                problems.append(f"{lost:,} dates of '{column}' are missing, or should be")
            if far:
                problems.append(f"{far:,} dates of '{column}' moved further than {days} days")
        moves = self._moves.total()
        ways, people = moves.height, moves["who"].n_unique()
        if ways > people:
            problems.append(f"the dates of {ways - people:,} people or more did not move alike")
        if people >= _PEOPLE and not (moves["move"] != 0).any():
            problems.append("no date moved at all")
        detail = "; ".join(problems) + "." if problems else "The dates of every person moved alike, within the limit."
        return Check(name=name, passed=not problems, detail=detail)
