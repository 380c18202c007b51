"""The table of research values: column by level by label, with counts, values and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain, Joint
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.recoding.kinds import Kind, Trait
from shoal.recoding.recoded import PriceStats
from shoal.utility.research_labels import Labels
from shoal.utility.research_rules import rule_facts
from shoal.utility.research_value import ResearchValue, detail_shares


@dataclass(frozen=True, kw_only=True)
class ValuedLevel:
    """One level of one column.

    Attributes
    ----------
    labels, counts
        What is published at this level, and the records under each.
    value, by_hand
        What the level is worth, and whether an expert said so.
    kept, rules
        Rules on the column that the level keeps, of how many.
    breaks
        Label to the rules that it breaks.
    """

    column: str
    level: int
    labels: list[str]
    counts: list[int]
    value: float
    by_hand: bool
    kept: list[str]
    rules: int
    breaks: dict[str, list[str]]

    def rows(self) -> list[dict[str, Any]]:
        """The level as rows of a table, a label each; its value stands in the first."""
        return [
            {
                "column": self.column, "level": self.level, "label": label, "count": count,
                "value": repr(self.value) if place == 0 else "", "rules kept": "; ".join(self.kept),
                "breaks": "; ".join(self.breaks.get(label, ())),
            }
            for place, (label, count) in enumerate(zip(self.labels, self.counts, strict=True))
        ]  # fmt: skip


def value_table(measure: ResearchValue, domain: Domain) -> list[ValuedLevel]:
    """Every level of every quasi-identifier, most specific first; ``domain`` has the tuples that the measure needs."""
    values = measure.level_values(domain.quasi, domain.quasi_weights, domain.joint)
    found = []
    for column, mine in zip(domain.quasi, values, strict=True):
        found += _levels(measure, column, mine)
    return found


def _levels(measure: ResearchValue, column: Column, values: np.ndarray) -> list[ValuedLevel]:
    labels = Labels(column)
    rules = [(rule.text, rule.breaking(labels)) for rule in measure.rules_of(column)]
    found = []
    for level, groups in enumerate(labels.groups):
        names = labels.names(level)
        counts = np.bincount(groups, weights=column.frequencies, minlength=len(names))
        breaks: dict[str, list[str]] = {}
        for text, flags in rules:
            for node in np.flatnonzero(flags[level]).tolist():
                breaks.setdefault(names[node], []).append(text)
        found.append(
            ValuedLevel(
                column=column.name,
                level=level,
                labels=names,
                counts=[int(count) for count in counts],
                value=float(values[level]),
                by_hand=column.name in measure.rv,
                kept=[text for text, flags in rules if not flags[level].any()],
                rules=len(rules),
                breaks=breaks,
            )
        )
    return found


# ----------------------------------------
# What researchers want of a table: what does not fit it, what weakens it, and what a release keeps of it.


# An inner level that keeps less of a column's value than this hardly counts in a search.
_WORTHLESS = 0.05
# Values by hand this many times above those of the formula decide alone.
_APART = 10.0


def check_research(measure: ResearchValue, columns: Sequence[Column]) -> None:
    """Refuse rules and values that name what the columns do not have."""
    measure.check(columns)
    for column in columns:
        rules = measure.rules_of(column)
        if rules:
            labels = Labels(column)
            for rule in rules:
                rule.sides(labels)


def research_facts(stats: PriceStats) -> dict[str, Any]:
    """Which rules a release keeps, and what to know about its research value; empty where nobody asked for one."""
    measure = ResearchValue().on(stats.domain)
    if not stats.domain.research or not stats.kind.generalises:
        return {}
    by_name = {cells.column.name: cells for cells in stats.cells}
    return {
        "rules": [rule_facts(rule, by_name[rule.column]) for rule in measure.rules],
        "warnings": table_warnings(stats.domain, stats.joined),
    }


def refuse_unjudged(measure: ResearchValue, kind: Kind) -> None:
    """Refuse rules that have to be kept where nothing could say whether they are."""
    must = [rule.text for rule in measure.rules if rule.keep]
    if must and not kind.has(Trait.COVERING):
        raise ParameterError(
            f"The rule '{must[0]}' must be kept, and in a {kind} release {kind.lacks[Trait.COVERING]}: leave out its "
            "keep, or use a method that generalises."
        )


def refuse_broken(facts: Mapping[str, Any], method: str) -> None:
    """Refuse a release that breaks a rule that has to be kept."""
    broken = [rule["text"] for rule in facts.get("rules", ()) if rule["keep"] and not rule["kept"]]
    if broken:
        raise InfeasibleError(
            f"The release that '{method}' found breaks the rule '{broken[0]}', which must be kept: use rv-global "
            "or rv-cluster, which look for one that keeps it, or leave out its keep."
        )


def table_warnings(domain: Domain, joined: Callable[[tuple[str, ...]], Joint]) -> list[str]:
    """What makes a research value say less than its author may think, in a sentence each."""
    measure, columns = ResearchValue().on(domain), domain.quasi
    joint = {names: joined(names) for names in measure.tuples(domain)}
    found = []
    for column in columns:
        shares = detail_shares(column)
        low = [level for level in range(1, shares.size - 1) if 0 < shares[level] < _WORTHLESS]
        if low and column.name not in measure.rv:
            found.append(
                f"The formula leaves '{column.name}' {shares[low[0]]:.1%} of its value at level {low[0]}, so that its "
                "coarse levels hardly count: set its values by hand (see 'shoal values')."
            )
    given = [max(values) for values in measure.rv.values()]
    scale = measure.attribute_weights(columns, domain.quasi_weights, joint)
    formula = [float(weight) for column, weight in zip(columns, scale, strict=True) if column.name not in measure.rv]
    if given and formula and max(given) >= _APART * max(formula):
        found.append(
            f"Values by hand go up to {max(given):g} and those of the formula to {max(formula):.3g}: columns without "
            "values by hand hardly count. Give both on one scale."
        )
    return found


# ----------------------------------------
# What researchers want of a table, settled before a run.


class Valued(Protocol):
    """A method that may say itself what levels are worth."""

    @property
    def research(self) -> Mapping[str, Any]: ...

    def parameters(self) -> Mapping[str, Any]: ...


def researched(
    domain: Domain,
    joined: Callable[[tuple[str, ...]], Joint],
    own: Mapping[str, Any],
    kind: Kind | None = None,
) -> Domain:
    """The same of what is known of a table, and of whoever counts how its columns go together."""
    if own and domain.research:
        raise ParameterError(
            "Research values are given both under [research] and under [algorithm]: keep one, best under [research], "
            "where they hold for every algorithm."
        )
    domain = replace(domain, research=dict(own)) if own else domain
    if domain.research:
        measure = ResearchValue().on(domain)
        check_research(measure, domain.quasi)
        if kind is not None:
            refuse_unjudged(measure, kind)
        pairs = {names: joined(names) for names in measure.tuples(domain)}
        domain = replace(domain, joint={**domain.joint, **pairs}) if pairs else domain
    return domain


def value_levels(table: Table) -> list[ValuedLevel]:
    """Every level of every quasi-identifier with its labels, counts, research value and rules kept.

    The values are those that the table was read with (``research``), or else the formula's.
    """
    return valued_levels(table.domain, table.joined)


def valued_levels(domain: Domain, joined: Callable[[tuple[str, ...]], Joint]) -> list[ValuedLevel]:
    """The same of what is known of a table, and of whoever counts how its columns go together."""
    domain = researched(domain, joined, {})
    return value_table(ResearchValue().on(domain), domain)


def told_research(algorithm: Valued, domain: Domain) -> dict[str, Any]:
    """An algorithm as a recipe writes it, with what it finds under ``[research]``, and every rule in words."""
    told = ResearchValue(**(algorithm.research or domain.research))
    given, own = dict(algorithm.parameters()), told.parameters()
    if domain.research:
        given |= {key: value for key, value in own.items() if key in given}
    return {"algorithm": given, "rules": [rule.text for rule in told.rules]}
