"""Local suppression: single cells become ``*``, as few as possible, until every record is among k."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Problem
from shoal.algorithms.grouping import NOT_POLISHED, Polishable, mend
from shoal.data.classes import RowIds
from shoal.data.column import INTERVAL, TREE, Column, counted
from shoal.data.domain import Domain
from shoal.data.hierarchy import ROOT, Hierarchy
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.rules import SIZE
from shoal.kernels.wildcards import count_matches, restore_spare, suppress_short
from shoal.models.base import Model
from shoal.params import choice, nearest, real
from shoal.recoding.lattice import top_level
from shoal.recoding.recodings import Grouping, Starred
from shoal.registry import load

STRICT, WILDCARD = "strict", "wildcard"
# Sets of columns that are tried for every record; beyond, only those that grow by the least important column each.
_SETS = 4096
# Sets of so many columns are all tried where a star counts as any value.
_MOST = 16


@dataclass(frozen=True, kw_only=True)
class LocalSuppression(Polishable):
    """Suppress as few cells as possible, by the importance of their columns (kAnon of sdcMicro).

    Where ``*`` is a cell like any other (``strict``), records that agree on some columns are grouped and the others
    starred, fewest first; groups are then polished. Where it counts as any value (``wildcard``), each record that could
    be too few has the cheapest set of its cells starred, given all that was starred before.

    Parameters
    ----------
    k
        Shorthand that adds the model ``k``, or ``k-wildcard`` where ``stars`` says so.
    stars
        What a suppressed cell counts as: ``strict`` or ``wildcard``. Beside models that are given, the models decide.
    importance
        Columns, the most important first (each weighs one more than the next), or a weight a column. By default the
        attribute weights, 1 each.
    levels
        Column to level at which it is published where it is not suppressed, 0 by default.
    polish
        ``lm``, which is the share of cells that are stars, or ``none``.

    Examples
    --------
    >>> LocalSuppression(k=3, importance=["sex", "age"]).parameters()["importance"]
    ['sex', 'age']
    """

    name: ClassVar[str] = "local-suppression"
    shorthand: ClassVar[Sequence[str]] = ("k",)
    k: int | None = None
    stars: str = STRICT
    importance: Sequence[str] | Mapping[str, float] | None = None
    levels: Mapping[str, int] = field(default_factory=dict)
    polish: str | None = "lm"

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("LocalSuppression", "stars", self.stars, (STRICT, WILDCARD))
        choice("LocalSuppression", "polish", self.polish or NOT_POLISHED, ("lm", NOT_POLISHED))
        if isinstance(self.importance, Mapping):
            for name, weight in self.importance.items():
                real("LocalSuppression", f"importance.{name}", weight, low=0.0, open_low=True)
        elif isinstance(self.importance, str) or (self.importance is not None and not self.importance):
            raise ParameterError(
                "The 'importance' of LocalSuppression must be a list of columns, or a table with a weight a column."
            )

    def __hash__(self) -> int:
        return hash((self.name, self.k, self.stars, repr(self.importance), tuple(sorted(self.levels.items()))))

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        found = super().parameters() | {"levels": dict(self.levels)}
        if self.importance is not None:
            of_weights = isinstance(self.importance, Mapping)
            found["importance"] = dict(self.importance) if of_weights else list(self.importance)  # type: ignore[arg-type]
        return found

    def models(self) -> list[Model]:
        """The model that ``k`` stands for."""
        return [] if self.k is None else [load("model", "k-wildcard" if self.stars == WILDCARD else "k")(k=self.k)]

    def run(self, problem: Problem) -> Starred:
        """Suppress cells under the semantics that the models ask for."""
        names = {model.name for model in problem.judge.models}
        if self.stars == WILDCARD and names != {"k-wildcard"}:
            other = ", ".join(sorted(names - {"k-wildcard"})) or "no model"
            raise ParameterError(
                "Where '*' counts as any value there are no classes for other models than 'k-wildcard', and there is "
                f"{other}: leave that out, or leave out stars = \"wildcard\"."
            )
        plain = self._plain(problem)
        if names == {"k-wildcard"}:
            return self._by_wildcards(problem, plain)
        grouping = mend(plain, self._fewest(plain), self.share_allowed(plain.domain.n))
        grouping = self.polished(plain, grouping)
        return self._published(plain, grouping.ids, grouping.groups, None, grouping.notes)

    def _plain(self, problem: Problem) -> Problem:
        """The same rows at their levels, every column a tree of values and ``*``: two values cost as much as all."""
        table, weights = problem.table, self._weights(problem.domain)
        codes, columns = dict(table.codes), dict(table.columns)
        for column in table.quasi:
            nodes = _at_level(column, self.levels.get(column.name, 0))
            codes[column.name] = nodes[table.codes[column.name]]
            columns[column.name] = _two_levels(column, codes[column.name], int(nodes.max(initial=0)) + 1)
        changed = replace(table, codes=codes).knowing(
            columns=columns, weights=weights, workload=None, cuts={}, population=None
        )
        return replace(problem, rows=load("engine", "memory")().open(changed))

    def _weights(self, domain: Domain) -> dict[str, float]:
        """What a suppressed cell of each quasi-identifier costs."""
        quasi = list(domain.schema.quasi)
        for name in [*(self.importance or ()), *self.levels]:
            if name not in quasi:
                near = nearest(str(name), quasi)
                hint = f" Did you mean '{near}'?" if near else ""
                raise ParameterError(f"LocalSuppression names '{name}', which is not a quasi-identifier.{hint}")
        if self.importance is None:
            return dict(zip(quasi, domain.quasi_weights.tolist(), strict=True))
        if isinstance(self.importance, Mapping):
            return {name: float(self.importance.get(name, 1.0)) for name in quasi}
        ranked = list(dict.fromkeys(self.importance))
        return {name: float(len(ranked) - ranked.index(name) + 1) if name in ranked else 1.0 for name in quasi}

    def _fewest(self, plain: Problem) -> Grouping:
        """Groups of rows that agree on all columns but a few, those that suppress least first."""
        table, order = plain.table, plain.shuffled
        codes, cards = table.quasi_codes[:, order], np.array([column.card for column in table.quasi])
        ids, groups = np.full(table.n, -1, dtype=np.int32), 0
        left = np.arange(table.n)
        for stars in _sets(plain.domain):
            if not left.size:
                break
            kept = np.setdiff1d(np.arange(len(cards)), stars)
            of, _, counts = group_rows(np.ascontiguousarray(codes[kept][:, left]), cards[kept])
            good = _good(plain, order[left], of, counts)
            if not good.any():
                continue
            number = np.where(good, np.cumsum(good) - 1 + groups, -1)[of]
            ids[order[left]] = number
            groups += int(good.sum())
            left = left[number < 0]
        if left.size:  # merged with others, or suppressed, by whoever mends
            ids[order[left]], groups = groups, groups + 1
        return Grouping(ids=ids, groups=groups, notes={"left": int(left.size)})

    def _by_wildcards(self, problem: Problem, plain: Problem) -> Starred:
        """Stars a record, where each counts as any value."""
        table, order, k = plain.table, plain.shuffled, max(model.k for model in plain.judge.models)  # type: ignore[attr-defined]
        m = len(table.quasi)
        if m > _MOST:
            raise ParameterError(
                f"Where '*' counts as any value, local suppression tries every set of up to {_MOST} columns, and there "
                f"are {m} quasi-identifiers: let '*' be a cell like any other, with model 'k'."
            )
        cards = np.array([column.card for column in table.quasi])
        of, first, sizes = group_rows(np.ascontiguousarray(table.quasi_codes[:, order]), cards)
        codes = np.ascontiguousarray(table.quasi_codes[:, order[first]].T)
        sets = list(_sets(plain.domain, every=True))
        masks = np.array([sum(1 << at for at in one) for one in sets], dtype=np.int64)
        stars = np.zeros(first.size, dtype=np.int64)
        for at, column in enumerate(problem.table.quasi):
            stars |= _alone(column)[problem.table.codes[column.name][order[first]]].astype(np.int64) << at
        fixed, found = stars.copy(), _could_be(codes, stars, sizes)
        for most in _steps(plain.domain, sets):
            problem.progress(f"suppressing cells, {int((found < k).sum())} records to go")
            if not suppress_short(codes, sizes, stars, found, k, masks, most):
                break
        dearest = np.argsort(-plain.domain.quasi_weights, kind="stable")
        restore_spare(codes, sizes, stars, found, k, dearest, fixed)
        ids = np.empty(table.n, dtype=np.int32)
        ids[order] = of
        return self._published(plain, ids, first.size, stars, {})

    def _published(
        self, plain: Problem, ids: np.ndarray, groups: int, stars: np.ndarray | None, notes: Mapping[str, Any]
    ) -> Starred:
        """Groups with the columns that each suppresses: those given as bits, or those its members differ in."""
        flags, cells = {}, {}
        sizes = np.bincount(ids[ids >= 0], minlength=groups)
        for at, column in enumerate(plain.table.quasi):
            if stars is not None:
                mixed = (stars >> at & 1).astype(bool)
            else:
                mine = np.zeros(groups, dtype=np.int32)
                mine[ids[ids >= 0]] = plain.table.codes[column.name][ids >= 0]
                off = (ids >= 0) & (plain.table.codes[column.name] != mine[ids])
                mixed = np.bincount(ids[off], minlength=groups) > 0
            flags[column.name], cells[column.name] = mixed, int(sizes[mixed].sum())
        total = sum(cells.values())
        share = total / max(int(sizes.sum()) * len(cells), 1)
        semantics = STRICT if stars is None else WILDCARD
        told = {"semantics": semantics, "cells_suppressed": total, "share_of_cells": share, "by_column": cells}
        levels = {name: level for name, level in self.levels.items() if level}
        return Starred(ids=ids, groups=groups, stars=flags, levels=levels, notes={**notes, **told})


def _good(plain: Problem, rows: np.ndarray, of: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Which groups of some rows hold all models."""
    judge = plain.judge
    if not judge.beyond_kernels and (judge.rules.op == SIZE).all() and not plain.domain.by_people:
        return counts >= judge.k
    ids = np.full(plain.domain.n, -1, dtype=np.int32)
    ids[rows] = of
    return judge.ok(plain.rows.stats(RowIds(ids, counts.size), judge.attributes)) & (counts >= judge.k)


