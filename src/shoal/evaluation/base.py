"""What an evaluation is, and what it hands back: findings with what they are compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from shoal.evaluation.view import Reading


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One figure of one evaluation.

    Attributes
    ----------
    name
        Name of the evaluation and, where it has several figures, of the figure: ``"count-queries mean"``.
    value
        The figure, None where it is undefined; the sentence says why.
    better
        ``"up"`` where a larger one is better, else ``"down"``.
    sentence
        What it means, in one plain sentence.
    interval
        95 % interval, None where the figure was counted.
    baseline
        The same figure without the release: of a trivial estimate, or of a guess that looks at no column.
    also
        Related figures as plain data: numbers, texts, lists and mappings of them.
    """

    name: str
    value: float | None
    better: str
    sentence: str
    interval: tuple[float, float] | None = None
    baseline: float | None = None
    also: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What somebody would do with a release; parameters only, the release arrives in :meth:`run`."""

    name: ClassVar[str]

    def run(self, reading: Reading) -> list[Finding]:
        """Findings, the most important first."""
        raise NotImplementedError

    def refusal(self, reading: Reading) -> str | None:
        """Why this says nothing about a release, in one sentence; None where it does."""
        return None

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """Columns that it compares: where all of these are untouched it says so, and is not run."""
        return list(reading.mined[0].features)

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as a recipe would write them."""
        given = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return {"name": self.name} | {key: value for key, value in given.items() if value is not None}
