"""What an engine that keeps the rows does not serve, said before data is touched, with the name of one that does."""

from __future__ import annotations

from typing import Any

from shoal.algorithms.base import Algorithm
from shoal.catalogue import load
from shoal.data.derive import refuse_batched
from shoal.data.domain import Domain
from shoal.errors import RecipeError
from shoal.io.databases import no_file
from shoal.io.folders import refuse_among
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import schema_of
from shoal.streaming.unordered import refuse_keyless
from shoal.streaming.unread import refuse_read

MEMORY = "memory"
DATABASE = "postgres"  # the engine that reads from a database
CLUSTER = "spark"  # the engine that knows tables of its own


def refuse_unserved(recipe: Recipe, method: Algorithm) -> None:
    """Refuse what an engine that keeps the rows cannot do, and name what can."""
    refuse_unopened(recipe, method)
    for error in unserved(recipe, method):
        raise error


def refuse_unopened(recipe: Recipe, method: Algorithm | None) -> None:
    """Refuse rows that the engine cannot read or look at as it is asked to, by a method if there is one."""
    refuse_misplaced(recipe)
    _refuse_places(recipe, method)
    _refuse_unprepared(recipe)


def unserved(recipe: Recipe, method: Algorithm | None) -> list[RecipeError]:
    """What else an engine that keeps the rows cannot do with them, and with a method if there is one."""
    found = []
    if recipe.output.table is not None and getattr(method, "publication", None) == "tables":
        found.append(RecipeError(
            "The release would be two tables, and [output] names one in the database: leave it out, or set "
            'publication = "permuted".'
        ))  # fmt: skip
    asked: dict[str, Any] = {
        "a registry": recipe.registry or {"m-invariance", "m-invariant"} & _named(recipe, method),
        "a workload": recipe.workload,
        "several sets of quasi-identifiers": recipe.roles.quasi_sets,
        "limits on attacks": recipe.limits,
        "copies in other formats": recipe.output.copies,
    }
    advice = f"use the engine '{MEMORY}', or leave that out"
    return found + [
        RecipeError(f"The engine '{recipe.engine.name}' does not serve {what}: {advice}.")
        for what, given in asked.items()
        if given
    ]


def _refuse_unprepared(recipe: Recipe) -> None:
    """Refuse columns that are changed before they are coded, where nothing but the engine reads rows."""
    name, specs = recipe.engine.name, schema_of(recipe).specs
    first = next((column for column, spec in specs.items() if spec.techniques), None)
    if first is not None and name in (DATABASE, CLUSTER):
        raise RecipeError(
            f"The engine '{name}' reads columns as they are, and '{first}' is to be {specs[first].techniques[0]}: do "
            "that in the source, or use the engine 'duckdb'."
        )
    refuse_batched(specs, name)


def refuse_misplaced(recipe: Recipe) -> None:
    """Refuse a source that its engine does not read."""
    name, source = recipe.engine.name, recipe.source
    refuse_read(recipe)
    if source.path and recipe.engine.scratch is not None:
        refuse_among(recipe.resolve(recipe.engine.scratch), recipe.resolve(source.path), "The scratch folder")
    if source.url is None and source.table is not None and name != CLUSTER:
        raise RecipeError("The 'table' under [source] is in a database: add its 'url'.")
    if (name == DATABASE) != (source.url is not None):
        raise no_file() if source.path is None else RecipeError(
            f"The engine '{name}' reads from a database: give its 'url', and a 'table' or a 'query', under [source]."
        )


def _named(recipe: Recipe, method: Algorithm | None) -> set[str]:
    models = {str(spec.get("name")) for spec in recipe.models}
    return models if method is None else {method.name, *models}


def _refuse_places(recipe: Recipe, method: Algorithm | None) -> None:
    """Refuse what needs rows in an order, or records side by side, where an engine has neither."""
    engine, name = load("engine", recipe.engine.name), recipe.engine.name
    empty = Domain(schema=schema_of(recipe), columns={}, n=0)
    if method is not None and not method.by_cells(empty) and not getattr(engine, "in_parts", True):
        raise RecipeError(
            f"The algorithm '{method.name}' looks at records one by one as it is set here, which the engine '{name}' "
            "does not serve: use the engine 'duckdb', or an algorithm such as 'optimal'."
        )
    if getattr(engine, "ordered", True):
        return
    refuse_keyless(name, recipe.roles.key)
    if recipe.output.order == "kept":
        raise RecipeError(f"The engine '{name}' has no order of rows to keep: leave 'order' out of [output].")
    if recipe.roles.guard:
        raise RecipeError(
            f"The engine '{name}' does not serve guarded nodes, which are looked up row by row: use the engine "
            "'duckdb', or leave the guard out."
        )
