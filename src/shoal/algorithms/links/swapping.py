"""Data swapping: values of each quasi-identifier change places between records of near rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.anatomy import refuse_repeated_people
from shoal.data.coding import code_dates, code_numbers
from shoal.data.column import FLAT, TREE, Column
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.microaggregation import Records
from shoal.kernels.perturbation import pair_apart, swap_ranks
from shoal.params import nearest, real, whole
from shoal.recoding.exact import values_of
from shoal.recoding.kinds import PERTURBED, Kind
from shoal.recoding.recodings import Perturbed

# ----------------------------------------
# Records as points: numbers behind codes and distances between categories, for methods that reckon with them.


def is_number(column: Column) -> bool:
    """Whether a column is of numbers or dates, with a hierarchy or without."""
    return column.type in ("numeric", "date")


def is_ordered(column: Column) -> bool:
    """Whether a column is of categories in an order of their own."""
    return column.type == "ordinal" and column.kind != TREE


def numbers_of(column: Column) -> np.ndarray:
    """Number or day of every code, whether or not a hierarchy stands above them."""
    if column.numbers is not None:
        return np.array([float(x) for x in column.numbers], dtype=np.float64)
    texts = column.texts.slice(0, column.card - (column.missing >= 0))
    codes, values = code_numbers(column.name, texts) if column.type == "numeric" else code_dates(
        column.name, texts, type(column.spec)()
    )
    return values.astype(np.float64)[codes]


def refuse_missing(owner: str, columns: Sequence[Column]) -> None:
    """Refuse missing cells among numbers, dates and ordered categories: they have no mean and no middle."""
    for column in columns:
        if column.missing >= 0 and (is_number(column) or is_ordered(column)):
            count = int(column.frequencies[column.missing])
            raise ParameterError(
                f"{owner} cannot average the {count} missing cells of '{column.name}': set missing to 'drop', "
                "or fill them."
            )


def published(column: Column, numbers: np.ndarray, spots: np.ndarray) -> tuple[pl.Series, np.ndarray]:
    """Numbers, whole where all of the column are, and days as dates."""
    if column.type == "date":
        days = np.floor(spots + 0.5).astype(np.int32)
        return pl.Series(column.name, days).cast(pl.Date), days.astype(np.float64)
    if (numbers == np.floor(numbers)).all():
        spots = np.floor(spots + 0.5)
        if np.abs(numbers).max() < 1 << 53:
            return pl.Series(column.name, spots.astype(np.int64)), spots
    return pl.Series(column.name, spots), spots


def records_of(table: Table, numbers: dict[str, np.ndarray], order: np.ndarray) -> Records:
    """Coordinates and categories of the rows in keyed order; columns of one value say nothing and are left out."""
    spots, codes, trees, costs, cards = [], [], [], [], []
    for column, weight in zip(table.quasi, table.domain.quasi_weights.tolist(), strict=True):
        if is_number(column) or is_ordered(column):
            values = numbers[column.name] if is_number(column) else np.arange(column.card, dtype=np.float64)
            mine = (values - values[0])[table.codes[column.name][order]]
            deviation = mine.std()
            if deviation > 0:
                spots.append((mine - mine.mean()) * (weight**0.5 / deviation))
        elif column.card > 1:
            tree, cost = _category_distances(column, weight)
            codes.append(table.codes[column.name][order])
            trees.append(tree.ravel())
            costs.append(cost.ravel())
            cards.append(column.card)
    n = order.size
    return Records(
        spots=np.stack(spots) if spots else np.empty((0, n)),
        codes=np.stack(codes) if codes else np.empty((0, n), dtype=np.int32),
        tree=np.concatenate([np.empty(0, dtype=np.int32), *trees]).astype(np.int32),
        cost=np.concatenate([np.empty(0), *costs]),
        tree_at=np.cumsum([0, *(tree.size for tree in trees)], dtype=np.int64),
        card=np.array(cards, dtype=np.int64),
    )


def _category_distances(column: Column, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """Ancestors by level and code, and the squared distance of two values that meet there first."""
    if column.hierarchy is None:
        tree = np.stack([np.arange(column.card, dtype=np.int32), np.zeros(column.card, dtype=np.int32)])
        return tree, np.stack([np.zeros(column.card), np.full(column.card, weight)])
    width = (column.hierarchy.leaf_counts - 1.0) / (column.hierarchy.n_leaves - 1.0)
    return column.hierarchy.ancestors, weight * width**2


@dataclass(frozen=True, kw_only=True)
class Perturbing(Algorithm):
    """A method after which quasi-identifiers are nobody's own, and no model can be vouched for."""

    kind: ClassVar[Kind] = PERTURBED

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("suppression_limit", "max_suppressed"):
            if getattr(self, name):
                raise ParameterError(f"{type(self).__name__} suppresses nobody: leave out its '{name}'.")

    def chosen(self, known: Sequence[str], columns: Sequence[str] | None, does: str, what: str) -> list[str]:
        """Columns that are named, in the order of the table, or all that are known where none is."""
        for name in columns or ():
            if name not in known:
                near = nearest(str(name), known)
                hint = f" Did you mean '{near}'?" if near else ""
                raise ParameterError(f"{type(self).__name__} cannot {does} '{name}', which is not {what}.{hint}")
        return list(known) if columns is None else [name for name in known if name in columns]

    def listed(self, name: str, columns: Sequence[str] | None, what: str = "quasi-identifier") -> None:
        """Refuse columns that are no list, and make a tuple of one."""
        if columns is None:
            return
        if isinstance(columns, str) or not columns:
            raise ParameterError(
                f"The '{name}' of {type(self).__name__} must be a list of at least one {what}: leave it out for all."
            )
        object.__setattr__(self, name, tuple(columns))

    def refuse_models(self, problem: Problem) -> None:
        """Records that agree only happen to: what models say of their classes would promise nothing."""
        if problem.judge.models:
            named = problem.judge.models[0].name
            raise ParameterError(f"A perturbed release has no classes that a model could hold in: leave out '{named}'.")


