"""Judging one set of cells of the frequency table against compiled rules, or one of rows, whichever is cut."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.count.histograms import sort_small
from shoal.kernels.judge.rules import SIZE, Rules
from shoal.kernels.judge.segments import all_hold, attribute_values, known_of, rule_values, segment_ok, size_values

# codes, counts: the cells' histograms, an attribute after another; at: (attributes, cells + 1) int64, where those of
# each cell begin; rows: int64 of each cell.
Tallies = namedtuple("Tallies", "codes counts at rows")

_COUNT = 1 << 32


@kernel
def _merged(cells: np.ndarray, data: Tallies, attr: int, card: int) -> tuple:
    """Codes, ascending, and counts of some cells together."""
    entries = 0
    for cell in cells:
        entries += data.at[attr, cell + 1] - data.at[attr, cell]
    codes = np.empty(min(entries, card), dtype=np.int32)
    counts = np.empty(codes.size, dtype=np.int64)
    found = 0
    # As for rows, the dense table is only worth its zeros for segments larger than the domain.
    if entries > card:
        dense = np.zeros(card, dtype=np.int64)
        for cell in cells:
            for e in range(data.at[attr, cell], data.at[attr, cell + 1]):
                dense[data.codes[e]] += data.counts[e]
        for code in range(card):
            if dense[code]:
                codes[found], counts[found] = code, dense[code]
                found += 1
        return codes[:found], counts[:found]
    keys = np.empty(entries, dtype=np.int64)
    for cell in cells:
        for e in range(data.at[attr, cell], data.at[attr, cell + 1]):
            keys[found] = data.codes[e] * _COUNT + data.counts[e]
            found += 1
    sort_small(keys)
    found = 0
    for key in keys:
        if found == 0 or codes[found - 1] != key // _COUNT:
            codes[found], counts[found] = key // _COUNT, 0
            found += 1
        counts[found - 1] += key % _COUNT
    return codes[:found], counts[:found]


@kernel
def cell_values(cells: np.ndarray, rows: int, rules: Rules, data: Tallies, values: np.ndarray) -> None:
    """Fill ``values`` with the value of every rule on cells of so many rows (NaN: no known value)."""
    size_values(rules, rows, values)
    for attr in range(data.at.shape[0]):
        codes, counts = _merged(cells, data, attr, rules.card[attr])
        attribute_values(rules, attr, codes, counts, known_of(rules, attr, codes, counts), values)


@kernel
def _rows(cells: np.ndarray, data: Tallies) -> int:
    rows = 0
    for cell in cells:
        rows += data.rows[cell]
    return rows


# A branch is left out of what is compiled where the one that it is about is None.


@kernel
def unit_values(units: np.ndarray, rules: Rules, data: Any, tallies: Any, values: np.ndarray) -> None:
    """Value of every rule on some rows, by ``data``, or on some cells, by ``tallies``; the other one is None."""
    if data is not None:
        rule_values(units, rules, data, values)
    if tallies is not None:
        cell_values(units, _rows(units, tallies), rules, tallies, values)


@kernel
def _cells_ok(cells: np.ndarray, rules: Rules, data: Tallies, freed: np.ndarray, values: np.ndarray) -> bool:
    rows = _rows(cells, data)
    for r in range(rules.op.size):
        if rules.op[r] == SIZE and rows < rules.limit[r]:
            return False
    cell_values(cells, rows, rules, data, values)
    return all_hold(rules, freed, values)


@kernel
def units_ok(
    units: np.ndarray, rules: Rules, data: Any, tallies: Any, freed: np.ndarray, values: np.ndarray
) -> bool:
    """Whether some rows or cells satisfy every rule that is not freed; cheap size failures come first."""
    ok = True
    if data is not None:
        ok = segment_ok(units, rules, data, freed, values)
    if tallies is not None:
        ok = _cells_ok(units, rules, tallies, freed, values)
    return ok
