"""What a release kept of each column, and of whom it tells: facts for its evidence that follow from classes alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.data.texts import spelling_facts
from shoal.recoding.recoded import Released


def release_facts(released: Released) -> dict[str, Any]:
    """Columns (values before, cells after, rows that are exact, rows at each level) and people.

    Cost: the classes, once a quasi-identifier.
    """
    domain = released.domain
    columns: dict[str, Any] = {}
    for name in domain.schema.released:
        column = domain.columns.get(name)
        columns[name] = {"values": None if column is None else int((column.frequencies > 0).sum()), "cells": None}
    if released.n_classes:
        sizes = released.sizes / max(int(released.sizes.sum()), 1)
        for name, cells in released.cells.items():
            if name not in released.changed:
                levels = cells.levels()
                shares = np.bincount(levels, weights=sizes, minlength=int(levels.max(initial=0)) + 1)
                columns[name] |= {
                    "cells": int(np.unique(cells.keys).size),
                    "exact": float(sizes[cells.spread() == 0].sum()),
                    "levels": {str(level): float(one) for level, one in enumerate(shares)},
                }
    people = domain.n_subjects if domain.by_people else None
    spellings = spelling_facts(domain)
    return {"columns": columns, "people": {"rows": domain.n, "people": people}, "spellings": spellings}
