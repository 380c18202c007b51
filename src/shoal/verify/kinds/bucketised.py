"""A bucketised release against its input: exact quasi-identifiers on one side, groups of values on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.accounts import Accounts
from shoal.verify.report import Check
from shoal.verify.tally import Counts, Dictionary, Numbering
from shoal.verify.values import STAR, canonical, read_together

# An order that a shuffle gives more often than this is no leak: one value apart in a group of twenty stands beside its
# own row in one release of twenty.
_CHANCE = 1e-6


class Bucketised:
    """What must hold for Anatomy, permutation and bucketisation, looked at batch by batch.

    Parameters
    ----------
    claims
        The manifest: ``columns`` with name, role and type, and ``group``, the name of the column of group numbers; with
        ``leftovers``, the rule for records that fit in no group, also ``models``.
    one
        Whether one table holds both sides, sensitive values permuted within groups.
    """

    def __init__(self, claims: Mapping[str, Any], *, one: bool) -> None:
        self._group, self._one = claims.get("group", "group"), one
        columns = list(claims["columns"])
        self._seen = {entry["name"]: entry["type"] for entry in columns if entry["role"] in ("quasi", "neutral")}
        hidden = {entry["name"]: entry["type"] for entry in columns if entry["role"] == "sensitive"}
        self._values = {name: Dictionary(kind) for name, kind in hidden.items()}
        self._differ = dict.fromkeys(self._seen, 0)
        self._groups = Numbering()
        self._left, self._right = _Side(list(hidden)), _Side(list(hidden))
        self._fits = True
        self._rule = claims.get("leftovers")
        self._parted = {on: Counts() for on in _parted(claims, list(hidden))} if self._rule == "suppress" else {}
        self._unknown = {entry["name"]: _unknown(entry) for entry in columns}

    def see(self, released: pl.DataFrame, original: pl.DataFrame) -> None:
        """Compare quasi-identifiers with the rows they come from, and take in the values of those rows."""
        names = [*self._seen, *(self._values if self._one else ())]
        self._fits &= sorted(released.columns) == sorted([self._group, *names])
        if not self._fits:
            return
        for name, kind in self._seen.items():
            values, theirs = read_together(released[name], original[name], kind)
            self._differ[name] += int((values.codes != theirs).sum())
        self._left.see(self._numbers(released), {name: one.see(original[name]) for name, one in self._values.items()})

    def see_values(self, released: pl.DataFrame) -> None:
        """Take in the published sensitive values."""
        self._fits &= self._one or sorted(released.columns) == sorted([self._group, *self._values])
        if self._fits:
            codes = {name: one.see(released[name]) for name, one in self._values.items()}
            group = self._numbers(released)
            self._right.see(group, codes)
            for on, counts in self._parted.items():
                together = {str(place): codes[name] for place, name in enumerate(on)}
                counts.see(pl.DataFrame({"group": group, **together}))

    def checks(self, accounts: Accounts) -> list[Check]:
        """What all batches hold."""
        shape = self._check_tables(accounts.once)
        if not shape.passed:
            return [shape]
        found = [shape, self._check_quasi(), self._check_sizes(), self._check_groups(), self._check_apart()]
        return found if self._rule is None else [*found, self._check_leftovers(accounts.everybody)]

    def _numbers(self, released: pl.DataFrame) -> np.ndarray:
        return self._groups.see(released[self._group].cast(pl.String).to_frame("group")).codes

    def _check_tables(self, once: bool) -> Check:
        """The tables hold their own columns and share nothing but the group, least of all a record number."""
        name, group = "tables", self._group
        if not self._fits:
            detail = (
                "The released columns are not those of the manifest."
                if self._one
                else f"The two tables do not hold just their own columns and '{group}', the only one they may share."
            )
            return Check(name=name, passed=False, detail=detail)
        if not once:
            return Check(name=name, passed=False, detail="A released row has no source row, or shares it with another.")
        if self._left.rows != self._right.rows:
            return Check(name=name, passed=False, detail="The tables differ in length.")
        return Check(name=name, passed=True, detail=f"The tables share the column '{group}' and nothing else.")

    def _check_quasi(self) -> Check:
        """Quasi-identifier rows are those of their source, so that as a whole they are the input's."""
        problems = [f"{rows:,} rows of '{name}'" for name, rows in self._differ.items() if rows]
        detail = (
            f"Values differ from their source in {' and '.join(problems)}."
            if problems
            else "Quasi-identifier rows are those of the input."
        )
        return Check(name="exact rows", passed=not problems, detail=detail)

    def _check_sizes(self) -> Check:
        groups = self._groups.count
        wrong = int((self._left.sizes(groups) != self._right.sizes(groups)).sum())
        fine = "Groups are equally large in both tables."
        detail = f"{wrong:,} groups are not equally large in both tables." if wrong else fine
        return Check(name="group sizes", passed=not wrong, detail=detail)

    def _check_groups(self) -> Check:
        """Every group's sensitive values are, as a whole, those of the input rows in it."""
        sides = {name: [side.counts[name].total() for side in (self._left, self._right)] for name in self._values}
        problems = [f"'{name}'" for name, (ours, theirs) in sides.items() if not ours.equals(theirs)]
        detail = (
            f"The values of {' and '.join(problems)} in some groups are not those of the input rows in them."
            if problems
            else "The sensitive values of every group are those of the input rows in it."
        )
        return Check(name="group values", passed=not problems, detail=detail)

    def _check_apart(self) -> Check:
        """Values of a group do not stand in the order of the rows they belong to, where hardly a shuffle does that."""
        aligned = []
        groups = self._groups.count
        for name in self._values:
            same = np.array_equal(self._left.order(name, groups), self._right.order(name, groups))
            if same and self._left.log_orders(name, groups) >= -math.log(_CHANCE):
                aligned.append(f"'{name}'")
        detail = (
            f"The values of {' and '.join(aligned)} stand in the order of the rows they belong to."
            if aligned
            else "Sensitive values do not stand in the order of their rows."
        )
        return Check(name="apart", passed=not aligned, detail=detail)

    def _check_leftovers(self, everybody: bool) -> Check:
        """Who fits in no group joined one, so that nobody is missing; or was left out, and no value stands twice."""
        name = "leftovers"
        if self._rule != "suppress":
            fine = "Everybody is in a group: who fitted in none joined one."
            told = fine if everybody else "Somebody is in no group, where the manifest says that they join one."
            return Check(name=name, passed=everybody, detail=told)
        twice = sum(self._twice(on, counts) for on, counts in self._parted.items())
        told = (
            f"{twice:,} values stand twice in a group, where the manifest says that such records are left out."
            if twice
            else "No value stands twice in a group: who would have brought it there was left out."
        )
        return Check(name=name, passed=not twice, detail=told)

    def _twice(self, on: tuple[str, ...], counts: Counts) -> int:
        """How many known values of some columns, taken together, stand more than once in a group."""
        counted = counts.total()
        found = counted["rows"].to_numpy() > 1
        for place, name in enumerate(on):
            unknown = self._values[name].texts.is_in(self._unknown[name].implode(), nulls_equal=True).to_numpy()
            found &= ~unknown[counted[str(place)].to_numpy()]
        return int(found.sum())


