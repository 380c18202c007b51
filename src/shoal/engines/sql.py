"""The SQL of engines that count elsewhere: whole numbers are grouped and joined, and no value stands in a text.

The rows of a source are a relation ``coded``: ``r`` numbers them, ``c0``, ``c1``, ... are the codes of its columns,
``s`` is whose row it is. Classes are a relation ``classes``: by row (``r``) or by combination of quasi-identifier codes
(``k0``, ``k1``, ..., in mixed radix), and ``g``, the class. All of it is plain enough for DuckDB, PostgreSQL and Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from shoal.data.classes import runs_of
from shoal.data.domain import Packing
from shoal.data.stats import Attribute, Histogram, InRuns
from shoal.engines.memory import count_values


def code(place: int) -> str:
    """The codes of a column."""
    return f"c{place}"


def packed(packing: Packing, places: Sequence[int]) -> dict[str, str]:
    """Name and expression of every word of some columns."""
    found = {}
    for number, word in enumerate(packing.words):
        text = "CAST(0 AS BIGINT)"
        for at in word:
            text = f"({text} * {max(packing.cards[at], 1)} + {code(places[at])})"
        found[f"k{number}"] = text
    return found


def counted(
    keys: dict[str, str], *, source: str = "coded", people: bool = False, where: str = "", most: int | None = None
) -> str:
    """Rows, and people where they count, of every combination of some expressions, or of so many of them."""
    listed = "".join(f"{text} AS {name}, " for name, text in keys.items())
    who = ", count(DISTINCT s) AS p" if people else ""
    # By the expressions themselves: not every database knows places in a list, or names, there.
    by = f" GROUP BY {', '.join(keys.values())}" if keys else ""
    limit = "" if most is None else f" LIMIT {most}"
    return f"SELECT {listed}count(*) AS n{who} FROM {source}{where}{by}{limit}"


def in_classes(words: dict[str, str] | None, *, some_gone: bool = False) -> str:
    """The rows beside their classes, which are given by row or by the words of their codes.

    Rows that are listed in ``gone`` are left out, if some are.
    """
    if words is None:
        return "coded JOIN classes ON coded.r = classes.r"
    on = " AND ".join(f"{text} = classes.{name}" for name, text in words.items())
    if some_gone:
        left = "SELECT coded.* FROM coded LEFT JOIN gone ON coded.r = gone.r WHERE gone.r IS NULL"
        return f"({left}) coded JOIN classes ON {on}"
    return f"coded JOIN classes ON {on}"


def in_several(group: str, source: str, codes: Sequence[str], where: str) -> str:
    """The classes of people who are in several of them; a person is numbered, ``p``, by the first of their rows.

    People are left out whose rows differ in some codes, among the rows that a condition is true of.
    """
    differ = " OR ".join(f"min({code}) < max({code})" for code in codes)
    changing = f"SELECT s FROM {source}{where} GROUP BY s HAVING {differ}"
    pairs = f"SELECT s, {group} AS g, min(coded.r) AS r FROM {source} GROUP BY s, {group}"
    counts = "min(r) OVER (PARTITION BY s) AS p, count(*) OVER (PARTITION BY s) AS n"
    each = f"(SELECT s, g, {counts} FROM ({pairs}) u) w"
    return f"SELECT p, g FROM {each} LEFT JOIN ({changing}) x ON w.s = x.s WHERE n > 1 AND x.s IS NULL"


def rows_beside(rows: str) -> str:
    """All rows of the people who have rows that a relation lists."""
    people = f"SELECT s FROM coded JOIN {rows} ON coded.r = {rows}.r"
    return f"SELECT coded.r AS r FROM coded JOIN ({people}) u ON coded.s = u.s"


def known(place_codes: dict[str, Sequence[int]]) -> str:
    """Rows whose codes are none of those that count as unknown."""
    parts = [f"{name} NOT IN ({', '.join(map(str, codes))})" for name, codes in place_codes.items() if len(codes)]
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def extremes(places: Sequence[int], where: str) -> str:
    """Lowest and highest codes of some columns."""
    listed = ", ".join(f"min({code(at)}) AS l{at}, max({code(at)}) AS h{at}" for at in places)
    return f"SELECT {listed} FROM coded{where}"


def within(places: Sequence[int], low: Iterable[int], high: Iterable[int]) -> str:
    """Rows whose codes lie within bounds, both ends among them."""
    parts = [f"{code(at)} BETWEEN {int(a)} AND {int(b)}" for at, a, b in zip(places, low, high, strict=True)]
    return f" WHERE {' AND '.join(parts)}"


def between(text: str, low: int, high: int) -> str:
    """Rows for which an expression lies within bounds, both ends among them."""
    return f" WHERE {text} BETWEEN {int(low)} AND {int(high)}"


def combinations(keys: dict[str, str]) -> str:
    """How many combinations of some expressions there are."""
    listed = ", ".join(f"{text} AS {name}" for name, text in keys.items())
    return f"SELECT count(*) AS n FROM (SELECT DISTINCT {listed} FROM coded) t"


def about(keys: dict[str, str]) -> str:
    """About how many combinations of some expressions there are, by a sketch of a few hundred bytes; no PostgreSQL."""
    return f"SELECT approx_count_distinct(({', '.join(keys.values())})) AS n FROM coded"


def alone(columns: Sequence[str], *, people: bool = False) -> str:
    """How many rows no other row equals on some columns, or how many people have rows that nobody else's equals."""
    by = ", ".join(columns)
    if people:
        owned = f"SELECT min(s) AS one, max(s) AS other FROM coded GROUP BY {by}"
        return f"SELECT count(DISTINCT t.one) AS n FROM ({owned}) t WHERE t.one = t.other"
    return f"SELECT count(*) AS n FROM (SELECT count(*) AS n FROM coded GROUP BY {by}) t WHERE t.n = 1"


