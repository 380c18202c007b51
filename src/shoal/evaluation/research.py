"""What researchers want of a table, settled before a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from shoal.data.domain import Domain, Joint
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.measures.research import ResearchValue
from shoal.measures.value_table import ValuedLevel, value_table
from shoal.measures.wanted import check_research, refuse_unjudged
from shoal.recoding.kinds import Kind


class Valued(Protocol):
    """A method that may say itself what levels are worth."""

    @property
    def research(self) -> Mapping[str, Any]: ...

    def parameters(self) -> Mapping[str, Any]: ...


def with_research(table: Table, own: Mapping[str, Any], kind: Kind | None = None) -> Table:
    """The same table, valued as an algorithm's own parameters say if it has some; what does not fit is refused.

    Parameters
    ----------
    kind
        What the algorithm will make of it, where it is to be run.
    """
    return replace(table, domain=researched(table.domain, table.joined, own, kind))


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
