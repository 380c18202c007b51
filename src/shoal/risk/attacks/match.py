"""Linking a release with an identified table: cells that cover a person's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.recoding.kinds import Trait
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult, by_person, clustered, figure
from shoal.risk.attacks.case import AttackCase, People, alone, own_records
from shoal.risk.attacks.guess import attack_both, attacked, commonest
from shoal.utility.randomised import wilson

_BOUNDS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, kw_only=True)
class Linkage(Attack):
    """The attacker holds a table with names and quasi-identifiers and looks for each person's record by its cells.

    A record could be a person's where each of its cells covers the person's value. Among these the attacker picks one
    at random, and guesses the commonest sensitive value. k-anonymity keeps the first within 1/k; it does nothing
    against the second.
    """

    name: ClassVar = "linkage"
    aim: ClassVar = Trait.MATCHING
    needs: ClassVar = ("people", "cells")

    def run(self, case: AttackCase) -> AttackResult:
        """Count matches, then guess."""
        vectors, vector = case.people.places
        counts = case.view.cells.counts(vectors)[vector]
        found: list[AttackFigure] = [self._linked(case, counts), self._unique(case)]
        for column in attacked(case) if case.made.has(Trait.MATCHING, Trait.CLASSES) else ():
            found += attack_both(
                case, "linkage", column, commonest,
                f"The '{column.name}' of {{share}} of {{people}} people is guessed right by the commonest value of the "
                "records that match them; the same guesses about random people would be right for {naive}{control}.",
            )  # fmt: skip
        none = "A person outside the data has no record to be picked, so 'linkage' itself has no control."
        note = [case.no_control if case.control is None else none, *([case.absent] if case.absent else [])]
        if case.own_classes is None:
            note.append("Everybody who is matched is taken to be in the data, the own record among the matches.")
        if case.view.left_out:
            note.append(f"{', '.join(case.view.left_out)} is published by representatives and was left out.")
        return self.result(found, " ".join(note), matches=_matches(case), **_seen_by_records(case))

    def _linked(self, case: AttackCase, counts: np.ndarray) -> AttackFigure:
        """Expected share of people of whom a record is picked."""
        people, whose = case.people, case.view.subjects
        own = own_is_there(case, counts).astype(np.float64)
        naive = 1.0 / max(case.view.rows, 1)
        if people.person is not None and whose is not None:
            own = own_records(case.view.cells, *people.places, people.person, whose.of_row)
            naive = 1.0 / max(len(whose.known), 1)
        share, trials = clustered(*by_person(own / np.maximum(counts, 1.0), np.arange(counts.size), people.person))
        sentence = (
            f"Picking one of the records that match a person finds the right one for {share:.1%} of "
            f"{people.count:,} people, against {naive:.2%} by picking any record."
        )
        return figure("linkage", share, trials, sentence, baseline=naive)

    def _unique(self, case: AttackCase) -> AttackFigure:
        """People whom exactly one record matches; of a release of classes it should be nobody."""
        share, people = _alone(case, case.people)
        control = None if case.control is None else _alone(case, case.control)
        what = "Exactly one record matches" if case.view.subjects is None else "Records of exactly one person match"
        sentence = f"{what} {share:.1%} of {people:,} people."
        return figure(
            "linkage-unique", share, people, sentence, baseline=0.0, control=None if control is None else control[0],
            control_interval=None if control is None else wilson(*control),
        )  # fmt: skip


def _alone(case: AttackCase, people: People) -> tuple[float, int]:
    """Share of people of whom some row is matched by one record, or by records of one person, and their number."""
    vectors, vector = people.places
    if case.view.subjects is None:
        single = case.view.cells.counts(vectors) == 1
    else:
        single = alone(case.view.cells, vectors, case.view.subjects.of_row)
    found, _ = by_person(single[vector].astype(np.float64), vector, people.person)
    return (float((found > 0).mean()) if found.size else 0.0), found.size


def own_is_there(case: AttackCase, counts: np.ndarray) -> np.ndarray:
    """Whether a person's own record is among the matches: by the publisher's side where it is known.

    Without it, everybody in the table is taken to be in the data. A person with any match then has the record there.
    """
    own = case.own_classes
    if own is None:
        return counts > 0
    channel = None if case.release is None else case.release.released.channel
    if channel is None:
        return own >= 0
    return (own >= 0) & (channel.before == channel.after).all(axis=0)[case.input_rows]


def _matches(case: AttackCase) -> list[dict[str, Any]]:
    """Count the records that match each person of the table, also of those who are not in the release."""
    vectors, vector = case.everybody.places
    return distribution(case.view.cells.counts(vectors)[vector])


def distribution(counts: np.ndarray) -> list[dict[str, Any]]:
    """How many people have how many matches, in a few steps."""
    edges = [*_BOUNDS, np.inf]
    found = []
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        many = int(((counts >= low) & (counts < high)).sum())
        if many:
            last = None if np.isinf(high) else int(high) - 1
            found.append({"from": int(low), "to": last, "people": many, "share": many / counts.size})
    return found


def _seen_by_records(case: AttackCase) -> dict[str, Any]:
    """The other way round: how many people of the table each released record could belong to, if it has them all."""
    if case.sampled:
        return {}
    matcher = case.view.cells
    vectors, vector = case.everybody.places
    weight = np.bincount(vector, minlength=vectors.shape[0]).astype(np.float64)
    found = np.zeros(matcher.sizes.size)
    for part, of, row in matcher.pairs(vectors):
        found += np.bincount(row, weights=weight[part.start + of], minlength=found.size)
    counts = np.repeat(found, matcher.sizes)
    if not counts.size:
        return {}
    return {"records": distribution(counts), "records_of_one_person": float((counts == 1).mean())}


# ----------------------------------------
# Linking a microaggregated release with an identified table: the centroid that is nearest to a person's values.


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
