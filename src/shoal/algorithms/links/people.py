"""What methods that group rows ask of tables about people."""

from __future__ import annotations

from shoal.errors import ParameterError
from shoal.table.table import Table


def refuse_repeated_people(table: Table, owner: str) -> None:
    """Say so where a person has several rows: k rows would then be fewer than k people."""
    if table.subjects is not None and table.n_subjects < table.n:
        raise ParameterError(
            f"{owner} groups rows, and the table's {table.n} rows are about {table.n_subjects} people: keep one row a "
            "person, or choose a method that counts people, such as 'mondrian'."
        )
