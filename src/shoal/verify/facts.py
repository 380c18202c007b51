"""What the models are judged on: how often each sensitive value occurs in each class.

With a subject column people are counted, not rows: a person counts once in a class and once for each value
they have in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.verify.claims import Claims, Column
from shoal.verify.classes import Classes
from shoal.verify.terms.base import term_of
from shoal.verify.values import STAR, canonical, distinct, encode, read_together, read_values


@dataclass(frozen=True, eq=False)
class Attribute:
    """A sensitive column, or several taken together as one.

    Attributes
    ----------
    columns
        The columns behind it.
    codes
        The value's code for each row in a class.
    known
        For each code, whether it is an answer: not missing, not ``*``, no declared non-answer.
    texts, numbers
        Canonical text and number of each code; null and nan for several columns together.
    input_codes
        Codes of every input row, None at a re-check.
    """

    columns: tuple[Column, ...]
    codes: np.ndarray
    known: np.ndarray
    texts: pl.Series
    numbers: np.ndarray
    input_codes: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Histogram:
    """Sparse counts, one entry for each class and value that occur together, sorted by class.

    Attributes
    ----------
    group, value
        Class and value code of each entry.
    count, rows
        People (rows, without a subject column) and rows of each entry.
    known
        For each value code, whether it is an answer.
    known_size
        For each class, people (or rows) with an answer.
    """

    group: np.ndarray
    value: np.ndarray
    count: np.ndarray
    rows: np.ndarray
    known: np.ndarray
    known_size: np.ndarray

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.known_size)

    @property
    def has_unknown(self) -> bool:
        """Whether any entry is a non-answer."""
        return not self.known[self.value].all()

    def answers(self) -> Histogram:
        """The same without non-answers."""
        keep = self.known[self.value]
        return self if keep.all() else self.only(keep)

    def only(self, keep: np.ndarray) -> Histogram:
        """Some of the entries."""
        return replace(
            self, group=self.group[keep], value=self.value[keep], count=self.count[keep], rows=self.rows[keep]
        )

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum of a figure over the entries of each class."""
        return np.bincount(self.group, weights=weights, minlength=self.classes)

    def extremes(self, figure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest figure among the entries of each class, nan for a class without entries."""
        low, high = np.full(self.classes, np.inf), np.full(self.classes, -np.inf)
        np.minimum.at(low, self.group, figure)
        np.maximum.at(high, self.group, figure)
        empty = low > high
        return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


@dataclass(eq=False)
class Facts:
    """A release, its classes and, at the gate, its input; attributes are counted once each."""

    frame: pl.DataFrame
    claims: Claims
    classes: Classes
    original: pl.DataFrame | None = None
    subject: np.ndarray | None = None
    input_subject: np.ndarray | None = None
    origin: np.ndarray | None = None
    guard: pl.Series | None = None
    history: pl.Series | None = None
    real: np.ndarray | None = None
    _attributes: dict[tuple[str, ...], Attribute] = field(default_factory=dict)
    _histograms: dict[tuple[str, ...], Histogram] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> np.ndarray:
        """People (or rows) in each class; counterfeits are nobody."""
        if self.real is None:
            return self.all_sizes
        who = None if self.subject is None else self.subject[self.real]
        return _sizes(self.classes.of_row[self.real], who, self.classes.count)

    @cached_property
    def all_sizes(self) -> np.ndarray:
        """The same with counterfeits."""
        return _sizes(self.classes.of_row, self.subject, self.classes.count)

    def attribute(self, names: Sequence[str]) -> Attribute:
        """The attribute behind one or several column names."""
        key = tuple(names)
        if key not in self._attributes:
            parts = (
                [self._single(name) for name in key]
                if len(key) == 1
                else [self.attribute([name]) for name in key]
            )
            self._attributes[key] = parts[0] if len(parts) == 1 else _together(parts)
        return self._attributes[key]

    def histogram(self, names: Sequence[str]) -> Histogram:
        """Counts of an attribute's values in every class."""
        key = tuple(names)
        if key not in self._histograms:
            attribute = self.attribute(key)
            group, value, count, rows = _pairs(self.classes.of_row, attribute.codes, self.subject)
            answered = attribute.known[attribute.codes]
            known_size = self.all_sizes
            if not answered.all():
                who = None if self.subject is None else self.subject[answered]
                known_size = _sizes(self.classes.of_row[answered], who, self.classes.count)
            self._histograms[key] = Histogram(group, value, count, rows, attribute.known, known_size)
        return self._histograms[key]

    def table(self, names: Sequence[str], side: str) -> np.ndarray:
        """How many people (or rows) of the whole release or input have each value of an attribute."""
        attribute = self.attribute(names)
        codes, who = attribute.codes, self.subject
        if side == "input":
            if attribute.input_codes is None:
                raise ValueError("the input is only known at the gate")
            codes, who = attribute.input_codes, self.input_subject
        _, value, count, _ = _pairs(np.zeros_like(codes), codes, who)
        counts = np.zeros(len(attribute.known), dtype=np.int64)
        counts[value] = count
        return counts

    def _single(self, name: str) -> Attribute:
        column = self.claims.column(name)
        released = self.frame[name].gather(self.classes.rows)
        compares = any(term_of(model).reads_input for model in self.claims.models)
        theirs = None
        if self.original is not None and compares:
            values, theirs = read_together(released, self.original[name], column.reads)
        else:
            values = read_values(released, column.reads)
        refused, _ = canonical(pl.Series(column.non_answers, dtype=pl.String), column.reads)
        unknown = values.texts.is_null() | values.texts.is_in([STAR, *refused.drop_nulls()])
        return Attribute(
            columns=(column,),
            codes=values.codes,
            known=~unknown.fill_null(True).to_numpy(),
            texts=values.texts,
            numbers=values.numbers,
            input_codes=theirs,
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """One attribute of a release, as a model looks at it."""

    facts: Facts
    names: tuple[str, ...]
    side: str

    @property
    def histogram(self) -> Histogram:
        """Counts of the values in every class."""
        return self.facts.histogram(self.names)

    @property
    def shared(self) -> np.ndarray:
        """For each entry, whether everybody in its class has that answer; never where rows are counted."""
        histogram = self.histogram
        if self.facts.subject is None:
            return np.zeros(len(histogram.group), dtype=bool)
        return (histogram.count == histogram.known_size[histogram.group]) & histogram.known[histogram.value]

    @property
    def given_away(self) -> np.ndarray:
        """Whether a class has an answer that is everybody's, so that what else some have hides nothing."""
        return np.bincount(self.histogram.group, weights=self.shared, minlength=self.histogram.classes) > 0

    @property
    def diversity(self) -> Histogram:
        """Counts as a diversity sees them: of a class given away, one answer that is everybody's."""
        histogram, shared = self.histogram, self.shared
        if not shared.any():
            return histogram
        first = np.zeros(len(shared), dtype=bool)
        first[np.unique(np.where(shared, histogram.group, -1), return_index=True)[1]] = True
        return histogram.only((shared & first) | ~self.given_away[histogram.group])

    @property
    def attribute(self) -> Attribute:
        """What the value codes stand for."""
        return self.facts.attribute(self.names)

    @property
    def sizes(self) -> np.ndarray:
        """People (or rows) in each class."""
        return self.facts.sizes

    @property
    def judged(self) -> np.ndarray:
        """Whether a class has any answer at all."""
        return self.histogram.known_size > 0

    @property
    def table(self) -> np.ndarray:
        """People (or rows) of the whole table with each value."""
        return self.facts.table(self.names, self.side)


def _sizes(group: np.ndarray, subject: np.ndarray | None, classes: int) -> np.ndarray:
    if subject is None:
        return np.bincount(group, minlength=classes)
    found, _, people, _ = _pairs(group, np.zeros_like(group), subject)
    sizes = np.zeros(classes, dtype=np.int64)
    sizes[found] = people
    return sizes


def _together(parts: Sequence[Attribute]) -> Attribute:
    """Several attributes as one; an answer only where every part is an answer."""
    rows = len(parts[0].codes)
    stacked = [
        part.codes if part.input_codes is None else np.concatenate([part.codes, part.input_codes])
        for part in parts
    ]
    combined = np.zeros(len(stacked[0]), dtype=np.int64)
    for codes in stacked:
        # Renumbering after every part keeps the product of two code ranges within 64 bits.
        _, combined = np.unique(combined * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    known = np.ones(combined.max(initial=-1) + 1, dtype=bool)
    for part, codes in zip(parts, stacked, strict=True):
        known[combined[~part.known[codes]]] = False
    return Attribute(
        columns=tuple(column for part in parts for column in part.columns),
        codes=combined[:rows],
        known=known,
        texts=pl.Series([None], dtype=pl.String).new_from_index(0, len(known)),
        numbers=np.full(len(known), np.nan),
        input_codes=None if parts[0].input_codes is None else combined[rows:],
    )


def _pairs(
    group: np.ndarray, value: np.ndarray, subject: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distinct (group, value) pairs in order, with people (or rows) and rows of each."""
    values = int(value.max(initial=0)) + 1
    key = group * values + value
    if subject is None:
        pairs, rows = np.unique(key, return_counts=True)
        return pairs // values, pairs % values, rows, rows
    pairs, place, rows = np.unique(key, return_inverse=True, return_counts=True)
    # Each person once in each pair.
    subjects = int(subject.max(initial=0)) + 1
    count = np.bincount(distinct(place * subjects + subject) // subjects, minlength=len(pairs))
    return pairs // values, pairs % values, count, rows


def subject_codes(subject: pl.Series) -> np.ndarray:
    """Numbers for the subjects; rows without one count as one and the same person."""
    return encode(subject)[0]
