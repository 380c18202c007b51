"""All that attacks look at: a release as its readers see it, people and what is true of them, the publisher's side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.column import Column
from shoal.data.keys import Keys
from shoal.errors import InputError, InternalError
from shoal.kernels.grouping import group_rows
from shoal.kernels.record_match import WORD, count_matches, cover_bits, list_matches
from shoal.recoding.cover import Cover
from shoal.recoding.kinds import Kind, Trait
from shoal.results import Release
from shoal.risk.attacks.centroids import Centroids, Nearby

# ----------------------------------------
# Holding people against the cells of a release: how many records could be a person's, and which.


# Bytes of bit sets kept at a time, and matches listed at a time.
_BYTES = 1 << 26
_MATCHES = 1 << 22


@dataclass(frozen=True, eq=False, kw_only=True)
class Matcher:
    """The distinct rows of cells of a release, ready to be held against people.

    Attributes
    ----------
    covers
        The columns, the one that tells most apart first.
    cells
        int32 (columns, distinct rows): the cell of every distinct row.
    of_row
        int32, the distinct row of every released row.
    sizes
        Released rows of every distinct row.
    """

    covers: Sequence[Cover]
    cells: np.ndarray
    of_row: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, covers: Sequence[Cover], apart: np.ndarray | None = None) -> Matcher:
        """Number the distinct rows of cells; rows whose ``apart`` differs are distinct too."""
        covers = sorted(covers, key=lambda one: -int(one.cell.max(initial=0)))
        # Neighbours in this order are covered by the same atoms, so that whole words of bits are empty at once.
        keys = [one.low[one.run_at[:-1]][one.cell] for one in covers]
        extra = [] if apart is None else [apart.astype(np.int32)]
        codes = np.stack([*(one.cell for one in covers), *extra]).astype(np.int32)
        ids, first, counts = group_rows(codes, codes.max(axis=1, initial=0).astype(np.int64) + 1)
        order = np.lexsort([key[first] for key in reversed(keys)])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        cells = np.ascontiguousarray(codes[: len(covers), first[order]])
        return cls(covers=covers, cells=cells, of_row=rank[ids].astype(np.int32), sizes=counts[order])

    def vectors(self, frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Distinct vectors of atoms of some people, int32 (vectors, columns), and the vector of each person."""
        absent = [one.name for one in self.covers if one.name not in frame.columns]
        if absent:
            raise InputError(
                f"The people to attack have no column '{absent[0]}', which the release has: add it or rename one."
            )
        atoms = np.stack([one.place(frame[one.name]) for one in self.covers]).astype(np.int32)
        ids, first, _ = group_rows(atoms, np.array([one.atoms for one in self.covers]))
        found = atoms[:, first]
        order = np.lexsort(found[::-1])
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        return np.ascontiguousarray(found[:, order].T), rank[ids].astype(np.int32)

    def counts(self, vectors: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """Released rows (or the sum of a weight of distinct rows) that could be each vector's."""
        found = np.zeros(vectors.shape[0])
        weights = (self.sizes if weight is None else weight).astype(np.float64)
        for first, bits in self._blocks():
            count_matches(vectors, self._atom_at, bits, first, weights, found)
        return found

    def pairs(self, vectors: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Matches in parts of whole vectors: which vectors, then vector (from the part's first) and distinct row."""
        many = self.counts(vectors, np.ones(self.sizes.size))
        ends = np.cumsum(many)
        low = 0
        while low < many.size:
            before = ends[low] - many[low]
            high = max(low + 1, int(np.searchsorted(ends, before + _MATCHES, side="right")))
            yield (slice(low, high), *self._list(vectors[low:high]))
            low = high

    def _list(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = []
        scratch = np.zeros(vectors.shape[0])
        ones = np.ones(self.sizes.size)
        for first, bits in self._blocks():
            pairs = np.empty((2, count_matches(vectors, self._atom_at, bits, first, ones, scratch)), dtype=np.int32)
            list_matches(vectors, self._atom_at, bits, first, pairs)
            parts.append(pairs)
        found = np.concatenate(parts, axis=1) if len(parts) != 1 else parts[0]
        if len(parts) > 1:
            found = found[:, np.argsort(found[0], kind="stable")]
        return found[0], found[1]

    @property
    def _atom_at(self) -> np.ndarray:
        return np.cumsum([0, *(one.atoms for one in self.covers)], dtype=np.int64)[:-1]

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """Sets of classes by atom, for one block of distinct rows after another."""
        atoms = sum(one.atoms for one in self.covers)
        total = self.sizes.size
        words = max(1, min((total + WORD - 1) // WORD, _BYTES // (8 * atoms)))
        bits = np.zeros((atoms, words), dtype=np.uint64)
        cell_at = np.cumsum([0, *(one.run_at.size for one in self.covers)], dtype=np.int64)[:-1]
        run_at = np.concatenate([one.run_at + before for one, before in zip(self.covers, self._runs_at, strict=True)])
        low, high = (np.concatenate([getattr(one, end) for one in self.covers]) for end in ("low", "high"))
        for first in range(0, total, words * WORD):
            last = min(total, first + words * WORD)
            cover_bits(self.cells, first, last, cell_at, run_at, low, high, self._atom_at, bits)
            yield first, bits

    @property
    def _runs_at(self) -> np.ndarray:
        return np.cumsum([0, *(one.low.size for one in self.covers)], dtype=np.int64)[:-1]


# ----------------------------------------
# Whose row it is: people with several rows are one person, in a release and in the tables held against it.


@dataclass(frozen=True, eq=False, kw_only=True)
class Subjects:
    """The people behind rows.

    Attributes
    ----------
    name
        Column that says whose row it is.
    known
        Texts of the subjects, ascending; a subject's code is its place.
    of_row
        int64 code of each row.
    """

    name: str
    known: pl.Series
    of_row: np.ndarray

    @classmethod
    def of(cls, series: pl.Series) -> Subjects:
        """The subjects that a column names."""
        texts = canonical_text(series)
        known = texts.unique().sort()
        return cls(name=series.name, known=known, of_row=_places(known, texts))

    def place(self, series: pl.Series) -> np.ndarray:
        """Codes of rows of another table; people who are not known get codes of their own."""
        texts = canonical_text(series)
        other = len(self.known) + Subjects.of(series).of_row
        if not len(self.known):
            return other
        at = np.minimum(_places(self.known, texts), len(self.known) - 1)
        return np.where((self.known.gather(at) == texts).fill_null(False).to_numpy(), at, other)


def _places(known: pl.Series, texts: pl.Series) -> np.ndarray:
    return known.search_sorted(texts).cast(pl.Int64).to_numpy()


def alone(matcher: Matcher, vectors: np.ndarray, subject: np.ndarray) -> np.ndarray:
    """Whether the records that could be each vector's are all one person's.

    Parameters
    ----------
    subject
        Code of each released row.
    """
    low, high = (np.full(matcher.sizes.size, fill, dtype=np.int64) for fill in (np.iinfo(np.int64).max, -1))
    np.minimum.at(low, matcher.of_row, subject)
    np.maximum.at(high, matcher.of_row, subject)
    first, last = (np.full(vectors.shape[0], fill, dtype=np.int64) for fill in (np.iinfo(np.int64).max, -1))
    for part, vector, row in matcher.pairs(vectors):
        np.minimum.at(first, part.start + vector, low[row])
        np.maximum.at(last, part.start + vector, high[row])
    return first == last


def own_records(
    matcher: Matcher, vectors: np.ndarray, vector: np.ndarray, person: np.ndarray, subject: np.ndarray
) -> np.ndarray:
    """How many of the records that could be each row's are the same person's.

    Parameters
    ----------
    vectors, vector
        Distinct vectors of atoms, and the one of each row.
    person, subject
        Code of each row's person, and of each released row's.
    """
    rows = matcher.sizes.size
    pair, many = np.unique(subject * rows + matcher.of_row, return_counts=True)
    whose, cells = np.divmod(pair, rows)
    wanted, of = np.unique(np.stack([vector.astype(np.int64), person]), axis=1, return_inverse=True)
    start, stop = (np.searchsorted(whose, wanted[1], side=side) for side in ("left", "right"))
    times = stop - start
    place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times) + np.repeat(start, times)
    asked = np.repeat(np.arange(wanted.shape[1]), times)
    found = np.zeros(wanted.shape[1])
    keys = wanted[0][asked] * rows + cells[place]
    for part, at, row in matcher.pairs(vectors):
        # Asked for in the order of the vectors.
        low, high = np.searchsorted(wanted[0][asked], [part.start, part.stop])
        fits = np.isin(keys[low:high], (part.start + at.astype(np.int64)) * rows + row)
        found += np.bincount(asked[low:high][fits], weights=many[place[low:high]][fits], minlength=found.size)
    return found[of.ravel()]


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """A release as anybody sees it.

    Attributes
    ----------
    classes, n_classes
        int32 class of each released row (the group of a bucketised one), and their number.
    sensitive, codes
        Dictionaries of the sensitive columns, and the code of each released row, by name.
    matcher
        Distinct rows of cells, None where cells say nothing about values (centroids).
    class_of
        int32, the class of every distinct row of the matcher.
    left_out
        Quasi-identifiers that are published by representatives, which cover nothing.
    centroids
        What classes publish instead of cells, None where there are cells.
    subjects
        Whose row each is, None where rows are people, or where that is not known.
    real
        Which rows are somebody's, None where all are taken to be: only the publisher can tell counterfeits.
    """

    classes: np.ndarray
    n_classes: int
    sensitive: Mapping[str, Column]
    codes: Mapping[str, np.ndarray]
    matcher: Matcher | None
    class_of: np.ndarray
    left_out: Sequence[str] = ()
    centroids: Centroids | None = None
    subjects: Subjects | None = None
    real: np.ndarray | None = None

    @property
    def rows(self) -> int:
        """Released rows, suppressed ones that are starred left out."""
        return int(self.classes.size)

    @property
    def cells(self) -> Matcher:
        """The distinct rows of cells; an attack that needs them is not run without."""
        if self.matcher is None:
            raise InternalError("An attack that needs cells was run on a release whose cells cover nothing.")
        return self.matcher


@dataclass(frozen=True, eq=False, kw_only=True)
class People:
    """People to attack, and what is true of them.

    Attributes
    ----------
    n
        How many.
    classes
        int32 class of each, where they are the released records themselves, or the nearest where classes publish
        centroids; else None.
    vectors, vector
        Distinct vectors of atoms, and the one of each person; None where people are known by class.
    truth
        Sensitive column to the code of each person's value: -1 unknown, and the number of codes where the release
        does not have the value.
    numbers
        Numeric or date sensitive column to each person's value, NaN where unknown.
    near
        Where people of a table are among centroids.
    person
        Whose row each is: people with several rows count once. None where every row is a person.
    """

    n: int
    classes: np.ndarray | None
    vectors: np.ndarray | None
    vector: np.ndarray | None
    truth: Mapping[str, np.ndarray]
    numbers: Mapping[str, np.ndarray]
    near: Nearby | None = None
    person: np.ndarray | None = None

    @property
    def identified(self) -> bool:
        """Whether they are known by their quasi-identifiers and not by their records."""
        return self.vectors is not None or self.near is not None

    @cached_property
    def weights(self) -> np.ndarray:
        """What each row counts: 1 over the rows of its person."""
        if self.person is None:
            return np.ones(self.n)
        _, of, many = np.unique(self.person, return_inverse=True, return_counts=True)
        return 1.0 / many[of]

    @property
    def count(self) -> int:
        """How many people there are."""
        return self.n if self.person is None else int(np.unique(self.person).size)

    def take(self, rows: np.ndarray) -> People:
        """Some of them."""
        kept = {
            name: None if (every := getattr(self, name)) is None else every[rows]
            for name in ("classes", "vector", "person")
        }
        truth, numbers = (
            {name: one[rows] for name, one in every.items()} for every in (self.truth, self.numbers)
        )
        near = None if self.near is None else self.near.take(rows)
        return replace(self, n=rows.size, truth=truth, numbers=numbers, near=near, **kept)

    def person_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Whose some rows are; None where every row is a person."""
        return None if self.person is None else self.person[rows]

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct vectors and the one of each person; an attack that needs them is not run without."""
        if self.vectors is None or self.vector is None:
            raise InternalError("An attack that needs people's values was run on people known by their records.")
        return self.vectors, self.vector


@dataclass(frozen=True, eq=False, kw_only=True)
class Other:
    """Another release, and the same people and controls as its cells see them."""

    view: View
    people: People
    control: People | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class AttackCase:
    """What an attack is given.

    Attributes
    ----------
    kind, made
        Kind of release, and how its quasi-identifiers were made: a generalised release with tokens is pseudonymised.
    view
        The release.
    keys
        Where random draws come from.
    people
        People in the release: the released records themselves, or those of an identified table who are not suppressed.
    table
        All people of the identified table, the suppressed among them; None where nobody is left out of ``people``.
    identified
        Whether ``people`` are known by their quasi-identifiers and not by their records.
    control
        People of the same population who are not in the data; None where there are none.
    no_control
        Why there are none.
    outside
        The table that the control was read from.
    release
        The publisher's side, None where only the published files are known.
    input_rows
        Row of the input that each of ``people`` is, None where that is not known.
    others
        Further releases about the same people.
    own
        Class of each of ``people``, as the publisher says it without a release beside.
    sampled
        Whether ``people`` are only some of those in the data, as far as anybody knows.
    """

    kind: Kind
    made: Kind
    view: View
    keys: Keys
    people: People
    table: People | None = None
    identified: bool = False
    control: People | None = None
    no_control: str = "No people outside the data were given, so there is no control."
    outside: pl.DataFrame | None = None
    release: Release | None = None
    input_rows: np.ndarray | None = None
    others: Sequence[Other] = field(default_factory=list)
    own: np.ndarray | None = None
    sampled: bool = False

    @property
    def own_classes(self) -> np.ndarray | None:
        """Class of each of ``people``; None where only the publisher knows it."""
        if self.own is not None or self.release is None or self.input_rows is None:
            return self.own
        return self.release.released.classes[self.input_rows]

    @property
    def everybody(self) -> People:
        """All people of the identified table, also those who are suppressed."""
        return self.people if self.table is None else self.table

    @property
    def absent(self) -> str:
        """How many rows of the table are left out because they are not in the release; empty without any."""
        if self.table is None:
            return ""
        many = self.table.n - self.people.n
        return f"{many:,} of {self.table.n:,} rows of the people are not in the release and do not count."

    def has(self, trait: Trait) -> bool:
        """Whether the release has something, by what it is called or by how it was made."""
        return self.kind.has(trait) or self.made.has(trait)