def _sets(domain: Domain, *, every: bool = False) -> Iterator[tuple[int, ...]]:
    """Columns to suppress, as sets, by what that costs; of equal ones first those with more values.

    Where there are too many, all up to some size, and then ever more of the columns in this order.
    """
    weights, m = domain.quasi_weights, len(domain.quasi)
    by_loss = np.lexsort((np.array([-column.card for column in domain.quasi]), weights)).tolist()
    rank = np.argsort(by_loss)
    found = itertools.chain.from_iterable(itertools.combinations(range(m), size) for size in range(m + 1))
    listed = list(found if every or 2**m <= _SETS else itertools.islice(found, _SETS))
    known = set(listed)
    chain = [tuple(sorted(by_loss[:size])) for size in range(m + 1)]
    listed += [one for one in chain if one not in known]

    def cost(one: tuple[int, ...]) -> tuple[float, list[int]]:
        return round(float(sum(weights[at] for at in one)), 9), sorted(rank[at] for at in one)

    yield from sorted(listed, key=cost)


def _steps(domain: Domain, sets: Sequence[tuple[int, ...]]) -> Iterator[int]:
    """How many of the sets may be used, step by step: those that cost as much as one column, two, ..."""
    weights = domain.quasi_weights
    costs = np.array([sum(weights[at] for at in one) for one in sets])
    for size in range(1, weights.size + 1):
        yield int(np.searchsorted(costs, size * float(weights.max()) * (1 + 1e-9), side="right"))


