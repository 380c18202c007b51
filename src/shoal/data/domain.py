"""What is known of a table without its rows: roles, dictionaries, hierarchies and counts.

Everything that prices, judges, describes or formats needs this and no more; whoever needs rows asks an engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.data.classes import Nodes
from shoal.data.column import FLAT, Column
from shoal.data.schema import Schema
from shoal.data.texts import Spellings
from shoal.data.workload import Cuts, Workload
from shoal.errors import ParameterError
from shoal.kernels.cores import share_rows
from shoal.kernels.grouping import find_keys, group_rows, pack_keys, place_keys

if TYPE_CHECKING:
    from shoal.data.population import Population
    from shoal.data.sampling import Sample


@dataclass(frozen=True, eq=False)
class Joint:
    """The dictionary of a tuple of columns.

    Attributes
    ----------
    codes
        int32, shape (columns, combinations): the combinations that occur, in ascending order of the first code,
        then the second, ..., which is the order of their codes as one.
    counts
        int64, rows of each.
    unknown
        uint8 flag of each: whether it holds an unknown value.
    """

    codes: np.ndarray
    counts: np.ndarray
    unknown: np.ndarray

    @property
    def card(self) -> int:
        """Number of combinations."""
        return self.counts.size


@dataclass(frozen=True, eq=False, kw_only=True)
class Domain:
    """Schema and dictionaries of a table, and how many rows and people it has.

    Attributes
    ----------
    columns
        Dictionaries of the quasi-identifiers and sensitive attributes, by name.
    n
        Rows that take part.
    n_subjects
        Codes of subjects, 0 when rows are people.
    subject_spellings
        How many subjects may be spellings of each other, None where no two are alike.
    weights
        Attribute weights, where they are given.
    workload
        What the release is for, as declared.
    research
        What levels are worth to researchers, as the parameters of the measure ``rv``; empty where nothing was said.
    cuts
        What follows from it for groups, by column: where cells should end, and what it costs not to.
    history
        The sensitive column whose earlier releases count, None where there are none.
    joint
        Dictionaries of the tuples of columns that models look at.
    population
        The people that the rows were drawn from, None where they are not known.
    sample
        What was drawn of the source, None where all of it takes part.
    name
        What the source is called.
    types
        Every column that was read, in the order of the source, and its type as it was read.
    number_form
        Pattern of numbers with the source's own marks, which columns of nothing else are read by; None for plain ones.
    """

    schema: Schema
    columns: Mapping[str, Column]
    n: int
    n_subjects: int = 0
    subject_spellings: Spellings | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    workload: Workload | None = None
    research: Mapping[str, Any] = field(default_factory=dict)
    cuts: Mapping[str, Cuts] = field(default_factory=dict)
    history: str | None = None
    joint: Mapping[tuple[str, ...], Joint] = field(default_factory=dict)
    population: Population | None = None
    sample: Sample | None = None
    name: str | None = None
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    number_form: str | None = None

    @cached_property
    def quasi(self) -> list[Column]:
        """Quasi-identifiers in schema order."""
        return [self.columns[name] for name in self.schema.quasi]

    @cached_property
    def sensitive(self) -> list[Column]:
        """Sensitive attributes in schema order."""
        return [self.columns[name] for name in self.schema.sensitive]

    def is_inferred(self, column: Column) -> bool:
        """Whether the type of a column follows from its texts."""
        spec = column.spec
        declared = spec.type is not None or spec.order or spec.items is not None or spec.format is not None
        return not declared and self.types.get(column.name) == pl.String

    def check_sets(self, groups: int) -> None:
        """Refuse sets of values as bits of flat columns that so many groups have no memory for."""
        for column in self.quasi:
            if column.kind == FLAT:
                column.check_sets(groups)

    @property
    def by_people(self) -> bool:
        """Whether people are counted, by their subject column, and not rows."""
        return self.schema.subject is not None

    @cached_property
    def quasi_weights(self) -> np.ndarray:
        """Attribute weights of the quasi-identifiers, 1 where none is given."""
        return np.array([float(self.weights.get(name, 1.0)) for name in self.schema.quasi])


# ----------------------------------------
# Distinct combinations of codes, in the one order that every engine can give them: ascending.


def distinct(codes: np.ndarray, cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number the distinct combinations of codes by the first code, then the second, ...

    Parameters
    ----------
    codes
        int32, shape (columns, rows).
    cards
        Number of codes of each column.

    Returns
    -------
    tuple
        int32 combination of every row; codes (columns, combinations) and int64 rows of every combination.
    """
    ids, first, counts = group_rows(codes, cards)
    found = np.take(codes, first, axis=1)
    # Keys in mixed radix sort as the codes themselves do, where they fit.
    fits = np.prod(cards.astype(float)) < 2.0**63
    order = np.argsort(pack_keys(found, cards)) if fits else np.lexsort(found[::-1])
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place[ids], np.take(found, order, axis=1), counts[order].astype(np.int64)


