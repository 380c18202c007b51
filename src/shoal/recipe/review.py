"""What only people can say of a release: the ``[review]`` table of a recipe, and what of it is published."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from shoal.errors import RecipeError
from shoal.recipe.fields import Section, check_date

_LONGEST = 4000
# What may go to the public, and what goes unless the recipe says otherwise.
PUBLISHABLE = (
    "title", "purpose", "controller", "contact", "recipients", "context", "use", "accepted", "earlier", "re_evaluation",
)  # fmt: skip
PUBLISHED = ("title", "purpose", "controller", "contact", "use")
_SIGNED = ("name", "role", "date")


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("must be text")
    text = value.strip()
    if not text or len(text) > _LONGEST or any(not (one.isprintable() or one in "\n\t") for one in text):
        raise ValueError(f"must be readable text of at most {_LONGEST:,} characters, or be left out")
    return text


def _texts(value: Any) -> Any:
    """One text may stand for a list of one."""
    if not isinstance(value, str | list):
        raise ValueError("must be a text or a list of texts")
    return [_text(one) for one in ([value] if isinstance(value, str) else value)]


def _reasons(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError('must be a table of warning codes with a reason each, such as { "W-TIGHT" = "…" }')
    return {str(code): _text(reason) for code, reason in value.items()}


def _signatures(value: Any) -> Any:
    """People who sign, each at least by name."""
    listed = value if isinstance(value, list) else []
    if not listed or not all(isinstance(one, dict) and "name" in one and set(one) <= set(_SIGNED) for one in listed):
        raise ValueError('must be a list of tables such as { name = "…", role = "…", date = 2026-01-31 }')
    return [
        {key: check_date(entry) if key == "date" else _text(entry) for key, entry in one.items()} for one in listed
    ]


def _public(value: Any) -> Any:
    if not isinstance(value, list) or not all(one in PUBLISHABLE for one in value):
        raise ValueError(f"must be a list of entries that may be published: {', '.join(PUBLISHABLE)}")
    return value


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
Day = Annotated[str, BeforeValidator(check_date)]


class Review(Section):
    """What people say of a release, for those who review it; what is not said is "not stated" in the dossier.

    Attributes
    ----------
    threshold, comparison, risk
        The risk that is accepted, whether it may be reached (``"<="``) or not (``"<"``), and whether the largest or the
        mean risk of a record is held against it.
    critical
        Columns that the release is useless without.
    accepted
        Warning code to the reason why it was accepted.
    public
        The entries that go to manifest and report.
    """

    title: Text | None = None
    purpose: Text | None = None
    controller: Text | None = None
    contact: Text | None = None
    legal_basis: Text | None = None
    recipients: Texts = []
    context: Text | None = None
    safeguards: Texts = []
    subjects: Text | None = None
    threats: Texts = []
    threshold: Annotated[float | None, Field(gt=0, le=1, allow_inf_nan=False, strict=False)] = None
    comparison: Literal["<=", "<"] = "<="
    risk: Literal["maximum", "average"] = "maximum"
    threshold_reason: Text | None = None
    critical: Texts = []
    use: Text | None = None
    deviations: Texts = []
    accepted: Annotated[dict[str, str], BeforeValidator(_reasons)] = {}
    earlier: Texts = []
    re_evaluation: Day | None = None
    sign_off: Annotated[list[dict[str, str]], BeforeValidator(_signatures)] = []
    public: Annotated[list[str], BeforeValidator(_public)] = list(PUBLISHED)

    def stated(self) -> dict[str, Any]:
        """Everything that is said, as plain data; settings are always there."""
        return {key: value for key, value in self.model_dump().items() if value not in (None, [], {})}

    def published(self) -> dict[str, Any]:
        """What manifest and report say in the publisher's own words."""
        said = self.stated()
        return {key: said[key] for key in PUBLISHABLE if key in self.public and key in said}


def check_review(review: Review | None, acknowledged: Collection[str], roles: Mapping[str, Any]) -> None:
    """Refuse reasons for what nobody accepted, critical columns that are not released, and days that passed.

    Parameters
    ----------
    roles
        Role to its columns, as under ``[roles]``.
    """
    if review is None:
        return
    for code in review.accepted:
        if code not in acknowledged:
            raise RecipeError(
                f"The 'accepted' in [review] gives a reason for '{code}', which is not accepted: add it to "
                "'acknowledge', or remove the reason."
            )
    hidden = [*roles.get("identifiers", ()), *roles.get("drop", ())]
    for name in review.critical:
        if name in hidden:
            raise RecipeError(
                f"The 'critical' in [review] names '{name}', which is not released: give it another role, or remove it."
            )
    signed = [one["date"] for one in review.sign_off if "date" in one]
    if review.re_evaluation is not None and signed:
        last = max(map(datetime.date.fromisoformat, signed))
        if datetime.date.fromisoformat(review.re_evaluation) <= last:
            raise RecipeError(
                "The 're_evaluation' in [review] is no later than the last 'sign_off': name a later day."
            )
