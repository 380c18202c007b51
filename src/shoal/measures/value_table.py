"""The table of research values: column by level by label, with counts, values and rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.measures.published import Labels
from shoal.measures.research import ResearchValue


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
