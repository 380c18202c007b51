"""What every method that puts records in groups shares: polish, mending, and ``k`` as shorthand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np

from shoal.algorithms.aims import Aim, read_aim
from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.polish import POLISH_ROUNDS, polish
from shoal.algorithms.prices import prices_of
from shoal.data.classes import Cells
from shoal.errors import ParameterError
from shoal.kernels.cluster.bottom_up import nearest_groups, pair_off
from shoal.kernels.rules import EXTENT, SIZE
from shoal.models.base import Model
from shoal.params import real, whole
from shoal.recoding.population_match import with_population
from shoal.recoding.recoded import extent_cells, member_codes
from shoal.recoding.recodings import CellGrouping, Grouping
from shoal.registry import load

# ----------------------------------------
# Merging groups that fail a model with their nearest neighbours, until all hold or nothing is left to merge.


Groups = TypeVar("Groups", bound=Grouping | CellGrouping)

# Up to this many groups each is compared with all; beyond, with so many on either side in the method's own order.
_WINDOW = 4096


def mend(problem: Problem, grouping: Groups, limit: float) -> Groups:
    """The same grouping where it satisfies the models within the suppression limit, else one with groups merged.

    Merging helps the models that judge sensitive values and sizes; a limit on how wide a class may be is left to
    suppression. The notes say how many groups were merged.
    """
    grouping = _without_gaps(grouping)
    n, before = problem.domain.n, grouping.groups
    members = member_codes(problem.rows, grouping)
    # Rows count once, cells as often as they have rows.
    weights = None if isinstance(grouping, Grouping) else problem.rows.frequency([]).rows
    kept = np.flatnonzero(grouping.ids >= 0)
    mine = None if weights is None else weights[kept]
    while grouping.groups > 1:
        sizes = np.bincount(grouping.ids[kept], mine, minlength=grouping.groups).astype(np.int64)
        failing = _failing(problem, grouping, members, sizes)
        if int(sizes[failing].sum()) + n - int(sizes.sum()) <= limit * n + 1e-9:
            break
        problem.domain.check_sets(grouping.groups)
        problem.progress(f"merging {failing.size} groups that fail a model")
        codes = np.stack([members(name)[kept] for name in problem.domain.schema.quasi])
        prices = prices_of(problem.domain)
        nearest = nearest_groups(prices, codes, grouping.ids[kept], grouping.groups, failing, _WINDOW, mine)
        number = pair_off(failing, nearest, grouping.groups)
        ids = np.where(grouping.ids >= 0, number[grouping.ids], -1).astype(np.int32)
        grouping = replace(grouping, ids=ids, groups=int(number.max()) + 1)
    merged = before - grouping.groups
    return replace(grouping, notes={**grouping.notes, "merged": merged}) if merged else grouping


def _without_gaps(grouping: Groups) -> Groups:
    """Number the groups that have records: users' methods may leave numbers out, and a group of none has no cells."""
    present = np.bincount(grouping.ids[grouping.ids >= 0], minlength=grouping.groups) > 0
    # Numbers that are no group's are refused by kernels.
    if present.all() or present.size > grouping.groups:
        return grouping
    kept = grouping.classmap.keep(present)
    return replace(grouping, ids=kept.of if isinstance(kept, Cells) else kept.ids, groups=kept.groups)


def _failing(
    problem: Problem, grouping: Groups, members: Callable[[str], np.ndarray], sizes: np.ndarray
) -> np.ndarray:
    """Groups that fail a model, smallest first, ties by number."""
    judge, domain = problem.judge, problem.domain
    counted = not domain.by_people and np.isin(judge.rules.op, (SIZE, EXTENT)).all()
    if counted and not judge.beyond_kernels:
        bad = np.flatnonzero(sizes < judge.k)
    else:
        stats = problem.rows.stats(grouping.classmap, judge.attributes)
        if judge.needs_population and domain.population is not None:
            cells = [extent_cells(column, members(column.name), grouping) for column in domain.quasi]
            stats = with_population(stats, cells, domain.population, presence=judge.needs_presence)
        bad = np.flatnonzero(~judge.ok(stats))
    return bad[np.argsort(sizes[bad], kind="stable")]


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
