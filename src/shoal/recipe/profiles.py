"""Profiles: named sets of models and limits that a recipe starts from, each with its source and what it leaves out.

A recipe may ask for more than its profile, never for less: what would loosen it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shoal.data.coding import infer_type
from shoal.errors import RecipeError
from shoal.recipe.review import Review
from shoal.registry import load

if TYPE_CHECKING:
    from shoal.data.domain import Domain
    from shoal.data.schema import ColumnSpec
    from shoal.data.table import Table
    from shoal.recipe.recipe import Recipe

# Parameters of models that profiles ask for, and which way is more.
_MORE = {("k", "k"): "up", ("distinct-l", "l"): "up", ("t-closeness", "t"): "down"}
_EPSILON = 1e-12


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What releases of one sort have to satisfy at least.

    Attributes
    ----------
    name, title, source
        What it is called, in a recipe and to people, and where its figures come from.
    models
        The least that models have to ask for, as in a recipe; those on values apply where there is a sensitive column.
    threshold
        The largest risk of a record that is accepted, reached or not (``<=``); None where the source has no figure.
    forbids
        Warning codes that may not be accepted.
    needs
        What has to be said under ``[review]``.
    no_dates, no_tokens
        Whether columns of dates may only be released as quasi-identifiers, and whether tokens are refused.
    by_people
        What a person has to check, because no machine can.
    not_covered
        What a release that satisfies it may still give away, or leave undone.
    """

    name: str
    title: str
    source: str
    models: tuple[Mapping[str, Any], ...] = ()
    threshold: float | None = None
    forbids: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    no_dates: bool = False
    no_tokens: bool = False
    by_people: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return self.name

    def told(self) -> dict[str, Any]:
        """What a dossier says of it."""
        return {
            "title": f"{self.title} ({self.name})",
            "source": self.source,
            "not_covered": [*self.not_covered, *(f"Left to people: {one}" for one in self.by_people)],
        }

    def with_models(self, given: Sequence[Mapping[str, Any]], sensitive: bool) -> list[dict[str, Any]]:
        """The models of a recipe with those that the profile adds, after refusing what asks for less."""
        found = [dict(one) for one in given]
        for least in self.models:
            if least["name"] != "k" and not sensitive:
                continue
            mine = [one for one in found if one.get("name") == least["name"]]
            for one in mine:
                self._refuse_less(one, least)
            if not any(one.get("on") is None for one in mine):
                found.append(dict(least))
        return found

    def _refuse_less(self, model: Mapping[str, Any], least: Mapping[str, Any]) -> None:
        for key, wanted in least.items():
            way, value = _MORE.get((least["name"], key)), model.get(key)
            if way is None or not isinstance(value, int | float):
                continue
            if value < wanted - _EPSILON if way == "up" else value > wanted + _EPSILON:
                bound = "at least" if way == "up" else "at most"
                raise RecipeError(
                    f"The '{key}' of the model '{least['name']}' is {value:g}, and the profile '{self}' asks for "
                    f"{bound} {wanted:g}: change it, or choose another profile."
                )

    def refuse_codes(self, acknowledged: Sequence[str]) -> None:
        """Refuse what the profile does not let anybody accept."""
        for code in acknowledged:
            if code.partition(":")[0] in self.forbids:
                raise RecipeError(
                    f"The profile '{self}' does not allow '{code}': remove it from 'acknowledge', or choose another "
                    "profile."
                )

    def refuse_columns(self, roles: Mapping[str, Any], types: Mapping[str, str | None]) -> None:
        """Refuse columns that the profile does not let anybody release, as far as a recipe tells them."""
        if self.no_tokens and roles.get("pseudonym"):
            raise RecipeError(
                f"The profile '{self}' does not allow tokens that follow from an identifier: remove 'pseudonym' from "
                "[roles], or choose another profile."
            )
        if self.models and roles.get("quasi_sets"):
            raise RecipeError(
                f"The profile '{self}' asks its models of all quasi-identifiers together, and 'quasi_sets' would ask "
                "them of each set alone: remove it from [roles], or choose another profile."
            )
        released = (*roles.get("sensitive", ()), *roles.get("neutral", ()))
        for name in types:
            # A pattern stands for columns that are not named anywhere.
            named = any(name == given or (isinstance(given, list) and name in given) for given in roles.values())
            shown = name in released if named else any(fnmatchcase(name, one) for one in released)
            if self.no_dates and shown and types[name] == "date":
                raise RecipeError(
                    f"The profile '{self}' allows no dates finer than a year, and '{name}' would be released as it is: "
                    "drop it, or make it a quasi-identifier with a hierarchy of years."
                )

    def limits(self, review: Mapping[str, Any]) -> dict[str, Any]:
        """The threshold of a review with the profile's, after refusing a looser one and what is not said."""
        for key in self.needs:
            if not review.get(key):
                raise RecipeError(f"The profile '{self}' needs '{key}' under [review]: say it there.")
        if self.threshold is None:
            return {}
        stated = review.get("threshold")
        if stated is not None and stated > self.threshold + _EPSILON:
            raise RecipeError(
                f"The 'threshold' in [review] is {stated:g}, and the profile '{self}' allows {self.threshold:g} at "
                "most: lower it, or choose another profile."
            )
        if review.get("risk") == "average":
            raise RecipeError(
                f"The profile '{self}' holds the largest risk of a record against its threshold: remove 'risk' from "
                "[review], or choose another profile."
            )
        found: dict[str, Any] = {} if stated is not None else {"threshold": self.threshold}
        if not review.get("threshold_reason"):
            found["threshold_reason"] = f"profile {self}: {self.source}"
        return found


