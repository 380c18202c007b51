"""Judging one set of rows against compiled rules, for kernels that grow or cut groups."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.count.histograms import count_segment, distinct_subjects, pair_histogram
from shoal.kernels.judge.rules import AT_LEAST, DISTINCT, EXTENT, SIZE, Rules, passes, rule_value, rule_view

# codes: (attributes, rows) int32; people: 1 where an attribute is counted by subjects; subjects: int32 a row, empty
# when rows are people.
Sensitive = namedtuple("Sensitive", "codes people subjects n_subjects")

_NO_FLAGS = np.empty(0, dtype=np.uint8)
_NOTHING = np.empty(0, dtype=np.int32)
# Different values that are looked for one by one, before all are counted.
_FEW = 8


@kernel
def size_values(rules: Rules, size: int, values: np.ndarray) -> None:
    """Fill in the values of the rules that look at no attribute."""
    for r in range(rules.op.size):
        if rules.op[r] == SIZE:
            values[r] = size
        elif rules.op[r] == EXTENT:
            values[r] = np.nan  # smaller groups have smaller extents, so nobody who cuts needs to ask


@kernel
def known_of(rules: Rules, attr: int, codes: np.ndarray, counts: np.ndarray) -> int:
    """Records of a histogram whose value is known."""
    flags = rules.unknown[rules.unknown_at[attr] : rules.unknown_at[attr + 1]]
    known = 0
    for i in range(codes.size):
        if flags[codes[i]] == 0:
            known += counts[i]
    return known


@kernel
def attribute_values(
    rules: Rules, attr: int, codes: np.ndarray, counts: np.ndarray, known: int, values: np.ndarray
) -> None:
    """Fill in the values of the rules that look at one attribute, given its histogram."""
    for r in range(rules.op.size):
        if rules.attr[r] == attr:
            values[r] = rule_value(rule_view(rules, r), codes, counts, float(known))


@kernel
def rule_values(rows: np.ndarray, rules: Rules, data: Sensitive, values: np.ndarray) -> None:
    """Fill ``values`` with the value of every rule on these rows (NaN: no known value)."""
    codes = np.empty(rows.size, dtype=np.int32)
    counts = np.empty(rows.size, dtype=np.int64)
    size = rows.size
    if data.subjects.size:
        size = distinct_subjects(rows, data.subjects, _NO_FLAGS, _NOTHING)
    size_values(rules, size, values)
    for attr in range(data.codes.shape[0]):
        flags = rules.unknown[rules.unknown_at[attr] : rules.unknown_at[attr + 1]]
        mine = data.codes[attr]
        if data.people[attr] and data.subjects.size:
            found = pair_histogram(rows, mine, data.subjects, data.n_subjects, codes, counts)
            known = distinct_subjects(rows, data.subjects, flags, mine)
        else:
            card = rules.card[attr]
            # The dense table is only worth its zeros for segments larger than the domain.
            dense = np.zeros(card if rows.size > card else 0, dtype=np.int64)
            found = count_segment(mine[rows], card, dense, codes, counts)
            known = known_of(rules, attr, codes[:found], counts[:found])
        attribute_values(rules, attr, codes[:found], counts[:found], known, values)


@kernel
def failing(rules: Rules, values: np.ndarray, r: int) -> bool:
    """Whether the condition that starts at rule ``r`` fails; an averaged one leaves unknown attributes out."""
    if rules.combine[r] == 0:
        return False
    if rules.combine[r] == 1:
        return not np.isnan(values[r]) and not passes(values[r], rules.sense[r], rules.limit[r])
    total = 0.0
    known = 0
    for i in range(r, r + rules.combine[r]):
        if not np.isnan(values[i]):
            total += values[i]
            known += 1
    return known > 0 and not passes(total / known, rules.sense[r], rules.limit[r])


@kernel
def all_hold(rules: Rules, freed: np.ndarray, values: np.ndarray) -> bool:
    """Whether every condition holds that is not freed."""
    for r in range(rules.op.size):
        if not freed[r] and failing(rules, values, r):
            return False
    return True


@kernel
def _many_values(rows: np.ndarray, values: np.ndarray, flags: np.ndarray, needed: float) -> bool:
    """Whether so many different known values, which are few, stand among the first of these rows."""
    seen = np.empty(_FEW, dtype=np.int32)
    found = 0
    for row in rows:
        value = values[row]
        if flags[value]:
            continue
        new = True
        for i in range(found):
            new = new and seen[i] != value
        if new:
            seen[found] = value
            found += 1
            if found >= needed:
                return True
    return False


@kernel
def _surely_ok(rows: np.ndarray, rules: Rules, data: Sensitive) -> bool:
    """Whether the first rows tell already that every rule holds: those on sizes do, and others ask for few values."""
    if data.subjects.size:
        return False
    for r in range(rules.op.size):
        if rules.op[r] == SIZE or rules.op[r] == EXTENT:
            continue
        plain = rules.op[r] == DISTINCT and rules.sense[r] == AT_LEAST and rules.combine[r] == 1
        if not plain or rules.limit[r] > _FEW:
            return False
        attr = rules.attr[r]
        flags = rules.unknown[rules.unknown_at[attr] : rules.unknown_at[attr + 1]]
        if not _many_values(rows, data.codes[attr], flags, rules.limit[r]):
            return False
    return True


@kernel
def segment_ok(
    rows: np.ndarray, rules: Rules, data: Sensitive, freed: np.ndarray, values: np.ndarray
) -> bool:
    """Whether these rows satisfy every rule that is not freed; cheap size failures come first."""
    for r in range(rules.op.size):
        if rules.op[r] == SIZE and rows.size < rules.limit[r]:
            return False
    if _surely_ok(rows, rules, data):
        return True
    rule_values(rows, rules, data, values)
    return all_hold(rules, freed, values)
