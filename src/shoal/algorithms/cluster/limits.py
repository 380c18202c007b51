"""The limits that UPC works within, read off the models, and the sensitive columns as its kernels need them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.algorithms.base import Problem
from shoal.data.column import Column, closeness
from shoal.data.policies import policy_of
from shoal.data.stats import unknown_flags
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.rules import LEAVES
from shoal.kernels.sensitive_ranges import Secrets, fill_near
from shoal.models.base import Model

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
