"""What a dossier is made of: sections of texts, lists, tables and plots; plain data, no word on its looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

NOT_STATED = "not stated"
NOT_MEASURED = "not measured"


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Groups of bars side by side, one a series and label; figures are shares."""

    shape: ClassVar[str] = "bars"
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]
    across: str
    upwards: str


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """One bar a label, made of parts that add up to 1."""

    shape: ClassVar[str] = "stacks"
    labels: Sequence[str]
    series: Mapping[str, Sequence[float]]
    across: str


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Lines through points, and a mark across all of them.

    Attributes
    ----------
    mark
        Where on the axis a line stands, and what it says.
    steps
        Whether nothing lies between two points: each figure holds from the point before it.
    """

    shape: ClassVar[str] = "lines"
    series: Mapping[str, Sequence[tuple[float, float]]]
    across: str
    upwards: str
    mark: tuple[float, str] | None = None
    steps: bool = False


@dataclass(frozen=True, kw_only=True)
class Points:
    """Single points with their names."""

    shape: ClassVar[str] = "points"
    points: Mapping[str, tuple[float, float]]
    across: str
    upwards: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A square of figures, one a pair of names; those above the diagonal are None."""

    shape: ClassVar[str] = "grid"
    names: Sequence[str]
    values: Sequence[Sequence[float | None]]


Figure = Bars | Stacks | Lines | Points | Grid


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph; ``tone`` is ``"plain"``, ``"strong"``, ``"good"``, ``"bad"`` or ``"note"``."""

    kind: ClassVar[str] = "text"
    text: str
    tone: str = "plain"


@dataclass(frozen=True, kw_only=True)
class Items:
    """A list."""

    kind: ClassVar[str] = "items"
    items: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table; headings that begin with ``>`` are of columns of numbers, without headings it is names and texts."""

    kind: ClassVar[str] = "table"
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A figure with what it shows."""

    kind: ClassVar[str] = "plot"
    title: str
    figure: Figure
    note: str = ""


Block = Text | Items | Table | Plot


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a dossier."""

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """All that is said of a release to some readers.

    Attributes
    ----------
    audience
        ``"internal"``, ``"external"`` or ``"regulator"``.
    private
        Whether it tells about people who are not in the release.
    facts
        A few figures for a first look: what each is, and what it says.
    """

    title: str
    audience: str
    private: bool
    statement: str
    date: str
    facts: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found = {key: getattr(self, key) for key in ("title", "audience", "private", "statement", "date")}
        sections = [
            {"key": one.key, "title": one.title, "blocks": [_plain(block) for block in one.blocks]}
            for one in self.sections
        ]
        return {**found, "facts": [list(one) for one in self.facts], "sections": sections}


def _plain(block: Block) -> dict[str, Any]:
    found = {"kind": block.kind, **asdict(block)}
    if isinstance(block, Plot):
        found["figure"] = {"shape": block.figure.shape, **asdict(block.figure)}
    return found


# ----------------------------------------
# What is known of a release, from where a dossier takes every word and figure.


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
