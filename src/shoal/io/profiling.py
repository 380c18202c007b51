"""A recipe with the models and limits of its profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.data.coding import infer_type
from shoal.errors import RecipeError
from shoal.io.review import Review
from shoal.profiles import named_profile

if TYPE_CHECKING:
    from shoal.data.domain import Domain
    from shoal.data.table import Table
    from shoal.io.column_settings import ColumnSettings
    from shoal.io.recipes import Recipe


def _type(entry: ColumnSettings) -> str | None:
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
    roles = recipe.roles.model_dump()
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
