"""Combinations of whole numbers, each as one number, counted in twelve bytes a combination.

They are kept apart by their first number, a class, so that no more than the combinations of some classes are ever put
in order at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from shoal.verify.keys import key_runs

# Bits of a word for the first number, as far as it does not say where a combination is kept, and for all others.
_FIRST, _OTHERS = 16, 47
# Combinations that came since are put in order with those before when they are so many, and then half as many again.
_ROOM = 1 << 12

Piece = tuple[np.ndarray, np.ndarray]


class Packed:
    """How often each combination of some columns of whole numbers from 0 on occurred."""

    def __init__(self) -> None:
        self._names: list[str] = []
        # By the high bits of the first number: combinations in ascending order with their rows, and what came since.
        self._pieces: dict[int, list[Piece]] = {}

    @staticmethod
    def fits(columns: Mapping[str, np.ndarray]) -> bool:
        """Whether each of some numbers has its place in a word; what is below 0 has none."""
        first, *others = columns.values()
        small = all(int(column.max(initial=0)) < 1 << _width(len(others)) for column in others)
        small = small and int(first.max(initial=0)) < 1 << 63
        return small and all(int(column.min(initial=0)) >= 0 for column in columns.values())

    @property
    def size(self) -> int:
        """How many combinations are kept, some of them perhaps more than once."""
        return sum(keys.size for pieces in self._pieces.values() for keys, _ in pieces)

    def see(self, columns: Mapping[str, np.ndarray]) -> None:
        """Count rows."""
        self._names = list(columns)
        first, *others = columns.values()
        keys = first.astype(np.int64) & ((1 << _FIRST) - 1)
        for column in others:
            keys = keys << _width(len(others)) | column.astype(np.int64)
        for at, mine in _by_place(first.astype(np.int64) >> _FIRST):
            found, rows = np.unique(keys[mine], return_counts=True)
            pieces = self._pieces.setdefault(at, [])
            pieces.append((found, _narrow(rows)))
            came = sum(more.size for more, _ in pieces[1:])
            if came > max(_ROOM, pieces[0][0].size // 2):
                self._pieces[at] = [_merged(pieces)]

    def taken(self) -> pl.DataFrame:
        """The combinations in ascending order, and the ``rows`` of each; nothing is kept of them here."""
        for at, pieces in self._pieces.items():
            self._pieces[at] = [_merged(pieces)]
        total, others, at = self.size, len(self._names) - 1, 0
        found = {name: np.empty(total, dtype=np.int64) for name in (*self._names, "rows")}
        width = _width(others)
        for place in sorted(self._pieces):
            ((keys, counts),) = self._pieces.pop(place)
            part = slice(at, at + keys.size)
            for name in reversed(self._names[1:]):
                found[name][part] = keys & ((1 << width) - 1)
                keys = keys >> width
            found[self._names[0]][part] = keys | place << _FIRST
            found["rows"][part] = counts
            at += keys.size
        return pl.DataFrame(found)


def _width(others: int) -> int:
    return _OTHERS // max(others, 1)


def _by_place(place: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Each of the different places, and where it stands."""
    # Short numbers are put in order in one go over them.
    order = np.argsort(place.astype(np.uint16) if place.max(initial=0) < 1 << 16 else place, kind="stable")
    for mine in np.split(order, key_runs(place[order])[1:]) if order.size else ():
        yield int(place[mine[0]]), mine


def _merged(pieces: list[Piece]) -> Piece:
    """Several pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    keys = np.concatenate([keys for keys, _ in pieces])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = key_runs(keys)
    counts = np.concatenate([counts for _, counts in pieces])[order]
    rows = np.add.reduceat(counts, first, dtype=np.int64)
    return keys[first], _narrow(rows)


def _narrow(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.uint32) if rows.max(initial=0) < 1 << 32 else rows
