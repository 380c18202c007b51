"""People of whom an attacker is nearly certain: a share that shows a leak about few where a mean over all does not."""

from __future__ import annotations

import numpy as np

from shoal.attacks.base import AttackFigure
from shoal.attacks.case import AttackCase
from shoal.attacks.guessing import SURE, Right, Rule, Tried, measured
from shoal.data.column import Column


def attack_both(
    case: AttackCase,
    name: str,
    column: Column,
    rule: Rule,
    sentence: str,
    right: Right | None = None,
    marks: np.ndarray | None = None,
) -> list[AttackFigure]:
    """A rule on one sensitive column, and the same rule where it is sure: ``NAME:COLUMN`` and ``NAME-sure:COLUMN``.

    Parameters
    ----------
    name
        The attack's name.
    sentence, right
        As of `measured`.
    marks
        As of `guess`.
    """
    tried = Tried.of(case, column, rule, marks)
    surely = (
        f"The '{column.name}' of {{share}} of {{people}} people is guessed right where at least {SURE:.0%} of the "
        "records left agree with the guess; the same guesses about random people would be right for {naive}{control}."
    )
    return [
        measured(case, f"{name}:{column.name}", column, tried, sentence, right),
        measured(case, f"{name}-sure:{column.name}", column, tried.surely(), surely, right),
    ]
