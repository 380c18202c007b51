"""The models' verdicts on the classes of one node, with what every finer node inherits of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.frequency import Counts, Numbering, Rolled
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels import lattice_verdicts as kernel
from shoal.kernels.rules import EXTENT, SIZE, RuleView, judge_rule, rule_view
from shoal.models.base import failing_stays, merging_keeps
from shoal.models.judge import Judge, Judgement, average_known, compare, compile_rules
from shoal.recoding.lattice import Lattice


class Verdicts:
    """Flags of the classes of the node judged last; every rule is asked only of classes that it can still change.

    Parameters
    ----------
    size
        Most classes a node can have.

    Attributes
    ----------
    bad
        Classes that fail a model.
    inherits
        Classes that fail in a way every finer node repeats.
    gone
        Rows of each class that every finer node suppresses at least, where it does not inherit as a whole.
    rows_only
        Whether sizes of classes alone decide.
    relative
        Whether classes are compared with what is released, or judged by rules that no kernel knows.
    """

    def __init__(self, judge: Judge, size: int) -> None:
        sets = [pair for pair in judge.sets if pair[1][0].op >= 0]
        necessary = [
            (model, rules) for model in judge.models for rules in model.all_necessary(judge.reference) if rules
        ]
        self.rules = compile_rules([*sets, *necessary], judge.attributes)
        fails, inherits = (sum(len(rules) for _, rules in pairs) for pairs in (sets, necessary))
        self._sets = np.repeat([kernel.FAILS, kernel.INHERITS], [fails, inherits])
        # What kernels do not know is judged as a release would be, and so is what suppressing changes.
        unknown = len(sets) < len(judge.sets)
        self.rows_only = not unknown and bool((self.rules.op == SIZE).all())
        self.relative = unknown or (judge.reference.whole and any(model.relative for model in judge.models))
        self._k = judge.k
        self.bad = np.zeros(size, dtype=np.uint8)
        self.inherits = np.zeros(size, dtype=np.uint8)
        self.gone = np.zeros(size, dtype=np.int64)
        self._judged = kernel.Flags(self.bad, self.inherits, self.gone)
        self._out = np.empty(5)
        small = [self.rules.limit[(self.rules.op == SIZE) & (self._sets == one)] for one in (1, 2)]
        self._least = np.array([limits.max(initial=0.0) for limits in small])
        self._compile()

    def _compile(self) -> None:
        """What to ask of each attribute's histograms; a condition that is also a necessary one is asked once."""
        rules = self.rules
        self._flags = [rules.unknown[a:b] for a, b in zip(rules.unknown_at[:-1], rules.unknown_at[1:], strict=True)]
        self._extents = np.flatnonzero(rules.op == EXTENT)
        self._averaged = np.flatnonzero(rules.combine > 1)
        asked: dict[tuple[object, ...], int] = {}
        views: dict[tuple[object, ...], int] = {}
        for r in np.flatnonzero((rules.attr >= 0) & (rules.combine == 1)):
            ref = rules.ref[rules.ref_at[r, 0] : rules.ref_at[r, 2]].tobytes()
            numbers = (column[r] for column in (rules.op, rules.sense, rules.limit, rules.p0, rules.p1))
            key = (int(rules.attr[r]), ref, *numbers)
            asked[key] = asked.get(key, 0) | int(self._sets[r])
            views.setdefault(key, int(r))
        self._tests: list[list[tuple[RuleView, float, int]]] = [[] for _ in self._flags]
        for key, one in views.items():
            self._tests[rules.attr[one]].append((rule_view(rules, one), float(rules.limit[one]), asked[key]))
        followers = [int(r) + place for r in self._averaged for place in range(rules.combine[r])]
        self._parts = [[r for r in followers if rules.attr[r] == attr] for attr in range(len(self._flags))]

    def by_size(self, sizes: np.ndarray, found: int) -> None:
        """Judge classes by how many rows they have."""
        kernel.flag_small(sizes, found, self._least, self.bad, self.inherits, self.gone)

    def by_values(
        self, found: int, class_of: np.ndarray, histograms: Sequence[Counts], spreads: np.ndarray | None
    ) -> None:
        """Judge classes by their histograms, those that sizes settled left out."""
        if spreads is not None:
            for r in self._extents:
                self._flag(int(r), spreads)
        values: dict[int, np.ndarray] = {}
        for tests, parts, flags, counts in zip(self._tests, self._parts, self._flags, histograms, strict=True):
            mine = kernel.class_histograms(class_of, found, counts, flags, self.bad, self.inherits)
            for view, limit, sets in tests:
                kernel.flag_values(view, limit, sets, self._k, mine, self.bad, self.inherits, self.gone)
            values |= {r: judge_rule(self.rules, r, *mine) for r in parts}
        for r in self._averaged:
            self._flag(int(r), average_known([values[one] for one in range(r, r + self.rules.combine[r])]))

    def _flag(self, r: int, values: np.ndarray) -> None:
        fails = ~(compare(values, self.rules.sense[r], self.rules.limit[r]) | np.isnan(values))
        into = self.bad if self._sets[r] & kernel.FAILS else self.inherits
        into[: values.size] |= fails

    def check_sizes(self, table: Rolled, levels: np.ndarray, numbering: Numbering) -> int:
        """Count a node's classes, judge them by their sizes and tally them; -1 where their keys do not fit."""
        slots, room = numbering.slots, numbering.room
        return int(kernel.check_sizes(table.entries, levels, slots, room, self._least, self._judged, self._out))

    def tally(self, sizes: np.ndarray, found: int) -> None:
        """Add up what was judged."""
        kernel.tally(sizes, found, self.bad, self.inherits, self.gone, self._out)

    @property
    def tallied(self) -> list[float]:
        """Suppressed rows, good classes, their squared sizes, all classes' squared sizes, rows lost for good."""
        return self._out.tolist()


