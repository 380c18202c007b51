"""What was read, and what may be said about it in public, for the check of everything that is published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.table import Table, held_dates
from shoal.data.texts import told
from shoal.io.vouching import said_by_plugins
from shoal.verify.report import Sayable


def read_columns(table: Table) -> dict[str, list[pl.Series]]:
    """Every column that was read, whatever its role: as it stood, with dates parsed, and rows that were dropped."""
    parsed, real = held_dates(table), table.n - table.counterfeits
    found = {name: [parsed[name]] for name in parsed.columns}
    for name, several in found.items():
        stood = table.kept[name]
        several += [told(stood.head(real))] if stood.dtype != parsed[name].dtype else []
        several += [] if table.dropped is None or name not in table.dropped.columns else [table.dropped[name]]
    return found


def sayable(domain: Domain, models: Sequence[Mapping[str, Any]]) -> Sayable:
    """What the recipe declares, and labels that do not follow from the data.

    Parameters
    ----------
    models
        Models with their parameters, which may name values.
    """
    named = [domain.name or "", *domain.schema.roles(), *_texts([dict(model) for model in models])]
    if domain.schema.quasi_sets:
        named.append(str(len(domain.schema.quasi_sets)))  # which a statement says
    named += said_by_plugins(str(model["name"]) for model in models)
    declared = {"": frozenset(named)}
    labels = {}
    for name in domain.schema.released:
        spec, column = domain.schema.spec(name), domain.columns.get(name)
        given = [*_texts([list(spec.order or ()), list(spec.domain or ()), list(spec.non_answers)])]
        given += [] if column is None else [*_by_recipe(column)]
        declared[name] = frozenset(given)
        labels[name] = frozenset(() if column is None else _labels(column))
    return Sayable(declared=declared, labels=labels)


def _by_recipe(column: Column) -> Iterator[str]:
    """Ranges that a recipe lists itself, and how it has a hierarchy built."""
    plain = None if column.policy is None else column.policy.plain
    if plain is not None and ("intervals" in plain or "sets" in plain):
        yield from _texts(dict(plain))
    tree = column.hierarchy or column.tree
    if tree is not None and tree.rule is not None:
        yield from _texts(dict(tree.rule))


def _labels(column: Column) -> Iterator[str]:
    """All labels of a public hierarchy; else those above the values, which released ones alone lead to."""
    tree = column.hierarchy or column.tree
    if tree is None:
        return
    values = () if tree.public else tree.leaf_code
    yield from (label for label in tree.node_labels if label not in values)


def _texts(value: Any) -> Iterator[str]:
    """Every key, text and number in nested plain data, numbers as our sentences write them too."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield str(key)
            yield from _texts(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)
    elif value is not None:
        yield str(value)
        if isinstance(value, float):
            yield f"{value:g}"
