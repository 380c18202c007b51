"""Attacks on releases that break links instead of generalising: randomised, pseudonymised and bucketised ones.

Each is a measurement that the publisher can make, because it needs to know what is true; the attackers themselves need
the release and what their stories say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.errors import ParameterError
from shoal.params import nearest, real, whole
from shoal.recoding.kinds import GRADED, MAPPING, Trait
from shoal.recoding.randomised import Randomised
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult
from shoal.risk.attacks.bucketised import relinking
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.decoding import SHARES, frequency_matching, likelihood_matching, rank_matching, sample_sizes
from shoal.risk.attacks.randomised import link_values, recover_vectors
from shoal.risk.attacks.required import released_groups
from shoal.utility.posterior import posterior, too_many
from shoal.utility.research_labels import places


def _channel(case: AttackCase) -> Randomised:
    assert case.release is not None
    assert case.release.released.channel is not None
    return case.release.released.channel


@dataclass(frozen=True, kw_only=True)
class PosteriorAttack(Attack):
    """The attacker knows everybody's quasi-identifiers and works out, by exact Bayes, whose record each one is.

    Random anonymisation leaves most cells of a record as they were, so few people could be behind it.
    """

    name: ClassVar = "posterior"
    aim: ClassVar = Trait.NOISE
    needs: ClassVar = ("input",)

    def run(self, case: AttackCase) -> AttackResult:
        """Recovered vectors first."""
        described = _channel(case)
        reason = too_many(described)
        if reason:
            return self.result([], f"It was not carried out: {reason}.")
        found = recover_vectors(described)
        names = {"recovered": "posterior", "posterior": "posterior-mean"}
        renamed = [replace(one, name=names.get(one.name, f"posterior-{one.name}")) for one in found]
        none = "Read are released records, and people outside the data have none, so no control is possible."
        return self.result(renamed, none)


@dataclass(frozen=True, kw_only=True)
class RandomisedLinkage(Attack):
    """The attacker knows a person's quasi-identifiers and lets every released record vote for its sensitive value.

    Votes count by the probability that the record is the person's. The control is what similar other people say, the
    person's own record left out.
    """

    name: ClassVar = "ra-linkage"
    aim: ClassVar = Trait.NOISE
    needs: ClassVar = ("input", "sensitive")

    def run(self, case: AttackCase) -> AttackResult:
        """One set of figures a sensitive column."""
        described = _channel(case)
        reason = too_many(described)
        if reason:
            return self.result([], f"It was not carried out: {reason}.")
        known = posterior(described)
        found: list[AttackFigure] = []
        for column in described.table.sensitive:
            for one in link_values(described, column.name, known):
                linked = one.name.startswith("linkage")
                found.append(replace(one, name=f"ra-{one.name}" if linked else f"ra-linkage-{one.name}"))
        found.sort(key=lambda one: one.name.split(":")[0] != self.name)
        return self.result(found, "The control is what similar other people say, the person's own record left out.")


@dataclass(frozen=True, eq=False, kw_only=True)
class _Seen:
    """A coded column: true codes of its known rows, what is published instead, and a public column beside it."""

    column: Column
    truth: np.ndarray
    codes: pl.Series
    beside: np.ndarray | None


@dataclass(frozen=True, kw_only=True)
class _CodeAttack(Attack):
    """An attack on coded columns by somebody who holds some true values of the same population.

    Parameters
    ----------
    shares
        Sizes of the attacker's samples, as shares of the rows.
    """

    aim: ClassVar = Trait.CODES
    needs: ClassVar = ("input",)
    reads: ClassVar[str]  # the coding whose codes can be attacked so
    shares: Sequence[float] = SHARES

    def __post_init__(self) -> None:
        for one in self.shares:
            real(self.name, "shares", one, low=0.0, high=1.0, open_low=True)

    def attack(self, seen: _Seen, generator: np.random.Generator, size: int) -> list[AttackFigure]:
        """The attack with a sample of some size."""
        raise NotImplementedError

    def public(self, case: AttackCase) -> np.ndarray | None:
        """Codes of a column that is published as it is, row by row, where the attack looks at one."""
        return None

    def run(self, case: AttackCase) -> AttackResult:
        """The largest sample first."""
        assert case.release is not None
        released, table = case.release.released, case.release.table
        fitting = [table.columns[name] for name, how in released.coded.items() if how == self.reads]
        generator, beside = case.keys.generator(f"attack {self.name}"), self.public(case)
        found: list[AttackFigure] = []
        for column in fitting:
            known = np.flatnonzero((table.codes[column.name] != column.missing) & (released.classes >= 0))
            seen = _Seen(
                column=column, truth=table.codes[column.name][known],
                codes=released.written[column.name].gather(known), beside=None if beside is None else beside[known],
            )  # fmt: skip
            for size in reversed(sample_sizes(known.size, self.shares)):
                for one in self.attack(seen, generator, size):
                    exact = "," not in one.name or one.name.endswith("exactly")
                    ending = f"{column.name}, {size:,} known"
                    within = one.name.partition(", ")[2].replace(" ", "-").replace("%", "percent")
                    name = f"{self.name}:{ending}" if exact else f"{self.name}-{within}:{ending}"
                    found.append(replace(one, name=name))
        scored = (
            "The people in the attacker's sample are not scored. People outside the data have no codes, so no control "
            "is possible."
        )
        return self.result(found, scored if found else "No column is coded in that way.")


@dataclass(frozen=True, kw_only=True)
class RankMatching(_CodeAttack):
    """The attacker sorts order-preserving codes against a sample of true values and reads off equal quantiles."""

    name: ClassVar = "rank-matching"
    reads: ClassVar = GRADED.name

    def attack(self, seen: _Seen, generator: np.random.Generator, size: int) -> list[AttackFigure]:
        """Exact, within a unit, within 5 % of the range."""
        return rank_matching(places(seen.column)[seen.truth], seen.codes.to_numpy(), generator, size=size)


@dataclass(frozen=True, kw_only=True)
class FrequencyMatching(_CodeAttack):
    """The attacker counts how often each code and each true value of a sample occurs and matches them by rank.

    Parameters
    ----------
    beside
        A column that is published as it is and that the sample has too: codes and values are then matched so that the
        sample is most likely, which tells apart what is equally common. Needs scipy.
    """

    name: ClassVar = "frequency-matching"
    reads: ClassVar = MAPPING.name
    beside: str | None = None

    def public(self, case: AttackCase) -> np.ndarray | None:
        """The column beside, which must be one that readers see."""
        assert case.release is not None
        table, released = case.release.table, case.release.released
        if self.beside is None:
            return None
        hidden = {*released.written, *([] if released.made.has(Trait.CODES) else table.schema.quasi)}
        open_columns = [name for name in table.columns if name not in hidden]
        if self.beside not in open_columns:
            near = nearest(self.beside, open_columns)
            hint = f"Did you mean '{near}'?" if near else f"Open are: {', '.join(open_columns) or 'none'}."
            raise ParameterError(f"'{self.beside}' is not published as it is, to be looked at beside codes. {hint}")
        return table.codes[self.beside]

    def attack(self, seen: _Seen, generator: np.random.Generator, size: int) -> list[AttackFigure]:
        """Records read."""
        truth = seen.truth.astype(np.int64)
        if seen.beside is None:
            return [frequency_matching(truth, generator, size=size)]
        return [likelihood_matching(truth, generator, size=size, beside=seen.beside.astype(np.int64))]


@dataclass(frozen=True, kw_only=True)
class Relinking(Attack):
    """The attacker learns from all groups which values go with which quasi-identifiers, and tells members apart.

    Naive Bayes is learned from the release alone, then learned again from its own guesses (Kifer's deFinetti attack).
    The baseline is the commonest value of the group; the control knows no group and leaves the person's record out.

    Parameters
    ----------
    rounds
        How often it learns again.
    """

    name: ClassVar = "relinking"
    aim: ClassVar = Trait.GROUPS
    needs: ClassVar = ("input", "sensitive")
    rounds: int = 5

    def __post_init__(self) -> None:
        whole("relinking", "rounds", self.rounds, least=0)

    def run(self, case: AttackCase) -> AttackResult:
        """One figure a sensitive column."""
        assert case.release is not None
        table, groups = case.release.table, released_groups(case.release.released)
        found = [
            relinking(table, groups, column, rounds=self.rounds, name=f"relinking:{column.name}")
            for column in table.sensitive
        ]
        return self.result(found, "The control guesses without the person's group and without the person's record.")
