"""Combinations of codes as a few whole numbers: what a database groups by, and finds classes with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.kernels.cores import share_rows
from shoal.kernels.grouping import find_keys, place_keys

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
