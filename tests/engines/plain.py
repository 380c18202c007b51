"""An engine of dictionaries and loops: the rows as anybody would count them by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.classes import Cells, ClassMap, Everybody, Nodes, RowIds, Split, Together
from shoal.data.domain import Domain, Joint
from shoal.data.rows import Frequency
from shoal.data.stats import Attribute, GroupStats, Histogram, Possible, unknown_flags
from shoal.data.table import Table

Key = tuple[int, ...]


class PlainEngine:
    """Opens a table as a list of dictionaries."""

    def open(self, table: Table) -> PlainRows:
        codes = {name: mine.tolist() for name, mine in table.codes.items()}
        rows = [{name: codes[name][row] for name in codes} for row in range(table.n)]
        who = range(table.n) if table.subjects is None else table.subjects.tolist()
        return PlainRows(table.domain, rows, list(who), table.frame.to_dicts())


@dataclass(eq=False)
class PlainRows:
    """Rows as dictionaries, and whose each is."""

    domain: Domain
    rows: list[dict[str, int]]
    who: list[int]
    read: list[dict[str, object]]

    def joined(self, names: tuple[str, ...]) -> Joint:
        if names in self.domain.joint:
            return self.domain.joint[names]
        counts = dict(sorted(Counter(tuple(row[name] for name in names) for row in self.rows).items()))
        flags = [unknown_flags(self.domain.columns[name]) for name in names]
        unknown = [int(any(flag[code] for flag, code in zip(flags, key, strict=True))) for key in counts]
        codes = np.array(list(counts), dtype=np.int32).reshape(-1, len(names)).T
        return Joint(codes, np.array(list(counts.values())), np.array(unknown, dtype=np.uint8))

    def of_people(self, stats: GroupStats, *about: object) -> GroupStats:
        return stats  # nobody guards anything here, and nothing was released before

    def alone(self, columns: Sequence[str]) -> int:
        counts = Counter(tuple(row[name] for name in columns) for row in self.read)
        return sum(count == 1 for count in counts.values())

    def frequency(self, attributes: Sequence[Attribute]) -> Frequency:
        cells = sorted({self._cell(row) for row in self.rows})
        place = {cell: number for number, cell in enumerate(cells)}
        found = self._count([place[self._cell(row)] for row in self.rows], len(cells), attributes)
        codes = np.array(cells, dtype=np.int32).reshape(len(cells), -1).T
        return Frequency(np.ascontiguousarray(codes), found.rows, found.sizes, dict(found.histograms))

    def stats(self, classes: ClassMap, attributes: Sequence[Attribute]) -> GroupStats:
        if isinstance(classes, Split):
            of = self._classes(classes.classes)
            pairs = [(mine, row[classes.name]) for mine, row in zip(of, self.rows, strict=True) if mine >= 0]
            place = {pair: number for number, pair in enumerate(sorted(set(pairs)))}
            split = [-1 if one < 0 else place[one, row[classes.name]] for one, row in zip(of, self.rows, strict=True)]
            return self._count(split, len(place), attributes)
        return self._count(self._classes(classes), classes.groups, attributes)

    def narrowed(self, classes: ClassMap, one: Attribute, possible: Possible) -> np.ndarray:
        code, ids, values = self._coder(one), self._classes(classes), defaultdict(set)
        for mine, row, who in zip(ids, self.rows, self.who, strict=True):
            if mine >= 0 and not one.unknown[code(row)]:
                values[who].add(code(row))
        narrow = {who for who in possible.narrow(np.array(self.who), np.array(ids)).tolist() if len(values[who]) < 2}
        return _whole(row for row, who in enumerate(self.who) if who in narrow)

    def _cell(self, row: dict[str, int]) -> Key:
        return tuple(row[name] for name in self.domain.schema.quasi)

    def _classes(self, classes: ClassMap) -> list[int]:
        if isinstance(classes, Everybody):
            return [0] * len(self.rows)
        if isinstance(classes, Together):
            return [min(one, 0) for one in self._classes(classes.classes)]
        if isinstance(classes, RowIds):
            return classes.ids.tolist()
        if isinstance(classes, Nodes):
            quasi = self.domain.schema.quasi
            place = {tuple(key): number for number, key in enumerate(classes.keys.T.tolist())}
            nodes = {name: classes.nodes[name].tolist() for name in quasi}
            return [place.get(tuple(nodes[name][row[name]] for name in quasi), -1) for row in self.rows]
        assert isinstance(classes, Cells)
        cells = {cell: number for number, cell in enumerate(sorted({self._cell(row) for row in self.rows}))}
        return [int(classes.of[cells[self._cell(row)]]) for row in self.rows]

    def _count(self, ids: Sequence[int], groups: int, attributes: Sequence[Attribute]) -> GroupStats:
        members = defaultdict(list)
        for row, group in enumerate(ids):
            members[group].append(row)
        inside = [members[group] for group in range(groups)]
        return GroupStats(
            sizes=_whole(len({self.who[row] for row in rows}) for rows in inside),
            rows=_whole(len(rows) for rows in inside),
            histograms={one.key: self._histogram(one, inside) for one in attributes},
        )

    def _histogram(self, one: Attribute, inside: Sequence[Sequence[int]]) -> Histogram:
        code = self._coder(one)
        by_people = one.people and self.domain.by_people
        ends, codes, counts, known = [0], [], [], []
        for rows in inside:
            pairs = [(code(self.rows[row]), self.who[row] if by_people else row) for row in rows]
            tally = Counter(value for value, _ in set(pairs))
            codes += sorted(tally)
            counts += [tally[value] for value in sorted(tally)]
            known.append(len({who for value, who in pairs if not one.unknown[value]}))
            ends.append(len(codes))
        return Histogram(_whole(ends), np.array(codes, dtype=np.int32), _whole(counts), _whole(known))

    def _coder(self, one: Attribute):  # type: ignore[no-untyped-def]
        if len(one.names) == 1:
            return lambda row: row[one.names[0]]
        place = {tuple(key): number for number, key in enumerate(self.joined(one.names).codes.T.tolist())}
        return lambda row: place[tuple(row[name] for name in one.names)]


def _whole(numbers: Iterable[int]) -> np.ndarray:
    return np.array(list(numbers), dtype=np.int64)
