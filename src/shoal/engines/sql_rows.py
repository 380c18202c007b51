"""Rows that a database counts: group statistics from a few grouped queries, the same whoever answers them.

Rows add up over the cells of the frequency table, so classes of cells are counted here from what was asked for once.
People do not, nor do classes that are given row by row: for these the classes are sent to where the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from shoal.data.classes import Cells, ClassMap, Everybody, Grouped, Nodes, RowIds, Split, Together, runs_of
from shoal.data.domain import Domain, Joint, Packing, Places, classes_of
from shoal.data.rows import Frequency
from shoal.data.stats import Attribute, GroupStats, Histogram, put_together, unknown_flags
from shoal.engines import sql
from shoal.engines.sql import added, merged
from shoal.errors import ParameterError

Counts = dict[str, np.ndarray]
# Pairs of cell and value that are asked for at once, however many rows there are.
PAIRS = 1 << 21


class Database(Protocol):
    """Where the relation ``coded`` is, for :mod:`shoal.engines.sql`."""

    def ask(self, query: str) -> Counts:
        """What a query of whole numbers finds, column by column."""
        ...

    def send(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Make a small table of whole numbers, in place of the one of that name."""
        ...


class CountedRows:
    """Rows behind a database, counted there.

    Parameters
    ----------
    places
        The number of every column in ``coded``.
    """

    def __init__(self, domain: Domain, database: Database, places: Mapping[str, int]) -> None:
        self.domain = domain
        self.database = database
        self.places = places
        self._quasi = [places[name] for name in domain.schema.quasi]
        self.packing = Packing(tuple(column.card for column in domain.quasi))
        self._words = sql.packed(self.packing, self._quasi)
        self._found: dict[Any, Any] = {}
        self._looked_up: tuple[Nodes, np.ndarray] | None = None

    def joined(self, names: tuple[str, ...]) -> Joint:
        """The dictionary of a tuple of columns."""
        if names in self.domain.joint:
            return self.domain.joint[names]
        if names not in self._found:
            packing = Packing(tuple(self.domain.columns[name].card for name in names))
            words = sql.packed(packing, [self.places[name] for name in names])
            keys, found = _ascending(self.database.ask(sql.counted(words)), list(words))
            codes = packing.unpack(keys)
            flags = [unknown_flags(self.domain.columns[name])[mine] for name, mine in zip(names, codes, strict=True)]
            self._found[names] = Joint(codes, found["n"], np.bitwise_or.reduce(flags))
        joint: Joint = self._found[names]
        return joint

    def frequency(self, attributes: Sequence[Attribute]) -> Frequency:
        """Distinct combinations of quasi-identifier codes with weights and histograms."""
        keys, codes, rows, sizes = self._cells
        histograms = {one.key: self._of_cells(one, keys, sizes) for one in attributes}
        return Frequency(codes=codes, rows=rows, sizes=sizes, histograms=histograms)

    def stats(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        """Sizes and histograms of classes."""
        by_row = isinstance(classes.classes if isinstance(classes, Together) else classes, RowIds)
        if isinstance(classes, Everybody) and not self.domain.by_people and all(one.column for one in attributes):
            return self._everybody(attributes)
        if by_row or self.domain.by_people or isinstance(classes, Split | Everybody):
            return self._asked(classes, attributes)
        of, cells = self._class_of_cells(classes), self.frequency(attributes)
        rows = added(of, cells.rows, classes.groups)
        histograms = {key: merged(found, of, classes.groups) for key, found in cells.histograms.items()}
        return GroupStats(sizes=rows, rows=rows, histograms=histograms)

    def _everybody(self, attributes: Sequence[Attribute]) -> GroupStats:
        """All rows as one class, whose values were counted as they were coded."""
        rows, group = np.array([self.domain.n], dtype=np.int64), np.zeros(1, dtype=np.int64)
        histograms = {}
        for one in attributes:
            counts = self.domain.columns[one.names[0]].frequencies
            found = {"v0": np.flatnonzero(counts), "n": counts[counts > 0]}
            histograms[one.key] = self._histogram(one, np.repeat(group, found["n"].size), found, rows, None)
        return GroupStats(sizes=rows, rows=rows, histograms=histograms)

    def of_people(
        self, stats: GroupStats, classes: Grouped, guarded: Sequence[tuple[str, int]], lifted: Mapping[str, np.ndarray]
    ) -> GroupStats:
        """The same statistics: what only rows in memory tell of people was refused before."""
        if guarded:
            raise ParameterError("Nodes that people guard are looked up row by row: use the engine 'memory'.")
        return stats

    def alone(self, columns: Sequence[str]) -> int:
        """Rows that no other row equals on some columns as they were read."""
        return int(self.database.ask(sql.alone([self.column(name) for name in columns]))["n"][0])

    def column(self, name: str) -> str:
        """What a column as it was read is called there."""
        return sql.code(self.places[name])

    def singled(self, columns: Sequence[str]) -> int:
        """People who alone have some combination of values of some columns; missing is a value."""
        by = [sql.code(self.places[name]) if name in self.places else self.column(name) for name in columns]
        return int(self.database.ask(sql.alone(by, people=self.domain.by_people))["n"][0])

    def held(self, one: Attribute | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell of the frequency table, value of an attribute and person, each combination once."""
        found = self.database.ask(sql.counted({**self._words, **({} if one is None else self._values(one)), "w": "s"}))
        cells = self.packing.find(self._cells[0], np.stack([found[name] for name in self._words]))
        values = np.zeros_like(cells) if one is None else self._codes_of(one, found)
        order = np.lexsort((found["w"], values, cells))
        return cells[order], values[order], found["w"][order]

    def holds_cells(self, most: int) -> bool:
        """Whether there are no more than so many combinations of quasi-identifier codes; more do not come here."""
        if "cells" not in self._found and self._found.get("n cells", 0) <= most:
            self._ask_cells(most)
        return "cells" in self._found and self._cells[2].size <= most

    def n_cells(self) -> int:
        """How many combinations of quasi-identifier codes there are, counted without any of them coming here."""
        if "cells" in self._found:
            return int(self._cells[2].size)
        if "n cells" not in self._found:
            self._found["n cells"] = int(self.database.ask(sql.combinations(self._words))["n"][0])
        count: int = self._found["n cells"]
        return count

    def ranges(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest code of every quasi-identifier among rows within bounds of all of them."""
        found = self.database.ask(sql.extremes(self._quasi, sql.within(self._quasi, low, high)))
        ends = [[found[f"{end}{at}"][0] for at in self._quasi] for end in ("l", "h")]
        return np.array(ends[0], dtype=np.int64), np.array(ends[1], dtype=np.int64)

    def histogram(self, place: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of a quasi-identifier, ascending, and their rows, among rows within bounds of all of them."""
        where = sql.within(self._quasi, low, high)
        found = self.database.ask(sql.counted({"v": sql.code(self._quasi[place])}, where=where))
        order = np.argsort(found["v"])
        return found["v"][order], found["n"][order]

    def people_with(self, name: str) -> np.ndarray:
        """How many people have each value of a column."""
        if not self.domain.by_people:
            return self.domain.columns[name].frequencies.astype(np.int64)
        found = self.database.ask(sql.counted({"v": sql.code(self.places[name])}, people=True))
        counts = np.zeros(self.domain.columns[name].card, dtype=np.int64)
        counts[found["v"]] = found["p"]
        return counts

    def class_of(
        self, classes: Grouped | Everybody | Together, rows: np.ndarray, codes: Sequence[np.ndarray]
    ) -> np.ndarray:
        """int32 class of some rows, given their numbers and quasi-identifier codes, negative for none."""
        if isinstance(classes, RowIds):
            return classes.ids[rows]
        found = self._places.looked_up(self._class_of_cells(classes), self.packing.pack(codes))
        return classes.cleared(found, rows) if isinstance(classes, Cells) else found

    def cell_of(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Places in the frequency table of some quasi-identifier codes."""
        return self._places.of(self.packing.pack(codes))

    @property
    def _places(self) -> Places:
        if "places" not in self._found:
            self._found["places"] = Places(self._cells[0])
        places: Places = self._found["places"]
        return places

    def _class_of_cells(self, classes: ClassMap) -> np.ndarray:
        """int32 class of every cell of the frequency table."""
        codes = self._cells[1]
        if isinstance(classes, Cells):
            return classes.of
        if isinstance(classes, Nodes):
            # Batch after batch asks for the same classes.
            if self._looked_up is None or self._looked_up[0] is not classes:
                self._looked_up = classes, classes_of(classes, codes, self.domain.schema.quasi)
            return self._looked_up[1]
        if isinstance(classes, Together):
            return np.minimum(self._class_of_cells(classes.classes), 0)
        return np.zeros(codes.shape[1], dtype=np.int32)

    @property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Words, codes, rows and people of every cell, in ascending order."""
        if "cells" not in self._found:
            self._ask_cells(None)
        cells: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] = self._found["cells"]
        return cells

    def _ask_cells(self, most: int | None) -> None:
        """Find the cells, if there are no more than so many."""
        by_people, asked = self.domain.by_people, self._asked_cells(None if most is None else most + 1)
        if most is not None and asked["n"].size > most:
            return
        keys, found = _ascending(asked, list(self._words))
        self._found["cells"] = keys, self.packing.unpack(keys), found["n"], found["p" if by_people else "n"]

    def _asked_cells(self, most: int | None) -> Counts:
        """Words, rows and people of the cells, or of so many of them, as they come."""
        return self.database.ask(sql.counted(self._words, people=self.domain.by_people, most=most))

    def _shares_cells(self, other: CountedRows) -> None:
        """Take over what was found of the codes of the same rows."""
        kept = ("cells", "n cells", "places")
        self._found = {name: found for name, found in other._found.items() if name in kept}

    def forget(self) -> None:
        """Leave what was counted of values: nobody asks for it any more."""
        self._shares_cells(self)

    def _of_cells(self, one: Attribute, keys: np.ndarray, sizes: np.ndarray) -> Histogram:
        """How often each value of an attribute occurs in every cell."""
        if one.column is not None and one.names[0] in self.domain.schema.quasi:
            return self._one_each(one)
        if one.key not in self._found:
            people = one.people and self.domain.by_people
            known = None
            if people and one.unknown.any():
                asked = self.database.ask(sql.counted(self._words, people=True, where=self._known(one)))
                known = self.packing.find(keys, np.stack([asked[name] for name in self._words])), asked["p"]
            runs = []
            for part, where in [(slice(None), "")] if people else self._asked_in(one, keys[0]):
                found = self.database.ask(
                    sql.counted({**self._words, **self._values(one)}, people=people, where=where)
                )
                place = self.packing.find(keys[:, part], np.stack([found[name] for name in self._words]))
                runs.append(self._histogram(one, place, found, sizes[part], known))
            self._found[one.key] = put_together(runs)
        histogram: Histogram = self._found[one.key]
        return histogram

    def _one_each(self, one: Attribute) -> Histogram:
        """The same of a quasi-identifier: a cell has one value of it, so that nobody has to be asked."""
        _, codes, rows, sizes = self._cells
        mine, counts = codes[self.domain.schema.quasi.index(one.names[0])], sizes if one.people else rows
        return Histogram(np.arange(mine.size + 1), mine, counts, np.where(one.unknown[mine] == 0, counts, 0))

    def _asked_in(self, one: Attribute, words: np.ndarray) -> Iterator[tuple[slice, str]]:
        """Some cells after others, and how to ask for them: all at once where they have few values between them.

        Parameters
        ----------
        words
            The first word of every cell, ascending.
        """
        # A cell has no more pairs than rows, and none of a value twice: how often rows are looked through goes by that.
        ends = np.concatenate([[0], np.cumsum(np.minimum(self._cells[2], one.card))])
        if ends[-1] <= PAIRS or self._few_pairs(one, ends.size - 1):
            yield slice(None), ""
            return
        cuts = runs_of(ends)
        # Cells of one word are asked for together.
        firsts = np.unique(np.searchsorted(words, words[cuts[:-1]])).tolist()
        for first, stop in pairwise([*firsts, words.size]):
            yield slice(first, stop), sql.between(next(iter(self._words.values())), words[first], words[stop - 1])

    def _few_pairs(self, one: Attribute, cells: int) -> bool:
        """Whether all pairs of so many cells, or fewer, and a value may come at once."""
        return min(self.domain.n, cells * one.card) <= PAIRS

    def _asked(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        """The same of classes that are sent to where the rows are."""
        with self._beside(classes) as (source, keys):
            found = self.database.ask(sql.counted(keys, source=source, people=self.domain.by_people))
            groups, number = _numbering(classes, found)
            order = number(found)
            rows, sizes = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
            rows[order], sizes[order] = found["n"], found["p" if self.domain.by_people else "n"]
            histograms = {}
            for one in attributes:
                people = one.people and self.domain.by_people
                asked = self.database.ask(
                    sql.counted({**keys, **self._values(one)}, source=source, people=people)
                )
                known = None
                if people and one.unknown.any():
                    some = self.database.ask(sql.counted(keys, source=source, people=True, where=self._known(one)))
                    known = number(some), some["p"]
                histograms[one.key] = self._histogram(one, number(asked), asked, sizes, known)
        return GroupStats(sizes=sizes, rows=rows, histograms=histograms)

    @contextmanager
    def _beside(self, classes: ClassMap) -> Iterator[tuple[str, dict[str, str]]]:
        """The rows with their classes: where to count, and by what."""
        if isinstance(classes, Everybody):
            yield "coded", {"g": "CAST(0 AS BIGINT)"}
            return
        inner = classes.classes if isinstance(classes, Split) else classes
        by_row = inner.classes if isinstance(inner, Together) else inner
        if isinstance(by_row, RowIds):
            ids = np.minimum(by_row.ids, 0) if isinstance(inner, Together) else by_row.ids
            kept = np.flatnonzero(ids >= 0)
            self.database.send("classes", {"r": kept, "g": ids[kept]})
            source = sql.in_classes(None)
        else:
            of = self._class_of_cells(inner)
            kept = np.flatnonzero(of >= 0)
            words = {name: word[kept] for name, word in zip(self._words, self._cells[0], strict=True)}
            self.database.send("classes", {**words, "g": of[kept]})
            gone = by_row.gone if isinstance(by_row, Cells) else np.empty(0)
            if gone.size:
                self.database.send("gone", {"r": gone})
            source = sql.in_classes(self._words, some_gone=bool(gone.size))
        keys = {"g": "classes.g"}
        if isinstance(classes, Split):
            keys["d"] = sql.code(self.places[classes.name])
        yield source, keys

    def _values(self, one: Attribute) -> dict[str, str]:
        """The codes of an attribute's columns."""
        return {f"v{at}": sql.code(self.places[name]) for at, name in enumerate(one.names)}

    def _known(self, one: Attribute) -> str:
        flags = {name: unknown_flags(self.domain.columns[name]) for name in one.names}
        return sql.known({sql.code(self.places[name]): np.flatnonzero(flag).tolist() for name, flag in flags.items()})

    def _histogram(
        self,
        one: Attribute,
        group: np.ndarray,
        found: Counts,
        sizes: np.ndarray,
        known: tuple[np.ndarray, np.ndarray] | None,
    ) -> Histogram:
        """Counts by group and value in compressed rows."""
        groups = sizes.size
        values = self._codes_of(one, found)
        counts = found["p"] if one.people and self.domain.by_people else found["n"]
        order = np.lexsort((values, group))
        group, values, counts = group[order], values[order], counts[order]
        indptr = np.zeros(groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(group, minlength=groups), out=indptr[1:])
        if known is not None:
            sure = np.zeros(groups, dtype=np.int64)
            sure[known[0]] = known[1]
        elif one.people and self.domain.by_people:
            sure = sizes
        else:
            flags = one.unknown[values] == 0
            sure = added(group[flags], counts[flags], groups)
        return Histogram(indptr, values.astype(np.int32), counts.astype(np.int64), sure)

    def _codes_of(self, one: Attribute, found: Counts) -> np.ndarray:
        """Codes of an attribute's values, a tuple's in its own dictionary."""
        codes = [found[f"v{at}"] for at in range(len(one.names))]
        if one.column is not None:
            return codes[0]
        packing = Packing(tuple(self.domain.columns[name].card for name in one.names))
        return packing.find(packing.pack(list(self.joined(one.names).codes)), packing.pack(codes))


def _ascending(found: Counts, keys: Sequence[str]) -> tuple[np.ndarray, Counts]:
    """Words in ascending order, and what was found in the same."""
    words = np.stack([found[name] for name in keys]).astype(np.int64)
    order = np.lexsort(words[::-1])
    return np.ascontiguousarray(words[:, order]), {name: column[order] for name, column in found.items()}


def _numbering(classes: ClassMap, found: Counts) -> tuple[int, Any]:
    """How many groups there are, and how to number what a query found by them."""
    if not isinstance(classes, Split):
        return classes.groups, lambda asked: asked["g"].astype(np.int64)
    largest = int(found["d"].max(initial=0)) + 1
    parts = np.unique(found["g"].astype(np.int64) * largest + found["d"])
    return parts.size, lambda asked: np.searchsorted(parts, asked["g"].astype(np.int64) * largest + asked["d"])
