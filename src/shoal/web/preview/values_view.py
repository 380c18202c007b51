"""Research values: what every level of every quasi-identifier is worth to researchers, and the rules to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit

from shoal.errors import ParameterError
from shoal.recipe.edit import with_section
from shoal.recipe.recipe import parse_recipe
from shoal.recipe.source import settled
from shoal.registry import make
from shoal.release.entry import open_rows
from shoal.utility.research_rules import Constraint
from shoal.utility.research_table import researched, table_warnings, valued_levels
from shoal.web.preview.looks import shortened
from shoal.web.preview.place import Place, carried_recipe

_EXAMPLES = 3
# What decides the worth of levels, beside what decides the rows.
_PARTS = ("seed", "profile", "sample", "hierarchies", "weights", "workload", "research", "policies", "models",
          "algorithm")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LevelView:
    """A level of a column: what it would publish and what that is worth."""

    level: int
    labels: int
    examples: str
    fewest: int
    value: float
    by_hand: bool
    kept: int
    rules: int
    breaks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ValuesView:
    """All levels by column, the rules, and what to know of both."""

    columns: tuple[tuple[str, tuple[LevelView, ...]], ...]
    rules: tuple[str, ...]
    warnings: tuple[str, ...]
    from_file: bool
    normalise: bool


def values_view(place: Place) -> ValuesView:
    """What the recipe's levels are worth."""
    return place.read(value_levels, parts=_PARTS)


def value_levels(told: bytes) -> ValuesView:
    """The same of a recipe that was carried over."""
    recipe = settled(carried_recipe(told))
    algorithm = make("algorithm", recipe.algorithm)
    with open_rows(recipe) as rows:
        domain = researched(rows.domain, rows.joined, algorithm.research)
        levels, warnings = valued_levels(domain, rows.joined), table_warnings(domain, rows.joined)
    columns: dict[str, list[LevelView]] = {}
    for one in levels:
        fewest = min((count for count in one.counts if count), default=0)
        more = ", …" if len(one.labels) > _EXAMPLES else ""
        columns.setdefault(one.column, []).append(LevelView(
            level=one.level, labels=len(one.labels), fewest=fewest,
            examples=", ".join(map(shortened, one.labels[:_EXAMPLES])) + more, value=one.value,
            by_hand=one.by_hand, kept=len(one.kept), rules=one.rules,
            breaks=tuple(dict.fromkeys(text for texts in one.breaks.values() for text in texts)),
        ))  # fmt: skip
    research = recipe.research
    return ValuesView(
        columns=tuple((name, tuple(mine)) for name, mine in columns.items()), warnings=tuple(warnings),
        rules=() if research is None else tuple(map(_rule_words, research.rules)),
        from_file=research is not None and research.values is not None,
        normalise=research is None or research.normalise,
    )  # fmt: skip


def rules_of(text: str) -> list[dict[str, Any]]:
    """Rules of the recipe."""
    research = parse_recipe(text).research
    return [] if research is None else [dict(one) if isinstance(one, Mapping) else one for one in research.rules]


def _rule_words(given: Any) -> str:
    made = Constraint.of(given)
    return f"{made.text} (importance {made.importance:g}{', has to be kept' if made.keep else ''})"


def with_values(text: str, column: str, values: Sequence[str]) -> str:
    """The recipe with what the levels of a column are worth, by hand; the formula's again where all are empty."""
    if not any(one.strip() for one in values):
        return _without_column(text, column)
    try:
        numbers = [float(one.replace(",", ".")) for one in values]
    except ValueError:
        raise ParameterError(f"The values of '{column}' must be numbers, one a level, or all be left empty.") from None

    def change(research: Any) -> None:
        research.setdefault("rv", tomlkit.inline_table())[column] = numbers

    return with_section(text, ("research",), change)


def _without_column(text: str, column: str) -> str:
    def change(research: Any) -> None:
        research.get("rv", {}).pop(column, None)
        if not research.get("rv"):
            research.pop("rv", None)

    return with_section(text, ("research",), change)


def rule_from(form: Mapping[str, str]) -> dict[str, Any]:
    """A rule of a form: a boundary, or two domains of values with commas between values."""
    column = form.get("column", "")
    given: dict[str, Any] = {"column": column}
    boundary, first, second = (form.get(key, "").strip() for key in ("boundary", "first", "second"))
    if boundary and (first or second):
        raise ParameterError("A rule keeps a boundary or two groups of values: fill in one of the two.")
    if boundary:
        given["boundary"] = boundary
    elif first and second:
        given["separate"] = [_domain(first), _domain(second)]
    else:
        raise ParameterError("A rule needs a boundary, or two groups of values to keep apart.")
    importance = form.get("importance", "").strip()
    if importance:
        try:
            given["importance"] = float(importance)
        except ValueError:
            raise ParameterError("The importance of a rule must be a number above 0.") from None
    if form.get("keep"):
        given["keep"] = True
    Constraint.of(given)
    return given


def _domain(text: str) -> str | list[str]:
    parts = [one.strip() for one in text.split(",") if one.strip()]
    return parts[0] if len(parts) == 1 else parts


def with_rule(text: str, rule: Mapping[str, Any]) -> str:
    """The recipe with a rule more."""

    def change(research: Any) -> None:
        research["rules"] = _listed([*rules_of(text), dict(rule)])

    return with_section(text, ("research",), change)


def without_rule(text: str, place: int) -> str:
    """The recipe with a rule less."""
    rules = rules_of(text)
    if not 0 <= place < len(rules):
        raise ParameterError("There is no such rule in the recipe any more: look at the page again.")
    del rules[place]

    def change(research: Any) -> None:
        if rules:
            research["rules"] = _listed(rules)
        else:
            research.pop("rules", None)

    return with_section(text, ("research",), change)


def _listed(rules: Sequence[Mapping[str, Any]]) -> Any:
    listed = tomlkit.array()
    for one in rules:
        inline = tomlkit.inline_table()
        inline.update(one)
        listed.add_line(inline)
    listed.add_line(indent="")
    return listed