def _unknown(entry: Mapping[str, Any]) -> pl.Series:
    """Texts of a column that tell nothing: missing, a star and declared non-answers, as its values are written."""
    refused, _ = canonical(pl.Series(entry.get("non_answers", ()), dtype=pl.String), entry["type"])
    return pl.concat([pl.Series([None, STAR], dtype=pl.String), refused.rename("")])


def _parted(claims: Mapping[str, Any], sensitive: Sequence[str]) -> list[tuple[str, ...]]:
    """Sensitive columns, several as one, whose values all differ in a group, by the model that Anatomy's promise."""
    named = [model.get("on") for model in claims["models"] if model["name"] == "alpha-k-general"]
    alone = [(name,) for name in sensitive]
    return [one for on in named for one in (alone if on is None else [(on,) if isinstance(on, str) else tuple(on)])]


class _Side:
    """Values by group as one of the tables has them: how often each, and a fingerprint of the order they stand in."""

    def __init__(self, names: Sequence[str]) -> None:
        self.counts = {name: Counts() for name in names}
        self._orders = {name: np.zeros(0, dtype=np.uint64) for name in names}
        self._sizes = np.zeros(0, dtype=np.int64)

    def see(self, group: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        groups = max(len(self._sizes), int(group.max(initial=-1)) + 1)
        place = self.sizes(groups)[group] + _places(group)
        self._sizes = self.sizes(groups) + np.bincount(group, minlength=groups)
        for name, value in values.items():
            self.counts[name].see(pl.DataFrame({"group": group, "value": value}))
            order = self.order(name, groups)
            np.add.at(order, group, _mixed(place, value))
            self._orders[name] = order

    @property
    def rows(self) -> int:
        return int(self._sizes.sum())

    def sizes(self, groups: int) -> np.ndarray:
        return np.append(self._sizes, np.zeros(groups - len(self._sizes), dtype=np.int64))

    def order(self, name: str, groups: int) -> np.ndarray:
        """One number a group, the same where the same values stand in the same order."""
        known = self._orders[name]
        return np.append(known, np.zeros(groups - len(known), dtype=np.uint64))

    def log_orders(self, name: str, groups: int) -> float:
        """In how many orders the values of all groups can stand that look different, as a logarithm."""
        alike = self.counts[name].total()["rows"].to_list()
        of_groups, of_alike = (math.fsum(math.lgamma(n + 1) for n in sizes) for sizes in (self.sizes(groups), alike))
        return of_groups - of_alike


def _places(group: np.ndarray) -> np.ndarray:
    """The place of each row among those of its group."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.searchsorted(ordered, ordered, side="left")
    places = np.empty(len(group), dtype=np.int64)
    places[order] = np.arange(len(group)) - first
    return places


def _mixed(place: np.ndarray, value: np.ndarray) -> np.ndarray:
    """A number for a value at a place, such that sums of them tell orders apart (the finaliser of SplitMix64)."""
    mixed = place.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + value.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
