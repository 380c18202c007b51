"""Linking perturbed records with the people they stand for: by equality, and by the nearest record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.attacks.base import Attack, AttackFigure, AttackResult, figure
from shoal.attacks.case import AttackCase
from shoal.kernels.count.grouping import group_rows
from shoal.kinds.base import Trait
from shoal.recoding.applied import Released
from shoal.recoding.recodings import Perturbed
from shoal.table.keys import Keys
from shoal.table.table import Table

# People whose nearest record is looked for, and pairs of a person and a record that are compared at once.
_PEOPLE, _PAIRS = 2000, 1 << 20
# Distances this near are equal.
_NEAR = 1e-9


def attack_perturbed(released: Released, keys: Keys) -> list[AttackFigure]:
    """Records that are as they were, and people whose nearest record is their own."""
    recoding, table = released.recoding, released.table
    assert isinstance(recoding, Perturbed)
    true, made, numeric = _coordinates(table, recoding)
    same = (true == made).all(axis=0)
    ids, _, counts = group_rows(table.quasi_codes, np.array([column.card for column in table.quasi]))
    alone = float((same & (counts[ids] == 1)).mean())
    share = float(same.mean())
    found = [
        figure("unchanged", share, table.n, f"{share:.1%} of the records are released exactly as they were."),
        figure(
            "unique-and-unchanged", alone, table.n,
            f"{alone:.1%} of the records are released exactly as they were, and nobody else had their "
            "quasi-identifiers.",
        ),
    ]  # fmt: skip
    people = np.sort(keys.shuffle("record linkage", table.row_keys)[: max(1, min(_PEOPLE, table.n))])
    return [*found, linkage(true, made, numeric, people)]


def linkage(true: np.ndarray, made: np.ndarray, numeric: np.ndarray, people: np.ndarray) -> AttackFigure:
    """How many people the nearest record finds, beside a record picked at random.

    Which columns are best to go by is tried on every other person, and the others are then looked for.
    """
    chances = nearest_chances(true, made, numeric, people)
    tried, scored = (chances[:, 1::2], chances[:, ::2]) if people.size > 1 else (chances, chances)
    found = scored[int(np.argmax(tried.mean(axis=1)))]
    linked = float(found.mean())
    told = (
        f"Somebody who knows everybody's quasi-identifiers and takes the nearest record finds the right one for "
        f"{linked:.1%} of the people."
    )
    return figure("record-linkage", linked, found.size, told, baseline=1.0 / made.shape[1])


def nearest_chances(true: np.ndarray, made: np.ndarray, numeric: np.ndarray, people: np.ndarray) -> np.ndarray:
    """Chance that one of the nearest records, picked at random, is a person's own.

    Distances add up over columns: of numbers in standard deviations, of others 1 where they differ.

    Parameters
    ----------
    true, made
        float64 (m, n): columns of the people and of their records.
    numeric
        Which columns are numbers.
    people
        Places of the people to find.

    Returns
    -------
    numpy.ndarray
        Shape (attackers, people): by all columns, and, where there are several, by all but each of them, since one may
        be perturbed more than the others.
    """
    spread = np.where(numeric, true.std(axis=1), 1.0)
    scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    columns = true.shape[0]
    chances = np.empty((1 + columns * (columns > 1), people.size))
    step = max(1, _PAIRS // max(made.shape[1], 1))
    for start in range(0, people.size, step):
        mine = people[start : start + step]
        gaps = np.abs(true[:, mine, None] - made[:, None, :]) * scale[:, None, None]
        gaps[~numeric] = gaps[~numeric] > 0
        whole = gaps.sum(axis=0)
        for attacker in range(len(chances)):
            apart = whole - gaps[attacker - 1] if attacker else whole
            least = apart.min(axis=1)
            ties = (apart <= least[:, None] + _NEAR).sum(axis=1)
            own = apart[np.arange(mine.size), mine] <= least + _NEAR
            chances[attacker, start : start + step] = own / ties
    return chances


def _coordinates(table: Table, recoding: Perturbed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What people have and what their records say, shape (m, n) each, and which columns are numbers."""
    made = np.stack([recoding.places[name] for name in table.schema.quasi])
    true = np.stack([recoding.true[name] for name in table.schema.quasi])
    numeric = np.array([column.type in ("numeric", "date") and column.missing < 0 for column in table.quasi])
    return true, made, numeric


@dataclass(frozen=True, kw_only=True)
class RecordLinkage(Attack):
    """The attacker knows everybody's quasi-identifiers and takes, for each person, the nearest released record."""

    name: ClassVar = "record-linkage"
    aim: ClassVar = Trait.PERTURBED
    needs: ClassVar = ("input",)

    def run(self, case: AttackCase) -> AttackResult:
        """The share linked first, then what was left as it was."""
        assert case.release is not None
        *others, linked = attack_perturbed(case.release.released, case.keys)
        none = "People outside the data have no record of their own, so no control is possible."
        return self.result([linked, *others], none)