def _could_be(codes: np.ndarray, stars: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Rows that each combination could be before anything else is suppressed."""
    gone = (stars[:, None] >> np.arange(codes.shape[1])) & 1 == 1
    return count_matches(np.where(gone, -1, codes).astype(np.int32), sizes)


def _alone(column: Column) -> np.ndarray:
    """Codes of numbers that are one row's own: published as they are, each would give its person away."""
    if column.kind != INTERVAL or column.numbers is None or column.spec.snap != "auto":
        return np.zeros(column.card, dtype=bool)
    own = column.frequencies < 2
    if column.missing >= 0:
        own[column.missing] = False
    return own


def _at_level(column: Column, level: int) -> np.ndarray:
    """Node of every code on the level at which its column is published."""
    top = top_level(column)
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= top:
        raise ParameterError(f"The level of '{column.name}' must be a whole number from 0 to {top}. Got {level!r}.")
    if column.kind == TREE and column.hierarchy is not None:
        return column.hierarchy.ancestors[level]
    return np.arange(column.card, dtype=np.int32) * np.int32(level == 0)


def _two_levels(column: Column, codes: np.ndarray, card: int) -> Column:
    """A column whose values have nothing in common but the root."""
    leaves = tuple(map(str, range(card)))
    tree = Hierarchy(column.name, (leaves, (ROOT,)), np.stack([np.arange(card), np.zeros(card)]).astype(np.int32))
    return replace(
        column, kind=TREE, hierarchy=tree, texts=pl.Series(leaves, dtype=pl.String), numbers=None, missing=-1,
        frequencies=counted(codes, card), declared=None, people=None, type="categorical",
    )  # fmt: skip
