"""What polish lowers: a measure of loss, or the weighted sum of loss and of what classes tell (``w_u lm + w_p rd``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.cluster.limits import Promise, secrets_of
from shoal.algorithms.prices import fraction, pack, quasi_columns, sensitive_columns, ticks_of, units_of
from shoal.catalogue import load
from shoal.data.stats import unknown_flags
from shoal.data.workload import lifts
from shoal.errors import ParameterError
from shoal.kernels.cluster.groups import Exposure, make_exposure
from shoal.kernels.prices import Prices
from shoal.kernels.sensitive_ranges import CARD
from shoal.measures.base import Measure
from shoal.params import shown
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping

# Measures that fall as a weighted sum of spreads does, and those of protection that can stand beside the first of them.
POLISHED = ("lm", "ilm", "arx-loss", "rv")
PROTECTION = ("range-diversity", "mpm")
# Where only protection counts, loss still breaks ties.
_LEAST = 2.0**-20
# Columns of so many values list what each would add to each group, as long as there is room for it.
_VALUES, _ROOM = 256, 1 << 26
_TERM = re.compile(r"(?:(\d+(?:\.\d*)?|\.\d+)\s*\*?\s*)?([a-z][a-z-]*)")


@dataclass(frozen=True)
class Aim:
    """A measure of loss, and what protection weighs beside it.

    Attributes
    ----------
    measure
        Of loss.
    protection
        ``range-diversity`` or ``mpm``, None for loss alone.
    weight
        Of protection; the rest is that of loss.
    """

    measure: str = "lm"
    protection: str | None = None
    weight: float = 0.0

    def __str__(self) -> str:
        if self.protection is None:
            return self.measure
        return f"{1.0 - self.weight:.6g} {self.measure} + {self.weight:.6g} {self.protection}"

    def figure(self, problem: Problem, grouping: Grouping) -> float | None:
        """What a grouping reaches, None where there is no such figure."""
        stats = apply_recoding(problem.rows, grouping).price_stats()
        names = [self.measure] if self.protection is None else [self.measure, self.protection]
        figures = [load("measure", name)().score(stats).value for name in names]
        if None in figures or self.protection is None:
            return figures[0] if self.protection is None else None
        return float((1.0 - self.weight) * figures[0] + self.weight * figures[1])


def read_aim(owner: str, text: object) -> Aim:
    """An aim from its text: the name of a measure, or ``0.5 lm + 0.5 range-diversity``."""
    if not isinstance(text, str):
        raise _unreadable(owner, text)
    if text in POLISHED:
        return Aim(text)
    found = [_TERM.fullmatch(term.strip()) for term in text.split("+")]
    if len(found) != 2 or not all(term and term[1] for term in found):
        raise _unreadable(owner, text)
    weights = {term[2]: float(term[1]) for term in found if term}
    named = [name for name in PROTECTION if name in weights]
    if set(weights) != {"lm", *named} or len(named) != 1:
        raise _unreadable(owner, text)
    if abs(sum(weights.values()) - 1.0) > 1e-9:
        given = " and ".join(f"{weight:g}" for weight in weights.values())
        raise ParameterError(f"The weights in the 'polish' of {owner} must sum to 1. Got {given}.")
    return Aim("lm", named[0], weights[named[0]])


def _unreadable(owner: str, text: object) -> ParameterError:
    names = ", ".join(POLISHED)
    return ParameterError(
        f"The 'polish' of {owner} must be one of {names}, none, or a sum such as '0.5 lm + 0.5 range-diversity' (or "
        f"mpm). Got {shown(text)}."
    )


class Target:
    """An aim on the records of one table, in the order in which they are polished."""

    def __init__(self, problem: Problem, aim: Aim, order: np.ndarray) -> None:
        self.domain, self.aim = problem.domain, aim
        self.measure: Measure = load("measure", aim.measure)()
        self.words = "mean loss" if aim.protection is None else str(aim)
        self.quasi = quasi_columns(self.domain, own=self.measure.node_prices(self.domain))
        self.lifts = lifts(self.domain.quasi, self.domain.cuts)
        secret = problem.table.sensitive if aim.protection else []
        self.shown = sensitive_columns(secret)
        self.codes = np.empty((order.size, len(secret)), dtype=np.int32)
        for place, column in enumerate(secret):
            known = np.where(unknown_flags(column) == 0, np.arange(column.card), -1)
            self.codes[:, place] = known[problem.table.codes[column.name][order]]
        pairs = secret if aim.protection == "range-diversity" else []
        ones = np.ones(len(pairs))
        self.secrets = secrets_of(Promise(1.0, pairs, ones, ones), np.ascontiguousarray(self.codes[:, : len(pairs)]))

    @property
    def spreads(self) -> bool:
        """Whether sensitive columns are priced beside quasi-identifiers, their spread in favour."""
        return self.aim.protection == "mpm"

    def with_spreads(self, codes: np.ndarray) -> np.ndarray:
        """Quasi-identifiers' codes, and those of sensitive columns that are priced beside them."""
        return np.concatenate([codes, self.codes], axis=1) if self.spreads else codes

    def prices(self, spreads: np.ndarray | None) -> Prices:
        """Prices whose sum the aim follows, where the groups' mean spreads stand now (None: not known yet)."""
        weights = self.measure.spread_weights(self.domain, spreads)
        assert weights is not None
        weights = weights * self.lifts
        if self.aim.protection is None:
            return pack(self.quasi, *units_of(self.quasi, weights, ticks_of(self.domain.n)))
        columns = [*self.quasi, *self.shown]
        units, one = units_of(columns, self._shares(weights), ticks_of(self.domain.n))
        self._units = units[len(self.quasi) :]
        return pack(columns, units, one) if self.spreads else pack(self.quasi, units[: len(self.quasi)], one)

    def _shares(self, weights: np.ndarray) -> list[Fraction]:
        """Loss and protection by their weights."""
        protection = min(fraction(float(self.aim.weight)), fraction(1.0 - _LEAST))
        exact = [fraction(float(one)) for one in weights]
        sign = -1 if self.spreads else 1
        return [(1 - protection) * one / sum(exact) for one in exact] + [
            sign * protection / len(self.shown) for _ in self.shown
        ]

    def exposure(self, capacity: int) -> Exposure:
        """Room to count pairs of sensitive values in so many groups, without columns where none count."""
        n, columns = self.secrets.codes.shape
        # All pairs of a group have to fit into 64 bits.
        full = 1 << max(1, min(30, 62 - 2 * int(n).bit_length()))
        few = self.secrets.whole[:, CARD] <= min(_VALUES, _ROOM // capacity)
        return make_exposure(self.secrets, self._units if columns else np.empty(0), full, capacity, few)
