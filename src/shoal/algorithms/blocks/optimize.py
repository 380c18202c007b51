"""k-Optimize: the best cuts of ordered domains, proven (Bayardo & Agrawal 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.blocks.board import MEASURES, Board
from shoal.algorithms.blocks.cuts import Cuts, cuts_of
from shoal.algorithms.blocks.search import Search
from shoal.algorithms.lattice.pruning import infeasible
from shoal.catalogue import load
from shoal.errors import ParameterError
from shoal.models.base import Model
from shoal.params import choice, real, whole
from shoal.recoding.recodings import Blocks

# What a search without a limit of its own stops after.
_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class ByBlocks(Algorithm):
    """A method that puts the values of every column in blocks, guided by a measure.

    Parameters
    ----------
    measure
        ``dm`` (discernibility), ``cm`` (classification) or ``lm`` (loss); suppressed rows count at their full price.
    target
        Label of ``cm``, the first sensitive attribute when not given.
    seconds
        Stop after so long with the best so far.
    k
        Shorthand that adds the model ``k``.
    """

    shorthand: ClassVar[tuple[str, ...]] = ("k",)
    measure: str = "lm"
    target: str | None = None
    seconds: float | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        choice(name, "measure", self.measure, MEASURES)
        if self.target is not None and self.measure != "cm":
            raise ParameterError(f"The target of {name} is for the measure 'cm': leave it out.")
        if self.seconds is not None:
            real(name, "seconds", self.seconds, low=0.0, open_low=True)

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k")(k=self.k)]

    @property
    def from_cells(self) -> bool:
        """The frequency table is all that blocks are tried on."""
        return True

    def board(self, problem: Problem) -> Board:
        """The table that blocks are tried on."""
        return Board(problem, self.measure, self.target, self.rows_allowed(problem.domain.n))


@dataclass(frozen=True, kw_only=True)
class KOptimize(ByBlocks):
    """Of all ways to cut the ordered values of every column into runs, the one with the best measure, proven.

    Columns with a hierarchy are cut into its nodes. Without ``seconds`` or ``nodes`` the search stops after a minute;
    the notes say how far from the best its result can be at most.

    Parameters
    ----------
    nodes
        Stop after so many sets of cuts, which, unlike time, gives the same result on every machine.

    Examples
    --------
    >>> KOptimize(k=5, suppression_limit=0.02).parameters()
    {'name': 'k-optimize', 'suppression_limit': 0.02, 'measure': 'dm'}
    """

    name: ClassVar[str] = "k-optimize"
    measure: str = "dm"
    nodes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nodes is not None:
            whole("KOptimize", "nodes", self.nodes, least=0)

    def run(self, problem: Problem) -> Blocks:
        """Search the sets of cuts."""
        board, cuts = self.board(problem), cuts_of(problem.domain.quasi)
        seconds = _SECONDS if self.seconds is None and self.nodes is None else self.seconds
        found = Search(board, cuts, problem.progress, seconds=seconds, nodes=self.nodes).run()
        if found.head is None or found.state is None:
            raise infeasible(problem, self.rows_allowed(problem.domain.n))
        cost, bound = (board.figure(value) for value in (found.state.cost, found.bound))
        notes = {
            "proven": found.proven, "gap": 0.0 if found.proven else (cost - max(bound, 0.0)) / (cost or 1.0),
            "figure": cost, "nodes": found.nodes, "looked_at": board.looked_at, "cuts": cuts.size,
            "suppressed": found.state.suppressed,
        }  # fmt: skip
        return recoded(problem, cuts, found.head, notes)


def recoded(problem: Problem, cuts: Cuts, chosen: np.ndarray, notes: dict[str, Any]) -> Blocks:
    """The recoding that some cuts make."""
    names = problem.domain.schema.quasi
    blocks = dict(zip(names, cuts.blocks(chosen), strict=True))
    return Blocks(blocks=blocks, notes={**notes, "blocks": {name: int(of[-1]) + 1 for name, of in blocks.items()}})