def named_profile(name: str) -> Profile:
    """A profile by its name; an unknown one proposes the nearest."""
    found: Profile = load("profile", name)
    return found


_KINDS = ("W-RA-LINK", "W-PERTURBED", "W-PP-REV", "W-EXACT-QI")
_OPEN = (
    "W-NO-K", "W-ORDER", "W-TIGHT", "W-TEXT", "W-NAMES", "W-ROWS", "W-IDENTIFIES", "W-DETERMINES", *_KINDS
)  # fmt: skip
_LEFT = (
    "Whether a person is in the data.",
    "Whether the columns were given the right roles: a quasi-identifier that is called neutral is not protected.",
    "Other releases of the same people, unless a registry is kept.",
)

PUBLIC_USE = Profile(
    name="public-use",
    title="Public-use file",
    source="Our reading of practice: classes of at least 11, as the US Centers for Medicare & Medicaid Services, which "
    "publish no counts of 1 to 10, and at least two sensitive values a class. No standard fixes them.",
    models=({"name": "k", "k": 11}, {"name": "distinct-l", "l": 2}),
    threshold=0.091,
    forbids=(*_OPEN, "W-UNMODELLED", "W-TRAJECTORY"),
    by_people=("whether anything else is public that the file could be joined with",),
    not_covered=(*_LEFT, "A guess of a sensitive value that is likely and not certain: two values a class are few."),
)
SCIENTIFIC_USE = Profile(
    name="scientific-use",
    title="Scientific-use file",
    source="Our reading of practice for files under contract: classes of at least 5 (a risk of 0.2), at least two "
    "sensitive values a class. No standard fixes them.",
    models=({"name": "k", "k": 5}, {"name": "distinct-l", "l": 2}),
    threshold=0.2,
    forbids=("W-NO-K", "W-ORDER", *_KINDS),
    by_people=("whether contract, training and place of work keep recipients from looking for people",),
    not_covered=(*_LEFT, "A recipient who breaks the contract."),
)
_CLINICAL = (
    "People known to be in a small trial: the threshold is about records, not about who took part.",
    "Free text of clinical reports: Shoal looks at tables.",
    *_LEFT,
)
_JUSTIFIED = (
    "whether 0.09 suits the trial: rare diseases and small sites may need less",
    "the anonymisation report itself",
)
EMA_0070 = Profile(
    name="ema-0070",
    title="EMA Policy 0070",
    source="External guidance on the implementation of Policy 0070 (EMA/90915/2016), chapter 3: a largest risk of 0.09 "
    "for public release. A class of 11 has a risk of 0.0909, so that classes of 12 are asked for.",
    models=({"name": "k", "k": 12},),
    threshold=0.09,
    forbids=_OPEN,
    by_people=_JUSTIFIED,
    not_covered=(*_CLINICAL, "Inference of sensitive values: the guidance gives no figure for it; add a model."),
)
HEALTH_CANADA = replace(
    EMA_0070,
    name="health-canada",
    title="Health Canada, public release of clinical information",
    source="Guidance document on the public release of clinical information: a risk of 0.09 for public release. "
    "A class of 11 has a risk of 0.0909, so that classes of 12 are asked for.",
)
HIPAA_SAFE_HARBOR = Profile(
    name="hipaa-safe-harbor",
    title="HIPAA safe harbor",
    source="45 CFR 164.514(b)(2): eighteen kinds of identifiers are removed. It names no model and no risk.",
    forbids=("W-TEXT", "W-NAMES", "W-TRAJECTORY"),
    no_dates=True,
    no_tokens=True,
    by_people=(
        "that all eighteen kinds of identifiers are identifiers here or dropped, those of relatives and employers too",
        "that places are states, or the first three digits of ZIP codes with more than 20,000 people, else 000",
        "that dates show the year alone, and ages over 89 are one group",
        "that nobody in the house knows that what is left could identify somebody",
    ),
    not_covered=("Any risk that what is left gives away: measure it with shoal risk, and add models.", *_LEFT),
)
HIPAA_EXPERT = Profile(
    name="hipaa-expert",
    title="HIPAA expert determination",
    source="45 CFR 164.514(b)(1): an expert finds the risk very small and documents how. The rule has no figure; "
    "classes of at least 11 are our default.",
    models=({"name": "k", "k": 11},),
    threshold=0.091,
    forbids=("W-NO-K", "W-ORDER", *_KINDS),
    needs=("sign_off", "threshold_reason"),
    by_people=("the expert's finding: this file is evidence for it and does not stand in its place",),
    not_covered=("Recipients and what else they can get hold of: the expert weighs that.", *_LEFT),
)
INTERNAL = Profile(
    name="internal-analytics",
    title="Internal analytics",
    source="Our own: classes of at least 3, so that colleagues meet nobody by chance. No standard fixes it.",
    models=({"name": "k", "k": 3},),
    threshold=0.334,
    forbids=("W-NO-K",),
    by_people=("who has access, and whether the data may be used for this at all",),
    not_covered=(
        "Anybody who looks for a person on purpose: such data are still personal data in most laws.",
        "Inference of sensitive values.",
        *_LEFT,
    ),
)


