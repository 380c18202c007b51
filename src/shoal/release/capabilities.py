"""What an engine that keeps the rows does not serve, said before data is touched, with the name of one that does."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.data.derive import refuse_batched
from shoal.data.domain import Domain
from shoal.engines.external_rows import KeptRows
from shoal.errors import InputError, ParameterError, RecipeError
from shoal.io.databases import no_file
from shoal.io.folders import refuse_among
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import schema_of
from shoal.registry import load
from shoal.release.gating import naming

# ----------------------------------------
# What an engine whose rows have no order, and whose people have no numbers, refuses before it is opened.


def refuse_keyless(engine: str, key: str | None) -> None:
    """Refuse rows that nothing tells apart, where they have no order."""
    if key is None and not getattr(load("engine", engine), "ordered", True):
        raise RecipeError(f"The engine '{engine}' has no order of rows: name a column that tells them apart as 'key'.")


def refuse_people(engine: str, subject: str | None) -> None:
    """Refuse to look at people who may have several rows one by one, where an engine only counts them."""
    if subject is not None and not getattr(load("engine", engine), "lists_people", True):
        raise RecipeError(
            f"Risks of people with several rows are looked at person by person, which the engine '{engine}' does not "
            "serve: use the engine 'duckdb', or leave the subject out."
        )


def refuse_unread(engine: str) -> None:
    """Refuse to read a written release by an engine that reads no batches of this machine."""
    if not getattr(load("engine", engine), "ordered", True):
        raise ParameterError(
            f"A written release is in files of this machine, which the engine '{engine}' does not read: use the engine "
            "'duckdb'."
        )


# ----------------------------------------
# What is read of a source, or drawn from it, in memory alone.


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


# ----------------------------------------
# Whether memory holds the people whose names the gate looks for in what is published.


# Hashes by which different values are counted: to two in a hundred, whatever their number.
_HASHES = 1 << 12


def refuse_unheld(rows: KeptRows, memory: int) -> None:
    """Refuse more names and people than so many bytes hold; where all may fit, none that take part are counted."""
    schema = rows.domain.schema
    others = rows.left_out(naming(schema))  # who takes no part is looked for, too
    beside = sum(cells.len() for cells in others.values())
    hidden = [name for name in naming(schema) if name in rows.reading.others and name != schema.subject]
    if rows.people_needed(len(hidden) * rows.domain.n + beside) <= memory:
        return
    if schema.subject is None:
        alone = sum(cells.len() for name, cells in others.items() if name not in hidden)
        names = alone + sum(_different(rows, name, others.get(name)) for name in hidden)
    else:  # the gate keeps names by person, and takes everybody who takes no part for another one
        names = beside + sum(_different(rows, name) for name in hidden)
    needed, people = rows.people_needed(names), rows.domain.n_subjects if rows.domain.by_people else 0
    if needed > memory:
        found = [*([f"some {names:,} different ones"] if names else []), *([f"{people:,} people"] if people else [])]
        raise InputError(
            f"The gate looks for every identifier in what is published, and {' of '.join(found)} need "
            f"{needed / 1e9:.1f}GB: give 'memory' under [engine] as much, or cut the table into releases of their own."
        )


def _different(rows: KeptRows, name: str, others: pl.Series | None = None) -> int:
    """How many different values a column has, with those of other rows, estimated from the smallest of their hashes."""
    place, least = rows.column(name), np.zeros(0, dtype=np.uint64)
    cells = chain([] if others is None else [others], (part[place] for part in rows.parts([place])))
    for one in cells:
        hashes = one.drop_nulls().hash().to_numpy()
        if least.size == _HASHES:
            hashes = hashes[hashes < least[-1]]
        least = np.unique(np.concatenate([least, hashes]))[:_HASHES]
    return least.size if least.size < _HASHES else int((_HASHES - 1) / (float(least[-1]) / 2.0**64))
