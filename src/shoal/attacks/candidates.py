"""Holding people against the cells of a release: how many records could be a person's, and which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.kernels.grouping import group_rows
from shoal.kernels.record_match import WORD, count_matches, cover_bits, list_matches
from shoal.recoding.cover import Cover

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