# ----------------------------------------
# A recipe with the models and limits of its profile.


def _type(entry: ColumnSpec) -> str | None:
    """The type that a column is known to have; months, and days up to one that everybody knows, are dates."""
    derive = entry.derive or {}
    return "date" if "month" in derive or {"days", "at"} <= set(derive) else entry.type


def profiled(recipe: Recipe, name: str | None) -> Recipe:
    """A recipe with what a profile, its own or another, adds to it, after refusing what would loosen that."""
    if name is None:
        return recipe
    if recipe.profile not in (None, name):
        raise RecipeError(f"The recipe has the profile '{recipe.profile}', and '{name}' is asked for: keep one.")
    profile = named_profile(name)
    profile.refuse_codes(recipe.acknowledge)
    roles = asdict(recipe.roles)
    profile.refuse_columns(roles, {column: _type(entry) for column, entry in recipe.columns.items()})
    said = recipe.review or Review()
    more = profile.limits({**said.stated(), "risk": said.risk})
    models = profile.with_models(recipe.models, bool(recipe.roles.sensitive))
    changed = recipe.model_copy(update={"profile": name, "models": models, "review": said.model_copy(update=more)})
    changed._base = recipe._base
    return changed


def refuse_unfit(recipe: Recipe, read: Table | Domain) -> None:
    """Refuse columns that a profile lets nobody release, by what their cells turned out to be.

    An engine that keeps the rows does not look at neutral columns; of those, what the recipe says has to do.
    """
    if recipe.profile is None:
        return
    schema, frame = read.schema, getattr(read, "frame", None)
    types: dict[str, str | None] = {name: column.type for name, column in read.columns.items()}
    if frame is not None:
        types |= {name: infer_type(name, frame[name], schema.spec(name)) for name in schema.neutral}
    named_profile(recipe.profile).refuse_columns(
        {"sensitive": schema.sensitive, "neutral": schema.neutral, "pseudonym": schema.pseudonym}, types
    )
