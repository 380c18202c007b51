"""What is said in public about each kind of release: what it is, and what it leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_BESIDE = {
    "randomised": (
        "Links to people: all quasi-identifiers of a record but those redrawn are exact, and often all of them are.",
        "Sensitive values of whoever is re-linked: they are published as they are. The noise's entropy (Pa) bounds no "
        "attacker.",
    ),
    "pseudonymised": (
        "Links to people: quasi-identifiers that are not generalised are published exactly.",
        "Coded values: codes are the same for equal values, so they can be read back by rank or by frequency, and by "
        "whoever holds the secrets.",
    ),
    "bucketised": (
        "Identity and membership: quasi-identifiers are exact, so whoever knows a person's sees whether and in which "
        "group they are.",
        "Values of a group whose other members are known, or that go together with quasi-identifiers throughout the "
        "release.",
    ),
    "microaggregated": (
        "The last member of a class whose other members are known: a mean gives the missing value away.",
    ),
}  # fmt: skip
_TOKENS = "People with several records: a token links them, and a history can be as telling as a name."
_JOINABLE = (
    "People in other releases made with the same token key: the releases can be joined on the token, record by record."
)
_SHIFTED = "Gaps between the dates of a person: shifting moves all of them alike."


def statement_of_kind(kind: str, made: str, models: str) -> str:
    """The kind of release, before what the models say of it.

    Parameters
    ----------
    models
        The models met, in words; empty without any.
    """
    if kind == "generalised":
        return models or "no model"
    if not models:
        return f"{kind}; no model holds"
    return f"{kind}; {models}" if made != "bucketised" else f"{kind}, quasi-identifiers exact; {models}"


def not_protected_by_kind(made: str, coded: Mapping[str, str], joinable: bool = False) -> list[str]:
    """Sentences on what a kind of release leaves open, whatever models hold."""
    found = list(_BESIDE.get(made, ()))
    if "token" in coded.values():
        found += [_TOKENS, _JOINABLE] if joinable else [_TOKENS]
    if "shifted" in coded.values():
        found.append(_SHIFTED)
    return found


def public_figures(figures: Sequence[Any]) -> list[dict[str, Any]]:
    """Attack figures for the manifest, rounded: what was found, not every digit of it."""
    return [
        {
            "name": one.name,
            "value": round(one.value, 4),
            "interval": [round(one.low, 4), round(one.high, 4)],
            "baseline": None if one.baseline is None else round(one.baseline, 4),
            "sentence": one.sentence,
        }
        for one in figures
    ]