@dataclass(frozen=True, kw_only=True)
class Swapping(Perturbing):
    """Swap the values of every column by itself, each record with one of near rank (Reiss 1984; rank swapping).

    Every column keeps exactly the values that it has, so that counts and means of single columns stay true; what goes
    together between columns is lost the more, the wider the window.

    Parameters
    ----------
    window
        How far apart, as a share of all records, the ranks of two records may be that change places. Categories
        without an order change places with any; under a hierarchy their rank is that among its leaves.
    columns
        Quasi-identifiers to swap, all by default; others are published exactly as they are.

    Examples
    --------
    >>> Swapping(window=0.05).parameters()
    {'name': 'swapping', 'suppression_limit': 0.0, 'window': 0.05}
    """

    name: ClassVar[str] = "swapping"
    window: float = 0.1
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        real("Swapping", "window", self.window, low=0.0, high=1.0, open_low=True)
        self.listed("columns", self.columns)

    def run(self, problem: Problem) -> Perturbed:
        """Swap, column by column; every draw belongs to a rank in the keyed order."""
        self.refuse_models(problem)
        table, order = problem.table, problem.shuffled
        chosen = self.chosen(table.schema.quasi, self.columns, "swap", "a quasi-identifier")
        quasi = {}
        for column in table.quasi:
            codes = table.codes[column.name]
            if column.name in chosen:
                problem.progress(f"swapping {column.name}")
                draws = problem.keys.generator(f"swap {column.name}").random(table.n)
                codes = swapped(column, codes[order], self._reach(column, table.n), draws)[np.argsort(order)]
            quasi[column.name] = codes
        changed = {name: float((quasi[name] != table.codes[name]).mean()) for name in chosen}
        return Perturbed(
            columns={column.name: values_of(table, column, quasi[column.name]) for column in table.quasi},
            places={column.name: places_of(column, quasi[column.name]) for column in table.quasi},
            true={column.name: places_of(column, table.codes[column.name]) for column in table.quasi},
            perturbation="swapped", notes={"window": self.window, "changed": changed},
        )  # fmt: skip

    def _reach(self, column: Column, n: int) -> int:
        return max(n, 1) if column.kind == FLAT else max(1, int(self.window * n))


def swapped(column: Column, codes: np.ndarray, window: int, draws: np.ndarray) -> np.ndarray:
    """Codes after swapping; equal ones are ranked in the order given."""
    ranked = np.argsort(codes, kind="stable")
    found = np.empty_like(codes)
    found[ranked] = codes[ranked[swap_ranks(window, draws)]]
    return found


def places_of(column: Column, codes: np.ndarray) -> np.ndarray:
    """Where values lie: their numbers, or else their codes."""
    if is_number(column) and column.missing < 0:
        return numbers_of(column)[codes]
    return codes.astype(np.float64)


# ----------------------------------------
# Targeted record swapping: records at risk change their place of residence with alike ones from elsewhere.


