"""What groups that change tell about sensitive values: range diversity (Loukides 2008, Def. 5.1.4) in whole ticks.

Pairs are counted in whole steps of closeness, so that a group's figure depends on who is in it, never on who came when.
Records are counted, also where people have several.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

import numpy as np

from shoal.kernels.compiled import kernel
from shoal.kernels.frozen.judge.secrets import CARD, Secrets, closeness_of
from shoal.kernels.frozen.price.cells import helper, wide

# secrets: codes and closeness of the columns that count, of which there may be none; unit: ticks of each of them; full:
# steps of a closeness of 1; steps: what all pairs of values of columns of few values add, both ways, from step_at (-1:
# the column has too many). By group and column, total: steps of all ordered pairs, known: records with a value; brings:
# by group, steps that each such value would have with its members, from bring_at. own: by record and column, steps that
# it has with the others of its group.
Exposure = namedtuple("Exposure", "secrets unit full steps step_at total known brings bring_at own")


def make_exposure(secrets: Secrets, unit: np.ndarray, full: int, capacity: int, listed: Sequence[bool]) -> Exposure:
    """Room for so many groups; ``listed`` are the columns of few values."""
    n, columns = secrets.codes.shape
    cards = np.where(np.asarray(listed, dtype=bool), secrets.whole[:, CARD], 0)
    found = Exposure(
        secrets,
        np.asarray(unit, dtype=np.float64),
        np.int64(full),
        np.zeros(int((cards**2).sum()), dtype=np.int64),
        np.where(cards > 0, np.cumsum(cards**2) - cards**2, -1).astype(np.int64),
        np.zeros((capacity, columns), dtype=np.int64),
        np.zeros((capacity, columns), dtype=np.int64),
        np.zeros((capacity, int(cards.sum())), dtype=np.int64),
        (np.cumsum(cards) - cards).astype(np.int64),
        np.zeros((n, columns), dtype=np.int64),
    )
    _fill_steps(found)
    return found


@kernel
def _fill_steps(e: Exposure) -> None:
    for a in range(e.unit.size):
        card = e.secrets.whole[a, CARD]
        if e.step_at[a] >= 0:
            for x in range(card):
                for y in range(card):
                    e.steps[e.step_at[a] + x * card + y] = wide(closeness_of(e.secrets, a, x, y) * e.full + 0.5)


@helper
def steps_of(e: Exposure, a: int, x: int, y: int) -> int:
    """Steps that two known values add to all ordered pairs."""
    if e.step_at[a] >= 0:
        return e.steps[e.step_at[a] + x * e.secrets.whole[a, CARD] + y]
    return wide(closeness_of(e.secrets, a, x, y) * e.full + 0.5)


@helper
def diversity(unit: float, full: int, total: int, known: int) -> int:
    """Range diversity of a column in ticks, from the steps of all ordered pairs and the number of values."""
    return wide(0) if known == 0 else wide(total / (known * known * wide(full)) * unit + 0.5)


@helper
def _met(e: Exposure, a: int, x: int, rows: np.ndarray, skip: int) -> int:
    """Steps that a value has with some records, of a column of many values."""
    codes = e.secrets.codes
    found = wide(0)
    for i in range(rows.size):
        if rows[i] != skip and codes[rows[i], a] >= 0:
            found += steps_of(e, a, x, wide(codes[rows[i], a]))
    return found


@kernel(inline="always")
def exposed(e: Exposure, g: int, rows: np.ndarray, skip: int, extra: int) -> int:
    """Ticks of a group of these records without ``skip`` and with ``extra`` (-1: none)."""
    found = wide(0)
    for column in range(e.unit.size):
        a = wide(column)
        total, known = e.total[g, a], e.known[g, a]
        x = wide(e.secrets.codes[skip, a]) if skip >= 0 else wide(-1)
        y = wide(e.secrets.codes[extra, a]) if extra >= 0 else wide(-1)
        if x >= 0:
            total -= e.full + e.own[skip, a]
            known -= 1
        if y >= 0:
            known += 1
            total += e.full
            if e.step_at[a] < 0:
                total += _met(e, a, y, rows, skip)
            else:
                total += e.brings[g, e.bring_at[a] + y]
                if x >= 0:
                    total -= e.steps[e.step_at[a] + x * e.secrets.whole[a, CARD] + y]
        found += diversity(e.unit[a], e.full, total, known)
    return found


@helper
def least_exposed(e: Exposure, g: int, skip: int, extra: int) -> int:
    """No more than `exposed` says, without looking at pairs: as if nobody had any with ``extra``."""
    found = wide(0)
    for column in range(e.unit.size):
        a = wide(column)
        total, known = e.total[g, a], e.known[g, a]
        if e.secrets.codes[skip, a] >= 0:
            total -= e.full + e.own[skip, a]
            known -= 1
        if e.secrets.codes[extra, a] >= 0:
            total += e.full
            known += 1
        found += diversity(e.unit[a], e.full, total, known)
    return found


@helper
def _recount_listed(e: Exposure, g: int, a: int, rows: np.ndarray) -> None:
    """Steps of every value with a group, and of its records with the others."""
    codes, card, at = e.secrets.codes, e.secrets.whole[a, CARD], e.step_at[a]
    brings = e.brings[g, e.bring_at[a] : e.bring_at[a] + card]
    brings[:] = 0
    for i in range(rows.size):
        x = wide(codes[rows[i], a])
        if x >= 0:
            for y in range(card):
                brings[y] += e.steps[at + x * card + y]
    for i in range(rows.size):
        x = wide(codes[rows[i], a])
        e.own[rows[i], a] = brings[x] - e.steps[at + x * card + x] if x >= 0 else 0


@helper
def recount(e: Exposure, g: int, rows: np.ndarray) -> int:
    """Count the pairs of a group anew; returns its ticks."""
    codes = e.secrets.codes
    for column in range(e.unit.size):
        a = wide(column)
        if e.step_at[a] >= 0:
            _recount_listed(e, g, a, rows)
        both, known = wide(0), wide(0)
        for i in range(rows.size):
            x = wide(codes[rows[i], a])
            if x < 0:
                continue
            if e.step_at[a] < 0:
                e.own[rows[i], a] = _met(e, a, x, rows, wide(rows[i]))
            both += e.own[rows[i], a]
            known += 1
        # Every pair was met from both of its ends, and counts both ways in either.
        e.total[g, a] = both // 2 + known * e.full
        e.known[g, a] = known
    return exposed(e, g, rows, wide(-1), wide(-1))
