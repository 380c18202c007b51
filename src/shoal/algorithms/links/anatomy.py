"""Anatomy and bucketisation: exact quasi-identifiers, and sensitive values known only by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem, sensitive_codes, shuffled_codes
from shoal.algorithms.grouping import by_rows
from shoal.algorithms.prices import prices_of
from shoal.data.domain import Domain
from shoal.data.keys import Keys
from shoal.data.stats import Attribute
from shoal.errors import InfeasibleError, ParameterError
from shoal.kernels.mondrian import Options, Work, cut_parts
from shoal.kernels.perturbation import draw_groups
from shoal.models.base import Model, Reference, Rule
from shoal.params import choice, whole
from shoal.recoding.kinds import BUCKETISED, Kind
from shoal.recoding.recoded import apply_recoding
from shoal.recoding.recodings import Bucketed, CellGrouping, Grouping, Recoding
from shoal.registry import load, make

# ----------------------------------------
# What methods that group rows ask of tables about people.


def refuse_repeated_people(domain: Domain, owner: str) -> None:
    """Say so where a person has several rows: k rows would then be fewer than k people."""
    if domain.by_people and domain.n_subjects < domain.n:
        raise ParameterError(
            f"{owner} groups rows, and the table's {domain.n} rows are about {domain.n_subjects} people: keep one row "
            "a person, or choose a method that counts people, such as 'mondrian'."
        )


# ----------------------------------------
# Groups for (eps,m)-anonymity: records dealt out in the order of their numbers, then cut along quasi-identifiers.


def round_robin(problem: Problem) -> tuple[np.ndarray, dict[str, Any]]:
    """Group of every row, and notes.

    With g the most records within eps of any one, dealing the sorted records out to g groups puts at most one of any
    window into each of them, and each has at least floor(n / g) records: enough if that is at least m.
    """
    crowd, rule, one = _crowding(problem)
    order, codes = shuffled_codes(problem)
    values = problem.table.values(one)[order]
    known = one.unknown[values] == 0
    n, m = int(known.sum()), round(1.0 / rule.limit)
    groups = max(crowd, 1)
    if n // groups < m:
        raise InfeasibleError(
            f"Round robin cannot meet m = {m} on '{one.names[0]}': {crowd} of its {n} known values lie within eps of "
            f"one of them, so m = {n // groups} is the most; lower m or eps, or use 'mondrian' with the model 'eps-m'."
        )
    ids = deal(rule.ref[values], known, groups)
    problem.progress("cutting the groups")
    by_group = np.argsort(ids, kind="stable")
    order, codes = order[by_group], codes[by_group]
    work = Work(codes, np.empty_like(codes), order, np.empty_like(order), np.zeros(order.size, dtype=np.uint8))
    starts = np.searchsorted(ids[by_group], np.arange(groups + 1))
    prices, judged = prices_of(problem.domain), (problem.judge.rules, sensitive_codes(problem), None)
    cut_parts(work, starts, prices, judged, Options(problem.judge.k, False, False), None, None, False)
    found = np.empty(order.size, dtype=np.int32)
    found[order] = np.cumsum(work.ends) - work.ends
    return found, {"dealt": groups}


def deal(places: np.ndarray, known: np.ndarray, groups: int) -> np.ndarray:
    """Record number i, in ascending order of its number, goes to group i mod g; so do the unknown ones, as they come.

    Equal numbers keep their order.
    """
    ids = np.empty(places.size, dtype=np.int64)
    rows = np.flatnonzero(known)
    ids[rows[np.argsort(places[rows], kind="stable")]] = np.arange(rows.size) % groups
    rest = np.flatnonzero(~known)
    ids[rest] = np.arange(rest.size) % groups
    return ids


def _crowding(problem: Problem) -> tuple[int, Rule, Attribute]:
    """The most records within eps of one, the rule of the one eps-m model, and its attribute."""
    judge = problem.judge
    mine = [at for at, (model, _) in enumerate(judge.sets) if model.name == "eps-m"]
    if len(mine) != 1:
        raise ParameterError(
            f"The grouping 'round-robin' needs the model 'eps-m' on one attribute, and there are {len(mine)}: add it, "
            "or set its 'on'."
        )
    rule = judge.sets[mine[0]][1][0]
    one = rule.attribute
    assert one is not None
    share = judge.judge(judge.reference.stats)[mine[0]].values[0]
    known = int((one.unknown[problem.table.values(one)] == 0).sum())
    return (0 if np.isnan(share) else round(share * known)), rule, one


LEFTOVERS = ("refuse", "suppress", "join")
GROUPINGS = ("anatomy", "entropy-mondrian", "round-robin")
# What Anatomy and the method that groups for it have in common.
_LIMITS = ("suppression_limit", "max_suppressed")


@dataclass(frozen=True, kw_only=True)
class Anatomy(Algorithm):
    """Publish quasi-identifiers as they are and sensitive values by group, so that which is whose stays open.

    Parameters
    ----------
    grouping
        ``anatomy`` (Xiao & Tao 2006): groups of at least l records whose values all differ, so that nobody's value is
        known with more than 1/l. ``entropy-mondrian``: neighbours, cut while every side is entropy l-diverse (the
        grouping behind Yang & Qiao's "permutation"). ``round-robin``: for the model ``eps-m``, records dealt out in the
        order of their numbers, then cut along quasi-identifiers while the models hold. Or any method that groups
        records, as a recipe writes it: ``{"name": "mondrian", "cut": "best"}``.
    l
        For the first two groupings; shorthand that adds ``alpha-k-general`` with 1/l and l, or ``entropy-l``.
    publication
        ``tables``: two tables that share a group number. ``permuted``: one table, sensitive values shuffled in groups.
    on
        The sensitive attribute (or tuple) that ``anatomy`` looks at; needed where there are several.
    leftovers
        For ``anatomy``, what becomes of records that fit in no group, where a value has more than 1/l of the records.
        ``refuse``: there is no release. ``suppress``: they are left out, within the suppression limit. ``join``: they
        are spread evenly over the groups, which then promise l different values and no longer a share of 1/l.

    Examples
    --------
    >>> Anatomy(l=3).parameters()
    {'name': 'anatomy', 'suppression_limit': 0.0, 'l': 3, 'grouping': 'anatomy', 'publication': 'tables', \
'leftovers': 'refuse'}
    """

    name: ClassVar[str] = "anatomy"
    kind: ClassVar[Kind] = BUCKETISED
    l: float | None = None  # noqa: E741
    grouping: str | Mapping[str, Any] = "anatomy"
    publication: str = "tables"
    on: str | Sequence[str] | None = None
    leftovers: str = "refuse"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_leftovers()
        choice("Anatomy", "publication", self.publication, ("tables", "permuted"))
        if isinstance(self.grouping, str):
            choice("Anatomy", "grouping", self.grouping, GROUPINGS)
        else:
            for name in set(_LIMITS).intersection(self.grouping):
                raise ParameterError(f"The 'grouping' of Anatomy has a {name}: set it beside the grouping.")
        if self.grouping in ("anatomy", "entropy-mondrian"):
            if self.l is None:
                raise ParameterError(f"The grouping '{self.grouping}' of Anatomy needs its parameter 'l'.")
        elif self.l is not None or self.on is not None:
            raise ParameterError("The 'l' and 'on' of Anatomy are for its own groupings: add a model instead.")
        if self.grouping == "anatomy":
            object.__setattr__(self, "l", whole("Anatomy", "l", self.l, least=2))
        if self.on is not None and not isinstance(self.on, str):
            object.__setattr__(self, "on", tuple(self.on))
        self._grouper()

    def _check_leftovers(self) -> None:
        choice("Anatomy", "leftovers", self.leftovers, LEFTOVERS)
        if self.leftovers != "refuse" and self.grouping != "anatomy":
            raise ParameterError("The 'leftovers' of Anatomy are for its own grouping 'anatomy': leave them out.")
        limit = next((name for name in _LIMITS if getattr(self, name)), None)
        if self.leftovers == "join" and limit is not None:
            raise ParameterError(f"Leftovers that join groups leave nobody to suppress: leave out '{limit}'.")

    def models(self) -> list[Model]:
        """What the groups promise: Anatomy's share of 1/l, the entropy, or the grouping method's own shorthand."""
        if self.leftovers == "join":
            return [load("model", "distinct-l")(l=self.l, on=self.on)]
        if self.grouping == "anatomy" and self.l is not None:
            return [load("model", "alpha-k-general")(alpha=1.0 / self.l, k=self.l, on=self.on)]
        if self.grouping == "entropy-mondrian":
            return [load("model", "entropy-l")(l=self.l, on=self.on)]
        grouper = self._grouper()
        return [] if grouper is None else grouper.models()

    def refuse(self, reference: Reference) -> None:
        """Refuse people with several rows, and an l that is too large, where no rule for leftovers helps."""
        if self.grouping == "anatomy":
            refuse_repeated_people(reference.domain, "Anatomy")
        targets = self.models()[0].attributes(reference.domain) if self.grouping == "anatomy" else []
        if len(targets) == 1:
            one = targets[0]
            most = largest_l(reference.counts(one)[one.unknown == 0])
            self._refuse_too_large(one, most, self.share_allowed(reference.domain.n))

    def run(self, problem: Problem) -> Bucketed:
        """Group the records and number the groups at random."""
        grouper = self._grouper()
        if grouper is not None:
            ids, notes = _classes(grouper, problem)
        elif self.grouping == "round-robin":
            ids, notes = round_robin(problem)
        else:
            ids, notes = self._draw(problem)
        return self._bucketed(ids, notes, problem.shuffled)

    @property
    def in_parts(self) -> bool:
        """Anatomy's own groups can be drawn in any part, others where the method that makes them can."""
        grouper = self._grouper()
        return self.grouping == "anatomy" if grouper is None else grouper.in_parts

    @property
    def parting(self) -> Algorithm:
        """The method that groups."""
        return self._grouper() or self

    def dealt(self, domain: Domain) -> tuple[Sequence[str], int] | None:
        """Quasi-identifiers do not matter to Anatomy's own groups, and values should be as common everywhere."""
        if self.grouping != "anatomy" or not isinstance(self.l, int):
            return None
        names = domain.schema.sensitive if self.on is None else self.on
        return [names] if isinstance(names, str) else names, self.l

    def put_together(self, grouping: Recoding, order: Callable[[], np.ndarray]) -> Bucketed:
        """The groups of all parts, numbered at random."""
        assert isinstance(grouping, Grouping)
        return self._bucketed(grouping.ids, dict(grouping.notes), order())

    def _bucketed(self, ids: np.ndarray, notes: dict[str, Any], order: np.ndarray) -> Bucketed:
        ids = _renumbered(ids, order)
        used = {"grouping": self.grouping if isinstance(self.grouping, str) else dict(self.grouping)}
        groups = int(ids.max(initial=-1)) + 1
        rule = None if self.leftovers == "refuse" else self.leftovers
        return Bucketed(ids=ids, groups=groups, publication=self.publication, leftovers=rule, notes=used | notes)

    def _grouper(self) -> Algorithm | None:
        """The method that groups, None for Anatomy's own."""
        if isinstance(self.grouping, Mapping):
            made = make("algorithm", {**self.grouping, **{name: getattr(self, name) for name in _LIMITS}})
        elif self.grouping == "entropy-mondrian":
            made = load("algorithm", "mondrian")(cut="widest")
        else:
            return None
        if isinstance(made, Anatomy):
            raise ParameterError("The 'grouping' of Anatomy must be a method that generalises, not Anatomy again.")
        return made

    def _draw(self, problem: Problem) -> tuple[np.ndarray, dict[str, Any]]:
        refuse_repeated_people(problem.domain, "Anatomy")
        assert isinstance(self.l, int)
        one = _target(problem, self.on)
        order, values = problem.shuffled, problem.table.values(one)
        known = order[one.unknown[values[order]] == 0]
        most = largest_l(np.bincount(values[known]))
        self._refuse_too_large(one, most, self.share_allowed(problem.table.n))
        if np.unique(values[known]).size < self.l:
            raise InfeasibleError(f"'{', '.join(one.names)}' has fewer than {self.l} known values: lower l.")
        problem.progress("drawing groups")
        ids = np.full(problem.table.n, -1, dtype=np.int32)
        ids[known] = draw_groups(values[known], one.card, self.l)
        left = known[ids[known] < 0]
        if self.l <= most:
            _place(ids, left, values, problem)
        else:
            deal_leftovers(ids, left, values, problem.keys, join=self.leftovers == "join")
            self._refuse_too_many(int((ids[known] < 0).sum()), problem.table.n)
        _spread_unknown(ids, order[one.unknown[values[order]] != 0], problem)
        return ids, {"largest_l": most, "placed_last": int(left.size)}

    def _refuse_too_large(self, one: Attribute, most: int, limit: float) -> None:
        """Refuse an l above the largest, unless leftovers may go somewhere."""
        assert isinstance(self.l, int)
        if self.l <= most or self.leftovers == "join" or (self.leftovers == "suppress" and limit > 0.0):
            return
        what = f"l = {most} is the largest that it allows" if most > 1 else "no l of at least 2 is possible"
        rule = "say what becomes of 'leftovers'"
        if self.leftovers == "suppress":
            rule = "set how many leftovers may be suppressed"
        raise InfeasibleError(
            f"Anatomy with l = {self.l} is not possible on '{', '.join(one.names)}': its commonest value may have "
            f"at most 1 in {self.l} of the known values, and {what}; lower l, choose another grouping, or {rule}."
        )

    def _refuse_too_many(self, left: int, n: int) -> None:
        if left > self.rows_allowed(n):
            raise InfeasibleError(
                f"{left} of {n} rows ({left / n:.2%}) fit in no group and would have to be suppressed, and "
                f"{self.limit_words}: raise it, lower l, or let leftovers join."
            )


def largest_l(counts: np.ndarray) -> int:
    """The largest l for which Anatomy is eligible, by the rows of each known value: none has more than 1/l of them."""
    most = int(counts.max(initial=0))
    return int(counts.sum()) // most if most else 0


def _target(problem: Problem, on: str | Sequence[str] | None) -> Attribute:
    names = problem.table.schema.sensitive if on is None else [on] if isinstance(on, str) else on
    if len(names) != 1 and on is None:
        raise ParameterError(
            f"Anatomy groups by one sensitive attribute, and the table has {len(names)}: name one, or several to be "
            "taken together, in 'on'."
        )
    return problem.table.attribute(names, people=False)


def _place(ids: np.ndarray, left: np.ndarray, values: np.ndarray, problem: Problem) -> None:
    """Put each record left (fewer than l, all of different values) in a random group without its value."""
    groups = int(ids.max(initial=-1)) + 1
    bits = problem.keys.bits("anatomy residue", problem.table.row_keys[left])
    for row, draw in zip(left.tolist(), bits.tolist(), strict=True):
        taken = np.zeros(groups, dtype=bool)
        mine = ids[values == values[row]]
        taken[mine[mine >= 0]] = True
        free = np.flatnonzero(~taken)
        ids[row] = free[draw % free.size]


def deal_leftovers(ids: np.ndarray, left: np.ndarray, values: np.ndarray, keys: Keys, *, join: bool) -> None:
    """Put records left, value by value, in groups without their value; others join groups evenly, or stay outside.

    Joining goes round all groups, from one value to the next, so that neither groups nor values differ by more than
    they must.
    """
    groups = int(ids.max(initial=-1)) + 1
    turns, at = keys.shuffle("anatomy leftovers", np.arange(groups, dtype=np.uint64)), 0
    for value in np.unique(values[left]):
        rows = left[values[left] == value]
        taken = np.zeros(groups, dtype=bool)
        mine = ids[values == value]
        taken[mine[mine >= 0]] = True
        free = turns[~taken[turns]][: rows.size]
        ids[rows[: free.size]] = free
        rest = rows[free.size :]
        if join:
            ids[rest] = turns[(at + np.arange(rest.size)) % groups]
            at += rest.size


def _spread_unknown(ids: np.ndarray, rows: np.ndarray, problem: Problem) -> None:
    """Unknown values count for nothing, so their records may go to any group."""
    if rows.size:
        groups = np.uint64(ids.max(initial=-1) + 1)
        ids[rows] = problem.keys.bits("anatomy unknown", problem.table.row_keys[rows]) % groups


def _classes(grouper: Algorithm, problem: Problem) -> tuple[np.ndarray, dict[str, Any]]:
    """Groups of another method: its own, or the classes of equal cells where it generalises whole columns."""
    recoding = grouper.run(problem)
    if not recoding.kind.generalises:
        raise ParameterError(
            f"The 'grouping' of Anatomy must be a method that generalises, and '{grouper.name}' does not."
        )
    if isinstance(recoding, Grouping | CellGrouping):
        return by_rows(problem, recoding).ids, dict(recoding.notes)
    return apply_recoding(problem.rows, recoding).classes, dict(recoding.notes)


def _renumbered(ids: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The same groups, numbered by their first record in the keyed order: numbers must not tell how they were made."""
    kept = order[ids[order] >= 0]
    _, first, place = np.unique(ids[kept], return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int32)
    rank[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    numbered = np.full(ids.size, -1, dtype=np.int32)
    numbered[kept] = rank[place]
    return numbered