# ----------------------------------------
# When one node's verdict may stand for others', and what to say when none is left.


# Methods that list nodes by the height keep a flag for each.
LARGEST = 20_000_000


def suppression_is_monotone(judge: Judge, allowed: int) -> bool:
    """Whether whatever is coarser than an allowed generalisation is allowed, and so finer than a forbidden one not."""
    return all(failing_stays(*one) or (allowed == 0 and merging_keeps(*one)) for one in judge.sets)


def refuse_unsound(owner: str, judge: Judge, allowed: int) -> None:
    """Refuse models under which suppression is not monotone, and say why it is not."""
    for model, rules in judge.sets:
        if failing_stays(model, rules) or (allowed == 0 and merging_keeps(model, rules)):
            continue
        seen = [rule.attribute for rule in rules if rule.attribute is not None]
        if model.monotone != "up" or not all(rule.keeps for rule in rules):
            why = "merging two classes that satisfy it can give one that does not"
        elif any(one.people for one in seen) and (model.inherited or allowed == 0):
            why = "a person with rows in two classes counts once when they are merged"
        elif model.inherited or (allowed == 0 and any(one.unknown.any() for one in seen)):
            why = "a class without any known value satisfies it, and need not when it is merged with another"
        else:
            why = "with suppression, generalising further can make more rows fail it"
        without = "" if allowed == 0 or not merging_keeps(model, rules) else "set suppression_limit to 0 or "
        raise ParameterError(
            f"{owner} cannot rule out nodes by the model '{model.name}', because {why}: {without}use 'optimal'."
        )


def refuse_large(owner: str, lattice: Lattice) -> None:
    """Refuse lattices that cannot be listed."""
    if lattice.size > LARGEST:
        raise ParameterError(
            f"The lattice has {lattice.size} nodes, too many for {owner}: use 'optimal' with 'seconds', fewer "
            "quasi-identifiers or lower hierarchies."
        )


def infeasible(problem: Problem, allowed: int) -> InfeasibleError:
    """The error that says which models even one class of everybody fails, and by how much."""
    judge = problem.judge
    failing = [one for one in judge.judge(judge.reference.stats) if not one.ok.all()]
    top = "; ".join(_at_top(one) for one in failing)
    where = f" (one class of everybody: {top})" if top else ""
    return InfeasibleError(
        f"No generalisation satisfies the models with at most {allowed} of {problem.domain.n} rows "
        f"suppressed{where}: raise the suppression_limit or relax the models."
    )


def _at_top(one: Judgement) -> str:
    on = f" on '{', '.join(one.on)}'" if one.on else ""
    return f"model '{one.model.name}'{on} reaches {one.worst:.6g}, and its limit is {one.limit:.6g}"
