"""The models' verdicts on the classes of one node, with what every finer node inherits of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.algorithms.lattice.rolled import Counts, Numbering, Rolled
from shoal.kernels import lattice_verdicts as kernel
from shoal.kernels.rules import EXTENT, SIZE, RuleView, judge_rule, rule_view
from shoal.models.judge import Judge, average_known, compare, compile_rules


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
