"""A recoding once more: the recipe that does to other data what a release did to its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError, RecipeError
from shoal.io.evidence import read_evidence
from shoal.recipe.profiles import named_profile
from shoal.recipe.recipe import Recipe, parse_recipe

# What was said of the earlier release itself: nobody has signed the new one, or said when to look at it again.
_OF_ONE_RELEASE: dict[str, Any] = {"sign_off": [], "re_evaluation": None}


def reapplied(release: str | Path, data: str | Path, output: str | Path, *, format: str | None = None) -> Recipe:
    """A recipe that publishes a file at the levels of an earlier release, held to the same models.

    Parameters
    ----------
    release
        The folder of the earlier release, whose evidence stands beside it, or the folder of the evidence.
    data
        The new file, of the same columns.
    output
        Where the new release goes.
    """
    evidence = read_evidence(release)
    recoded = recoding_of(evidence)
    if evidence.get("recipe") is None:
        raise InputError("The evidence of this release holds no recipe, since it was made of a frame: run one again.")
    earlier = parse_recipe(evidence["recipe"], Path(evidence.get("base") or "."))
    _refuse_moving(earlier, [name for given in recoded.values() for name, how in given.items() if how])
    _refuse_unsigned(earlier)
    algorithm: dict[str, Any] = {"name": "none", **recoded}
    for name in ("suppression_limit", "max_suppressed"):
        if earlier.algorithm.get(name) is not None:
            algorithm[name] = earlier.algorithm[name]
    source = {"path": str(Path(data).resolve()), "url": None, "table": None, "query": None}
    told: dict[str, Any] = {"folder": str(Path(output).resolve()), "date": None}
    told |= {} if format is None else {"format": format}
    said = None if earlier.review is None else earlier.review.model_copy(update=_OF_ONE_RELEASE)
    again = earlier.model_copy(
        update={
            "source": earlier.source.model_copy(update=source),
            "models": [dict(model) for model in evidence["models"]],
            "algorithm": algorithm,
            "output": earlier.output.model_copy(update=told),
            "review": said,
        }
    )
    again._base = earlier.base
    return again


def recoding_of(evidence: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The level of each column, or the cut through its hierarchy, where the release had one for everybody."""
    chosen = evidence.get("chosen") or {}
    if chosen.get("cuts") is not None:
        return {"cuts": {str(name): list(labels) for name, labels in chosen["cuts"].items()}}
    levels = chosen.get("levels")
    if levels is None:
        made = evidence.get("algorithm", {}).get("name", "its method")
        raise InputError(
            f"This release was made by '{made}', which gives no level of each column that would hold for other data: "
            "run its recipe on them, or release by a full-domain method first."
        )
    return {"levels": {str(name): int(level) for name, level in levels.items()}}


def _refuse_moving(recipe: Recipe, columns: Sequence[str]) -> None:
    """Refuse generalised columns whose levels would mean something else on other data."""
    for name in columns:
        rule = recipe.hierarchies.get(name)
        if isinstance(rule, dict) and "quantiles" in rule:
            raise RecipeError(
                f"The hierarchy of '{name}' is cut at quantiles of the data, so that its levels would be others on new "
                "data: write it to a file, and run the earlier recipe with that."
            )


def _refuse_unsigned(recipe: Recipe) -> None:
    """Refuse a profile for which people have to say something of every release."""
    needs = () if recipe.profile is None else named_profile(recipe.profile).needs
    lost = [key for key in needs if key in _OF_ONE_RELEASE]
    if lost:
        raise RecipeError(
            f"The profile '{recipe.profile}' needs '{lost[0]}' of every release, and that of the earlier one is not "
            "for new data: run a recipe of its own, with algorithm 'none' and the same levels."
        )
