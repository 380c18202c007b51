"""Special uniques (Elliot, Manning & Ford 2002; Manning, Haglin & Keane 2008): records that few keys single out.

A *minimal sample unique* (MSU) of a record is a set of keys on which it is alone and of which no part does. With K keys
and sets of at most M of them, an MSU of s keys scores the product of K - i over i = s .. min(M, K - 1), which is
(K - s)! when all sizes are searched, as in sdcMicro; a record's SUDA score is the sum over its MSUs.

DIS (Skinner & Elliot 2002): with U unique records, P records in pairs and the sampling fraction f, a match with a
unique record is right with the probability D = U f / (U f + P (1 - f)). DIS-SUDA spreads D over the records by their
scores, as sdcMicro does: 1 / (1 + (U/D - U) / (score**Q A)), with Q = 1 + (8 - K)/20 and A the sum of score**-Q over
the records with a score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.data.domain import Domain
from shoal.data.rows import Frequency, PeopledRows
from shoal.errors import ParameterError
from shoal.kernels.suda import extend_uniques, new_uniques
from shoal.results import Risk
from shoal.risk.classes import Classes
from shoal.risk.individual import Z
from shoal.risk.report import SudaSummary

MOST_KEYS = 62


@dataclass(frozen=True, eq=False, kw_only=True)
class Uniques:
    """Minimal sample uniques: the class (of one person) that each belongs to, and its keys as bits."""

    classes: np.ndarray
    masks: np.ndarray
    keys: int
    most: int

    @property
    def sizes(self) -> np.ndarray:
        """Number of keys of each."""
        return np.bitwise_count(self.masks).astype(np.int64)

    @property
    def scores(self) -> np.ndarray:
        """Score of each."""
        last = min(self.most, self.keys - 1)
        table = [math.prod(self.keys - i for i in range(s, last + 1)) for s in range(self.keys + 1)]
        return np.array(table, dtype=np.float64)[self.sizes]


def find_uniques(
    rows: PeopledRows, cells: Frequency, most: int, progress: Callable[[str], None] | None = None
) -> Uniques:
    """Every minimal sample unique of at most ``most`` keys.

    People are counted: where there is a subject column, a set of keys singles a person out, whatever the number of
    rows. Missing is a value of its own.
    """
    columns = rows.domain.quasi
    if len(columns) > MOST_KEYS:
        raise ParameterError(
            f"SUDA takes up to {MOST_KEYS} quasi-identifiers, and there are {len(columns)}: use fewer."
        )
    # Keys of many values go to the high bits: below them groups soon have one record left, and the search ends.
    order = np.argsort([column.card for column in columns], kind="stable")
    codes = np.ascontiguousarray(cells.codes[order])
    cards = np.array([columns[key].card for key in order], dtype=np.int64)
    owner = np.where(cells.sizes == 1, _people(rows, cells.sizes.size), -1).astype(np.int32)
    most = min(most, len(columns))
    last, items, masks, earlier, count = new_uniques(owner.size)
    for top in range(len(columns)):
        if progress is not None:
            progress(f"looking for minimal uniques, key {top + 1} of {len(columns)}")
        items, masks, earlier, count = extend_uniques(
            codes, cards, owner, top, most, last, items, masks, earlier, count
        )
    shuffled = np.zeros(count, dtype=np.int64)
    for bit, key in enumerate(order):
        shuffled |= ((masks[:count] >> bit) & 1) << int(key)
    return Uniques(classes=items[:count], masks=shuffled, keys=len(columns), most=most)


def _people(rows: PeopledRows, cells: int) -> np.ndarray:
    """Somebody of every cell: its person where there is one."""
    if not rows.domain.by_people:
        return np.arange(cells)
    at, _, person = rows.held(None)
    somebody = np.zeros(cells, dtype=np.int64)
    somebody[at] = person
    return somebody


def class_scores(found: Uniques, classes: Classes) -> np.ndarray:
    """SUDA score of every class."""
    return np.bincount(found.classes, weights=found.scores, minlength=classes.sizes.size)


def dis_scores(scores: np.ndarray, keys: int, chance: float, unique: int) -> np.ndarray:
    """DIS-SUDA score of every record with a score; ``chance`` is D and ``unique`` U."""
    power = 1.0 + (8.0 - keys) / 20.0
    scored = scores > 0
    raised = scores[scored] ** power
    found = np.zeros(scores.size)
    if scored.any():
        found[scored] = 1.0 / (1.0 + unique * (1.0 / chance - 1.0) / (raised * (1.0 / raised).sum()))
    return found


def dis_figure(classes: Classes, fraction: float) -> Risk | None:
    """D with an interval, the numbers of uniques and of pairs taken as Poisson; None when nobody is unique."""
    unique, pairs = int((classes.sizes == 1).sum()), int((classes.sizes == 2).sum())
    if unique == 0:
        return None
    value = unique * fraction / (unique * fraction + 2 * pairs * (1.0 - fraction))
    interval = (value, value)
    if fraction < 1.0:
        centre = math.log(unique * fraction / ((1.0 - fraction) * 2 * (pairs or 0.5)))
        reach = Z * math.sqrt(1.0 / unique + 1.0 / (pairs or 0.5))
        low, high = (1.0 / (1.0 + math.exp(-x)) for x in (centre - reach, centre + reach))
        interval = (low, max(high, value))
    text = f"A match with a record that is unique here is the right person with a probability of about {value:.0%}."
    return Risk(value=value, interval=interval, baseline=None, sentence=text)


def summarise(found: Uniques, domain: Domain, cells: Frequency) -> SudaSummary:
    """Counts and shares fit to be shown."""
    scores = found.scores
    total = float(scores.sum()) or 1.0
    sizes, counts = np.unique(found.sizes, return_counts=True)
    hit = np.zeros(cells.rows.size, dtype=bool)
    hit[found.classes] = True
    return SudaSummary(
        most=found.most,
        by_size={int(size): int(count) for size, count in zip(sizes, counts, strict=True)},
        records=int(cells.rows[hit].sum()),
        contributions={
            column.name: float(scores[(found.masks >> key) & 1 == 1].sum() / total)
            for key, column in enumerate(domain.quasi)
        },
    )
