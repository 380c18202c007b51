"""The people that a table was drawn from: how many there are of every combination of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.data.build import build_table
from shoal.data.coding import canonical_text
from shoal.data.column import TREE, Column
from shoal.data.hierarchy import Hierarchy
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.table import Table, iso_dates
from shoal.errors import HierarchyError, InputError, SchemaError
from shoal.params import nearest


@dataclass(frozen=True, eq=False, kw_only=True)
class Population:
    """Distinct combinations of quasi-identifiers in a population, one row a person.

    Attributes
    ----------
    frame
        The combinations, as they were read, with dates of another format parsed.
    counts
        int64: people of each.
    codes
        int64 code of each combination's value in the table's dictionaries, by column; -1 where the table has none.
    numbers
        Numbers or days of the same, NaN where there is none, for columns of intervals.
    """

    frame: pl.DataFrame = field(repr=False)
    counts: np.ndarray = field(repr=False)
    codes: Mapping[str, np.ndarray] = field(repr=False)
    numbers: Mapping[str, np.ndarray] = field(repr=False)

    @property
    def people(self) -> int:
        """Everybody."""
        return int(self.counts.sum())


def check_population(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The quasi-identifiers of a population, after refusing one that lacks a column."""
    for name in schema.quasi:
        if name not in frame.columns:
            near = nearest(name, frame.columns)
            hint = f"did you mean its '{near}'?" if near else "it needs every quasi-identifier of the table."
            raise SchemaError(f"The population has no column '{name}': {hint}")
    return frame.select(list(schema.quasi))


def with_population(table: Table, frame: pl.DataFrame) -> Table:
    """The table with the population that it was drawn from, whose values are coded as the table's are."""
    schema = Schema(quasi=list(table.schema.quasi), specs={column.name: _spec(column) for column in table.quasi})
    try:
        coded = build_table(frame, schema, missing="value")
    except InputError as error:
        raise InputError(f"The population cannot be read as the table is: {error}") from None
    rows = coded.frame.with_row_index("\x00first").group_by(pl.struct(schema.quasi).alias("\x00"), maintain_order=True)
    found = rows.agg(pl.col("\x00first").first(), pl.len().alias("\x00people"))
    first = found["\x00first"].to_numpy()
    codes, numbers = {}, {}
    for name in schema.quasi:
        mine, theirs = table.columns[name], coded.columns[name]
        values = coded.codes[name][first]
        codes[name] = _joined(mine, theirs)[values]
        if theirs.numbers is not None:
            padded = np.append(theirs.numbers.astype(np.float64), np.nan)  # of the missing code, which is the last
            numbers[name] = padded[values]
    people = found["\x00people"].to_numpy().astype(np.int64)
    made = Population(frame=iso_dates(coded)[first], counts=people, codes=codes, numbers=numbers)
    return table.knowing(population=made)


def _spec(column: Column) -> ColumnSpec:
    """Type and order of a quasi-identifier; how its cells are published says nothing about a population."""
    return ColumnSpec(type=column.type, format=column.spec.format, order=column.spec.order)  # type: ignore[arg-type]


def _joined(mine: Column, theirs: Column) -> np.ndarray:
    """The table's code of each of the population's values, -1 for those that it does not know."""
    place = {text: code for code, text in enumerate(mine.texts.to_list()) if code != mine.missing}
    found = [place.get(text, -1) for text in theirs.texts.to_list()]
    if theirs.missing >= 0:
        found[theirs.missing] = mine.missing
    codes = np.array(found, dtype=np.int64)
    lost = int((np.delete(codes, theirs.missing) < 0).sum() if theirs.missing >= 0 else (codes < 0).sum())
    if mine.kind == TREE and lost:
        raise HierarchyError(
            f"The hierarchy of '{mine.name}' lacks {lost} values of the population: add a line for each."
        )
    return codes


def wider(build: Callable[[list[str]], Hierarchy], values: pl.Series) -> Callable[[list[str]], Hierarchy]:
    """The same builder for the values of a table and of its population together."""
    more = canonical_text(values).drop_nulls().unique().to_list()

    def built(texts: list[str]) -> Hierarchy:
        known = set(texts)
        every = [*texts, *(text for text in more if text not in known)]
        try:
            return build(sorted(every, key=float))
        except ValueError:
            return build(sorted(every))

    return built
