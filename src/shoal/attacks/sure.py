"""People of whom an attacker is nearly certain: a share that shows a leak about few where a mean over all does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.attacks.base import AttackFigure
from shoal.attacks.case import AttackCase
from shoal.attacks.guessing import Pool, Right, Rule, attack_with
from shoal.table.column import Column

# A guess is sure where at least this share of the records that are left agrees with it.
SURE = 0.9
# Records that agree with the guesses (places of the pool, -1 for none), one number a group.
Agreeing = Callable[[Pool, np.ndarray], np.ndarray]


def attack_surely(
    case: AttackCase,
    name: str,
    column: Column,
    rule: Rule,
    right: Right | None = None,
    marks: np.ndarray | None = None,
    agreeing: Agreeing | None = None,
) -> AttackFigure:
    """The same rule, silent where it is not sure: the figure ``NAME-sure:COLUMN``.

    Parameters
    ----------
    name
        The attack's name.
    right, marks
        As of `attack_with`.
    agreeing
        Which records agree with a guess; by default those that have the value guessed.
    """
    sentence = (
        f"The '{column.name}' of {{share}} of {{people}} people is guessed right where at least {SURE:.0%} of the "
        "records left agree with the guess; the same guesses about random people would be right for {naive}{control}."
    )
    cautious = _cautious(rule, marks, agreeing or _same)
    return attack_with(case, f"{name}-sure:{column.name}", column, cautious, sentence, right, marks)


def _cautious(rule: Rule, marks: np.ndarray | None, agreeing: Agreeing) -> Rule:
    """A rule that makes only the sure ones of another's guesses."""

    def made(pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        guessed, out = rule(pool)
        # Rounding must not cost a class that agrees exactly as much.
        speaks = agreeing(pool, guessed) >= (SURE - 1e-9) * _left(pool, out, marks)
        return np.where(speaks & (guessed >= 0), guessed, -1), out

    return made


def _same(pool: Pool, guessed: np.ndarray) -> np.ndarray:
    return pool.counts[np.arange(guessed.size), guessed]


def _left(pool: Pool, out: np.ndarray, marks: np.ndarray | None) -> np.ndarray:
    """Records that are not excluded, by group."""
    left = pool.counts.sum(axis=1)
    for excluded in out.T:
        if marks is not None:
            left = left - np.where(marks[pool.codes][None, :] == excluded[:, None], pool.counts, 0.0).sum(axis=1)
        else:
            left = left - np.where(excluded >= 0, _same(pool, excluded), 0.0)
    return left
