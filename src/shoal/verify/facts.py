"""What the models are judged on: how often each sensitive value occurs in each class.

With a subject column people are counted, not rows: a person counts once in a class and once for each value
they have in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.verify.classes import Classes
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.tally import Counts, Dictionary, Numbering
from shoal.verify.values import STAR, Held, canonical

# ----------------------------------------
# Counts of values by class and by person, taken batch by batch.


class Tallies:
    """How often values and combinations of values occur in each class, and with people in whose rows.

    Parameters
    ----------
    kinds
        The columns counted, and as what each is read.
    together
        The combinations of columns that are counted as one, single ones among them.
    people
        Whether rows have owners.
    """

    def __init__(self, kinds: Mapping[str, str], together: Collection[tuple[str, ...]], *, people: bool) -> None:
        self.people = people
        self.dictionaries = {name: Dictionary(kind) for name, kind in kinds.items()}
        self._counts = {names: Counts() for names in together}
        self._owners = Counts()

    def see(
        self,
        columns: Mapping[str, Held],
        group: np.ndarray,
        who: np.ndarray | None = None,
        real: np.ndarray | None = None,
    ) -> None:
        """Count rows: their values, the class of each, its owner, and whether it is no counterfeit."""
        codes = {name: one.see_held(columns[name]) for name, one in self.dictionaries.items()}
        owner = {} if who is None else {"who": who}
        for names, counts in self._counts.items():
            parts = {str(place): codes[name] for place, name in enumerate(names)}
            counts.see_numbers({"class": group, **parts, **owner})
        if who is not None or real is not None:
            true = np.ones(len(group), dtype=bool) if real is None else real
            self._owners.see(pl.DataFrame({"class": group, **owner, "real": true}))

    def counts(self, names: tuple[str, ...]) -> bool:
        """Whether these columns are counted together."""
        return names in self._counts

    def total(self, names: tuple[str, ...]) -> pl.DataFrame:
        """Columns ``class``, ``"0"``, ``"1"``, … with codes, ``who`` with people, and ``rows``, in ascending order."""
        return self._counts[names].total()

    def owners(self) -> pl.DataFrame | None:
        """Columns ``class``, ``who`` with people, ``real`` and ``rows``; None where every row is a person."""
        found = self._owners.total()
        return found if found.width else None


@dataclass(frozen=True, eq=False)
class Attribute:
    """A sensitive column, or several taken together as one.

    Attributes
    ----------
    columns
        The columns behind it.
    rows
        Released rows of each value code.
    known
        For each code, whether it is an answer: not missing, not ``*``, no declared non-answer.
    texts, numbers
        Canonical text and number of each code; null and nan for several columns together.
    given
        Whether each code stands in the input, None at a re-check.
    """

    columns: tuple[Column, ...]
    rows: np.ndarray
    known: np.ndarray
    texts: pl.Series
    numbers: np.ndarray
    given: np.ndarray | None


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
    """The classes of a release and what was counted in them and, at the gate, in its input; no rows.

    Attributes
    ----------
    released, original
        Counts of sensitive values: of the released rows that are in a class, and of all input rows, as one class. The
        latter has the columns that a model compares with the input, and is None at a re-check.
    quasi
        The input's values of quasi-identifiers, where a model asks for them; None at a re-check.
    members
        For quasi-identifiers published as representatives, the pairs of ``class`` and input ``value`` that occur.
    guarded
        By sensitive column, how many ``rows`` have each ``class``, ``label``, ``truth`` and ``guard``, and ``who``.
    history
        The pairs of ``class`` and ``before``, the values that a row's owner had in each earlier release.
    population, population_counts
        Combinations of quasi-identifiers in the population, and how many people have each; None at a re-check.
    """

    claims: Claims
    classes: Classes
    released: Tallies
    original: Tallies | None = None
    quasi: Mapping[str, Dictionary] | None = None
    members: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    guarded: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    history: pl.DataFrame | None = None
    population: pl.DataFrame | None = None
    population_counts: np.ndarray | None = None
    _attributes: dict[tuple[str, ...], Attribute] = field(default_factory=dict)
    _histograms: dict[tuple[str, ...], Histogram] = field(default_factory=dict)
    _tuples: dict[tuple[str, ...], Numbering] = field(default_factory=dict)
    _codes: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def people(self) -> bool:
        """Whether people are counted, not rows."""
        return self.released.people

    @cached_property
    def sizes(self) -> np.ndarray:
        """People (or rows) in each class; counterfeits are nobody."""
        owners = self.released.owners()
        return self.classes.sizes if owners is None else self._sizes(owners.filter("real"))

    @cached_property
    def all_sizes(self) -> np.ndarray:
        """The same with counterfeits."""
        owners = self.released.owners()
        return self.classes.sizes if owners is None else self._sizes(owners)

    def attribute(self, names: Sequence[str]) -> Attribute:
        """The attribute behind one or several column names."""
        key = tuple(names)
        if key not in self._attributes:
            self._attributes[key] = self._single(key[0]) if len(key) == 1 else self._together(key)
        return self._attributes[key]

    def histogram(self, names: Sequence[str]) -> Histogram:
        """Counts of an attribute's values in every class."""
        key = tuple(names)
        if key not in self._histograms:
            attribute, counted = self.attribute(key), self._coded(key, self.released)
            known_size = self.all_sizes
            if not attribute.known[counted["value"].to_numpy()].all():
                known_size = self._sizes(counted.filter(attribute.known[counted["value"].to_numpy()]))
            group, value, count, rows = (part.to_numpy() for part in _pairs(counted).get_columns())
            self._histograms[key] = Histogram(group, value, count, rows, attribute.known, known_size)
        return self._histograms[key]

    def held(self, names: Sequence[str]) -> pl.DataFrame:
        """Columns ``class``, ``value``, ``who`` with people, and ``rows``: which values people have in which class."""
        self.attribute(names)  # which numbers the values of several columns together
        return self._coded(tuple(names), self.released)

    def table(self, names: Sequence[str], side: str) -> np.ndarray:
        """How many people (or rows) of the whole release or input have each value of an attribute."""
        key = tuple(names)
        attribute = self.attribute(key)
        people = pl.col("who").n_unique().cast(pl.Int64) if self.people else pl.col("rows").sum()
        found = self._coded(key, self._side(key, side)).group_by("value").agg(count=people)
        counts = np.zeros(len(attribute.known), dtype=np.int64)
        counts[found["value"].to_numpy()] = found["count"].to_numpy()
        return counts

    def answering(self, names: Sequence[str], side: str) -> int:
        """How many people (or rows) of the whole release or input have an answer."""
        key = tuple(names)
        counted = self._coded(key, self._side(key, side))
        found = counted.filter(self.attribute(key).known[counted["value"].to_numpy()])
        return int(found["who"].n_unique() if self.people else found["rows"].sum())

    def _sizes(self, rows: pl.DataFrame) -> np.ndarray:
        """People (or rows) among some rows of each class."""
        counted = pl.col("who").n_unique() if self.people else pl.col("rows").sum()
        found = rows.group_by("class").agg(counted.cast(pl.Int64).alias("count"))
        sizes = np.zeros(self.classes.count, dtype=np.int64)
        sizes[found["class"].to_numpy()] = found["count"].to_numpy()
        return sizes

    def _single(self, name: str) -> Attribute:
        column = self.claims.column(name)
        ours = self.released.dictionaries[name]
        texts, numbers = ours.texts, ours.numbers
        original = self._input((name,))
        if original is not None:  # what only the input has follows what is released
            theirs = original.dictionaries[name]
            new = self._shared(name, original) >= len(texts)
            texts, numbers = pl.concat([texts, theirs.texts.filter(new)]), np.append(numbers, theirs.numbers[new])
        refused, _ = canonical(pl.Series(column.non_answers, dtype=pl.String), column.reads)
        unknown = texts.is_null() | texts.is_in([STAR, *refused.drop_nulls()])
        known = ~unknown.fill_null(True).to_numpy()
        return self._attribute((name,), known, texts, numbers)

    def _together(self, names: tuple[str, ...]) -> Attribute:
        """Several attributes as one; an answer only where every part is an answer."""
        sides = [one for one in (self.released, self._input(names)) if one is not None]
        places = [str(place) for place in range(len(names))]
        every = pl.concat([self._merged(names, side).select(places) for side in sides])
        self._tuples[names] = Numbering()
        self._tuples[names].see(every.unique().sort(places))
        rows = self._tuples[names].rows
        known = np.ones(rows.height, dtype=bool)
        for place, name in zip(places, names, strict=True):
            known &= self.attribute([name]).known[rows[place].to_numpy()]
        texts = pl.Series([None], dtype=pl.String).new_from_index(0, len(known))
        return self._attribute(names, known, texts, np.full(len(known), np.nan))

    def _attribute(self, names: tuple[str, ...], known: np.ndarray, texts: pl.Series, numbers: np.ndarray) -> Attribute:
        rows, given = np.zeros(len(known), dtype=np.int64), None
        ours = self._coded(names, self.released)
        np.add.at(rows, ours["value"].to_numpy(), ours["rows"].to_numpy())
        original = self._input(names)
        if original is not None:
            given = np.isin(np.arange(len(known)), self._coded(names, original)["value"].to_numpy())
        columns = tuple(self.claims.column(name) for name in names)
        return Attribute(columns, rows, known, texts, numbers, given)

    def _input(self, names: tuple[str, ...]) -> Tallies | None:
        """What was counted of the input, None where no model compares these columns with it."""
        return self.original if self.original is not None and self.original.counts(names) else None

    def _side(self, names: tuple[str, ...], side: str) -> Tallies:
        tallies = self._input(names) if side == "input" else self.released
        if tallies is None:
            raise ValueError("the input is only known at the gate")
        return tallies

    def _shared(self, name: str, original: Tallies) -> np.ndarray:
        """For each code of the input's values, the code of the same value among those of both."""
        if name not in self._codes:
            both = Numbering()
            both.see(self.released.dictionaries[name].texts.to_frame("text"))
            self._codes[name] = both.see(original.dictionaries[name].texts.to_frame("text")).codes
        return self._codes[name]

    def _merged(self, names: tuple[str, ...], tallies: Tallies) -> pl.DataFrame:
        """The counts of some columns with the codes of both sides."""
        found = tallies.total(names)
        if tallies is not self.original:
            return found
        codes = [self._shared(name, tallies)[found[str(place)].to_numpy()] for place, name in enumerate(names)]
        return found.with_columns(pl.Series(str(place), code) for place, code in enumerate(codes))

    def _coded(self, names: tuple[str, ...], tallies: Tallies) -> pl.DataFrame:
        """Columns ``class``, ``value``, ``who`` with people, and ``rows``."""
        found = self._merged(names, tallies)
        places = [str(place) for place in range(len(names))]
        value = found["0"] if len(names) == 1 else pl.Series(self._tuples[names].find(found.select(places)))
        return found.select("class", value.alias("value"), *(["who"] if self.people else []), "rows")


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
        if not self.facts.people:
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


def _pairs(counted: pl.DataFrame) -> pl.DataFrame:
    """Pairs of class and value with people (or rows) and rows of each; without people each is given once."""
    if "who" not in counted.columns:
        return counted.select("class", "value", count="rows", rows="rows")
    found = counted.group_by("class", "value", maintain_order=True)
    return found.agg(pl.len().cast(pl.Int64).alias("count"), pl.col("rows").sum())
