"""What follows from attacks: limits that a recipe sets, and whether a release keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import GateError, RecipeError
from shoal.grammar import parse_attack
from shoal.params import nearest, real
from shoal.recoding.kinds import Trait
from shoal.registry import make, names
from shoal.results import Release
from shoal.risk.attacks.base import AttackResult
from shoal.risk.classes import real_classes

if TYPE_CHECKING:
    from shoal.risk.attacks.case import AttackCase

EXCESS = "excess"
# Figures of the classes themselves, which no attack is needed for.
RISKS = ("prosecutor_max", "prosecutor_mean")


def refuse_over_limits(
    limits: Mapping[str, Any], release: Release, case: Callable[[], AttackCase] | None = None
) -> list[AttackResult]:
    """Attack a release as its limits ask for, and refuse it where one is exceeded.

    Nobody is held out here, so an excess is one over the baseline.

    Parameters
    ----------
    case
        Gives the people to attack beside the release; by default all its rows, which are in memory then.
    """
    from shoal.risk.attacks.run import attack, run_attacks

    known_limits(limits, RISKS)
    wanted, results = attacks_of(limits), list[AttackResult]()
    if wanted:
        results = attack(release, only=wanted) if case is None else run_attacks(case(), wanted)
    broken = check_limits(limits, results, class_risks(release))
    if broken:
        raise GateError(f"The release exceeds its limits, so nothing is written: {' '.join(broken)}")
    return results


def class_risks(release: Release) -> dict[str, float | None]:
    """Compute the largest and the mean chance to find somebody among the people (rows, without a subject) of a class.

    Counterfeits, the last rows, hide nobody for sure, and are left out. None where records only happen to agree.
    """
    released = release.released
    if not released.made.has(Trait.ALIKE):
        return dict.fromkeys(RISKS)
    sizes = released.rows.stats(real_classes(released, released.classmap), []).sizes
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return dict.fromkeys(RISKS, 0.0)
    return {"prosecutor_max": float(1.0 / sizes.min()), "prosecutor_mean": float(sizes.size / sizes.sum())}


def check_limits(
    limits: Mapping[str, Any], results: Sequence[AttackResult], risks: Mapping[str, float | None] | None = None
) -> list[str]:
    """One sentence a limit that is exceeded, or that nothing was measured for.

    Parameters
    ----------
    limits
        Attack, perhaps with parameters as in ``"proximity eps=30"``, to its largest success rate, ``excess`` to such a
        table of largest excesses over the control (without one: over the baseline), and any name in ``risks`` to its
        largest figure.
    results
        What attacks found.
    risks
        Further figures by name, such as ``prosecutor_max``.
    """
    known_limits(limits, risks or {})
    found = {one.asked or one.name: one for one in results}
    broken = []
    for name, limit in limits.items():
        if name == EXCESS:
            for one, most in limit.items():
                value = found[one].excess if one in found else None
                broken += _over(f"The excess of '{one}'", f"excess.{one}", value, most)
        elif risks and name in risks:
            broken += _over(f"The risk '{name}'", name, risks[name], limit)
        else:
            value = found[name].value if name in found else None
            broken += _over(f"The success of '{name}'", name, value, limit)
    return broken


def attacks_of(limits: Mapping[str, Any]) -> list[str]:
    """The attacks that limits need, as the limits write them."""
    wanted = [name for name in limits if _first(name) in names("attack")]
    return list(dict.fromkeys([*wanted, *limits.get(EXCESS, {})]))


def known_limits(
    limits: Mapping[str, Any],
    risks: Mapping[str, float | None] | Sequence[str] = (),
    sensitive: Sequence[str] | None = None,
) -> None:
    """Refuse a limit on something that nobody measures, or one that is no share.

    Parameters
    ----------
    risks
        Figures that have a limit without an attack.
    sensitive
        Columns that an attack can keep to; None where they are not known yet.
    """
    attacks = names("attack")
    for name, limit in limits.items():
        nested = limit if name == EXCESS and isinstance(limit, Mapping) else {}
        for one, most in nested.items():
            _known(one, attacks, "attack", sensitive)
            real("[limits]", f"excess.{one}", most, low=0.0, high=1.0)
        if name != EXCESS:
            _known(name, [*attacks, *risks, EXCESS], "limit", sensitive)
            real("[limits]", name, limit, low=0.0, high=1.0)
        elif not isinstance(limit, Mapping):
            raise RecipeError("The 'excess' in [limits] must be a table of attacks, such as excess.linkage = 0.05.")


def _first(text: str) -> str:
    """The name in front of an attack's parameters."""
    return text.partition(" ")[0].partition("=")[0]


def _known(text: str, options: Sequence[str], what: str, sensitive: Sequence[str] | None) -> None:
    name = text if text in options else _first(text)
    if name not in options:
        near = nearest(name, options)
        hint = f"Did you mean '{near}'?" if near else f"Known are: {', '.join(options)}."
        raise RecipeError(f"There is no {what} '{name}' to set in [limits]. {hint}")
    if name == text:
        return
    if name not in names("attack"):
        raise RecipeError(f"The limit '{name}' takes no parameters: write it as {name} = 0.1 in [limits].")
    spec = parse_attack(text)
    on = spec.pop("on", None)
    make("attack", spec)
    for column in [on] if isinstance(on, str) else on or ():
        if sensitive is not None and column not in sensitive:
            raise RecipeError(f"The limit on '{name}' names '{column}', which is no sensitive column: name one.")


def _over(what: str, name: str, value: float | None, limit: float) -> list[str]:
    if value is None:
        return [f"{what} has a limit of {limit:g} but cannot be measured on this release: remove the limit '{name}'."]
    return [f"{what} is {value:.4g}, above the limit of {limit:g}."] if value > limit + 1e-12 else []