@dataclass(frozen=True, kw_only=True)
class RecordSwapping(Perturbing):
    """Swap the geography of records at risk with that of records that are like them and live elsewhere.

    From the coarsest areas to the finest: a record that shares its ``risk`` columns with fewer than ``k`` of its area
    changes places with one from another such area that agrees with it on the ``similar`` columns, one at risk if there
    is any. So counts of areas by similar columns stay exactly what they were (as in the censuses of the UK and Europe).

    Parameters
    ----------
    geography
        Quasi-identifiers that say where somebody lives, the coarsest first; the levels of a hierarchy count too.
    k
        How many of an area must share the risk columns for nobody of them to be at risk.
    risk
        Quasi-identifiers that an intruder knows, all that are no geography by default.
    similar
        Quasi-identifiers on which partners agree, none by default.
    rate
        Least share of records that are swapped, by chance where fewer are at risk.

    Examples
    --------
    >>> RecordSwapping(geography=["region"]).parameters()["geography"]
    ('region',)
    """

    name: ClassVar[str] = "record-swapping"
    geography: Sequence[str]
    k: int = 3
    risk: Sequence[str] | None = None
    similar: Sequence[str] | None = None
    rate: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.geography, str) or not self.geography:
            raise ParameterError("The 'geography' of RecordSwapping must be a list of columns, the coarsest first.")
        for name in ("geography", "risk", "similar"):
            self.listed(name, getattr(self, name))
        whole("RecordSwapping", "k", self.k, least=2)
        real("RecordSwapping", "rate", self.rate, low=0.0, high=1.0)

    def run(self, problem: Problem) -> Perturbed:
        """Pair records area by area, and then swap all of their geography."""
        self.refuse_models(problem)
        table = problem.table
        refuse_repeated_people(table.domain, "Record swapping")
        known = list(table.schema.quasi)
        places = [name for name in self.geography if self.chosen(known, [name], "swap", "a quasi-identifier")]
        others = [name for name in known if name not in places]
        risk = self.chosen(others, self.risk, "judge risk by", "a quasi-identifier beside the geography")
        similar = self.chosen(others, self.similar or (), "match by", "a quasi-identifier beside the geography")
        if not risk:
            raise ParameterError("Record swapping judges risk by quasi-identifiers beside the geography: name some.")
        problem.progress("pairing records")
        partner, notes = self._partners(problem, places, risk, similar)
        quasi = {name: table.codes[name][partner] if name in places else table.codes[name] for name in known}
        return Perturbed(
            columns={column.name: values_of(table, column, quasi[column.name]) for column in table.quasi},
            places={column.name: places_of(column, quasi[column.name]) for column in table.quasi},
            true={column.name: places_of(column, table.codes[column.name]) for column in table.quasi},
            perturbation="swapped", notes=notes,
        )  # fmt: skip

    def _partners(
        self, problem: Problem, places: Sequence[str], risk: Sequence[str], similar: Sequence[str]
    ) -> tuple[np.ndarray, dict[str, int]]:
        """Whom each record changes places with, itself where with nobody."""
        table, order = problem.table, problem.shuffled
        alike = _numbered(table, similar)[order]
        members = np.argsort(alike, kind="stable")
        starts = np.append(np.flatnonzero(np.diff(alike[members], prepend=-1)), table.n)
        partner, at_risk = np.arange(table.n), np.zeros(table.n, dtype=bool)
        profile, area = _numbered(table, risk)[order], np.zeros(table.n, dtype=np.int32)
        for level, area in enumerate(_areas(table, places, order)):
            ids, _, counts = group_rows(np.stack([area, profile]), np.array([area.max() + 1, profile.max() + 1]))
            few = counts[ids] < self.k
            at_risk |= few
            draws = problem.keys.generator(f"record swapping {level}").random(table.n)
            pair_apart(members, starts, area, few.astype(np.uint8), draws, partner)
        unpaired = int((at_risk & (partner == np.arange(table.n))).sum())
        lacking = int(np.ceil(self.rate * table.n)) - int((partner != np.arange(table.n)).sum())
        if lacking > 0:
            free = np.flatnonzero(partner == np.arange(table.n))
            chance = np.zeros(table.n, dtype=np.uint8)
            chance[free[:lacking]] = 1  # in the keyed order
            draws = problem.keys.generator("record swapping by chance").random(table.n)
            pair_apart(members, starts, area, chance, draws, partner)
        found = np.empty(table.n, dtype=np.int64)
        found[order] = order[partner]
        swapped = int((found != np.arange(table.n)).sum())
        return found, {"at_risk": int(at_risk.sum()), "swapped": swapped, "at_risk_not_swapped": unpaired}


def _numbered(table: Table, names: Sequence[str]) -> np.ndarray:
    """int32 number of every row's values of some columns; 0 where there are none."""
    if not names:
        return np.zeros(table.n, dtype=np.int32)
    cards = np.array([table.columns[name].card for name in names])
    return group_rows(np.stack([table.codes[name] for name in names]), cards)[0]


def _areas(table: Table, places: Sequence[str], order: np.ndarray) -> list[np.ndarray]:
    """The area of every row, from the coarsest areas to the finest; levels on which all are one area are left out."""
    found: list[np.ndarray] = []
    inside = np.zeros(table.n, dtype=np.int32)
    for name in places:
        column, codes = table.columns[name], table.codes[name][order]
        levels = [np.arange(column.card, dtype=np.int32)]
        if column.kind == TREE and column.hierarchy is not None:
            levels = list(column.hierarchy.ancestors[::-1])
        for nodes in levels:
            both = np.stack([inside, nodes[codes]])
            area = group_rows(both, both.max(axis=1) + 1)[0]
            if area.max(initial=0) > (found[-1].max(initial=0) if found else 0):
                found.append(area)
        inside = found[-1] if found else inside
    return found
