"""Group statistics: all that models and measures ever see of the data.

An `Attribute` is what a model looks at: one sensitive column, or a tuple of them as one. A `Histogram` counts its
values a group, in compressed rows. `GroupStats` holds sizes and histograms of one grouping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.data.column import Column
from shoal.data.values import format_number
from shoal.errors import InputError, SchemaError
from shoal.kernels.grouping import group_rows
from shoal.params import nearest

if TYPE_CHECKING:
    from shoal.data.domain import Domain

Key = tuple[tuple[str, ...], bool]


@dataclass(frozen=True, eq=False)
class Attribute:
    """One sensitive attribute, or a tuple of several as one.

    Attributes
    ----------
    names
        The columns it is made of.
    people
        Whether values are counted by distinct subjects (else by rows).
    card
        Number of codes.
    unknown
        uint8 flag a code: missing, ``*`` or a declared non-answer.
    column
        The column itself when it is a single one.
    """

    names: tuple[str, ...]
    people: bool
    card: int
    unknown: np.ndarray
    column: Column | None

    @cached_property
    def key(self) -> Key:
        """What histograms are filed under."""
        return self.names, self.people


@dataclass(frozen=True, eq=False)
class Histogram:
    """Compressed rows of counts: group g holds ``codes[indptr[g]:indptr[g+1]]``, ascending, with ``counts``.

    ``known`` is the number of records (people) of each group whose value is known.
    """

    indptr: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    known: np.ndarray

    def runs(self) -> Iterator[Histogram]:
        """The counts of some groups after others, in order: of all of them at once, where they are here anyway."""
        yield self

    def largest(self) -> np.ndarray:
        """The largest count of each group, 0 where it has none."""
        best = np.zeros(self.known.size, dtype=np.int64)
        np.maximum.at(best, np.repeat(np.arange(best.size), np.diff(self.indptr)), self.counts)
        return best


class InRuns(Histogram):
    """Counts of so many groups that they are not kept: some groups after others are counted when they are looked at.

    Whoever asks for an array of all groups gets it, and has them all in memory from then on.

    Parameters
    ----------
    count
        Gives the runs.
    """

    def __init__(self, count: Callable[[], Iterator[Histogram]]) -> None:
        self.__dict__["_count"] = count

    def runs(self) -> Iterator[Histogram]:
        """The counts of some groups after others, in order, counted anew."""
        found: Iterator[Histogram] = self.__dict__["_count"]()
        return found

    @cached_property
    def known(self) -> np.ndarray:  # type: ignore[override]
        """Records (people) of each group whose value is known."""
        return np.concatenate([one.known for one in self.runs()])

    @cached_property
    def _whole(self) -> Histogram:
        return put_together(list(self.runs()))

    @property
    def indptr(self) -> np.ndarray:  # type: ignore[override]
        """Where the counts of every group begin."""
        return self._whole.indptr

    @property
    def codes(self) -> np.ndarray:  # type: ignore[override]
        """Values of one group after the other."""
        return self._whole.codes

    @property
    def counts(self) -> np.ndarray:  # type: ignore[override]
        """How often each of them occurs."""
        return self._whole.counts


def put_together(runs: Sequence[Histogram]) -> Histogram:
    """Counts of some groups after others as those of all of them."""
    ends = np.cumsum([0, *(one.codes.size for one in runs)])
    starts = [one.indptr[1:] + end for one, end in zip(runs, ends[:-1], strict=True)]
    parts = [np.concatenate([getattr(one, part) for one in runs]) for part in ("codes", "counts", "known")]
    return Histogram(np.concatenate([[0], *starts]), *parts)


@dataclass(frozen=True, eq=False)
class GroupStats:
    """Statistics of one grouping of rows.

    Attributes
    ----------
    sizes
        People (rows, when there is no subject column) in each group.
    rows
        Rows in each group.
    histograms
        By attribute key.
    spreads
        Mean Q-diversity of each group's generalised cells; None before there are any.
    breaches
        By sensitive column and guard level (-1: its guard column): each group's likeliest breach of personalised
        anonymity; None before it is known which nodes stand for sensitive values.
    broken
        By sensitive column: whether somebody of each group was among other values in an earlier release.
    population
        People of the population that match each group's generalised cells; None before there are any.
    presence
        How likely one of these people is in the data at most, which several groups may add to; None where nobody
        matches two groups.
    anybody
        Rows that each group could be, where ``*`` counts as any value; None before there are cells.
    shared
        By column of items and number of them: the fewest records of each group that share so many or fewer items, nan
        where none has any; None before it is known what becomes of them.
    """

    sizes: np.ndarray
    rows: np.ndarray
    histograms: Mapping[Key, Histogram]
    spreads: np.ndarray | None = None
    breaches: Mapping[tuple[str, int], np.ndarray] | None = None
    broken: Mapping[str, np.ndarray] | None = None
    population: np.ndarray | None = None
    presence: np.ndarray | None = None
    anybody: np.ndarray | None = None
    shared: Mapping[tuple[str, int], np.ndarray] | None = None


def attribute(domain: Domain, names: Sequence[str], *, people: bool | None = None) -> Attribute:
    """The attribute made of the named sensitive columns; by people when the table has subjects.

    A tuple of columns has to have its dictionary in the domain.
    """
    people = domain.by_people if people is None else people
    column, *others = sensitive_columns(domain, names)
    if not others:
        return Attribute((column.name,), people, column.card, unknown_flags(column), column)
    joint = domain.joint[tuple(names)]
    return Attribute(tuple(names), people, joint.card, joint.unknown, None)


def counted_by_rows(column: Column) -> Attribute:
    """Any column, whose values are counted by rows, all of them known."""
    return Attribute((column.name,), False, column.card, np.zeros(column.card, dtype=np.uint8), column)


def sensitive_columns(domain: Domain, names: Sequence[str]) -> list[Column]:
    """The named columns, after refusing those that are not sensitive."""
    for name in names:
        if name not in domain.schema.sensitive:
            near = nearest(name, domain.schema.sensitive) if domain.schema.role(name) is None else None
            raise SchemaError(
                f"A model is set on '{name}', which is not a sensitive attribute: "
                + (f"did you mean '{near}'?" if near else "give it that role.")
            )
    return [domain.columns[name] for name in names]


def value_text(column: Column, value: object) -> str:
    """Text by which a column knows a value that somebody wrote in another form, such as 10.0 or "9.99e2"."""
    text = format_number(value) if isinstance(value, float) else str(value)
    if column.type != "numeric":
        return text
    try:
        return format_number(Decimal(text))
    except (InvalidOperation, InputError):
        return text


def unknown_flags(column: Column) -> np.ndarray:
    """Codes that never count towards diversity: missing, ``*`` and declared non-answers."""
    flags = np.zeros(column.card, dtype=np.uint8)
    if column.missing >= 0:
        flags[column.missing] = 1
    for value in ("*", *column.spec.non_answers):
        flags[(column.texts == value_text(column, value)).to_numpy()] = 1
    return flags


# ----------------------------------------
# Sensitive values that remain possible for people with rows in several classes.
#
# An intruder who knows the quasi-identifiers of all rows of a person finds the class of each row. A value that does
# not change from row to row must occur in all of these classes.


# What the values that remain must be worth between them, in whole numbers so that engines add them up alike.
ENOUGH = 1 << 40
# Pairs of a set of classes and a value that are looked at in one go.
_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False, kw_only=True)
class Possible:
    """The known values of every class, and what each is worth where it remains possible for a person.

    Attributes
    ----------
    indptr
        Where the values of every class begin, and the end of the last.
    codes, worth
        Codes of the values, and int64 of `ENOUGH`.
    """

    indptr: np.ndarray
    codes: np.ndarray
    worth: np.ndarray

    @classmethod
    def of(cls, histogram: Histogram, one: Attribute, shares: np.ndarray) -> Possible:
        """The values of classes, given what share of enough each value of the attribute is worth."""
        known = one.unknown[histogram.codes] == 0
        classes = np.repeat(np.arange(histogram.known.size), np.diff(histogram.indptr))[known]
        lengths = np.bincount(classes, minlength=histogram.known.size)
        codes = histogram.codes[known].astype(np.int64)
        # Rounded up, so that l times the l-th part is enough.
        worth = np.ceil(np.minimum(shares, 1.0) * ENOUGH).astype(np.int64)
        return cls(indptr=np.concatenate([[0], np.cumsum(lengths)]), codes=codes, worth=worth[codes])

    @cached_property
    def classes(self) -> np.ndarray:
        """The class of every value."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))

    @cached_property
    def _totals(self) -> np.ndarray:
        """What the values of every class are worth between them."""
        total = np.zeros(self.indptr.size - 1, dtype=np.int64)
        np.add.at(total, self.classes, self.worth)
        return total

    def narrow(self, people: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Numbers of the people for whom the classes of their rows leave too little possible.

        Classes without a known value say nothing about anybody. A class that is worth less than enough by itself was
        allowed by its model, so nobody in it needs more than that.

        Parameters
        ----------
        people, classes
            Whose row each is, and its class, negative for none.
        """
        groups = max(self.indptr.size - 1, 1)
        telling = np.append(np.diff(self.indptr) > 0, False)
        there = np.flatnonzero(telling[classes])
        pairs = np.sort(people[there].astype(np.int64) * groups + classes[there])
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
        who = pairs // groups
        first = np.flatnonzero(np.diff(who, prepend=-1))
        times, found = np.diff(first, append=who.size), [np.empty(0, dtype=np.int64)]
        # Whoever has one class has all that it leaves possible. Of people with equal classes one is looked at.
        for count in (np.flatnonzero(np.bincount(times)[2:]) + 2).tolist():
            mine = first[times == count]
            sets = (pairs[mine + np.arange(count)[:, None]] % groups).astype(np.int32)
            of, one, _ = group_rows(sets, np.full(count, groups))
            found.append(who[mine][~self._leave_enough(sets[:, one].T.astype(np.int64))[of]])
        return np.sort(np.concatenate(found))

    def _leave_enough(self, sets: np.ndarray) -> np.ndarray:
        """Whether the values that all classes of a set have are worth enough, one set a row."""
        card, lengths = int(self.codes.max(initial=0)) + 1, np.diff(self.indptr)
        keys = self.classes * card + self.codes
        # The values of the smallest class are looked for in the others.
        sets = np.take_along_axis(sets, np.argsort(lengths[sets], axis=1), axis=1)
        left, ends = np.zeros(len(sets), dtype=np.int64), np.cumsum(lengths[sets[:, 0]])
        for some in np.split(np.arange(len(sets)), np.searchsorted(ends, np.arange(_PAIRS, ends[-1], _PAIRS))):
            sizes = lengths[sets[some, 0]]
            of = np.repeat(some, sizes)
            at = np.arange(of.size) + np.repeat(self.indptr[sets[some, 0]] - np.cumsum(sizes) + sizes, sizes)
            for place in range(1, sets.shape[1]):
                wanted = sets[of, place] * card + self.codes[at]
                shared = keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted
                of, at = of[shared], at[shared]
            np.add.at(left, of, self.worth[at])
        return left >= np.minimum(self._totals[sets].min(axis=1), ENOUGH)


def without_changing(people: np.ndarray, classes: np.ndarray, codes: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Classes of rows, -1 for all rows of people who have different known values in rows that are in a class.

    Parameters
    ----------
    people, classes, codes
        Whose row each is, its class, negative for none, and the code of its value.
    unknown
        1 for each code that is no known value.
    """
    known = np.flatnonzero((classes >= 0) & (unknown[codes] == 0))
    count = int(people.max(initial=-1)) + 1
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1, dtype=np.int64)
    np.minimum.at(low, people[known], codes[known])
    np.maximum.at(high, people[known], codes[known])
    return np.where((low < high)[people], -1, classes)
