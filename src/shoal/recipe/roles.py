"""A role for every column, with the reason for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy_suggest import Suggestion, suggest
from shoal.recipe.column_profile import Facts
from shoal.recipe.value_patterns import DIRECT, KNOWN, SECRET, is_numbered, is_person

# ----------------------------------------
# A first hierarchy for a quasi-identifier: the best that a rule describes, as `shoal hierarchy suggest` finds it.


_MOST_VALUES = 20_000


def tree_of(one: Facts) -> Suggestion | None:
    """How a column could be generalised; None where as it is, and not at all, will do."""
    if one.order or not 2 < one.distinct <= _MOST_VALUES:
        return None
    found = suggest(one.name, _counts(one), type=one.type)
    return next((each for each in found if each.by_rule), None)


def _counts(one: Facts) -> dict[str, int]:
    """How often each value occurs, by its canonical text."""
    values = one.values["value"]
    if one.type == "date":
        text = values.dtype == pl.String
        days = values.str.to_date(one.formats[0] if one.formats else "%Y-%m-%d", strict=False) if text else values
        values = days.cast(pl.Date)
    counted = one.values.with_columns(value=canonical_text(values)).drop_nulls()
    return dict(counted.group_by("value").agg(pl.col("rows").sum()).sort("value").rows())


ROLES = ("identifiers", "subject", "quasi", "sensitive", "neutral", "weight", "drop")
# A first release of more columns than these keeps nothing in any of them.
MOST_QUASI, MOST_SENSITIVE = 8, 5
_ALL_OTHERS, _ROWS = 0.9, 20
_MANY = 50
_FEW_SHARE = 0.1
_MEASURED = 20
_SKEWED = 0.8


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What could be done with a column.

    Attributes
    ----------
    sure
        Whether names and cells say so; where not, somebody should look.
    settings
        What stands under ``[columns.NAME]``.
    tree, tree_why
        Its hierarchy, and why.
    model
        Of a sensitive column, the model that guards it.
    """

    name: str
    role: str
    why: str
    sure: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    tree: Mapping[str, Any] | None = None
    tree_why: str = ""
    model: Mapping[str, Any] | None = None


def propose(
    facts: Mapping[str, Facts], subject: tuple[str, str] | None, given: Mapping[str, str] | None = None
) -> dict[str, Proposal]:
    """A proposal for every column.

    Parameters
    ----------
    subject
        Whose row it is, and why.
    given
        Roles that somebody has decided on.
    """
    found: dict[str, Proposal] = {}
    for name, one in facts.items():
        if given and name in given:
            role, why, sure = given[name], "as you said", True
        elif subject is not None and name == subject[0]:
            role, why, sure = "subject", subject[1], True
        else:
            role, why, sure = _role(one)
            if subject is not None and one.look.items is not None and role == "sensitive":
                role, why = "drop", f"{why}: put all items of a person into one row to release them"
        found[name] = dressed(Proposal(name=name, role=role, why=why, sure=sure), one)
    return _within(_with_quasi(found, facts, set(given or {})), facts, set(given or {}))


def dressed(proposal: Proposal, one: Facts) -> Proposal:
    """The same with what its role asks for: settings, a hierarchy, a model."""
    released = proposal.role in ("quasi", "sensitive", "neutral")
    tree = tree_of(one) if proposal.role == "quasi" else None
    settings = _settings(one, proposal.role) if released or proposal.role == "weight" else {}
    if tree is not None and tree.type is not None:
        settings["type"] = tree.type
    return replace(
        proposal,
        settings=settings,
        tree=None if tree is None else dict(tree.spec),
        tree_why="" if tree is None else tree.why,
        model=_model(one) if proposal.role == "sensitive" else None,
    )


def _role(one: Facts) -> tuple[str, str, bool]:
    """The role of a column by what is known of it."""
    if one.distinct <= 1:
        return "drop", "has no value but one" if one.distinct else "is empty", True
    if one.problem:
        return "drop", one.problem, False
    for rule in (_listing, _identifying, _textual, _telling, _by_values):
        found = rule(one)
        if found is not None:
            return found
    return "drop", f"has {one.distinct:,} different texts", False


def _listing(one: Facts) -> tuple[str, str, bool] | None:
    if one.look.items is None or one.named == "name" or one.named in DIRECT:
        return None
    if one.look.direct is not None:
        return "identifiers", f"each item {one.look.direct}", True
    if one.look.names and one.named not in (*KNOWN, *SECRET):
        return "drop", "its items look like people's names", False
    return "sensitive", f"cells of several items, with '{one.look.items}' between", False


def _identifying(one: Facts) -> tuple[str, str, bool] | None:
    many = one.distinct > _MANY or one.unique > _FEW_SHARE
    if one.look.direct is not None and many:
        return "identifiers", one.look.direct.split(maxsplit=1)[1], True
    if one.named == "name" and one.type == "categorical":
        return "identifiers", "named like people's names", True
    if one.named in DIRECT and many:
        return "identifiers", f"named like {_a(str(one.named))}", True
    if one.named == "weight of a survey" and one.type == "numeric":
        return "weight", "named like a survey weight", True
    return _numbering(one)


