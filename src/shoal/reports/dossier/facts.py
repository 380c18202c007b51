"""What is known of a release, from where a dossier takes every word and figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.reports.dossier.model import NOT_MEASURED, NOT_STATED


@dataclass(frozen=True, kw_only=True)
class Facts:
    """A release as its publisher knows it; without evidence, as everybody does.

    Attributes
    ----------
    manifest, evidence
        The public description, and the private one; the latter empty for readers who may not see it.
    recipe
        The recipe as nested plain data, empty for the same.
    review
        What people said of the release: all of it, or what they made public.
    profile
        Name, source and what is not covered, of the profile that the recipe started from.
    attacks, evaluations
        What was measured afterwards and is given: as ``shoal attack --json`` and ``shoal measure --json`` print it.
    digest
        SHA-256 of the manifest.
    """

    manifest: Mapping[str, Any]
    evidence: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    review: Mapping[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] = field(default_factory=dict)
    attacks: Sequence[Mapping[str, Any]] = ()
    evaluations: Sequence[Mapping[str, Any]] = ()
    digest: str = ""

    def said(self, key: str) -> str:
        """What people said, as one text."""
        found = self.review.get(key)
        if found is None or found == []:
            return NOT_STATED
        return "; ".join(map(str, found)) if isinstance(found, list) else str(found)

    def risk(self, when: str, name: str) -> float | None:
        """A figure before or after, None where it was not measured."""
        found = self.evidence.get("risk", {}).get(when, {}).get(name)
        return None if found is None else float(found["value"])

    @property
    def named(self) -> str:
        """What the release is called."""
        source = self.manifest.get("source")
        return str(self.review.get("title") or (f"Release of {source}" if source else "Release"))

    def roles(self, name: str) -> list[str]:
        """Columns of a role, as the recipe gives them."""
        found = self.recipe.get("roles", {}).get(name, [])
        return [found] if isinstance(found, str) else list(found)


def share(value: float | None, digits: int = 2) -> str:
    """A share as a percentage."""
    return NOT_MEASURED if value is None else f"{100 * value:,.{digits}f} %"


def count(value: float | None) -> str:
    """A whole number."""
    return NOT_MEASURED if value is None else f"{value:,.0f}"


def number(value: Any) -> str:
    """Any figure."""
    if value is None:
        return NOT_MEASURED
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:,.4g}"


def model_words(model: Mapping[str, Any]) -> str:
    """A model with its parameters; values of an attribute are left out."""
    given = [
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in sorted(model.items())
        if key not in ("name", "on", "value") and not isinstance(value, Mapping | list)
    ]
    return f"{model['name']} ({', '.join(given)})" if given else str(model["name"])
