"""Whether memory holds the people whose names the gate looks for in what is published."""

from __future__ import annotations

from itertools import chain

import numpy as np
import polars as pl

from shoal.engines.external_rows import KeptRows
from shoal.errors import InputError
from shoal.io.gating import naming

# Hashes by which different values are counted: to two in a hundred, whatever their number.
_HASHES = 1 << 12


def refuse_unheld(rows: KeptRows, memory: int) -> None:
    """Refuse more names and people than so many bytes hold; where all may fit, none that take part are counted."""
    schema = rows.domain.schema
    others = rows.left_out(naming(schema))  # who takes no part is looked for, too
    beside = sum(cells.len() for cells in others.values())
    hidden = [name for name in naming(schema) if name in rows.reading.others and name != schema.subject]
    if rows.people_needed(len(hidden) * rows.domain.n + beside) <= memory:
        return
    if schema.subject is None:
        alone = sum(cells.len() for name, cells in others.items() if name not in hidden)
        names = alone + sum(_different(rows, name, others.get(name)) for name in hidden)
    else:  # the gate keeps names by person, and takes everybody who takes no part for another one
        names = beside + sum(_different(rows, name) for name in hidden)
    needed, people = rows.people_needed(names), rows.domain.n_subjects if rows.domain.by_people else 0
    if needed > memory:
        found = [*([f"some {names:,} different ones"] if names else []), *([f"{people:,} people"] if people else [])]
        raise InputError(
            f"The gate looks for every identifier in what is published, and {' of '.join(found)} need "
            f"{needed / 1e9:.1f}GB: give 'memory' under [engine] as much, or cut the table into releases of their own."
        )


def _different(rows: KeptRows, name: str, others: pl.Series | None = None) -> int:
    """How many different values a column has, with those of other rows, estimated from the smallest of their hashes."""
    place, least = rows.column(name), np.zeros(0, dtype=np.uint64)
    cells = chain([] if others is None else [others], (part[place] for part in rows.parts([place])))
    for one in cells:
        hashes = one.drop_nulls().hash().to_numpy()
        if least.size == _HASHES:
            hashes = hashes[hashes < least[-1]]
        least = np.unique(np.concatenate([least, hashes]))[:_HASHES]
    return least.size if least.size < _HASHES else int((_HASHES - 1) / (float(least[-1]) / 2.0**64))
