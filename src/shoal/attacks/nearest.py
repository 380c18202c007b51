"""Linking a microaggregated release with an identified table: the centroid that is nearest to a person's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.attacks.case import AttackCase
from shoal.attacks.guessing import attacked, commonest
from shoal.attacks.sure import attack_both
from shoal.recoding.kinds import Trait


@dataclass(frozen=True, kw_only=True)
class Nearest(Attack):
    """The attacker holds a table with names and quasi-identifiers and takes the records nearest to each person.

    Centroids cover nobody's values, but most people are nearest to their own. Among the nearest records the attacker
    picks one at random, and guesses the commonest sensitive value. k-anonymity keeps the first within 1/k; it does
    nothing against the second.
    """

    name: ClassVar = "nearest"
    aim: ClassVar = Trait.CENTROIDS
    needs: ClassVar = ("people",)

    def run(self, case: AttackCase) -> AttackResult:
        """Find records and classes, then guess."""
        found = self._found(case)
        for column in attacked(case):
            found += attack_both(
                case, "nearest", column, commonest,
                f"The '{column.name}' of {{share}} of {{people}} people is guessed right by the commonest value of the "
                "class nearest to them; the same guesses about random people would be right for {naive}{control}.",
            )  # fmt: skip
        notes = [] if case.input_rows is not None else ["Only the publisher knows whether the nearest record is right."]
        notes += [case.no_control] if case.control is None else []
        return self.result(found, " ".join([*notes, *([case.absent] if case.absent else [])]))

    def _found(self, case: AttackCase) -> list[AttackFigure]:
        """How often the person's own record, and own class, is found; only the publisher can tell."""
        near, centroids = case.people.near, case.view.centroids
        if near is None or centroids is None or case.release is None or case.input_rows is None:
            return []
        own = case.release.released.classes[case.input_rows]
        there = centroids.reaches(near, own)
        sizes = np.where(own >= 0, centroids.sizes[own], 0.0)
        every = np.arange(own.size)
        rows = max(case.view.rows, 1)
        record, worth = clustered(np.where(there, 1.0 / near.records, 0.0), every)
        group, group_worth = clustered(np.where(there, sizes / near.records, 0.0), own)
        naive, naive_group = 1.0 / rows, float(sizes.mean()) / rows
        return [
            figure(
                "nearest", record, worth,
                f"Picking one of the records nearest to a person finds the right one for {record:.1%} of {own.size:,} "
                f"people, against {naive:.2%} by picking any record.", baseline=naive,
            ),
            figure(
                "nearest-class", group, group_worth,
                f"The class nearest to a person is the person's own for {group:.1%} of {own.size:,} people, against "
                f"{naive_group:.2%} by picking any record's.", baseline=naive_group,
            ),
        ]  # fmt: skip
