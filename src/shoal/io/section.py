"""What every table of a recipe is: strict, frozen, and without entries that nobody reads."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One table of a recipe."""

    # Most tables are only ever read as parts of a recipe, which is built when one is.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
