"""How much to redraw: as little as keeps what was measured of an attacker's posterior within a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from shoal.algorithms.base import Problem
from shoal.catalogue import load
from shoal.errors import InfeasibleError, ParameterError
from shoal.recoding.recoded import PriceStats, apply_recoding
from shoal.recoding.recodings import Redrawn


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