# ----------------------------------------
# Which class a combination of quasi-identifier codes is in.


def classes_of(classes: Nodes, codes: np.ndarray, quasi: Sequence[str]) -> np.ndarray:
    """int32 class of combinations of codes by the nodes above them, -1 for those of none.

    Parameters
    ----------
    codes
        int32, shape (columns, combinations).
    quasi
        The columns, in schema order.
    """
    mine = np.stack([classes.nodes[name][codes[at]] for at, name in enumerate(quasi)])
    both = np.concatenate([classes.keys, mine.astype(np.int32)], axis=1)
    found, _, _ = group_rows(both, both.max(axis=1, initial=0) + 1)
    listed, cells = found[: classes.groups], found[classes.groups :]
    number = np.full(int(found.max(initial=-1)) + 1, -1, dtype=np.int32)
    number[listed] = np.arange(classes.groups, dtype=np.int32)
    return number[cells]


# ----------------------------------------
# Combinations of codes as a few whole numbers: what a database groups by, and finds classes with.


# Databases count with signed words of 64 bits.
_LARGEST = 1 << 62
# Combinations from which a second core pays for its start.
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Packing:
    """Codes of several columns in mixed radix, in as few words as they need.

    Words sort as the codes themselves do: by the first column, then the second, ...

    Attributes
    ----------
    cards
        Number of codes of each column.
    """

    cards: tuple[int, ...]

    @cached_property
    def words(self) -> list[list[int]]:
        """The places of the columns that share a word."""
        found: list[list[int]] = [[]]
        size = 1
        for place, card in enumerate(self.cards):
            if size * max(card, 1) > _LARGEST:
                found.append([])
                size = 1
            found[-1].append(place)
            size *= max(card, 1)
        return found

    def pack(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """int64, shape (words, rows), of one array of codes a column."""
        packed = np.zeros((len(self.words), len(codes[0]) if codes else 0), dtype=np.int64)
        for word, places in zip(packed, self.words, strict=True):
            for place in places:
                word *= max(self.cards[place], 1)
                word += codes[place]
        return packed

    def unpack(self, words: np.ndarray) -> np.ndarray:
        """int32 codes, shape (columns, rows)."""
        codes = np.empty((len(self.cards), words.shape[1]), dtype=np.int32)
        for packed, places in zip(words, self.words, strict=True):
            rest = packed.copy()
            for place in reversed(places):
                rest, codes[place] = np.divmod(rest, max(self.cards[place], 1))
        return codes

    def find(self, among: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Place of every wanted combination among different ones, -1 where it is none of them."""
        return Places(among).of(wanted)


class Places:
    """Different combinations, among which others are found again and again.

    Parameters
    ----------
    among
        int64, shape (words, combinations), as :meth:`Packing.pack` gives them.
    """

    def __init__(self, among: np.ndarray) -> None:
        self._among = _plain(among)
        self._table, self._shift = place_keys(self._among)

    def of(self, wanted: np.ndarray) -> np.ndarray:
        """int64 place of every wanted combination, -1 where it is none of them."""
        wanted = _plain(wanted)
        found = np.empty(wanted.shape[1], dtype=np.int64)
        share_rows(
            found.size,
            lambda start, stop: find_keys(self._among, self._table, self._shift, wanted, found, start, stop),
            _BLOCK,
        )
        return found

    def looked_up(self, entries: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Of one entry a known combination, those of the wanted ones; -1 where it is none of them, never another's."""
        return np.append(entries, entries.dtype.type(-1))[self.of(wanted)]


def _plain(words: np.ndarray) -> np.ndarray:
    """The one form of array that kernels are compiled for."""
    return np.require(words, dtype=np.int64, requirements=["C", "W"])


# ----------------------------------------
# What earlier releases of a source left of each row's person: plain data for models, methods and the gate.


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """The set of values that a person's class had in every earlier release: the person's signature.

    Attributes
    ----------
    column
        The sensitive column that the values are of.
    signature
        int32 signature of each row's person, -1 for those who are in no earlier release.
    indptr, members
        Signature s holds ``texts[members[indptr[s]:indptr[s + 1]]]``, each once. An empty one belongs to people whose
        earlier classes differ among themselves: no class equals it.
    texts
        Values, as the column writes them.
    """

    column: str
    signature: np.ndarray
    indptr: np.ndarray
    members: np.ndarray
    texts: Sequence[str]

    def take(self, rows: np.ndarray) -> History:
        """The history of some rows."""
        return replace(self, signature=self.signature[rows])

    def check(self, rows: int) -> None:
        """Refuse a history of another table."""
        if self.signature.size != rows:
            raise ParameterError(
                f"The history given is not that of column '{self.column}' of this table: make it anew."
            )

    def codes(self, texts: pl.Series) -> np.ndarray:
        """int64 code of each member in a column's dictionary, -1 for values that it does not have."""
        place = {text: code for code, text in enumerate(texts.to_list())}
        lookup = np.array([place.get(text, -1) for text in self.texts], dtype=np.int64)
        return lookup[self.members]

    def lists(self) -> pl.Series:
        """The signature of each row as a list of texts, null for new people."""
        sizes = np.diff(self.indptr)
        owner = np.repeat(np.arange(sizes.size), sizes)
        named = pl.DataFrame({"s": owner, "text": pl.Series(list(self.texts), dtype=pl.String).gather(self.members)})
        lists = named.group_by("s").agg("text")
        rows = pl.DataFrame({"s": self.signature.astype(np.int64)})
        found = rows.join(lists, on="s", how="left", maintain_order="left")
        nothing = pl.col("text").is_null() & (pl.col("s") >= 0)
        empty = pl.lit([], dtype=pl.List(pl.String))
        return found.select(pl.when(nothing).then(empty).otherwise("text").alias("signature")).to_series()


def broken_classes(
    history: History, texts: pl.Series, classes: np.ndarray, groups: int, codes: np.ndarray, unknown: np.ndarray
) -> np.ndarray:
    """Whether somebody of each class was among other values in an earlier release.

    Parameters
    ----------
    texts
        The column's dictionary, which ``codes`` (one a row) and ``unknown`` (a flag a code) belong to.
    classes
        Class of each row, -1 for none.
    """
    card = len(texts)
    held = np.unique(classes[classes >= 0].astype(np.int64) * card + codes[classes >= 0])
    held = held[unknown[held % card] == 0]
    sizes = np.bincount(held // card, minlength=groups)
    back = (classes >= 0) & (history.signature >= 0)
    pairs = np.unique(np.stack([classes[back], history.signature[back]]).astype(np.int64), axis=1)
    wanted = np.diff(history.indptr)[pairs[1]]
    # Every member of each pair's signature, looked up among what its class holds.
    owner = np.repeat(np.arange(wanted.size), wanted)
    offset = np.arange(owner.size) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    member = history.codes(texts)[history.indptr[pairs[1][owner]] + offset]
    there = (member >= 0) & np.isin(pairs[0][owner] * card + member, held)
    found = np.bincount(owner[there], minlength=wanted.size)
    differs = (found != wanted) | (wanted != sizes[pairs[0]])
    broken = np.zeros(groups, dtype=bool)
    broken[pairs[0][differs]] = True
    return broken


def set_ids(owner: np.ndarray, member: np.ndarray, owners: int) -> np.ndarray:
    """A number for the set of members of each owner, the same for equal sets; those without a member have -1.

    Parameters
    ----------
    owner, member
        Pairs, each once.
    """
    order = np.lexsort((member, owner))
    pairs = pl.DataFrame({"owner": owner[order], "member": member[order]})
    named = pairs.group_by("owner", maintain_order=True).agg(pl.col("member").cast(pl.String).str.join(","))
    _, number = np.unique(named["member"].to_numpy().astype(str), return_inverse=True)
    ids = np.full(owners, -1, dtype=np.int64)
    ids[named["owner"].to_numpy()] = number
    return ids
