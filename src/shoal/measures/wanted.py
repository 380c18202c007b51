"""What researchers want of a table: what does not fit it, what weakens it, and what a release keeps of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.data.column import Column
from shoal.data.domain import Domain, Joint
from shoal.errors import InfeasibleError, ParameterError
from shoal.measures.detail import detail_shares
from shoal.measures.kept import rule_facts
from shoal.measures.published import Labels
from shoal.measures.research import ResearchValue
from shoal.recoding.kinds import Kind, Trait
from shoal.recoding.recoded import PriceStats

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
