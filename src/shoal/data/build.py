"""From a frame and roles to a coded table: everything that is refused about a source is refused here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text, categories_as_text, code_texts
from shoal.data.column import check_styles
from shoal.data.dictionary import code_column, code_held
from shoal.data.domain import Domain
from shoal.data.keys import key_hashes
from shoal.data.schema import Schema
from shoal.data.table import Table
from shoal.data.texts import Spellings, all_held, all_told, count_spellings, refuse_lookalikes, told
from shoal.errors import EmptyTableError, InputError, ParameterError, SchemaError, ShoalError
from shoal.params import choice, nearest


def build_table(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    missing: str = "error",
    name: str | None = None,
    backend: Any = None,
    weights: Mapping[str, float] | None = None,
) -> Table:
    """Check roles and values, code every quasi-identifier and sensitive attribute, and return the table.

    ``hierarchies`` maps a column to a `Hierarchy` or to a function from its distinct texts to one.
    """
    schema.check(frame.columns)
    if frame.height == 0:
        raise EmptyTableError("The table has no rows: there is nothing to publish.")
    hierarchies = dict(hierarchies or {})
    _check_names(schema, hierarchies, weights or {})
    frame = categories_as_text(frame, schema.specs)
    if schema.subject is not None:
        _refuse_lookalikes(frame, schema, schema.subject)
    kept = _handle_missing(
        frame, schema, choice("the source", "missing", missing, ("error", "drop", "value"))
    )
    row_keys = _row_keys(frame, schema)
    dropped = None
    if kept is not None:
        dropped = frame.filter(~kept)
        frame, row_keys = frame.filter(kept), row_keys[kept.to_numpy()]
    for sensitive in schema.sensitive:
        _refuse_lookalikes(frame, schema, sensitive)
    coded = {
        column: code_held(column, schema, frame[column], hierarchies.get(column))
        for column in [*schema.quasi, *schema.sensitive]
    }
    columns = {column: dictionary for column, (dictionary, _) in coded.items()}
    check_styles(schema, frame.columns, columns)
    subjects, n_subjects = _subjects(frame, schema)
    return Table(
        kept=all_held(frame),
        domain=Domain(
            schema=schema, columns=columns, n=frame.height, n_subjects=n_subjects,
            subject_spellings=_subject_spellings(frame, schema), weights=dict(weights or {}), name=name,
            types=dict(all_told(frame.clear()).schema),
        ),  # fmt: skip
        codes={column: codes for column, (_, codes) in coded.items()},
        row_keys=row_keys,
        subjects=subjects,
        n_read=frame.height if kept is None else kept.len(),
        n_dropped=0 if kept is None else int((~kept).sum()),
        backend=backend,
        dropped=dropped,
    )


def building_problems(
    frame: pl.DataFrame, schema: Schema, hierarchies: Mapping[str, Any], missing: str, weights: Mapping[str, float]
) -> list[ShoalError]:
    """Everything for which :func:`build_table` would refuse rows, where it stops at the first."""
    found: list[ShoalError] = list(schema.problems(frame.columns))
    if found or frame.height == 0:
        return found or [EmptyTableError("The table has no rows: there is nothing to publish.")]

    def tried(action: Callable[[], Any]) -> Any:
        try:
            return action()
        except ShoalError as error:
            found.append(error)
            return None

    tried(lambda: _check_names(schema, hierarchies, weights))
    frame = categories_as_text(frame, schema.specs)
    if schema.subject is not None:
        tried(partial(_refuse_lookalikes, frame, schema, schema.subject))
    kept = tried(lambda: _handle_missing(frame, schema, missing))
    tried(lambda: _row_keys(frame, schema))
    rows = frame if kept is None else frame.filter(kept)
    for sensitive in schema.sensitive:
        tried(partial(_refuse_lookalikes, rows, schema, sensitive))
    coded = {
        name: tried(partial(code_column, name, schema, rows[name], hierarchies.get(name)))
        for name in [*schema.quasi, *schema.sensitive]
    }
    if None not in coded.values():
        tried(lambda: check_styles(schema, frame.columns, {name: both[0] for name, both in coded.items()}))
    return found


def _refuse_lookalikes(frame: pl.DataFrame, schema: Schema, name: str) -> None:
    refuse_lookalikes(told(frame[name].unique()), schema.spec(name).non_answers)


def _check_names(schema: Schema, hierarchies: Mapping[str, Any], weights: Mapping[str, float]) -> None:
    for column in hierarchies:
        if schema.role(column) not in ("quasi", "sensitive"):
            raise SchemaError(
                f"There is a hierarchy for '{column}', which is neither quasi nor sensitive: "
                + _instead(schema, column, [*schema.quasi, *schema.sensitive])
            )
    for column, weight in weights.items():
        if schema.role(column) != "quasi":
            raise SchemaError(
                f"There is a weight for '{column}', which is not a quasi-identifier: "
                + _instead(schema, column, schema.quasi)
            )
        if not (isinstance(weight, Real) and 0 < weight < math.inf):
            raise ParameterError(f"The weight of '{column}' must be a number above 0. Got {weight}.")


def _instead(schema: Schema, column: str, columns: Sequence[str]) -> str:
    """What to do about an entry for a column that can have none: it may be a slip."""
    near = nearest(column, columns) if schema.role(column) is None else None
    return "remove it." if near is None else f"did you mean '{near}'?"


def _handle_missing(frame: pl.DataFrame, schema: Schema, policy: str) -> pl.Series | None:
    """Rows to keep (None: all), after refusing missing cells that no policy covers."""
    needed = [*schema.released]
    for role in ("subject", "key", "weight"):
        column = getattr(schema, role)
        if column is not None and (count := frame[column].null_count()):
            raise InputError(f"The {role} column '{column}' has {count} missing cells: fill them.")
    counts = {column: frame[column].null_count() for column in needed}
    found = {column: count for column, count in counts.items() if count}
    if not found or policy == "value":
        return None
    if policy == "error":
        listed = ", ".join(f"{column} ({count})" for column, count in found.items())
        raise InputError(
            f"There are missing cells in {listed}: set missing to 'drop' (leave those rows out) or 'value' "
            "(keep missing as a value of its own)."
        )
    keep = frame.select(pl.all_horizontal(pl.col(list(found)).is_not_null()).alias("keep"))["keep"]
    if not keep.any():
        raise EmptyTableError(
            "Every row has a missing cell, so dropping them leaves nothing: set missing to 'value'."
        )
    return keep


def _row_keys(frame: pl.DataFrame, schema: Schema) -> np.ndarray:
    if schema.key is None:
        return np.arange(frame.height, dtype=np.uint64)
    keys = canonical_text(frame[schema.key])
    if keys.n_unique() != keys.len():
        raise InputError(f"The key column '{schema.key}' repeats values: a key must name one row.")
    return key_hashes(keys)


def _subjects(frame: pl.DataFrame, schema: Schema) -> tuple[np.ndarray | None, int]:
    if schema.subject is None:
        return None, 0
    codes, values = code_texts(schema.subject, frame[schema.subject], None)
    return codes, len(values)


def _subject_spellings(frame: pl.DataFrame, schema: Schema) -> Spellings | None:
    name = schema.subject
    return None if name is None else count_spellings(name, "subject", told(frame[name].unique()))
