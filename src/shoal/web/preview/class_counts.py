"""Classes of a project's rows on some levels of its hierarchies, counted while somebody chooses levels."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.release.entry import open_rows
from shoal.web.preview.cache import apart_in_turn
from shoal.web.preview.place import Place, carried_recipe


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Classes of a table whose quasi-identifiers were published on some levels.

    ``people`` tells that they are counted and not rows, once in each class that they have rows in.
    """

    columns: tuple[tuple[str, int, int], ...]  # name, level, highest level
    people: bool
    rows: int
    classes: int
    smallest: int
    alone: int
    below: int
    k: int
    sizes: tuple[tuple[str, int], ...]


def class_counts(place: Place, levels: dict[str, int], k: int | None = None) -> Counted:
    """How many rows, or people where there is a subject, look the same on some levels, level 0 by default."""
    wanted = k or max([one["k"] for one in place.recipe.models if isinstance(one.get("k"), int)], default=5)
    return apart_in_turn(place.folder, count_classes, place.read(count_cells), levels, wanted)


def count_classes(cells: bytes, levels: dict[str, int], wanted: int) -> Counted:
    """The same of combinations that were carried over."""
    found: Cells = pickle.loads(cells)
    placed = []
    parts = []
    for at, name in enumerate(found.names):
        tree, codes = found.places[at], found.codes[:, at]
        top = 1 if tree is None else len(tree) - 1
        level = min(max(levels.get(name, 0), 0), top)
        placed.append((name, level, top))
        if level < top:
            parts.append(codes if tree is None or level == 0 else tree[level][codes])
    if parts:
        of = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)[1].ravel()
    else:
        of = np.zeros(found.rows.size, dtype=np.int64)
    sizes = np.bincount(of, found.rows).astype(np.int64) if found.held is None else _people(of, *found.held)
    return Counted(
        columns=tuple(placed), people=found.held is not None, rows=int(sizes.sum()), classes=int(sizes.size),
        smallest=int(sizes.min()) if sizes.size else 0, alone=int((sizes == 1).sum()),
        below=int(sizes[sizes < wanted].sum()), k=wanted, sizes=_bins(sizes),
    )  # fmt: skip


def _people(of: np.ndarray, cells: np.ndarray, persons: np.ndarray) -> np.ndarray:
    """People of each class, whatever number of rows they have in it."""
    pairs = np.unique(np.stack([of[cells], persons], axis=1), axis=0)
    return np.bincount(pairs[:, 0]).astype(np.int64)


_BINS = (1, 2, 3, 5, 10, 20, 50, 100)


def _bins(sizes: np.ndarray) -> tuple[tuple[str, int], ...]:
    """Rows in classes of a size."""
    found = []
    for low, high in zip(_BINS, [*_BINS[1:], None], strict=True):
        mine = sizes[(sizes >= low) & (True if high is None else sizes < high)]
        name = f"{low} or more" if high is None else str(low) if high == low + 1 else f"{low} to {high - 1}"
        found.append((name, int(mine.sum())))
    return tuple(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Quasi-identifiers as codes: the different combinations of them, how many rows have each, and who has which.

    ``places`` has by column, level and value the code on that level; None of a column without a hierarchy. The server
    keeps them for a while, so neither values nor labels are among them.
    """

    names: tuple[str, ...]
    places: tuple[np.ndarray | None, ...]
    codes: np.ndarray
    rows: np.ndarray
    held: Any


def count_cells(told: bytes) -> bytes:
    """Count the combinations of a recipe's rows: as cells, carried over."""
    with open_rows(carried_recipe(told)) as rows:
        frequency, columns = rows.frequency([]), rows.domain.quasi
        trees = [one.hierarchy for one in columns]
        return pickle.dumps(Cells(
            names=tuple(one.name for one in columns), codes=np.asarray(frequency.codes).T,
            places=tuple(None if one is None else one.ancestors for one in trees),
            rows=np.asarray(frequency.rows), held=rows.held(None)[::2] if rows.domain.by_people else None,
        ))  # fmt: skip
