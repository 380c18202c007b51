"""Rules that have to be kept: the levels they leave, and which of them cannot be kept together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.algorithms.lattice.research.search import Search
from shoal.errors import InfeasibleError
from shoal.table.column import Column


def keep_rules(search: Search, measure: Any) -> None:
    """Leave out the levels that break a rule that has to be kept; rules that no string can keep are named."""
    rules = [rule for rule in measure.rules if rule.keep]
    if not rules:
        return
    kept = {rule: rule.kept(_column(search, rule.column)) for rule in rules}

    def hopeless(some: Sequence[Any]) -> bool:
        return search.test(_most_general(search, {rule: kept[rule] for rule in some})).hopeless

    if hopeless(rules):
        for rule in list(rules):
            fewer = [one for one in rules if one is not rule]
            if fewer and hopeless(fewer):
                rules = fewer
        raise contradiction([rule.text for rule in rules], search.allowed)
    for a, column in enumerate(search.checker.columns):
        flags = measure.must_keep(column)
        search.kept[a] = [level for level in search.kept[a] if flags[level]]
        if not search.kept[a]:
            raise contradiction([rule.text for rule in rules if rule.column == column.name], search.allowed)


def contradiction(rules: Sequence[str], allowed: int) -> InfeasibleError:
    """The error that says which rules cannot all be kept."""
    quoted = [f"'{rule}'" for rule in rules]
    named = " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    which = f"rules {named} cannot be kept together" if len(quoted) > 1 else f"rule {named} cannot be kept"
    return InfeasibleError(
        f"The {which} under the models with at most {allowed} rows suppressed: leave out a keep, raise the "
        "suppression_limit or relax the models."
    )


def refuse_unkept(measure: Any, columns: Sequence[Column], levels: Sequence[int], allowed: int) -> None:
    """Refuse levels that break rules that have to be kept, where nothing better was found."""
    broken = [
        rule.text
        for column, level in zip(columns, levels, strict=True)
        for rule in measure.rules_of(column)
        if rule.keep and not rule.kept(column)[level]
    ]
    if broken:
        raise contradiction([rule.text for rule in measure.rules if rule.keep], allowed)


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
