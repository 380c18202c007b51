"""Targeted record swapping: records at risk change their place of residence with alike ones from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Problem
from shoal.algorithms.links.people import refuse_repeated_people
from shoal.algorithms.links.swapping import Perturbing, places_of
from shoal.data.column import TREE
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.kernels.perturbation import pair_apart
from shoal.params import real, whole
from shoal.recoding.exact import values_of
from shoal.recoding.recodings import Perturbed


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
