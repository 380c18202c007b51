"""What a privacy model is: a frozen specification with everything that is said about it in one place."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.stats import Attribute, GroupStats, attribute
from shoal.errors import ParameterError
from shoal.grammar import combination
from shoal.kernels import rules as kernel

# ----------------------------------------
# The conditions that models are made of, and what they compare classes with.


_EMPTY = np.empty(0, dtype=np.float64)
_NO_TREE = np.empty((0, 0), dtype=np.int32)
# A rule on the breaches that group statistics may hold: no kernel knows it, so nothing that groups records does.
BREACH = -1
# A rule on whether values are equally frequent and what they were before: no kernel knows it either.
BALANCED = -2
# A rule on how far the share of each value is from the reference's, in either direction.
DISCLOSURE = -3
# Rules on how many people of the population match a group's cells, and on which share of them the group is.
MATCHES, PRESENCE = -4, -5
# A rule on how few records of a group share items that are published of them.
SHARED = -6


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule:
    """One condition of the kernels' closed set, on one attribute (None: on the group's size).

    ``ref`` is the reference without unknown values, ``ref_full`` the one with them where it differs.
    ``scale`` turns the kernel's value and limit into the figures that reports show; ``keeps`` is whether merging
    keeps the condition on this table, where that depends on more than the condition. ``names`` are the columns of a
    rule that looks at no attribute's histogram. ``anybody``: once there are cells, a size is the number of rows that
    a group could be, where ``*`` counts as any value.
    """

    op: int
    sense: int
    limit: float
    attribute: Attribute | None = None
    p0: float = 0.0
    p1: float = 0.0
    ref: np.ndarray = field(default_factory=lambda: _EMPTY)
    ref_full: np.ndarray | None = None
    tree: np.ndarray = field(default_factory=lambda: _NO_TREE)
    combine: int = 1
    scale: float = 1.0
    exponential: bool = False
    keeps: bool = True
    names: tuple[str, ...] = ()
    anybody: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference:
    """The distribution classes are compared with: histograms of one group, the whole reference table.

    ``whole`` is False where the rows judged are only a part of what the statistics are of.
    """

    domain: Domain
    stats: GroupStats
    whole: bool = True

    def counts(self, attribute: Attribute) -> np.ndarray:
        """Count of every code in the reference."""
        histogram = self.stats.histograms[attribute.key]
        counts = np.zeros(attribute.card, dtype=np.int64)
        counts[histogram.codes] = histogram.counts
        return counts


def size_rule(k: int) -> Rule:
    """At least k people."""
    return Rule(op=kernel.SIZE, sense=kernel.AT_LEAST, limit=float(k))


def adds_up(rule: Rule) -> bool:
    """Whether merging two classes that meet a rule gives one that does, as far as counting goes."""
    one = rule.attribute
    if one is None:
        return True
    if one.people:
        return False
    if rule.op in (kernel.DISTINCT, kernel.SPREAD):
        return True
    if rule.op in (kernel.SHARE, kernel.RANGE_PAIRS, kernel.RANGE_SHARE):
        return rule.keeps
    return not one.unknown.any()


@dataclass(frozen=True, kw_only=True)
class Model:
    """A privacy model with its parameters; data arrives only with the judge.

    Class attributes
    ----------------
    name, main
        As in recipes, and the parameter that ``NAME=VALUE`` on the command line sets.
    monotone
        ``"up"``: merging classes that satisfy it gives one that does; ``"down"``: splitting does; ``"none"``.
    inherited
        Whether every subset of a failing class fails too.
    words, group_words
        What it says of a release, with parameters in braces; and what it says of groups whose members'
        quasi-identifiers are exact, where the usual words would promise too much.
    leaves_open, closed_by
        What it leaves open of a column, which stands in braces; and the models that do not, set on the same column.
    identity
        Whether it limits how few records or people share their quasi-identifiers.
    valued, together
        Whether it is judged on sensitive values; and if so, on all of its columns in one figure.
    numeric, ranged
        Whether it needs numbers; and the ranges of its column, without which nobody could check it.
    names_values
        Whether its parameters name values of its columns, which manifests then show.
    of_cells, of_nodes
        Whether it is about generalised cells; and about nodes above sensitive values, which may be lifted.
    compares, remembers
        Whether it compares classes with a reference that it names; and with earlier releases.
    membership
        Whether it limits what is learnt about who is in the data at all.
    across
        Whether as many values as a class needs must remain for a person over all classes of their rows.
    """

    name: ClassVar[str]
    main: ClassVar[str]
    words: ClassVar[str]
    monotone: ClassVar[str] = "up"
    inherited: ClassVar[bool] = False
    group_words: ClassVar[str | None] = None
    leaves_open: ClassVar[str | None] = None
    closed_by: ClassVar[tuple[str, ...]] = ()
    identity: ClassVar[bool] = False
    valued: ClassVar[bool] = True
    together: ClassVar[bool] = False
    numeric: ClassVar[bool] = False
    ranged: ClassVar[bool] = False
    names_values: ClassVar[bool] = False
    of_cells: ClassVar[bool] = False
    of_nodes: ClassVar[bool] = False
    compares: ClassVar[bool] = False
    remembers: ClassVar[bool] = False
    membership: ClassVar[bool] = False
    across: ClassVar[bool] = False

    @property
    def relative(self) -> bool:
        """Whether it compares classes with the released rows, which change with what is suppressed."""
        return False

    def __post_init__(self) -> None:
        on = getattr(self, "on", None)
        if on is None or isinstance(on, str):
            return
        listed = tuple(on) if isinstance(on, list | tuple) else ()
        if not listed or not all(isinstance(one, str) for one in listed) or len(set(listed)) < len(listed):
            raise ParameterError(
                f"The 'on' of model '{self.name}' must be a sensitive column or a list of different ones. Got {on!r}."
            )
        object.__setattr__(self, "on", listed if len(listed) > 1 else listed[0])

    def parameters(self) -> dict[str, Any]:
        """The model as a recipe writes it."""
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        given = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
        return {"name": self.name} | {key: value for key, value in given.items() if value is not None}

    def promise(self, *, groups: bool = False) -> str:
        """What it says of a release, or of groups whose members' quasi-identifiers are exact."""
        return ((self.group_words if groups else None) or self.words).format(**self.parameters())

    def columns(self, sensitive: Sequence[str]) -> list[str]:
        """The sensitive columns it looks at, of those that there are."""
        on = getattr(self, "on", None)
        every = list(sensitive) if self.valued else []
        return every if on is None else [on] if isinstance(on, str) else list(on)

    def judged_together(self, sensitive: Sequence[str]) -> list[str]:
        """Name the columns that share one figure, as a combination or a mean; none where each has its own."""
        columns = self.columns(sensitive)
        shared = self.together or not isinstance(getattr(self, "on", None), str | None)
        return columns if shared and len(columns) > 1 else []

    def protects_each(self, columns: int) -> bool:
        """Whether one figure over so many columns keeps every single one of them from being the same in a class.

        A combination differs as soon as one of its parts does.
        """
        return columns == 1

    def target_words(self, sensitive: Sequence[str]) -> str:
        """Name the columns as a statement does; empty where it looks at no values."""
        if self.judged_together(sensitive) and not self.together:
            return combination(self.columns(sensitive))
        return ", ".join(self.columns(sensitive))

    def targets(self, domain: Domain) -> list[tuple[str, ...]]:
        """The attributes it is judged on, each a tuple of column names; empty where it looks at no values."""
        if not self.valued:
            return []
        on = getattr(self, "on", None)
        if on is not None:
            return [(on,) if isinstance(on, str) else tuple(on)]
        if not domain.schema.sensitive:
            raise ParameterError(
                f"Model '{self.name}' needs a sensitive attribute: name one under 'sensitive'."
            )
        return [(name,) for name in domain.schema.sensitive]

    def attributes(self, domain: Domain) -> list[Attribute]:
        """Attributes whose histograms it needs."""
        found = [attribute(domain, names) for names in self.targets(domain)]
        if self.numeric:
            for one in found:
                numeric_column(self, one)
        return found

    def resolved(self, domain: Domain) -> list[Model]:
        """The model with every choice that depends on the table written out."""
        return [self]

    def size_limit(self) -> int:
        """Smallest class it allows."""
        return 1

    def rules(self, one: Attribute, reference: Reference) -> list[Rule]:
        """Conditions on one attribute; the first gives the figure that reports show."""
        raise NotImplementedError

    def all_rules(self, reference: Reference) -> list[list[Rule]]:
        """Conditions for every attribute it is judged on."""
        return [self.rules(one, reference) for one in self.attributes(reference.domain)]

    def guides(self, reference: Reference) -> list[list[Rule]]:
        """Conditions that kernels group records by, where they do not know those that the model is judged by."""
        return []

    def distinct_needed(self) -> int:
        """Fewest distinct values a class needs; fewer stay fewer in every subset."""
        return 1

    def worth_left(self, one: Attribute) -> np.ndarray | None:
        """What share of enough each value is worth where it remains possible for a person, one a code.

        The values that occur in all classes of a person's rows must be worth 1 between them. Every class that
        satisfies the model is worth that by itself. None where the model asks nothing of the kind.
        """
        return np.full(one.card, 1.0 / self.distinct_needed()) if self.across else None

    def all_necessary(self, reference: Reference) -> list[list[Rule]]:
        """Conditions that the model implies and whose failing every subset of a class inherits.

        A class without any known value passes, so nothing about values is inherited where some are unknown; nor where
        people are counted, because a value that all of them have need not be in each of their rows.
        """
        rules = [[size_rule(self.size_limit())]] if self.size_limit() > 1 else []
        if self.distinct_needed() > 1:
            for one in self.attributes(reference.domain):
                if not one.unknown.any() and not one.people:
                    need = float(self.distinct_needed())
                    rules.append([Rule(op=kernel.DISTINCT, sense=kernel.AT_LEAST, limit=need, attribute=one)])
        return rules


