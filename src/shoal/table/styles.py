"""How a quasi-identifier's cells are published, and which styles a column can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.errors import SchemaError
from shoal.table.column import INTERVAL, TREE, Column
from shoal.table.schema import Schema

NUMBERS = ("numeric", "date")


def file_columns(column: Column) -> list[str]:
    """Names that a column has in a release: two for ``bounds``, else its own."""
    if column.cells != "bounds":
        return [column.name]
    return [f"{column.name}_lo", f"{column.name}_hi"]


def check_styles(schema: Schema, names: Sequence[str], columns: Mapping[str, Column]) -> None:
    """Refuse a style that a column cannot have, and published names that are taken.

    Parameters
    ----------
    names
        Every column of the source, whatever its role: a published name must not mean two things.
    columns
        The coded columns.
    """
    for name, spec in schema.specs.items():
        if spec.style == "auto":
            continue
        if schema.role(name) != "quasi":
            raise SchemaError(f"Column '{name}' is no quasi-identifier: remove its 'style', which is for those only.")
        _check_style(columns[name])
        taken = [file for file in file_columns(columns[name]) if file != name and file in names]
        if taken:
            raise SchemaError(
                f"The bounds of '{name}' would be published as '{taken[0]}', which is a column already: rename it."
            )


def _check_style(column: Column) -> None:
    name, style = column.name, column.spec.style
    if style == "bounds" and (column.kind != INTERVAL or column.type not in NUMBERS):
        why = f"{column.type} with a hierarchy" if column.kind == TREE else column.type
        advice = 'set use = "interval"' if column.kind == TREE and column.type in NUMBERS else 'set style = "auto"'
        raise SchemaError(f"Column '{name}' is {why}, and bounds are for intervals of numbers and dates: {advice}.")
    if style == "representative" and column.kind not in (INTERVAL, TREE):
        raise SchemaError(
            f"Column '{name}' has no order, so no value of a set stands in its middle: give it an 'order', a "
            'hierarchy, or style = "auto".'
        )
    if column.missing >= 0 and column.kind == INTERVAL and column.type in NUMBERS:
        count = int(column.frequencies[column.missing])
        raise SchemaError(
            f"Column '{name}' has {count} missing cells, which style = \"{style}\" cannot tell from '*': set missing "
            'to "drop", or its style to "auto".'
        )
