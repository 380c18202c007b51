"""What every method that puts records in groups shares: ``k`` as shorthand, mending and polish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.algorithms.base import Algorithm, Problem
from shoal.models.base import Model
from shoal.recoding.recodings import Grouping
from shoal.registry import load


@dataclass(frozen=True, kw_only=True)
class Grouper(Algorithm):
    """A method whose result is a grouping of records.

    Parameters
    ----------
    k
        Shorthand that adds the model ``k``.
    """

    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    k: int | None = None

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    def group(self, problem: Problem) -> Grouping:
        """Put the records of a table in groups."""
        raise NotImplementedError

    def run(self, problem: Problem) -> Grouping:
        """Group the records."""
        return self.group(problem)
