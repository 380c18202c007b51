"""Linking a release with an identified table: cells that cover a person's values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.attacks.base import Attack, AttackFigure, AttackResult, clustered, figure
from shoal.attacks.case import AttackCase
from shoal.attacks.guessing import attack_with, attacked, commonest
from shoal.attacks.sure import attack_surely

_BOUNDS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, kw_only=True)
class Linkage(Attack):
    """The attacker holds a table with names and quasi-identifiers and looks for each person's record by its cells.

    A record could be a person's where each of its cells covers the person's value. Among these the attacker picks one
    at random, and guesses the commonest sensitive value. k-anonymity keeps the first within 1/k; it does nothing
    against the second.
    """

    name: ClassVar = "linkage"
    kinds: ClassVar = ("generalised", "randomised", "pseudonymised", "bucketised")
    needs: ClassVar = ("people",)

    def run(self, case: AttackCase) -> AttackResult:
        """Count matches, then guess."""
        vectors, vector = case.people.places
        counts = case.view.cells.counts(vectors)[vector]
        found: list[AttackFigure] = [self._linked(case, counts), self._unique(case, counts)]
        if case.made in ("generalised", "bucketised"):
            found += [
                attack_with(
                    case, f"linkage:{column.name}", column, commonest,
                    f"The '{column.name}' of {{share}} of {{people}} people is guessed right by the commonest value of "
                    "the records that match them; the same guesses about random people would be right for "
                    "{naive}{control}.",
                )
                for column in attacked(case)
            ]  # fmt: skip
            found += [attack_surely(case, "linkage", column, commonest) for column in attacked(case)]
        note = [case.no_control] if case.control is None else []
        if case.input_rows is None:
            note.append("Everybody who is matched is taken to be in the data, the own record among the matches.")
        if case.view.left_out:
            note.append(f"{', '.join(case.view.left_out)} is published by representatives and was left out.")
        return self.result(found, " ".join(note), matches=distribution(counts), **_seen_by_records(case))

    def _linked(self, case: AttackCase, counts: np.ndarray) -> AttackFigure:
        """Expected share of people whose own record is picked, if they are in the data and not suppressed."""
        own = own_is_there(case, counts)
        success = np.where(own, 1.0 / np.maximum(counts, 1.0), 0.0)
        share, trials = clustered(success, np.arange(counts.size))
        naive = 1.0 / max(case.view.rows, 1)
        sentence = (
            f"Picking one of the records that match a person finds the right one for {share:.1%} of {counts.size:,} "
            f"people, against {naive:.2%} by picking any record."
        )
        return figure("linkage", share, trials, sentence, baseline=naive)

    def _unique(self, case: AttackCase, counts: np.ndarray) -> AttackFigure:
        """People whom exactly one record matches; of a release of classes it should be nobody."""
        share = float((counts == 1).mean()) if counts.size else 0.0
        control = None
        if case.control is not None:
            vectors, vector = case.control.places
            control = float((case.view.cells.counts(vectors)[vector] == 1).mean())
        sentence = f"Exactly one record matches {share:.1%} of {counts.size:,} people."
        return figure("linkage-unique", share, counts.size, sentence, baseline=0.0, control=control)


def own_is_there(case: AttackCase, counts: np.ndarray) -> np.ndarray:
    """Whether a person's own record is among the matches: by the publisher's side where it is known.

    Without it, everybody in the table is taken to be in the data. A person with any match then has the record there.
    """
    if case.release is None or case.input_rows is None:
        return counts > 0
    released, table = case.release.released, case.release.table
    there = released.classes >= 0
    if released.made == "randomised":
        after = getattr(released.recoding, "quasi", {})
        there = there & np.logical_and.reduce([after[name] == table.columns[name].codes for name in table.schema.quasi])
    return there[case.input_rows]


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
    """The other way round: how many people of the table each released record could belong to."""
    matcher = case.view.cells
    vectors, vector = case.people.places
    weight = np.bincount(vector, minlength=vectors.shape[0]).astype(np.float64)
    found = np.zeros(matcher.sizes.size)
    for part, of, row in matcher.pairs(vectors):
        found += np.bincount(row, weights=weight[part.start + of], minlength=found.size)
    counts = np.repeat(found, matcher.sizes)
    if not counts.size:
        return {}
    return {"records": distribution(counts), "records_of_one_person": float((counts == 1).mean())}
