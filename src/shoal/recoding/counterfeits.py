"""Counterfeit records as rows of a table, so that everything after an algorithm treats them like any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from shoal.data.column import counted
from shoal.data.dictionary import Coded, code_column
from shoal.data.keys import key_hashes
from shoal.data.table import Table
from shoal.errors import ParameterError
from shoal.recoding.recodings import Counterfeits, Grouping, Recoding


def refuse_counterfeits(table: Table) -> None:
    """Say so where a made-up record would need more than one made-up value."""
    schema = table.schema
    if len(schema.sensitive) != 1 or schema.neutral or schema.pseudonym:
        raise ParameterError(
            "Counterfeits make up one sensitive value, and the release would have other columns beside its "
            "quasi-identifiers: drop them, or set counterfeits = false."
        )
    if table.columns[schema.sensitive[0]].policy is not None:
        raise ParameterError(f"Counterfeits cannot follow the policy of '{schema.sensitive[0]}': remove either.")


def with_counterfeits(table: Table, recoding: Recoding) -> tuple[Table, Recoding]:
    """The table with a recoding's counterfeits as its last rows, and the recoding of all of them.

    Each has the quasi-identifiers of a record of its group, so that no cell grows, and is a new person.
    """
    if not isinstance(recoding, Grouping) or recoding.counterfeits is None:
        return table, recoding
    made = recoding.counterfeits
    donor = np.empty(recoding.groups, dtype=np.int64)
    kept = np.flatnonzero(recoding.ids >= 0)
    donor[recoding.ids[kept]] = kept
    rows = donor[made.ids]
    frame = table.frame
    extra = frame[rows].with_columns(_made_up(table, made.column, made.texts))
    frame = pl.concat([frame, extra])
    codes = {name: np.concatenate([mine, mine[rows]]) for name, mine in table.codes.items()}
    columns = dict(table.columns)
    columns[made.column], codes[made.column] = _valued(table, frame, made)
    columns = {name: replace(one, frequencies=counted(codes[name], one.card)) for name, one in columns.items()}
    count = rows.size
    people = None
    if table.subjects is not None:
        people = np.concatenate([table.subjects, table.n_subjects + np.arange(count, dtype=np.int32)])
    history = table.history
    if history is not None:
        history = replace(history, signature=np.concatenate([history.signature, np.full(count, -1, dtype=np.int32)]))
    # Their places in a shuffled release follow from the secret, as everybody's do.
    keys = key_hashes(pl.Series([f"counterfeit {place}" for place in range(count)]))
    whole = replace(
        table,
        kept=frame,
        domain=replace(
            table.domain, columns=columns, n=frame.height,
            n_subjects=table.n_subjects + (count if people is not None else 0),
        ),
        codes=codes,
        row_keys=np.concatenate([table.row_keys, keys]),
        subjects=people,
        history=history,
        counterfeits=count,
    )
    return whole, replace(recoding, ids=np.concatenate([recoding.ids, made.ids]).astype(np.int32), counterfeits=None)


def _valued(table: Table, frame: pl.DataFrame, made: Counterfeits) -> Coded:
    """The sensitive column with the made-up values; coded anew where nobody has one of them any more."""
    old = table.columns[made.column]
    place = {text: code for code, text in enumerate(old.texts.to_list())}
    if all(text in place for text in made.texts.unique().to_list()):
        codes = made.texts.replace_strict(place, return_dtype=pl.Int32).to_numpy()
        return old, np.concatenate([table.codes[made.column], codes])
    return code_column(made.column, table.schema, frame[made.column], old.hierarchy)


def _made_up(table: Table, column: str, texts: pl.Series) -> list[pl.Expr]:
    """The made-up value, a subject of its own, and nothing in columns that are not released."""
    schema, frame = table.schema, table.frame
    found = [pl.lit(_as_read(texts, table, column)).alias(column)]
    for name in frame.columns:
        if name == schema.subject:
            found.append(pl.lit(_new_subjects(frame[name], len(texts))).alias(name))
        elif name not in (*schema.quasi, column):
            found.append(pl.lit(None, dtype=frame[name].dtype).alias(name))
    return found


def _as_read(texts: pl.Series, table: Table, column: str) -> pl.Series:
    """Values in the type, and the format of dates, in which the column was read."""
    dtype, form = table.domain.types[column], table.schema.spec(column).format
    if table.columns[column].type == "date":
        days = texts.str.to_date()
        return days.cast(dtype) if dtype != pl.String else days.dt.to_string(form or "%Y-%m-%d")
    return texts == "true" if dtype == pl.Boolean else texts.cast(dtype)


def _new_subjects(given: pl.Series, count: int) -> pl.Series:
    """Subjects that nobody is."""
    if given.dtype.is_integer():
        largest = int(given.max() or 0)  # type: ignore[arg-type]
        return pl.Series([largest + 1 + place for place in range(count)], dtype=given.dtype)
    taken, head = set(given.cast(pl.String).to_list()), "counterfeit "
    while any(f"{head}{place}" in taken for place in range(count)):
        head += "."
    return pl.Series([f"{head}{place}" for place in range(count)], dtype=pl.String).cast(given.dtype)
