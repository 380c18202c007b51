"""Linking perturbed records with the people they stand for: by equality, and by the nearest record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.keys import Keys
from shoal.data.stats import unknown_flags
from shoal.data.table import Table
from shoal.kernels.grouping import group_rows
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Perturbed
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult, figure
from shoal.risk.attacks.case import AttackCase

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
    return [*found, linkage(true, made, numeric, _people(np.arange(table.n), table, keys))]


def _people(rows: np.ndarray, table: Table, keys: Keys) -> np.ndarray:
    """Those of some rows whom the attacker looks for."""
    return np.sort(rows[keys.shuffle("record linkage", table.row_keys[rows])[:_PEOPLE]])


def linkage(true: np.ndarray, made: np.ndarray, numeric: np.ndarray, people: np.ndarray) -> AttackFigure:
    """How many people the nearest record finds, beside a record picked at random.

    Which columns are best to go by is tried on every other person, and the others are then looked for.
    """
    found = _scored(nearest_chances(true, made, numeric, people))
    linked = float(found.mean())
    told = (
        f"Somebody who knows everybody's quasi-identifiers and takes the nearest record finds the right one for "
        f"{linked:.1%} of the people."
    )
    return figure("record-linkage", linked, found.size, told, baseline=1.0 / made.shape[1])


def guessed(released: Released, column: Column, keys: Keys) -> AttackFigure:
    """How many people's sensitive value is the commonest of the records nearest to them; ties succeed in part."""
    recoding, table = released.recoding, released.table
    assert isinstance(recoding, Perturbed)
    values = np.where(unknown_flags(column) != 0, -1, np.arange(column.card))[table.codes[column.name]]
    people = _people(np.flatnonzero(values >= 0), table, keys)
    name = f"record-linkage:{column.name}"
    if not people.size:
        return figure(name, 0.0, 0, f"No value of '{column.name}' is known, so there is none to guess.", baseline=0.0)
    found = _scored(value_chances(*_coordinates(table, recoding), people, values))
    share, known = float(found.mean()), np.bincount(values[values >= 0])
    told = f"The '{column.name}' of {share:.1%} of the people is the commonest value of the records nearest to them."
    return figure(name, share, found.size, told, baseline=float(known.max() / known.sum()))


def _scored(chances: np.ndarray) -> np.ndarray:
    """What the attacker achieves who does best on every other person, on the people in between."""
    tried, scored = (chances[:, 1::2], chances[:, ::2]) if chances.shape[1] > 1 else (chances, chances)
    found: np.ndarray = scored[int(np.argmax(tried.mean(axis=1)))]
    return found


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
    chances = np.empty((_attackers(true), people.size))
    for attacker, start, mine, near in _nearest(true, made, numeric, people):
        own = near[np.arange(mine.size), mine]
        chances[attacker, start : start + mine.size] = own / near.sum(axis=1)
    return chances


def value_chances(
    true: np.ndarray, made: np.ndarray, numeric: np.ndarray, people: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Chance that the commonest value of the nearest records is a person's own, attackers as above.

    Parameters
    ----------
    values
        What each record has, -1 where it is unknown, which it is of none of the people.
    """
    card = int(values.max()) + 1
    chances = np.zeros((_attackers(true), people.size))
    for attacker, start, mine, near in _nearest(true, made, numeric, people):
        person, record = np.nonzero(near & (values >= 0))
        pairs, counts = np.unique(person * card + values[record], return_counts=True)
        of, value = np.divmod(pairs, card)
        most = np.zeros(mine.size, dtype=np.int64)
        np.maximum.at(most, of, counts)
        top = counts == most[of]
        right = np.bincount(of, weights=top & (value == values[mine][of]), minlength=mine.size)
        ties = np.bincount(of, weights=top, minlength=mine.size)
        chances[attacker, start : start + mine.size] = right / np.maximum(ties, 1.0)
    return chances


def _attackers(true: np.ndarray) -> int:
    return 1 + true.shape[0] * (true.shape[0] > 1)


def _nearest(
    true: np.ndarray, made: np.ndarray, numeric: np.ndarray, people: np.ndarray
) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """By each attacker, part after part: where the part begins, the people in it, and which records are nearest."""
    spread = np.where(numeric, true.std(axis=1), 1.0)
    scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    step = max(1, _PAIRS // max(made.shape[1], 1))
    for start in range(0, people.size, step):
        mine = people[start : start + step]
        gaps = np.abs(true[:, mine, None] - made[:, None, :]) * scale[:, None, None]
        gaps[~numeric] = gaps[~numeric] > 0
        whole = gaps.sum(axis=0)
        for attacker in range(_attackers(true)):
            apart = whole - gaps[attacker - 1] if attacker else whole
            yield attacker, start, mine, apart <= apart.min(axis=1)[:, None] + _NEAR


def _coordinates(table: Table, recoding: Perturbed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What people have and what their records say, shape (m, n) each, and which columns are numbers."""
    made = np.stack([recoding.places[name] for name in table.schema.quasi])
    true = np.stack([recoding.true[name] for name in table.schema.quasi])
    numeric = np.array([column.type in ("numeric", "date") and column.missing < 0 for column in table.quasi])
    return true, made, numeric


@dataclass(frozen=True, kw_only=True)
class RecordLinkage(Attack):
    """The attacker knows everybody's quasi-identifiers and takes, for each person, the nearest released record.

    Of sensitive values the commonest among the nearest records is guessed.
    """

    name: ClassVar = "record-linkage"
    aim: ClassVar = Trait.PERTURBED
    needs: ClassVar = ("input",)

    def run(self, case: AttackCase) -> AttackResult:
        """The share linked first, then values guessed, then what was left as it was."""
        assert case.release is not None
        released = case.release.released
        *others, linked = attack_perturbed(released, case.keys)
        plain = [column for column in released.table.sensitive if column.name not in released.coded]
        others = [*(guessed(released, column, case.keys) for column in plain), *others]
        none = "People outside the data have no record of their own, so no control is possible."
        return self.result([linked, *others], none)
