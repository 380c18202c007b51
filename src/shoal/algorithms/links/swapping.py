"""Data swapping: values of each quasi-identifier change places between records of near rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.algorithms.links.numbers import is_number, numbers_of
from shoal.data.column import FLAT, Column
from shoal.errors import ParameterError
from shoal.kernels.perturbation import swap_ranks
from shoal.params import nearest, real
from shoal.recoding.exact import values_of
from shoal.recoding.kinds import PERTURBED, Kind
from shoal.recoding.recodings import Perturbed


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