def smallest_class(models: Sequence[Model]) -> int:
    """Smallest class that any of some models allows."""
    return max([1, *(model.size_limit() for model in models)])


def merging_keeps(model: Model, rules: Sequence[Rule]) -> bool:
    """Whether merging two classes of this table that satisfy a model always gives one that does.

    Counts of people do not add up (two people with the same two values, one in either class, share both when these are
    merged), and a class without a known value passes but dilutes the one it is merged into.
    """
    return model.monotone == "up" and all(adds_up(rule) for rule in rules)


def failing_stays(model: Model, rules: Sequence[Rule]) -> bool:
    """Whether every part of a class of this table that fails a model fails it too.

    A part need not hold the row that gives somebody the value that everybody has.
    """
    seen = [rule.attribute for rule in rules if rule.attribute is not None]
    return model.inherited and not any(one.people or one.unknown.any() for one in seen)


def numeric_column(model: Model, one: Attribute) -> Column:
    """The numeric column behind an attribute, or the sentence that says it is none."""
    column = one.column
    if column is None or column.type not in ("numeric", "date") or column.numbers is None:
        names = "', '".join(one.names)
        raise ParameterError(
            f"Model '{model.name}' needs a single numeric attribute, and '{names}' is none: set 'on'."
        )
    return column