# ----------------------------------------
# Values in classes, counted some classes after others.
#
# Where sensitive values hardly repeat, class and value make nearly as many pairs as there are rows. What stays in
# memory is the code of every row, a byte to four, or what was counted of cells; pairs are counted whenever they are
# looked at, those of some classes at once.


# Rows of one class that are counted in one go.
_ROWS = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class ByClass:
    """An attribute of the rows that are in classes, in the order of these.

    Attributes
    ----------
    offsets
        Where the rows of every class begin, and the end of the last.
    values
        The code of every row, of any type of whole numbers.
    subjects
        Whose row it is, None where rows are counted.
    """

    attribute: Attribute
    offsets: np.ndarray
    values: np.ndarray
    subjects: np.ndarray | None
    n_subjects: int

    def histogram(self) -> Histogram:
        """How often each value occurs in every class."""
        return InRuns(self._runs) if len(runs_of(self.offsets)) > 2 else next(self._runs())

    def _runs(self) -> Iterator[Histogram]:
        """The same of some classes after others."""
        for first, stop in pairwise(runs_of(self.offsets)):
            start, end = int(self.offsets[first]), int(self.offsets[stop])
            if stop - first == 1 and self.subjects is None:
                yield self._alone(start, end)
                continue
            yield count_values(
                self.attribute, np.arange(end - start, dtype=np.int32), self.offsets[first : stop + 1] - start,
                self.values[start:end].astype(np.int32), None if self.subjects is None else self.subjects[start:end],
                self.n_subjects,
            )  # fmt: skip

    def _alone(self, start: int, end: int) -> Histogram:
        """The same of a single class, which may have any number of rows."""
        counts = np.zeros(self.attribute.card, dtype=np.int64)
        for at in range(start, end, _ROWS):
            counts += np.bincount(self.values[at : min(at + _ROWS, end)], minlength=counts.size)
        codes = np.flatnonzero(counts).astype(np.int32)
        known = np.array([counts[self.attribute.unknown == 0].sum()])
        return Histogram(np.array([0, codes.size]), codes, counts[codes], known)


def added(of: np.ndarray, counts: np.ndarray, groups: int) -> np.ndarray:
    """int64 sums of counts by group; those of none are left out."""
    total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, of[of >= 0], counts[of >= 0])
    return total


def merged(found: Histogram, of: np.ndarray, groups: int) -> Histogram:
    """Counts of classes from those of their cells, of some classes after others where there are many."""
    cells = np.argsort(of, kind="stable")
    cells = cells[np.searchsorted(of[cells], 0) :]
    offsets = np.concatenate([[0], np.cumsum(added(of, np.diff(found.indptr), groups))])
    cuts = runs_of(offsets)
    starts = np.searchsorted(of[cells], cuts)

    def runs() -> Iterator[Histogram]:
        for (first, stop), (start, end) in zip(pairwise(cuts), pairwise(starts), strict=True):
            yield _of_classes(found, cells[start:end], of[cells[start:end]] - first, stop - first)

    return InRuns(runs) if len(cuts) > 2 else next(runs())


def _of_classes(found: Histogram, cells: np.ndarray, of: np.ndarray, groups: int) -> Histogram:
    """Counts of classes from those of all of their cells."""
    lengths = np.diff(found.indptr)[cells]
    # Entries of one cell stand together, wherever the cell is.
    entries = np.arange(lengths.sum()) + np.repeat(found.indptr[cells] - (np.cumsum(lengths) - lengths), lengths)
    codes, group = found.codes[entries], np.repeat(of, lengths)
    card = int(codes.max(initial=0)) + 1
    pairs, place = np.unique(group.astype(np.int64) * card + codes, return_inverse=True)
    counts = added(place, found.counts[entries], pairs.size)
    indptr = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs // card, minlength=groups), out=indptr[1:])
    return Histogram(indptr, (pairs % card).astype(np.int32), counts, added(of, found.known[cells], groups))