def _numbering(one: Facts) -> tuple[str, str, bool] | None:
    """What tells rows or people apart without being anybody's name."""
    alone = one.unique >= _ALL_OTHERS and one.known >= _ROWS
    if (is_numbered(one.name) or is_person(one.name)) and one.type != "date":
        if alone:
            return "identifiers", "another one in each row", True
        if one.distinct > _MANY:
            return "drop", "a number that links rows", False
    if alone and one.type == "categorical" and not one.look.text:
        return "identifiers", "another text in each row", False
    if one.look.names and one.unique > _FEW_SHARE and one.named not in (*KNOWN, *SECRET):
        return "identifiers", "looks like people's names", False
    return None


def _textual(one: Facts) -> tuple[str, str, bool] | None:
    if one.type != "categorical":
        return None
    if one.look.text or (one.named == "free text" and one.distinct > _MANY):
        return "drop", "free text", True
    return None


def _telling(one: Facts) -> tuple[str, str, bool] | None:
    if one.look.icd:
        return "sensitive", "codes of diseases (ICD)", True
    if one.named in SECRET and one.type != "date":
        return "sensitive", str(one.named), True
    if one.named in KNOWN:
        if one.type == "categorical" and one.distinct > max(_MANY, _FEW_SHARE * one.known) and one.length is None:
            return "drop", f"{_a(str(one.named))} of {one.distinct:,} different texts", False
        return "quasi", str(one.named), True
    return None


def _by_values(one: Facts) -> tuple[str, str, bool] | None:
    if one.type == "date":
        return "quasi", "a date", True
    if one.type == "numeric":
        if one.whole and one.unique >= _ALL_OTHERS and one.known >= _ROWS:
            return "identifiers", "another number in each row", False
        if one.distinct > _MEASURED:
            return "sensitive", "a measurement", False
        return "quasi", "a few numbers", False
    if one.distinct <= max(_MANY, _FEW_SHARE * one.known):
        return "quasi", "a few categories", False
    return None


def _a(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _settings(one: Facts, role: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if one.look.items is not None and role == "sensitive":
        found["items"] = one.look.items
    elif one.order:
        found |= {"type": "ordinal", "order": list(one.order)}
    elif one.type == "date" and (one.formats or one.timed):
        found["type"] = "date"
        if one.formats:
            found["format"] = one.formats[0]
    elif one.named == "postcode" or one.digits:
        found["type"] = "categorical"
    return found


def _model(one: Facts) -> dict[str, Any]:
    """What guards a sensitive column: different values in every class, or a likeness to all where one prevails.

    Of items, that a few known ones are shared.
    """
    if one.look.items is not None:
        return {"name": "k-m", "k": 3, "m": 2, "on": one.name}
    if one.common > _SKEWED:
        return {"name": "t-closeness", "t": 0.4, "on": one.name}
    return {"name": "distinct-l", "l": 2 if one.distinct < 4 else 3, "on": one.name}


def _with_quasi(found: dict[str, Proposal], facts: Mapping[str, Facts], given: set[str]) -> dict[str, Proposal]:
    """At least one quasi-identifier: without any there is nothing to hide in."""
    if any(one.role == "quasi" for one in found.values()):
        return found
    others = [name for name, one in found.items() if one.role == "sensitive" and name not in given]
    if not others:
        return found
    first = min(others, key=lambda name: (facts[name].named in SECRET, facts[name].distinct))
    changed = replace(found[first], role="quasi", why="likeliest to be known", sure=False)
    return found | {first: dressed(changed, facts[first])}


def _within(
    found: dict[str, Proposal], facts: Mapping[str, Facts], given: set[str]
) -> dict[str, Proposal]:
    """No more quasi-identifiers and sensitive columns than a first release can bear; the surest ones stay."""
    for role, most in (("quasi", MOST_QUASI), ("sensitive", MOST_SENSITIVE)):
        mine = [name for name, one in found.items() if one.role == role]
        ranked = sorted(mine, key=lambda name: (name not in given, not found[name].sure, *_place(name, mine, facts)))
        for name in _over(ranked, most, given):
            why = f"{found[name].why}; {most} of these will do at first"
            found[name] = dressed(replace(found[name], role="drop", why=why, sure=False), facts[name])
    return found


def _place(name: str, mine: Sequence[str], facts: Mapping[str, Facts]) -> tuple[int, int]:
    """The first column of every kind comes before the second of any, and among them what is best known."""
    kind = facts[name].named
    before = [other for other in mine[: mine.index(name)] if facts[other].named == kind]
    kinds = (*KNOWN, *SECRET)
    return len(before), kinds.index(kind) if kind in kinds else len(kinds)


def _over(ranked: Sequence[str], most: int, given: set[str]) -> list[str]:
    return [name for name in ranked[most:] if name not in given]
