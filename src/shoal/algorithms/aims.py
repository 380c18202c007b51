"""What polish lowers: a measure of loss, or the weighted sum of loss and of what classes tell (``w_u lm + w_p rd``)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.prices import fraction, pack, quasi_columns, sensitive_columns, ticks_of, units_of
from shoal.data.column import Column, closeness
from shoal.data.policies import policy_of
from shoal.data.stats import unknown_flags
from shoal.data.workload import lifts
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.cluster.groups import Exposure, make_exposure
from shoal.kernels.prices import Prices
from shoal.kernels.rules import LEAVES
from shoal.kernels.sensitive_ranges import CARD, Secrets, fill_near
from shoal.models.base import Model
from shoal.params import shown
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Grouping
from shoal.registry import load
from shoal.utility.base import Measure

# ----------------------------------------
# The limits that UPC works within, read off the models, and the sensitive columns as its kernels need them.


_NONE = np.empty(0)


@dataclass(frozen=True, eq=False)
class Promise:
    """What every released class must keep.

    Attributes
    ----------
    utility
        Largest mean Q-diversity (U).
    columns
        Sensitive columns with a limit.
    protection, confidence
        Largest range diversity (P) and range confidence of each; 1 where there is no limit.
    """

    utility: float
    columns: Sequence[Column]
    protection: np.ndarray
    confidence: np.ndarray

    @property
    def fewest(self) -> int:
        """Records without which range diversity cannot be met: 1/|G| is its smallest value (AL-17)."""
        return math.ceil(1.0 / min(self.protection.min(), self.confidence.min()) - 1e-9)

    def relaxed(self, *, utility: float = 0.0, protection: float = 0.0) -> Promise:
        """The same with no limit below the given ones."""
        return Promise(
            max(self.utility, utility),
            self.columns,
            np.maximum(self.protection, protection),
            np.maximum(self.confidence, protection),
        )


def promise_of(problem: Problem) -> Promise:
    """The limits that the models set."""
    models, table = problem.judge.models, problem.table
    utility = [_limit(model, "u") for model in models if model.name == "worst-group-utility"]
    if not utility:
        raise ParameterError("UPC needs a limit on loss: set 'utility', or add the model 'worst-group-utility'.")
    protection = _by_column(problem, "range-diversity")
    if not protection:
        raise ParameterError("UPC needs a limit on range diversity: set 'protection', or add 'range-diversity'.")
    confidence = _by_column(problem, "range-confidence")
    columns = [column for column in table.sensitive if column.name in protection | confidence]
    found = Promise(
        min(utility),
        columns,
        np.array([protection.get(column.name, 1.0) for column in columns]),
        np.array([confidence.get(column.name, 1.0) for column in columns]),
    )
    people = table.n if table.subjects is None else table.n_subjects
    if found.fewest > people:
        raise InfeasibleError(
            f"The protection of UPC cannot be met: it needs classes of at least {found.fewest} records, and the table "
            f"has {people}; set it to at least {1 / people:.6g}."
        )
    return found


def _limit(model: Model, name: str) -> float:
    return float(getattr(model, name))


def _by_column(problem: Problem, name: str) -> dict[str, float]:
    limits: dict[str, float] = {}
    for model in problem.judge.models:
        if model.name == name:
            for (column,) in model.targets(problem.domain):
                limits[column] = min(limits.get(column, 1.0), _limit(model, "p"))
    return limits


def secrets_of(promise: Promise, codes: np.ndarray) -> Secrets:
    """Closeness and policies of the columns, if any, packed; ``codes`` are (n, columns), -1 where unknown."""
    near = [closeness(column, unknown_flags(column)) for column in promise.columns]
    policies = [policy_of(column) for column in promise.columns]
    trees = [one.tree.ravel() if one.kind == LEAVES else np.empty(0, dtype=np.int32) for one in near]
    # A table of pairs is quick to look things up in, as long as it is not larger than what is looked up.
    squares = np.array([column.card**2 for column in promise.columns], dtype=np.int64)
    tabled = squares <= codes.shape[0]
    near_at = np.where(tabled, np.cumsum(squares * tabled) - squares, -1)
    whole = np.stack(
        [
            [one.kind for one in near],
            [column.card for column in promise.columns],
            *(_starts(arrays) for arrays in ([one.ref for one in near], trees, [one.axis for one in policies])),
            near_at,
        ],
        axis=1,
    )
    scales = [1.0 / one.scale if one.scale > 0 else 0.0 for one in near]
    secrets = Secrets(
        codes=codes,
        whole=whole.astype(np.int64),
        real=np.stack([scales, promise.protection, promise.confidence], axis=1).astype(np.float64),
        policy=np.concatenate(
            [np.empty((0, 4)), *(np.stack([one.axis, one.low, one.high, one.reach], axis=1) for one in policies)]
        ).astype(np.int32),
        ref=np.concatenate([_NONE, *(one.ref for one in near)]).astype(np.float64),
        tree=np.concatenate([_NONE, *trees]).astype(np.int32),
        near=np.empty(int(squares[tabled].sum())),
    )
    fill_near(secrets)
    return secrets


def _starts(arrays: Sequence[Any]) -> np.ndarray:
    return np.cumsum([0, *(one.size for one in arrays)], dtype=np.int64)[:-1]


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
