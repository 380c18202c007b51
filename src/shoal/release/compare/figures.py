"""The figures that points are placed by: a measure, a risk of the classes, an attack's success, an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import ParameterError
from shoal.params import nearest
from shoal.registry import load, names, summary
from shoal.risk.attacks.limits import RISKS

if TYPE_CHECKING:
    from shoal.risk.attacks.base import AttackResult

EXCESS = "excess."
# How many sensitive values are guessed by who knows everybody's quasi-identifiers: by the attack that a kind of release
# allows for, the most successful where there are several.
GUESSED, GUESSING = "guessed", ("linkage", "nearest", "ra-linkage", "record-linkage", "relinking")
_ABOUT = "Share of people whose value is guessed from quasi-identifiers, by the best attack on this kind of release."
Figures = dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis of a comparison.

    Attributes
    ----------
    role
        ``"utility"``, ``"protection"`` (or, where kinds of release are compared, ``"knowledge"``) or ``"risk"``.
    name
        The figure's name: a measure, ``prosecutor_mean`` or ``prosecutor_max``, ``ATTACK[:COLUMN]`` with ``excess.``
        before it or not, ``guessed[:COLUMN]``, or an evaluation.
    source
        ``"measure"``, ``"class"``, ``"attack"`` or ``"evaluation"``.
    better
        ``"down"`` when smaller is better, else ``"up"``.
    about
        What it is, in a few words.
    """

    role: str
    name: str
    source: str
    better: str
    about: str

    @property
    def attacks(self) -> Sequence[str]:
        """The attacks behind it."""
        name = self.name.removeprefix(EXCESS).split(":")[0]
        if self.source != "attack":
            return ()
        return GUESSING if name == GUESSED else (name,)

    @property
    def is_share(self) -> bool:
        """Whether it is a share of people, which people read as a percentage."""
        return self.source in ("class", "attack")

    def show(self, value: float | None) -> str:
        """The figure for people."""
        if value is None:
            return "-"
        return f"{value:.2%}" if self.is_share else f"{value:,.4g}"


def find_axis(role: str, name: str, sensitive: Sequence[str], evaluations: Sequence[str] = ()) -> Axis:
    """What a figure's name stands for; an unknown one proposes the nearest.

    Parameters
    ----------
    sensitive
        Sensitive columns, which attacks may be asked about one by one.
    evaluations
        Evaluations that the comparison makes; only those can be an axis.
    """
    if name in names("measure"):
        better = load("measure", name).better
        return Axis(role=role, name=name, source="measure", better=better, about=summary("measure", name))
    if name in RISKS:
        worst = "largest" if name.endswith("max") else "mean"
        about = f"The {worst} chance to pick a person's record out of its class."
        return Axis(role=role, name=name, source="class", better="down", about=about)
    if name in evaluations:
        # Which way is better, its findings will say.
        return Axis(role=role, name=name, source="evaluation", better="down", about=summary("evaluation", name))
    attack, _, column = name.removeprefix(EXCESS).partition(":")
    if attack in (GUESSED, *names("attack")):
        if column and column not in sensitive:
            near = nearest(column, sensitive)
            hint = f"Did you mean '{near}'?" if near else f"Sensitive are: {', '.join(sensitive) or 'none'}."
            raise ParameterError(f"The {role} '{name}' is about '{column}', which is no sensitive column. {hint}")
        about = f"How often '{column}' is guessed right. " if column else ""
        about += _ABOUT if attack == GUESSED else summary("attack", attack)
        if name.startswith(EXCESS):
            about = f"How far beyond its control or baseline an attack goes. {about}"
        return Axis(role=role, name=name, source="attack", better="down", about=about)
    options = [*names("measure"), *RISKS, GUESSED, *names("attack"), *evaluations]
    near = nearest(name, options)
    hint = f"Did you mean '{near}'?" if near else f"Known are: {', '.join(options)}."
    raise ParameterError(f"There is no figure '{name}' to be the {role} of a comparison. {hint}")


