"""What ``shoal attack`` does with a recipe whose engine keeps the rows: a sample of its people is attacked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.cli.attack import Known
    from shoal.recipe.recipe import Recipe
    from shoal.risk.attacks.case import AttackCase


def kept_recipe(target: Path) -> Recipe | None:
    """The recipe, where its engine keeps the rows."""
    from shoal.recipe.recipe import load_recipe
    from shoal.release.run import keeps_rows

    if target.is_dir() or target.suffix != ".toml":
        return None
    recipe = load_recipe(target)
    return recipe if keeps_rows(recipe) else None


def kept_case(
    recipe: Recipe, hold_out: float | None, sample: int | None, known: Known, step: Callable[[str], None]
) -> tuple[AttackCase, str, dict[str, int]]:
    """What is attacked, how it is announced, and how large a sample of the people it is."""
    from shoal.release.compare.source import Beside
    from shoal.release.compare.source import kept_case as made

    engine = recipe.engine.name
    if hold_out:
        raise InputError(f"Nobody is held out of what the engine '{engine}' keeps: give --control, or leave it out.")
    if known.against is not None:
        raise InputError(f"On the engine '{engine}' the recipe's own people are attacked: leave out --against.")
    outside = None if known.control is None else known.read(known.control)
    beside = Beside(control=outside, others=known.others)
    return made(recipe, sample=sample, beside=beside, seed=known.seed, progress=step)
