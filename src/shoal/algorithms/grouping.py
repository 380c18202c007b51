"""What every method that puts records in groups shares: polish, mending, and ``k`` as shorthand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.algorithms.aims import Aim, read_aim
from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.mend import mend
from shoal.algorithms.polish import POLISH_ROUNDS, polish
from shoal.catalogue import load
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.params import real, whole
from shoal.recoding.recodings import CellGrouping, Grouping

NOT_POLISHED = "none"


@dataclass(frozen=True, kw_only=True)
class Polishable(Algorithm):
    """A method whose groups can be polished.

    Parameters
    ----------
    polish
        A measure to lower afterwards (``lm``, ``ilm`` or ``arx-loss``), ``rv`` to raise, or loss and what classes tell
        by their weights, such as ``0.5 lm + 0.5 range-diversity`` (or ``mpm``): records move, change places and are
        dealt anew between neighbouring groups while every model keeps holding. ``none``: not at all, which is the
        default of most methods.
    polish_rounds
        Most rounds of it; a round that gains next to nothing ends it earlier. 20 by default.
    polish_seconds
        Begin no round after so many seconds. What comes out then depends on the machine: the evidence gives the rounds
        done, with which a run can be repeated exactly.
    """

    polish: str | None = None
    polish_rounds: int | None = None
    polish_seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if self.polishes is None and (self.polish_rounds is not None or self.polish_seconds is not None):
            raise ParameterError(f"The polish of {name} has bounds but no measure to lower: set 'polish' too.")
        if self.polish_rounds is not None:
            whole(name, "polish_rounds", self.polish_rounds, least=1)
        if self.polish_seconds is not None:
            real(name, "polish_seconds", self.polish_seconds, low=0.0)

    @property
    def polishes(self) -> Aim | None:
        """What polish lowers, None where there is none."""
        return None if self.polish in (None, NOT_POLISHED) else read_aim(type(self).__name__, self.polish)

    def polished(self, problem: Problem, grouping: Grouping) -> Grouping:
        """The grouping itself, or a better one if asked for."""
        if self.polishes is None:
            return grouping
        return polish(problem, grouping, self.polishes, self.polish_rounds or POLISH_ROUNDS, self.polish_seconds)


def by_rows(problem: Problem, grouping: Grouping | CellGrouping) -> Grouping:
    """The same groups as numbers of rows, which must be in memory."""
    if isinstance(grouping, Grouping):
        return grouping
    return Grouping(ids=problem.memory.ids(grouping.classmap), groups=grouping.groups, notes=grouping.notes)


@dataclass(frozen=True, kw_only=True)
class Grouper(Polishable):
    """A method whose result is a grouping of records.

    Parameters
    ----------
    k
        Shorthand that adds the model ``k``.
    """

    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    # Whether its groups may fail models that merging would satisfy.
    mends: ClassVar[bool] = True
    # Whether it keeps a bit for every value of a flat column, in every group.
    keeps_sets: ClassVar[bool] = True
    k: int | None = None

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def in_parts(self) -> bool:
        """Groups of one part are good for the whole."""
        return True

    def most_groups(self, problem: Problem) -> int:
        """Groups that there may be at once."""
        return problem.domain.n // max(problem.judge.k, 1) + 1

    def group(self, problem: Problem) -> Grouping | CellGrouping:
        """Put the records of a table in groups."""
        raise NotImplementedError

    def run(self, problem: Problem) -> Grouping | CellGrouping:
        """Group the records, merge groups that fail a model, and polish if asked."""
        if self.keeps_sets:
            problem.domain.check_sets(self.most_groups(problem))
        grouping = self.group(problem)
        if self.mends or problem.judge.beyond_kernels:
            grouping = mend(problem, grouping, self.share_allowed(problem.domain.n))
        return grouping if self.polishes is None else self.polished(problem, by_rows(problem, grouping))
