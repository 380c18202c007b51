"""What methods that group rows ask of tables about people."""

from __future__ import annotations

from shoal.data.domain import Domain
from shoal.errors import ParameterError


def refuse_repeated_people(domain: Domain, owner: str) -> None:
    """Say so where a person has several rows: k rows would then be fewer than k people."""
    if domain.by_people and domain.n_subjects < domain.n:
        raise ParameterError(
            f"{owner} groups rows, and the table's {domain.n} rows are about {domain.n_subjects} people: keep one row "
            "a person, or choose a method that counts people, such as 'mondrian'."
        )
