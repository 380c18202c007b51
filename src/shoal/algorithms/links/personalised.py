"""Personalised anonymity (Xiao & Tao 2006): blur sensitive values too, as far as each person asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.subtree import Cut, Node, Step
from shoal.data.classes import Cells
from shoal.data.guards import Guards, guards_of
from shoal.errors import InfeasibleError, ParameterError
from shoal.models.base import Model
from shoal.params import whole
from shoal.recoding.recodings import Subtree
from shoal.registry import load

UNIQUE = "k = 1: released rows may be unique on the quasi-identifiers, so people can be found; guards alone protect."


@dataclass(frozen=True, kw_only=True)
class PersonalisedAnonymity(Algorithm):
    """Specialise quasi-identifiers from their roots, and lift sensitive values where a guard would be breached.

    Every step replaces one node of one quasi-identifier by its children, if that lowers the mean loss over
    quasi-identifiers and the sensitive column together; for each trial, sensitive values of every class are lifted,
    record by record, until no guard is breached with a probability above p.

    Parameters
    ----------
    p, guard_level, on
        Shorthand that adds the model ``personalised``.
    k
        Shorthand that adds the model ``k``; 1 sets no smallest class, so that released rows may be unique.

    Examples
    --------
    >>> PersonalisedAnonymity(p=0.5, k=3).parameters()
    {'name': 'personalised', 'suppression_limit': 0.0}
    """

    name: ClassVar[str] = "personalised"
    shorthand: ClassVar[tuple[str, ...]] = ("p", "guard_level", "on", "k")
    p: float | None = None
    guard_level: int | None = None
    on: str | None = None
    k: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "k", whole("PersonalisedAnonymity", "k", self.k, least=1))
        if self.p is None and (self.guard_level is not None or self.on is not None):
            raise ParameterError("The 'guard_level' and 'on' of PersonalisedAnonymity need its 'p' beside them.")
        self.models()

    def models(self) -> list[Model]:
        """The models that ``p`` and ``k`` stand for."""
        made = load("model", "personalised") if self.p is not None else None
        found = [] if made is None else [made(p=self.p, guard_level=self.guard_level, on=self.on)]
        return found if self.k == 1 else [*found, load("model", "k")(k=self.k)]

    def run(self, problem: Problem) -> Subtree:
        """Specialise until nothing gains, then lift sensitive values."""
        guards, p = _guards(problem)
        allowed = self.rows_allowed(problem.table.n)
        cut = GuardedCut(problem, guards, p, min(allowed, problem.table.n - 1))
        steps = 0
        while (step := cut.best_step()) is not None:
            cut.take(step)
            steps += 1
            problem.progress(f"specialised {steps} nodes")
        released, worked = cut.lift(cut.classes, int(cut.classes.max()) + 1)
        _refuse_hopeless(cut, worked, p)
        notes: dict[str, Any] = {
            "steps": steps,
            "judged": cut.judged,
            "suppressed": cut.suppressed,
            "guarding": int((guards.guard >= 0).sum()),
            "lifted": int((released != guards.leaf).sum()),
        }
        if problem.judge.k == 1:
            notes["warning"] = UNIQUE
        return Subtree(nodes=cut.nodes(), sensitive={guards.column.name: guards.node_ids(released)}, notes=notes)


class GuardedCut(Cut):
    """A cut whose classes also cost what their sensitive values lose when they are lifted."""

    def __init__(self, problem: Problem, guards: Guards, p: float, allowed: int) -> None:
        self.guards, self.p, self.order = guards, p, problem.shuffled
        # A lifted cell costs what a quasi-identifier's cell of weight 1 does in the loss metric.
        self.scale = 1.0 / (problem.table.n * float(problem.table.domain.quasi_weights.sum()))
        self.trial: np.ndarray = np.empty(0)
        super().__init__(problem, "lm", allowed)
        # Where people have several records, fewer of them share a smaller class, so that splitting may mend it.
        self.monotone = self.monotone and problem.table.n_subjects in (0, problem.table.n)
        self.lifted = self.trial

    def lift(self, classes: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Node released for each row, given classes of combinations, and the classes where no breach is too likely."""
        return self.guards.lift(self.of_rows(classes), count, self.p, self.order)

    def of_rows(self, cells: np.ndarray) -> np.ndarray:
        """What each row's combination has."""
        return self.problem.memory.ids(Cells(cells, cells.size))

    def _judge(self, classes: np.ndarray, count: int, spread: np.ndarray) -> np.ndarray:
        """Both the models and whether lifting works; remembers what it costs, combination by combination."""
        ok = super()._judge(classes, count, spread)
        released, worked = self.lift(classes, count)
        ok &= worked
        price = self.guards.widths(released) * self.scale
        ids = self.of_rows(classes)
        price = np.where(ids < 0, 0.0, np.where(ok[ids], price, self.scale))
        cells = self.of_rows(np.arange(classes.size, dtype=np.int32))
        self.trial = np.bincount(cells, weights=price, minlength=classes.size)
        return ok

    def _try(self, node: Node) -> Step:
        step = super()._try(node)
        gained = step.gained + float(self.lifted[node.rows].sum() - self.trial[node.rows].sum())
        step.gained = gained if abs(gained) > 1e-14 else 0.0
        return step

    def take(self, step: Step) -> None:
        """Replace a node by its children, and remember what lifting costs now."""
        self._try(step.node)
        self.lifted[step.node.rows] = self.trial[step.node.rows]
        super().take(step)


def _guards(problem: Problem) -> tuple[Guards, float]:
    mine: list[Any] = [model for model in problem.judge.models if model.name == "personalised"]
    if len(mine) != 1:
        raise ParameterError(
            f"The algorithm 'personalised' needs the model of that name once, and there are {len(mine)}: set p and, "
            "where several columns are sensitive, on."
        )
    ((on,),) = mine[0].targets(problem.domain)
    return guards_of(problem.table, on, mine[0].guard_level), float(mine[0].p)


def _refuse_hopeless(cut: GuardedCut, worked: np.ndarray, p: float) -> None:
    """Exit 3 when more rows fail than may be suppressed, with the least p that would do where lifting is what fails."""
    if cut.suppressed <= cut.allowed:
        return
    if worked.all():
        raise InfeasibleError(
            f"The models fail for {cut.suppressed} of {cut.problem.table.n} rows, however sensitive values are lifted: "
            "relax them or raise suppression_limit."
        )
    guards = cut.guards
    classes = cut.of_rows(cut.classes)
    root = np.where(guards.leaf < 0, -1, int(np.flatnonzero(guards.nodes.parent < 0)[0]))
    least = np.nanmax(guards.worst(classes, worked.size, guards.node_ids(root)))
    raise InfeasibleError(
        f"Personalised anonymity with p = {p:g} cannot be met: with all of '{guards.column.name}' lifted to the "
        f"root, a breach still has probability {least:.6g}; set p to at least that, or have smaller nodes guarded."
    )
