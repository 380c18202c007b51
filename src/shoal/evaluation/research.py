"""What researchers want of a table, settled before a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import ParameterError
from shoal.kinds.base import Kind
from shoal.measures.research import ResearchValue
from shoal.measures.value_table import ValuedLevel, value_table
from shoal.measures.wanted import check_research, refuse_unjudged
from shoal.table.table import Table


def with_research(table: Table, own: Mapping[str, Any], kind: Kind | None = None) -> Table:
    """The same table, valued as an algorithm's own parameters say if it has some; what does not fit is refused.

    Parameters
    ----------
    kind
        What the algorithm will make of it, where it is to be run.
    """
    if own and table.domain.research:
        raise ParameterError(
            "Research values are given both under [research] and under [algorithm]: keep one, best under [research], "
            "where they hold for every algorithm."
        )
    table = table.knowing(research=dict(own)) if own else table
    if table.domain.research:
        measure = ResearchValue().on(table.domain)
        check_research(measure, table.quasi)
        if kind is not None:
            refuse_unjudged(measure, kind)
        pairs = {names: table.joined(names) for names in measure.tuples(table.domain)}
        table = table.knowing(joint={**table.domain.joint, **pairs}) if pairs else table
    return table


def value_levels(table: Table) -> list[ValuedLevel]:
    """Every level of every quasi-identifier with its labels, counts, research value and rules kept.

    The values are those that the table was read with (``research``), or else the formula's.
    """
    table = with_research(table, {})
    return value_table(ResearchValue().on(table.domain), table.domain)
