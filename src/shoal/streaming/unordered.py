"""What an engine whose rows have no order, and whose people have no numbers, refuses before it is opened."""

from __future__ import annotations

from shoal.catalogue import load
from shoal.errors import ParameterError, RecipeError


def refuse_keyless(engine: str, key: str | None) -> None:
    """Refuse rows that nothing tells apart, where they have no order."""
    if key is None and not getattr(load("engine", engine), "ordered", True):
        raise RecipeError(f"The engine '{engine}' has no order of rows: name a column that tells them apart as 'key'.")


def refuse_people(engine: str, subject: str | None) -> None:
    """Refuse to look at people who may have several rows one by one, where an engine only counts them."""
    if subject is not None and not getattr(load("engine", engine), "lists_people", True):
        raise RecipeError(
            f"Risks of people with several rows are looked at person by person, which the engine '{engine}' does not "
            "serve: use the engine 'duckdb', or leave the subject out."
        )


def refuse_unread(engine: str) -> None:
    """Refuse to read a written release by an engine that reads no batches of this machine."""
    if not getattr(load("engine", engine), "ordered", True):
        raise ParameterError(
            f"A written release is in files of this machine, which the engine '{engine}' does not read: use the engine "
            "'duckdb'."
        )
