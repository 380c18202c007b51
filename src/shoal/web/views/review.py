"""What only people can say of a release: which warnings they accept and why, and what a dossier states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import tomlkit

from shoal.errors import RecipeError
from shoal.recipe.edit import entry, with_section
from shoal.recipe.recipe import parse_recipe

_CODES = re.compile(r"To accept this, add (.+?) to 'acknowledge'\.")
_CODE = re.compile(r'"(W-[A-Z-]+(?::[^"]*)?)"')


@dataclass(frozen=True, kw_only=True)
class Field:
    """An entry of ``[review]``: its name, what it asks, how it is typed (``text``, ``lines`` or ``number``)."""

    name: str
    label: str
    kind: str = "text"
    value: str = ""


_FIELDS = (
    ("title", "Title", "text"), ("purpose", "What the release is for", "text"),
    ("controller", "Who answers for the data", "text"), ("contact", "Contact", "text"),
    ("legal_basis", "Legal basis", "text"), ("recipients", "Recipients, one a line", "lines"),
    ("context", "How it is released: to the public, under contract, …", "text"),
    ("safeguards", "Safeguards at the recipients, one a line", "lines"),
    ("subjects", "Whom the data are about", "text"), ("threats", "Who might look for people, one a line", "lines"),
    ("threshold", "Largest risk that is accepted, such as 0.09", "number"),
    ("threshold_reason", "Why that risk", "text"), ("use", "What analysts will do with it", "text"),
    ("re_evaluation", "Day of the next review, such as 2027-01-31", "text"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ReviewView:
    """What was said so far, and what is still open."""

    fields: tuple[Field, ...]
    signed: tuple[str, ...]
    accepted: tuple[tuple[str, str], ...]
    open_codes: tuple[str, ...]


def codes_in(message: str | None) -> list[str]:
    """Warning codes that a refusal would be lifted by."""
    found = _CODES.search(message or "")
    return [] if found is None else _CODE.findall(found[1])


def promises_the_same(one: str, other: str) -> bool:
    """Whether two recipes differ at most in what was accepted and what a dossier states."""
    try:
        return _promised(one) == _promised(other)
    except RecipeError:  # a version that an earlier Shoal could read
        return False


def _promised(text: str) -> dict[str, Any]:
    return parse_recipe(text).model_dump(exclude={"acknowledge", "review"})


def review_view(text: str, codes: Sequence[str]) -> ReviewView:
    """What a recipe says, and what a refused run or check asks to be accepted."""
    recipe = parse_recipe(text)
    said = {} if recipe.review is None else recipe.review.stated()
    reasons = said.get("accepted", {})
    fields = [Field(name=name, label=label, kind=kind, value=_shown(said.get(name))) for name, label, kind in _FIELDS]
    return ReviewView(
        fields=tuple(fields), signed=tuple(", ".join(one.values()) for one in said.get("sign_off", [])),
        accepted=tuple((code, reasons.get(code, "")) for code in recipe.acknowledge),
        open_codes=tuple(code for code in codes if code not in recipe.acknowledge),
    )  # fmt: skip


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(value) if isinstance(value, list) else str(value)


def with_review(text: str, form: Mapping[str, str]) -> str:
    """The recipe with what a form says under ``[review]``; what is left empty goes."""
    given = {name: _typed(name, kind, form.get(name, "").strip()) for name, _, kind in _FIELDS if name in form}

    def change(review: Any) -> None:
        for name, value in given.items():
            if value in (None, [], ""):
                review.pop(name, None)
            elif review.get(name) != value:
                review[name] = value

    return with_section(text, ("review",), change)


def _typed(name: str, kind: str, text: str) -> Any:
    if kind == "lines":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if kind == "number" and text:
        try:
            return float(text.replace(",", "."))
        except ValueError:
            raise RecipeError(f"The '{name}' must be a number such as 0.09, or be left empty.") from None
    return text.replace("\r\n", "\n")


def with_sign_off(text: str, name: str, role: str) -> str:
    """The recipe signed off by somebody, today."""
    if not name.strip():
        raise RecipeError("Whoever signs off needs a name: type it.")
    said = {"name": name.strip(), "role": role.strip(), "date": date.today().isoformat()}
    signed = {key: value for key, value in said.items() if value}

    def change(review: Any) -> None:
        if isinstance(review.get("sign_off"), tomlkit.items.AoT):
            review["sign_off"].append(tomlkit.item(signed))
        else:
            review.setdefault("sign_off", tomlkit.array()).append(entry(signed))

    return with_section(text, ("review",), change)


def with_accepted(text: str, codes: Sequence[str], reason: str) -> str:
    """The recipe with warnings accepted, and the reason under ``[review]`` where one is given."""
    if not codes:
        raise RecipeError("There is nothing to accept any more: look at the page again.")

    def top(document: Any) -> None:
        listed = document.setdefault("acknowledge", tomlkit.array())
        for code in codes:
            if code not in listed:
                listed.append(code)

    def review(table: Any) -> None:
        reasons = table.setdefault("accepted", tomlkit.inline_table())
        for code in codes:
            reasons[code] = reason.strip()

    text = with_section(text, (), top)
    return with_section(text, ("review",), review) if reason.strip() else text


def without_accepted(text: str, code: str) -> str:
    """The recipe with a warning accepted no longer."""

    def top(document: Any) -> None:
        if code not in document.get("acknowledge", []):
            raise RecipeError("This warning is not accepted any more: look at the page again.")
        document["acknowledge"].remove(code)
        if not document["acknowledge"]:
            del document["acknowledge"]

    def review(table: Any) -> None:
        table.get("accepted", {}).pop(code, None)
        if not table.get("accepted", True):
            del table["accepted"]

    return with_section(with_section(text, (), top), ("review",), review)
