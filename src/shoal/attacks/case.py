"""All that attacks look at: a release as its readers see it, people and what is true of them, the publisher's side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.attacks.candidates import Matcher
from shoal.attacks.centroids import Centroids, Nearby
from shoal.attacks.subjects import Subjects
from shoal.data.column import Column
from shoal.data.keys import Keys
from shoal.errors import InternalError
from shoal.recoding.kinds import Kind, Trait
from shoal.results import Release


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
