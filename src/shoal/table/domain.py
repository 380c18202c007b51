"""What is known of a table without its rows: roles, dictionaries, hierarchies and counts.

Everything that prices, judges, describes or formats needs this and no more; whoever needs rows asks an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.table.column import FLAT, Column
from shoal.table.invisible import Spellings
from shoal.table.schema import Schema
from shoal.table.workload import Cuts, Workload

if TYPE_CHECKING:
    from shoal.table.population import Population
    from shoal.table.sampling import Sample


@dataclass(frozen=True, eq=False)
class Joint:
    """The dictionary of a tuple of columns.

    Attributes
    ----------
    codes
        int32, shape (columns, combinations): the combinations that occur, in ascending order of the first code,
        then the second, ..., which is the order of their codes as one.
    counts
        int64, rows of each.
    unknown
        uint8 flag of each: whether it holds an unknown value.
    """

    codes: np.ndarray
    counts: np.ndarray
    unknown: np.ndarray

    @property
    def card(self) -> int:
        """Number of combinations."""
        return self.counts.size


@dataclass(frozen=True, eq=False, kw_only=True)
class Domain:
    """Schema and dictionaries of a table, and how many rows and people it has.

    Attributes
    ----------
    columns
        Dictionaries of the quasi-identifiers and sensitive attributes, by name.
    n
        Rows that take part.
    n_subjects
        Codes of subjects, 0 when rows are people.
    subject_spellings
        How many subjects may be spellings of each other, None where no two are alike.
    weights
        Attribute weights, where they are given.
    workload
        What the release is for, as declared.
    research
        What levels are worth to researchers, as the parameters of the measure ``rv``; empty where nothing was said.
    cuts
        What follows from it for groups, by column: where cells should end, and what it costs not to.
    history
        The sensitive column whose earlier releases count, None where there are none.
    joint
        Dictionaries of the tuples of columns that models look at.
    population
        The people that the rows were drawn from, None where they are not known.
    sample
        What was drawn of the source, None where all of it takes part.
    name
        What the source is called.
    types
        Every column that was read, in the order of the source, and its type as it was read.
    number_form
        Pattern of numbers with the source's own marks, which columns of nothing else are read by; None for plain ones.
    """

    schema: Schema
    columns: Mapping[str, Column]
    n: int
    n_subjects: int = 0
    subject_spellings: Spellings | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    workload: Workload | None = None
    research: Mapping[str, Any] = field(default_factory=dict)
    cuts: Mapping[str, Cuts] = field(default_factory=dict)
    history: str | None = None
    joint: Mapping[tuple[str, ...], Joint] = field(default_factory=dict)
    population: Population | None = None
    sample: Sample | None = None
    name: str | None = None
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    number_form: str | None = None

    @cached_property
    def quasi(self) -> list[Column]:
        """Quasi-identifiers in schema order."""
        return [self.columns[name] for name in self.schema.quasi]

    @cached_property
    def sensitive(self) -> list[Column]:
        """Sensitive attributes in schema order."""
        return [self.columns[name] for name in self.schema.sensitive]

    def is_inferred(self, column: Column) -> bool:
        """Whether the type of a column follows from its texts."""
        spec = column.spec
        declared = spec.type is not None or spec.order or spec.items is not None or spec.format is not None
        return not declared and self.types.get(column.name) == pl.String

    def check_sets(self, groups: int) -> None:
        """Refuse sets of values as bits of flat columns that so many groups have no memory for."""
        for column in self.quasi:
            if column.kind == FLAT:
                column.check_sets(groups)

    @property
    def by_people(self) -> bool:
        """Whether people are counted, by their subject column, and not rows."""
        return self.schema.subject is not None

    @cached_property
    def quasi_weights(self) -> np.ndarray:
        """Attribute weights of the quasi-identifiers, 1 where none is given."""
        return np.array([float(self.weights.get(name, 1.0)) for name in self.schema.quasi])
