"""Rules that have to be kept: the levels they leave, and which of them cannot be kept together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.algorithms.lattice.research.search import Search
from shoal.data.column import Column
from shoal.errors import InfeasibleError


def keep_rules(search: Search, measure: Any) -> None:
    """Leave out the levels that break a rule that has to be kept; rules that no string can keep are named."""
    rules = [rule for rule in measure.rules if rule.keep]
    if not rules:
        return
    found = conflict(search, rules)
    if found:
        raise contradiction(found, search.allowed)
    for a, column in enumerate(search.checker.columns):
        flags = measure.must_keep(column)
        search.kept[a] = [level for level in search.kept[a] if flags[level]]
        if not search.kept[a]:
            raise contradiction([rule.text for rule in rules if rule.column == column.name], search.allowed)


def conflict(search: Search, rules: Sequence[Any]) -> list[str]:
    """Rules that no string keeps together, as few as are enough; empty where one test does not show that."""
    kept = {rule: rule.kept(_column(search, rule.column)) for rule in rules}

    def hopeless(some: Sequence[Any]) -> bool:
        return search.test(_most_general(search, {rule: kept[rule] for rule in some})).hopeless

    if not hopeless(rules):
        return []
    found = list(rules)
    for rule in rules:
        fewer = [one for one in found if one is not rule]
        if fewer and hopeless(fewer):
            found = fewer
    return [rule.text for rule in found]


def contradiction(rules: Sequence[str], allowed: int) -> InfeasibleError:
    """The error that says which rules cannot all be kept."""
    which = "cannot be kept together" if len(rules) > 1 else "cannot be kept"
    return InfeasibleError(
        f"The {named_rules(rules)} {which} under the models with at most {allowed} rows suppressed: leave out a keep, "
        "raise the suppression_limit or relax the models."
    )


def unfound(rules: Sequence[str], method: str) -> InfeasibleError:
    """The error of a search that met nothing that keeps the rules, which is no proof that there is nothing."""
    return InfeasibleError(
        f"'{method}' found nothing that keeps the {named_rules(rules)}: use rv-global, which says whether whole "
        "columns can, leave out a keep or relax the models."
    )


def named_rules(rules: Sequence[str]) -> str:
    """Rules as a sentence names them."""
    quoted = [f"'{rule}'" for rule in rules]
    if len(quoted) == 1:
        return f"rule {quoted[0]}"
    return f"rules {', '.join(quoted[:-1])} and {quoted[-1]}"


def refuse_unkept(search: Search, measure: Any, levels: Sequence[int], *, proven: bool) -> None:
    """Refuse levels that break rules that have to be kept, where nothing better was found."""
    columns = search.checker.columns
    if all(measure.must_keep(column)[level] for column, level in zip(columns, levels, strict=True)):
        return
    rules = [rule for rule in measure.rules if rule.keep]
    if not proven:
        raise unfound([rule.text for rule in rules], "optimal")
    raise contradiction(conflict(search, rules) or [rule.text for rule in rules], search.allowed)


def _column(search: Search, name: str) -> Column:
    return next(column for column in search.checker.columns if column.name == name)


def _most_general(search: Search, kept: dict[Any, np.ndarray]) -> list[int]:
    """The most general string that keeps some rules, by the levels that keep each."""
    found = []
    for column, height in zip(search.checker.columns, search.heights, strict=True):
        flags = np.ones(height + 1, dtype=bool)
        for rule, mine in kept.items():
            if rule.column == column.name:
                flags &= mine
        found.append(int(np.flatnonzero(flags).max(initial=0)))
    return found