def default_axes(sensitive: Sequence[str], kinds: bool = False) -> dict[str, str]:
    """Loss; what classes still say about sensitive values; how often a linked person's value is guessed.

    Where releases are not all generalised (``kinds``), which have neither loss nor classes in common: errors of
    queries, rules kept, and values guessed.
    """
    if kinds and sensitive:
        return {"utility": "count-queries", "knowledge": "rules", "risk": f"{GUESSED}:{sensitive[0]}"}
    if not sensitive:
        return {"utility": "lm", "protection": "prosecutor_max", "risk": "linkage"}
    return {"utility": "lm", "protection": "mpm", "risk": f"linkage:{sensitive[0]}"}


def attack_figures(results: Sequence[AttackResult]) -> tuple[Figures, dict[str, Figures]]:
    """Success and excess of every figure of some attacks, by name; and what stands beside each success."""
    found: Figures = {}
    beside: dict[str, Figures] = {}
    for result in results:
        if result.asked:  # an attack with parameters is there for its limit, and has the plain one's names
            continue
        # The attack's own name is its main figure; without one of that name, the worst over the columns.
        found |= {result.name: result.value, f"{EXCESS}{result.name}": result.excess}
        for one in result.figures:
            found |= {one.name: one.value, f"{EXCESS}{one.name}": one.excess}
            beside[one.name] = {"low": one.low, "high": one.high, "baseline": one.baseline, "control": one.control}
    best: dict[str, str] = {}
    for name in found:
        attack, _, column = name.partition(":")
        figure = f"{GUESSED}:{column}"
        if attack in GUESSING and column and (found[name] or 0.0) >= (found[best.get(figure, name)] or 0.0):
            best[figure] = name
    for figure, name in best.items():
        found |= {figure: found[name], f"{EXCESS}{figure}": found[f"{EXCESS}{name}"]}
        beside[figure] = beside[name]
    known = {value: name for figure, name in best.items() if (value := found[figure]) is not None}
    if known:
        worst = known[max(known)]
        found |= {GUESSED: found[worst], f"{EXCESS}{GUESSED}": found[f"{EXCESS}{worst}"]}
        beside[GUESSED] = beside[worst]
    return found, beside


# ----------------------------------------
# Which points are worth a look, and which one to take: the Pareto front, and the point nearest to the ideal corner.


# Points of the front this much further from the ideal corner than the nearest are as good as it.
CLOSE = 0.05


def oriented(values: np.ndarray, better: list[str]) -> np.ndarray:
    """The same figures, turned so that smaller is better on every axis."""
    return values * np.array([1.0 if one == "down" else -1.0 for one in better])


def pareto(costs: np.ndarray) -> np.ndarray:
    """Which rows no other row beats: as good on every axis, and better on one.

    Parameters
    ----------
    costs
        float64, shape (points, axes); smaller is better. Rows with a NaN are on no front and beat nobody.
    """
    known = ~np.isnan(costs).any(axis=1)
    filled = np.where(known[:, None], costs, np.inf)
    as_good = (filled[:, None, :] <= filled[None, :, :]).all(axis=2)
    better = (filled[:, None, :] < filled[None, :, :]).any(axis=2)
    beaten = (as_good & better & known[:, None]).any(axis=0)
    return known & ~beaten


def distances(costs: np.ndarray) -> np.ndarray:
    """How far each row is from the corner that is best on every axis, each axis scaled to 0..1 over the rows.

    An axis on which all rows agree tells nothing and adds nothing.
    """
    low, span = costs.min(axis=0), np.ptp(costs, axis=0)
    scaled = np.where(span > 0, (costs - low) / np.where(span > 0, span, 1.0), 0.0)
    return np.sqrt((scaled**2).sum(axis=1))


def ranked(costs: np.ndarray, suppressed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a front from the nearest to the ideal corner to the furthest, and their distances in that order.

    Ties go to fewer suppressed, then to the earlier row.
    """
    far = distances(costs)
    # Sums of squares in another order differ in the last bits, and would make ties look decided.
    order = np.lexsort((np.arange(far.size), suppressed, np.round(far, 9)))
    return order, far[order]
