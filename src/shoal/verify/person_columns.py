"""Columns that tell people apart although nothing says so: numbers of people that repeat, and published identifiers.

The same checks are asked before a run, of the source, and at the gate, of what the gate has read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.verify.assigned_values import FEWEST, are_codes, has_number_form, is_assigned
from shoal.verify.dependence import FIXED, Dependence, Values
from shoal.verify.report import Check
from shoal.verify.tally import Numbering
from shoal.verify.values import Coded

# Share of the rows, or people, that have a value of their own.
_OWN = 0.9
# Columns beside the quasi-identifiers that are looked at: those of a person agree in more than two of so many.
_BESIDE = 12


@dataclass(frozen=True, kw_only=True)
class PersonRoles:
    """Columns by what they say of people.

    Attributes
    ----------
    hidden
        Identifiers and pseudonyms.
    tokens
        Those of them that are pseudonyms.
    quasi, published
        Quasi-identifiers, and sensitive and neutral columns that are published as they were read.
    dropped
        Columns that nobody publishes.
    people
        Whether people are counted, not rows.
    """

    quasi: Sequence[str]
    hidden: Sequence[str] = ()
    tokens: Sequence[str] = ()
    published: Sequence[str] = ()
    dropped: Sequence[str] = ()
    people: bool = False


class PersonColumns:
    """The columns of a table, seen batch by batch; of each person one row, where people are counted."""

    def __init__(self, roles: PersonRoles) -> None:
        self._roles, self._people = roles, Numbering()
        self._numbers = list(dict.fromkeys([*roles.hidden, *roles.dropped]))
        followed = dict.fromkeys([*self._numbers, *roles.published, *roles.quasi])
        self._found = Dependence(list(followed), [*roles.quasi, *roles.published[:_BESIDE]], roles.hidden)

    def see(self, rows: Coded, who: pl.Series | np.ndarray | None = None) -> None:
        """Take in some rows, and whose they are where people are counted."""
        self._found.see(rows if who is None else Coded(rows.frame[self._first_rows(who)]))

    def _first_rows(self, who: pl.Series | np.ndarray) -> np.ndarray:
        """The rows of people who were not seen before, one of each."""
        before = self._people.count
        codes = self._people.see(pl.DataFrame({"who": who})).codes
        people, first = np.unique(codes, return_index=True)
        return np.sort(first[people >= before])

    @cached_property
    def identifying(self) -> list[str]:
        """Published columns that identify people by themselves."""
        quasi = self._roles.quasi
        return [name for name in self._roles.published if identifies(self._found.values(name), quasi)]

    @cached_property
    def fixed(self) -> list[tuple[str, str]]:
        """Published columns, and quasi-identifiers that each of them fixes; those that identify people fix them all.

        A column that a quasi-identifier of categories fixes, as a postcode fixes the state, is a coarser level of it.
        """
        values = self._found.values
        return [
            (name, quasi)
            for name in self._roles.published
            if name not in self.identifying
            for quasi in self._roles.quasi
            if values(name).fixes(quasi) or (values(quasi).are_categories and values(quasi).fixes(name, FIXED))
        ]

    def checks(self, accepted: Collection[str], texts: Collection[str] = ()) -> list[Check]:
        """One check of the rows of a person, and one for each published column that identifies people.

        Parameters
        ----------
        texts
            Columns of free text, which another code accepts.
        """
        found = [self._check_rows(accepted)]
        for name in self.identifying:
            code = f"W-IDENTIFIES:{name}"
            if name not in texts:
                accepts = f", which {code} accepts" if code in accepted else ""
                detail = (
                    f"'{name}' identifies people by itself, since each of its values belongs to one person{accepts}."
                )
                found.append(Check(name=f"people in {name}", passed=code in accepted, detail=detail, code=code))
        return found

    def _repeats_people(self, name: str, values: Values) -> bool:
        """Decide whether a column has several rows of a person, or several subjects of one.

        A token does. A declared identifier does where its values are numbers or codes, which no namesakes share, or
        where the rows of one value agree in what namesakes rarely share; of several subjects, who may share a household
        or a telephone, they have to agree. Another column has to number people, and to leave no quasi-identifier open:
        a hospital or a household leaves age and sex open. A number may leave one open, such as a year.
        """
        roles = self._roles
        if values.most < 2:
            return False
        if name in roles.hidden:
            sure = name in roles.tokens or are_codes(values.shown)
            return (sure and not roles.people) or values.tell_apart(roles.quasi)
        changing = len(values.open(roles.quasi))
        return (not changing or (changing == 1 and _is_number(values))) and values.numbers_people(shared=False)

    def _check_rows(self, accepted: Collection[str]) -> Check:
        """Nobody has several rows where models count rows, and nobody is several people where they count people."""
        problems = []
        for name in self._numbers:
            values = self._found.values(name)
            if self._repeats_people(name, values):
                problems.append((values.most, name))
        detail = "No identifier repeats, and no dropped column numbers people with several rows."
        if self._roles.people:
            detail = "People are counted, and no identifier belongs to several of them."
        if problems:
            most, name = max(problems, key=lambda one: one[0])
            detail = f"'{name}' repeats, up to {most:,} rows a person, and the models count rows"
            if self._roles.people:
                detail = f"'{name}' belongs to several subjects, up to {most:,} a value, and the models count subjects"
            detail += ", which W-ROWS accepts." if "W-ROWS" in accepted else "."
        passed = not problems or "W-ROWS" in accepted
        return Check(name="rows of people", passed=passed, detail=detail, code="W-ROWS")


def identifies(values: Values, quasi: Sequence[str]) -> bool:
    """Decide whether the values of a published column identify people by themselves.

    Nearly every row has a value of its own, or each value numbers a person; and they were assigned, not measured.
    """
    different = values.count
    if different < FEWEST or not is_assigned(values.shown, known=True):
        return False
    if (not values.open(quasi) and values.numbers_people(shared=True)) or (
        _is_number(values) and values.fix_one(quasi)
    ):
        return True
    shared = max(values.known * values.share - different, 0) / different
    return values.own >= _OWN and is_assigned(values.shown, shared)


def _is_number(values: Values) -> bool:
    """Decide whether values have the form of a number and few rows each, as those of a person do and of a place not."""
    return values.known * values.share < FEWEST * values.count and has_number_form(values.shown, known=True)
