"""Combinations of codes as a few whole numbers: what a database groups by, and finds classes with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Databases count with signed words of 64 bits.
_LARGEST = 1 << 62


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
        """Place of every wanted combination among ascending ones, -1 where it is none of them."""
        if not among.shape[1]:
            return np.full(wanted.shape[1], -1, dtype=np.int64)
        if among.shape[0] == 1:
            place = np.minimum(np.searchsorted(among[0], wanted[0]), among.shape[1] - 1)
            return np.where(among[0][place] == wanted[0], place, -1)
        known = {key: place for place, key in enumerate(map(tuple, among.T.tolist()))}
        distinct, inverse = np.unique(wanted, axis=1, return_inverse=True)
        places = np.array([known.get(tuple(key), -1) for key in distinct.T.tolist()], dtype=np.int64)
        return places[inverse.ravel()]
