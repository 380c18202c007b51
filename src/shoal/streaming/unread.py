"""What is read of a source, or drawn from it, in memory alone."""

from __future__ import annotations

from shoal.errors import RecipeError
from shoal.recipe.recipe import Recipe

_MEMORY = "memory"
_UNDRAWN = ("postgres", "spark")


def refuse_read(recipe: Recipe) -> None:
    """Refuse notations, items and samples that an engine which keeps the rows does not know."""
    source, columns, name = recipe.source, recipe.columns.values(), recipe.engine.name
    asked = {
        "'decimal' and 'thousands'": source.decimal != "." or source.thousands or any(
            one.decimal or one.thousands for one in columns
        ),
        "the 'missing_markers' of single columns": any(one.missing_markers for one in columns),
        "a 'sheet'": source.sheet,
    }  # fmt: skip
    for what, given in asked.items():
        if given:
            raise RecipeError(
                f"The engine '{name}' does not serve {what}: use the engine '{_MEMORY}', or a file that needs none."
            )
    first = next((column for column, entry in recipe.columns.items() if entry.items is not None), None)
    if first is not None:
        raise RecipeError(
            f"The engine '{name}' takes cells as they are, and those of '{first}' hold items: use the engine "
            f"'{_MEMORY}'."
        )
    if recipe.sample is not None and name in _UNDRAWN:
        raise RecipeError(
            f"The engine '{name}' does not draw samples: draw one in the source, or use the engine 'duckdb' on a file."
        )
