"""What a class gives away about its members: homogeneity, background knowledge, skewness, similarity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.data.column import TREE, Column, counted
from shoal.data.policies import Policy
from shoal.data.stats import unknown_flags
from shoal.params import real, whole
from shoal.recoding.kinds import Trait
from shoal.risk.attacks.base import Attack, AttackFigure, AttackResult
from shoal.risk.attacks.case import AttackCase, People
from shoal.risk.attacks.guess import (
    Answer,
    Pool,
    Rule,
    attack_both,
    attack_with,
    attacked,
    has_code,
    nothing,
    only_value,
)
from shoal.risk.attacks.views import in_own_class, pooled


@dataclass(frozen=True, kw_only=True)
class ClassAttack(Attack):
    """An attack on the sensitive values of classes.

    Where cells of several classes cover a person, the attacker knows which class is theirs: by a neighbour, by chance,
    or because the classes were made for people like them. Who has to take all of these classes together knows less;
    that figure stands beside as ``NAME-pooled:COLUMN``.
    """

    aim: ClassVar = Trait.CLASSES
    needs: ClassVar = ("sensitive",)

    def applies(self, column: Column) -> bool:
        """Whether a sensitive column can be attacked so."""
        return True

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """The attack on one column."""
        raise NotImplementedError

    def run(self, case: AttackCase) -> AttackResult:
        """Attack every sensitive column."""
        own = in_own_class(case)
        columns = attacked(own)
        fitting = [column for column in columns if self.applies(column)]
        found = [one for column in fitting for one in self.figures(own, column)]
        if own is not case:
            beside = [one for column in attacked(case) if self.applies(column) for one in self.figures(case, column)]
            found += [pooled(one) for one in beside if one.name.split(":")[0] == self.name]
        found.sort(key=lambda one: one.name.split(":")[0] != self.name)
        left = ", ".join(f"'{column.name}'" for column in columns if column not in fitting)
        notes = [f"'{self.name}' does not apply to {left}."] if left else []
        if found:
            notes += [own.no_control] if own.control is None else []
            notes += [case.absent] if case.absent else []
        return self.result(found, " ".join(notes))


@dataclass(frozen=True, kw_only=True)
class Homogeneity(ClassAttack):
    """The attacker finds a person's class and reads the sensitive value off where all its records share one.

    Where it is known whose records they are, a value that everybody in the class has is as plain, whatever other
    records some of them have. k-anonymity alone does not prevent it. The success rate is the share of people whose
    value is so disclosed.
    """

    name: ClassVar = "homogeneity"

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """One figure a column."""
        return [
            attack_with(
                case, f"homogeneity:{column.name}", column, only_value,
                f"The '{column.name}' of {{share}} of {{people}} people is read off classes that hold one value only; "
                "the same guesses about random people would be right for {naive}{control}.", has_code(column.name),
            )
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Background(ClassAttack):
    """The attacker knows one or two values that a person does not have, and guesses the commonest that is left.

    Excluded is what helps most: the second (and third) commonest value of the class. Where the column has a policy of
    ranges that do not overlap, whole ranges are excluded and guessed. The rate is among the people for whom the
    knowledge is true.
    """

    name: ClassVar = "background"

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """One value excluded, then two, then how often one leaves near certainty."""
        policy = column.policy
        ranged = policy is not None and policy.partition
        if ranged:
            assert policy is not None
            case, column = lifted(case, column, _range_numbers(policy))
        words = "range" if ranged else "value"

        def told(knowing: str) -> str:
            return (
                f"Knowing {knowing} that a person does not have, an attacker guesses the '{column.name}' of {{share}} "
                "of {people} people right; the same guesses about random people would be right for {naive}{control}."
            )

        one, sure = attack_both(case, "background", column, _without(1), told(f"one {words}"))
        two = attack_with(case, f"background-two:{column.name}", column, _without(2), told(f"two {words}s"))
        return [one, two, sure]


def _range_numbers(policy: Policy) -> np.ndarray:
    """Number of the range that every code lies in, where ranges do not overlap."""
    return np.unique(policy.low, return_inverse=True)[1]


def _without(excluded: int) -> Rule:
    """Guess the commonest value after excluding the next ones, where any of these occurs."""

    def rule(pool: Pool) -> Answer:
        width = min(excluded + 1, pool.counts.shape[1])
        order = np.argsort(-pool.counts, axis=1, kind="stable")[:, :width]
        some = np.take_along_axis(pool.counts, order, axis=1) > 0
        best = np.where(some[:, 0], order[:, 0], -1)
        out = np.full((pool.groups.size, excluded), -1, dtype=np.int64)
        out[:, : width - 1] = np.where(some[:, 1:], order[:, 1:], -1)
        return Answer(best, out)

    return rule


@dataclass(frozen=True, kw_only=True)
class Skewness(ClassAttack):
    """The attacker knows how common every value is in the table and acts where a class makes one much commoner.

    A guess is made where some value's share of the class is at least ``factor`` times its share of the release, and it
    is the value whose share has grown most. Diversity of a class does not prevent it, closeness to the table does.

    Parameters
    ----------
    factor
        How much commoner a value must be in a class than in the release.
    """

    name: ClassVar = "skewness"
    factor: float = 2.0

    def __post_init__(self) -> None:
        real("skewness", "factor", self.factor, low=1.0, open_low=True)

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """One figure a column."""
        known = unknown_flags(column) == 0
        totals = np.where(known, column.frequencies, 0).astype(np.float64)
        prior = totals / max(totals.sum(), 1.0)

        def rule(pool: Pool) -> Answer:
            size = pool.counts.sum(axis=1, keepdims=True)
            share = pool.counts / np.maximum(size, 1.0)
            gain = share - prior[pool.codes]
            grown = (share >= self.factor * prior[pool.codes]) & (pool.counts > 0)
            gain = np.where(grown, gain, -1.0)
            return Answer(np.where(grown.any(axis=1), gain.argmax(axis=1), -1), nothing(pool))

        return [
            attack_with(
                case, f"skewness:{column.name}", column, rule,
                f"Of {{share}} of {{people}} people the '{column.name}' is guessed right because their class makes it "
                f"at least {self.factor:g} times as likely as the table does; the same guesses about random people "
                "would be right for {naive}{control}.",
            )
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Similarity(ClassAttack):
    """The attacker learns less than the value, but enough: that all values of a class mean about the same.

    Values are lifted to a level of their hierarchy; a class is open where one node holds all its records. Diversity
    counts values, so classes of several kinds of cancer pass it.

    Parameters
    ----------
    level
        Level of the sensitive column's hierarchy.
    """

    name: ClassVar = "similarity"
    level: int = 1

    def __post_init__(self) -> None:
        whole("similarity", "level", self.level, least=1)

    def applies(self, column: Column) -> bool:
        """Columns whose hierarchy has the level below its root."""
        return column.kind == TREE and column.hierarchy is not None and self.level < column.hierarchy.height

    def figures(self, case: AttackCase, column: Column) -> list[AttackFigure]:
        """One figure a column."""
        assert column.hierarchy is not None
        case, column = lifted(case, column, column.hierarchy.ancestors[self.level])
        return [
            attack_with(
                case, f"similarity:{column.name}", column, only_value,
                f"For {{share}} of {{people}} people the group of values (level {self.level}) that '{column.name}' "
                "falls into is read off classes that hold one group only; the same guesses about random people would "
                "be right for {naive}{control}.", has_code(column.name),
            )
        ]  # fmt: skip


def lifted(case: AttackCase, column: Column, number: np.ndarray) -> tuple[AttackCase, Column]:
    """The same case with a column's codes replaced by numbers of what they belong to; unknown codes stay apart.

    A person's value that the release does not have belongs to nothing.
    """
    import polars as pl

    unknown = unknown_flags(column) == 1
    _, dense = np.unique(number[~unknown], return_inverse=True)
    count = int(dense.max(initial=-1)) + 1
    codes = np.full(column.card, count, dtype=np.int32)
    codes[~unknown] = dense
    has_missing = bool(unknown.any())
    texts = pl.Series([str(one) for one in range(count)] + ["<missing>"] * has_missing, dtype=pl.String)
    lifted_codes = codes[case.view.codes[column.name]]
    made = replace(
        column, frequencies=counted(lifted_codes, texts.len()), texts=texts, numbers=None,
        missing=count if has_missing else -1, hierarchy=None, kind="flat", policy=None,
    )  # fmt: skip
    view = replace(
        case.view, sensitive={**case.view.sensitive, column.name: made},
        codes={**case.view.codes, column.name: lifted_codes},
    )  # fmt: skip
    mapping = np.append(codes, [count + 1, -1])  # what the release lacks, and what is unknown

    def lift(people: People) -> People:
        if column.name not in people.truth:
            return people
        truth = mapping[people.truth[column.name]].astype(np.int64)
        return replace(people, truth={**people.truth, column.name: truth})

    control = None if case.control is None else lift(case.control)
    return replace(case, view=view, people=lift(case.people), control=control), made
