"""Random anonymisation (Yang & Qiao 2010): one quasi-identifier of every record, or several, drawn anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from shoal.algorithms.base import Algorithm, Problem
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.rows import ArrayRows
from shoal.data.table import Table
from shoal.errors import InfeasibleError, ParameterError
from shoal.params import choice, nearest, real, whole
from shoal.recoding.kinds import RANDOMISED, Kind
from shoal.recoding.randomised import entropy
from shoal.recoding.recoded import PriceStats, apply_recoding
from shoal.recoding.recodings import Redrawn
from shoal.recoding.rewriting import Redrawing as rewriting_Redrawing
from shoal.registry import load

# ----------------------------------------
# How much to redraw: as little as keeps what was measured of an attacker's posterior within a limit.


class Redrawing(Protocol):
    """One setting of random anonymisation."""

    def redrawn(self, problem: Problem) -> Redrawn:
        """Draw by it."""
        ...


def within(problem: Problem, settings: Sequence[Redrawing], limit: float, of: str) -> tuple[Redrawn, dict[str, Any]]:
    """The release of the setting that moves associations least, of those whose measured posterior is within a limit.

    The posterior is that of exact Bayes on this very release (the measure ``inference-probability``): the probability
    of the likeliest original of a record, in the mean over records or for the worst of them.

    Returns
    -------
    Redrawn, dict
        The release, and what was measured, for the evidence.
    """
    made = [setting.redrawn(problem) for setting in settings]
    stats = [apply_recoding(problem.rows, one).price_stats() for one in made]
    order = sorted(range(len(made)), key=lambda place: (_bias(stats[place]), place))
    found: list[dict[str, Any]] = []
    for place in order:
        one = made[place]
        value = _posterior(stats[place], of)
        found.append({"redraw": one.redraw, "p": dict(one.chances), "posterior": value})
        problem.progress(f"redrawing {one.redraw} of a record: {of} posterior {value:.1%}")
        if value <= limit + 1e-12:
            return one, {"posterior_of": of, "tried": found}
    least = min(found, key=lambda one: float(one["posterior"]))
    raise InfeasibleError(
        f"The {of} posterior is not within {limit:g} by any redrawing that was tried: the least is "
        f"{least['posterior']:.4g}, with redraw = {least['redraw']}; raise 'max_posterior' or leave out columns."
    )


def _bias(stats: PriceStats) -> float:
    """How far associations with sensitive values move; without any, the first setting is as good as others."""
    value = load("measure", "bias")().score(stats).value
    return 0.0 if value is None else float(value)


def _posterior(stats: PriceStats, of: str) -> float:
    score = load("measure", "inference-probability")().score(stats)
    value = score.value if of == "worst" else score.also.get("mean")
    if value is None:
        raise ParameterError(f"The 'max_posterior' of RandomAnonymisation cannot be measured: {score.reason}.")
    return float(value)


_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class RandomAnonymisation(Algorithm):
    """Algorithms 1 and 2 of the paper: noise from each column's own distribution, sensitive values untouched.

    It is noise, not anonymity: the other cells of a record stay exact, and the draw may return the old value.

    Parameters
    ----------
    redraw
        Quasi-identifiers redrawn in every record, the paper's lambda; ``"auto"``, with ``max_posterior``, chooses it,
        and p, so that associations move least.
    p
        How the one is chosen: ``"uniform"``, ``"optimal"`` (proportional to exp(entropy), Prop. 7, in
        thousandths), or column to probability. With ``redraw`` above 1 all sets of columns are equally likely
        (Algorithm 2).
    max_posterior
        Largest posterior of a record's likeliest original, as measured on the release by exact Bayes: no release is
        made where it is larger.
    posterior_of
        ``"mean"`` over the records, or of the ``"worst"`` of them.
    keep_constant
        Let columns with a single value take part in the choice, as the paper does, although redrawing them does
        nothing.

    Examples
    --------
    >>> RandomAnonymisation(redraw=2).parameters()
    {'name': 'random', 'suppression_limit': 0.0, 'redraw': 2, 'p': 'uniform', 'posterior_of': 'mean', \
'keep_constant': False}
    """

    name: ClassVar[str] = "random"
    kind: ClassVar[Kind] = RANDOMISED
    redraw: int | str = 1
    p: str | Mapping[str, float] = "uniform"
    max_posterior: float | None = None
    posterior_of: str = "mean"
    keep_constant: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_redraw()
        if not isinstance(self.keep_constant, bool):
            raise ParameterError(
                f"The 'keep_constant' of RandomAnonymisation must be true or false. Got {self.keep_constant!r}."
            )
        if isinstance(self.p, Mapping):
            _check_sum(self.p)
        else:
            choice("RandomAnonymisation", "p", self.p, ("uniform", "optimal"))
        for name in ("suppression_limit", "max_suppressed"):
            if getattr(self, name):
                raise ParameterError(f"Noise suppresses nobody: leave out the '{name}' of RandomAnonymisation.")
        if self._count > 1 and self.p != "uniform":
            raise ParameterError(
                "With 'redraw' above 1 every set of columns is equally likely: leave out 'p', or set 'redraw' to 1."
            )

    @property
    def _count(self) -> int:
        """How many are redrawn, one while that is not chosen yet."""
        return 1 if isinstance(self.redraw, str) else int(self.redraw)

    def _check_redraw(self) -> None:
        choice("RandomAnonymisation", "posterior_of", self.posterior_of, ("mean", "worst"))
        if self.max_posterior is not None:
            real("RandomAnonymisation", "max_posterior", self.max_posterior, low=0.0, high=1.0, open_low=True)
        if self.redraw != "auto":
            whole("RandomAnonymisation", "redraw", self.redraw, least=1)
        elif self.max_posterior is None:
            raise ParameterError("The 'redraw' of RandomAnonymisation is chosen within a 'max_posterior': add one.")
        elif self.p != "uniform":
            raise ParameterError("With 'redraw' auto p is chosen, too: leave out 'p', or set 'redraw'.")

    def __hash__(self) -> int:
        p = tuple(sorted(self.p.items())) if isinstance(self.p, Mapping) else self.p
        return hash((self.name, self.suppression_limit, self.redraw, p, self.max_posterior, self.keep_constant))

    def parameters(self) -> dict[str, Any]:
        """The algorithm as a recipe writes it."""
        return super().parameters() | {"p": dict(self.p) if isinstance(self.p, Mapping) else self.p}

    @property
    def from_cells(self) -> bool:
        """How often each value occurs is all that it looks at, unless what came of it is measured."""
        return self.max_posterior is None

    def run(self, problem: Problem) -> Redrawn:
        """Draw, and where there is a limit measure what came of it."""
        if self.max_posterior is None:
            return self.redrawn(problem)
        made, measured = within(problem, self._settings(problem.domain), self.max_posterior, self.posterior_of)
        return replace(made, notes={**made.notes, **measured})

    def _settings(self, table: Domain) -> list[RandomAnonymisation]:
        """What may be chosen from: one column by uniform or optimal p, or several; one setting where it is given."""
        if self.redraw != "auto":
            return [self]
        one = replace(self, redraw=1)
        most = int(np.count_nonzero(one.chances(table)[0]))
        return [one, replace(one, p="optimal"), *(replace(one, redraw=redraw) for redraw in range(2, most + 1))]

    def redrawn(self, problem: Problem) -> Redrawn:
        """Draw, in time linear in the number of cells; every draw belongs to its row key."""
        domain, rows = problem.domain, problem.rows
        p, constant = self.chances(domain)
        if self.p == "optimal":
            p = _rounded(p)
        drawn = np.flatnonzero(p > 0.0)
        columns = [domain.quasi[place] for place in drawn]
        problem.progress(f"redrawing {self._count} of {drawn.size} columns a record")
        redrawing = rewriting_Redrawing(
            quasi=domain.schema.quasi, drawn=[column.name for column in columns], p=p[drawn], redraw=self._count,
            counts=[column.frequencies for column in columns], stream=problem.keys.stream("redraw"),
        )  # fmt: skip
        quasi = redrawing.codes(rows.table.codes, rows.table.row_keys) if isinstance(rows, ArrayRows) else {}
        notes = self._notes(domain, p, constant)
        return Redrawn(quasi=quasi, redrawing=redrawing, chances=notes["p"], redraw=notes["redraw"], notes=notes)

    def chances(self, table: Table | Domain) -> tuple[np.ndarray, list[str]]:
        """Probability of each quasi-identifier to be the first redrawn, and names of those with a single value."""
        columns = table.quasi
        if not columns:
            raise ParameterError("Random anonymisation needs a quasi-identifier to redraw: give one a role.")
        spread = np.array([np.count_nonzero(column.frequencies) > 1 for column in columns])
        constant = [column.name for column, many in zip(columns, spread, strict=True) if not many]
        able = np.ones(len(columns), dtype=bool) if self.keep_constant else spread
        if isinstance(self.p, Mapping):
            p = self._given(columns, able)
        else:
            if not able.any():
                raise InfeasibleError("Every quasi-identifier has a single value, so there is nothing to redraw.")
            p = np.where(able, 1.0, 0.0)
            if self.p == "optimal":
                entropies = np.array([entropy(column) for column in columns])
                p *= np.exp(entropies - entropies[able].max())
        if self._count > np.count_nonzero(p):
            raise ParameterError(
                f"The 'redraw' of RandomAnonymisation must be at most the {np.count_nonzero(p)} quasi-identifiers "
                f"that can be redrawn. Got {self.redraw}."
            )
        return p / p.sum(), constant

    def _given(self, columns: list[Column], able: np.ndarray) -> np.ndarray:
        assert isinstance(self.p, Mapping)
        names = [column.name for column in columns]
        for name in self.p:
            if name not in names:
                near = nearest(str(name), names)
                hint = f" Did you mean '{near}'?" if near else ""
                raise ParameterError(f"There is a 'p' for '{name}', which is not a quasi-identifier.{hint}")
        p = np.array([float(self.p.get(name, 0.0)) for name in names])
        idle = [name for name, mass, many in zip(names, p, able, strict=True) if mass > 0.0 and not many]
        if idle:
            raise ParameterError(
                f"There is a 'p' for '{idle[0]}', which has a single value: leave it out, or set 'keep_constant'."
            )
        return p

    def _notes(self, table: Domain, p: np.ndarray, constant: list[str]) -> dict[str, Any]:
        names = table.schema.quasi
        notes: dict[str, Any] = {"redraw": self._count, "p": dict(zip(names, p.tolist(), strict=True))}
        if constant:
            fate = "take part in the draw without effect" if self.keep_constant else "were left out of the draw"
            notes["warnings"] = [f"Columns with a single value {fate}: {', '.join(constant)}."]
        return notes


def _rounded(p: np.ndarray) -> np.ndarray:
    """Shares in whole thousandths, at least one where there is any: p is published, and exact ones tell entropies."""
    shares = 1000.0 * p
    found = np.where(p > 0.0, np.maximum(np.floor(shares), 1.0), 0.0)
    for place in np.argsort(found - shares, kind="stable")[: max(0, 1000 - int(found.sum()))]:
        found[place] += 1.0
    return found / found.sum()


def _check_sum(p: Mapping[str, float]) -> None:
    for name, mass in p.items():
        real("RandomAnonymisation", f"p[{name}]", mass, low=0.0, high=1.0)
    total = sum(p.values())
    if abs(total - 1.0) > _SUM_TOLERANCE:
        raise ParameterError(f"The 'p' of RandomAnonymisation must sum to 1. Got {total:.12g}.")
