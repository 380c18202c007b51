"""Refuse recipes that need more than their engine can do, before any data is touched."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
import polars as pl

from shoal.algorithms.base import Algorithm
from shoal.data.derive import refuse_batched
from shoal.data.domain import Domain
from shoal.engines.base import Capability, OpenRows
from shoal.errors import InputError, ParameterError, RecipeError, ShoalError
from shoal.io.databases import no_file
from shoal.io.folders import refuse_among
from shoal.recipe.recipe import Recipe
from shoal.recipe.source import schema_of
from shoal.registry import load
from shoal.release.gating import naming
from shoal.risk.attacks.limits import attacks_of

MEMORY = "memory"
DATABASE = "postgres"  # the engine that reads from a database
CLUSTER = "spark"  # the engine that knows tables of its own

# One sentence for everything that an engine may be unable to do.
_SENTENCES = {
    "formats": "The engine '{engine}' does not serve {what}: use the engine 'memory', or a file that needs none.",
    "items": (
        "The engine '{engine}' takes cells as they are, and those of '{what}' hold items: use the engine 'memory'."
    ),
    "sample": (
        "The engine '{engine}' does not draw samples: draw one in the source, or use the engine 'duckdb' on a file."
    ),
    "derive": (
        "The engine '{engine}' reads columns as they are, and '{what}' is to be {how}: do that in the source, or use "
        "the engine 'duckdb'."
    ),
    "records": (
        "The algorithm '{what}' looks at records one by one as it is set here, which the engine '{engine}' does not "
        "serve: use the engine 'duckdb', or an algorithm such as 'optimal'."
    ),
    "key": "The engine '{engine}' has no order of rows: name a column that tells them apart as 'key'.",
    "order": "The engine '{engine}' has no order of rows to keep: leave 'order' out of [output].",
    "guard": (
        "The engine '{engine}' does not serve guarded nodes, which are looked up row by row: use the engine 'duckdb', "
        "or leave the guard out."
    ),
    "people": (
        "Risks of people with several rows are looked at person by person, which the engine '{engine}' does not "
        "serve: use the engine 'duckdb', or leave the subject out."
    ),
    "attacks": (
        "The engine '{engine}' attacks the classes of generalised releases alone, and a {what} one is attacked row by "
        "row: use the engine 'memory', or leave its attacks out of [limits]."
    ),
    "other": "The engine '{engine}' does not serve {what}: use the engine 'memory', or leave that out.",
}
Need = tuple[Capability, str, dict[str, str]]


def needs(recipe: Recipe, method: Algorithm | None) -> Iterator[Need]:
    """List the capabilities that a recipe needs, each with the sentence that refuses an engine without it."""
    yield from reading_needs(recipe)
    yield from _opening_needs(recipe, method)
    yield from _other_needs(recipe, method)


def reading_needs(recipe: Recipe) -> Iterator[Need]:
    """List what reading the source of a recipe needs."""
    source, columns = recipe.source, recipe.columns.values()
    formats = {
        "'decimal' and 'thousands'": source.decimal != "." or source.thousands or any(
            one.decimal or one.thousands for one in columns
        ),
        "the 'missing_markers' of single columns": any(one.missing_markers for one in columns),
        "a 'sheet'": source.sheet,
    }  # fmt: skip
    yield from ((Capability.FORMATS, "formats", {"what": what}) for what, given in formats.items() if given)
    for name, entry in recipe.columns.items():
        if entry.items is not None:
            yield Capability.FORMATS, "items", {"what": name}
    if recipe.sample is not None:
        yield Capability.SAMPLE, "sample", {}


def _opening_needs(recipe: Recipe, method: Algorithm | None) -> Iterator[Need]:
    """List what a recipe needs of open rows, and a method of the records in them."""
    schema = schema_of(recipe)
    if method is not None and not method.by_cells(Domain(schema=schema, columns={}, n=0)):
        yield Capability.LOAD, "records", {"what": method.name}
    if recipe.roles.key is None:
        yield Capability.SOURCE_ORDER, "key", {}
    if recipe.output.order == "kept":
        yield Capability.SOURCE_ORDER, "order", {}
    if recipe.roles.guard:
        yield Capability.GUARDS, "guard", {}
    for name, spec in schema.specs.items():
        if spec.techniques:
            yield Capability.DERIVE, "derive", {"what": name, "how": spec.techniques[0]}


def _other_needs(recipe: Recipe, method: Algorithm | None) -> Iterator[Need]:
    """List what else a recipe needs."""
    named = {str(spec.get("name")) for spec in recipe.models} | ({method.name} if method else set())
    if recipe.registry or {"m-invariance", "m-invariant"} & named:
        yield Capability.HISTORY, "other", {"what": "a registry"}
    if method is not None and not method.kind.generalises and attacks_of(recipe.limits):
        yield Capability.ARRAYS, "attacks", {"what": str(method.kind)}
    if recipe.workload:
        yield Capability.WORKLOAD, "other", {"what": "a workload"}


def lacking(recipe: Recipe, asked: Iterator[Need]) -> list[ShoalError]:
    """Sentences on what the engine of a recipe does not do."""
    name = recipe.engine.name
    there = load("engine", name).capabilities
    return [
        RecipeError(_SENTENCES[key].format(engine=name, **words)) for one, key, words in asked if one not in there
    ]


def require(recipe: Recipe, method: Algorithm) -> None:
    """Refuse what the engine of a recipe cannot do; nothing is read before."""
    refuse_misplaced(recipe)
    for error in [*unopened(recipe, method), *unserved(recipe, method)]:
        raise error


def unopened(recipe: Recipe, method: Algorithm | None) -> list[ShoalError]:
    """Why the engine of a recipe cannot open its rows, or not look at them as a method does."""
    found = lacking(recipe, _opening_needs(recipe, method))
    if not found and Capability.ARRAYS not in load("engine", recipe.engine.name).capabilities:
        try:
            refuse_batched(schema_of(recipe).specs, recipe.engine.name)
        except ParameterError as error:
            return [error]
    return found


def unserved(recipe: Recipe, method: Algorithm | None) -> list[ShoalError]:
    """List what else the engine of a recipe cannot do with its rows."""
    found: list[ShoalError] = []
    if recipe.output.table is not None and getattr(method, "publication", None) == "tables":
        found.append(RecipeError(
            "The release would be two tables, and [output] names one in the database: leave it out, or set "
            'publication = "permuted".'
        ))  # fmt: skip
    return found + lacking(recipe, _other_needs(recipe, method))


def refuse_misplaced(recipe: Recipe) -> None:
    """Refuse a source that its engine does not read."""
    name, source = recipe.engine.name, recipe.source
    for error in lacking(recipe, reading_needs(recipe)):
        raise error
    if source.path and Capability.ARRAYS in load("engine", name).capabilities and recipe.resolve(source.path).is_dir():
        raise InputError(f"'{recipe.resolve(source.path)}' is a folder: name the file in it.")
    if source.path and recipe.engine.scratch is not None:
        refuse_among(recipe.resolve(recipe.engine.scratch), recipe.resolve(source.path), "The scratch folder")
    if source.url is None and source.table is not None and name != CLUSTER:
        raise RecipeError("The 'table' under [source] is in a database: add its 'url'.")
    if (name == DATABASE) != (source.url is not None):
        raise no_file() if source.path is None else RecipeError(
            f"The engine '{name}' reads from a database: give its 'url', and a 'table' or a 'query', under [source]."
        )


def refuse_keyless(engine: str, key: str | None) -> None:
    """Refuse rows that nothing tells apart, where they have no order."""
    if key is None and Capability.SOURCE_ORDER not in load("engine", engine).capabilities:
        raise RecipeError(_SENTENCES["key"].format(engine=engine))


def refuse_people(engine: str, subject: str | None) -> None:
    """Refuse to look at people who may have several rows one by one, where an engine only counts them."""
    if subject is not None and Capability.PEOPLE not in load("engine", engine).capabilities:
        raise RecipeError(_SENTENCES["people"].format(engine=engine))


def refuse_unread(engine: str) -> None:
    """Refuse to read a written release by an engine that reads no batches of this machine."""
    if Capability.SOURCE_ORDER not in load("engine", engine).capabilities:
        raise ParameterError(
            f"A written release is in files of this machine, which the engine '{engine}' does not read: use the engine "
            "'duckdb'."
        )


# ----------------------------------------
# Whether memory holds the people whose names the gate looks for in what is published.


# Hashes by which different values are counted: to two in a hundred, whatever their number.
_HASHES = 1 << 12


def refuse_unheld(rows: OpenRows, memory: int) -> None:
    """Refuse more names and people than so many bytes hold; where all may fit, none that take part are counted."""
    schema, uncoded = rows.domain.schema, rows.domain.types.keys() - rows.domain.columns.keys()
    others = rows.left_out(naming(schema))  # who takes no part is looked for, too
    beside = sum(cells.len() for cells in others.values())
    hidden = [name for name in naming(schema) if name in uncoded and name != schema.subject]
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


def _different(rows: OpenRows, name: str, others: pl.Series | None = None) -> int:
    """How many different values a column has, with those of other rows, estimated from the smallest of their hashes."""
    least = np.zeros(0, dtype=np.uint64)
    for one in chain([] if others is None else [others], rows.cells(name)):
        hashes = one.drop_nulls().hash().to_numpy()
        if least.size == _HASHES:
            hashes = hashes[hashes < least[-1]]
        least = np.unique(np.concatenate([least, hashes]))[:_HASHES]
    return least.size if least.size < _HASHES else int((_HASHES - 1) / (float(least[-1]) / 2.0**64))
