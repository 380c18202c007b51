"""Recodings that generalise nothing: which released rows look the same, and what is published instead of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from shoal.data.classes import Cells, Grouped, RowIds
from shoal.data.column import Column, counted
from shoal.data.dictionary import Coded as dictionary_Coded
from shoal.data.dictionary import code_column
from shoal.data.domain import Packing, distinct
from shoal.data.keys import key_hashes
from shoal.data.rows import BatchedRows, Rows, in_batches, with_codes
from shoal.data.table import Table
from shoal.data.texts import is_text
from shoal.errors import ParameterError
from shoal.kernels.grouping import group_rows
from shoal.recoding.lattice import level_cells
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Averaged, Bucketed, Coded, Counterfeits, Grouping, Perturbed, Recoding, Redrawn
from shoal.recoding.rewriting import Anew, ByClass, ByCode, ByRow, Redrawing


def unchanged(rows: Rows, recoding: Coded) -> Released:
    """Quasi-identifiers as they are; classes are what agrees on all of them."""
    codes = rows.frequency([]).codes
    count = codes.shape[1]
    made = _exact(rows, codes, Cells(np.arange(count, dtype=np.int32), count), np.arange(count))
    return replace(with_values(made, recoding.columns), coded=dict(recoding.coded))


def with_values(released: Released, made: Mapping[str, pl.Series]) -> Released:
    """The release with other values in some columns, given one entry a code."""
    lookups = {name: ByCode(name, values) for name, values in made.items()}
    return replace(released, rewriting={**released.rewriting, **lookups})


def redrawn(rows: Rows, recoding: Redrawn) -> Released:
    """Quasi-identifiers as they were redrawn; classes are what agrees on all of them."""
    return _redrawn(in_batches(rows), recoding.redrawing)


def _redrawn(rows: BatchedRows, redrawing: Redrawing) -> Released:
    """Look at all rows twice: once to see which vectors there are, and once to say which is whose."""
    cards, quasi = np.array([column.card for column in rows.domain.quasi]), rows.domain.schema.quasi
    found = np.empty((cards.size, 0), dtype=np.int32)
    for codes, keys in rows.coded():
        after = redrawing.codes(codes, keys)
        found = distinct(np.hstack([found, np.stack([after[name] for name in quasi])]), cards)[1]
    packing = Packing(tuple(cards.tolist()))
    ids, known, at = np.empty(rows.domain.n, dtype=np.int32), packing.pack(list(found)), 0
    for codes, keys in rows.coded():
        after = redrawing.codes(codes, keys)
        ids[at : at + keys.size] = packing.find(known, packing.pack([after[name] for name in quasi]))
        at += keys.size
    count = found.shape[1]
    anew = Anew(redrawing, {name: rows.values(name) for name in quasi})
    made = _exact(rows, found, RowIds(ids, count), np.arange(count))
    return replace(made, rewriting=dict.fromkeys(quasi, anew))


def groups(rows: Rows, recoding: Bucketed) -> Released:
    """Quasi-identifiers as they are; classes are the published groups, each with the cells of one member."""
    found, first, at = np.unique(recoding.ids, return_index=True, return_inverse=True)
    dropped = int((found < 0).sum())
    classes = RowIds((at - dropped).astype(np.int32), found.size - dropped)
    members = np.stack([with_codes(rows).codes_of(name)[first[dropped:]] for name in rows.domain.schema.quasi])
    made = _exact(rows, members, classes, np.arange(members.shape[1]))
    return replace(made, groups=recoding.groups)


def centroids(rows: Rows, recoding: Averaged) -> Released:
    """Centroids, which are no codes; classes are what publishes the same, whatever groups it came from."""
    same = np.append(_same(rows, recoding.columns), -1)[recoding.ids]  # who is in no group is in no class
    found, first, ids = np.unique(same, return_index=True, return_inverse=True)
    none = int((found < 0).sum())
    # Numbered as rows come, whatever groups were made first.
    rank = np.argsort(np.argsort(first[none:]))
    classes = np.append(rank, -1).astype(np.int32)[ids - none]
    member = recoding.ids[np.sort(first[none:])]
    made = Released(rows=rows, classmap=RowIds(classes, member.size), cells={}, levels=None, groups=member.size)
    lookup = ByClass({name: values.gather(member) for name, values in recoding.columns.items()})
    return replace(made, rewriting=dict.fromkeys(recoding.columns, lookup))


def perturbed(rows: Rows, recoding: Perturbed) -> Released:
    """Values that are nobody's own; classes are what publishes the same."""
    classes = _same(rows, recoding.columns).astype(np.int32)
    count = int(classes.max(initial=-1)) + 1
    made = Released(rows=rows, classmap=RowIds(classes, count), cells={}, levels=None, groups=count)
    return replace(made, rewriting=dict.fromkeys(recoding.columns, ByRow(recoding.columns)))


def _same(rows: Rows, columns: Mapping[str, pl.Series]) -> np.ndarray:
    """Number of the combination of values at each place, as they first come."""
    published = pl.DataFrame([columns[name] for name in rows.domain.schema.quasi])
    ranks = published.select(pl.all().rank("dense").fill_null(0).cast(pl.Int32)).to_numpy().T
    return group_rows(np.ascontiguousarray(ranks), ranks.max(axis=1, initial=0) + 1)[0]


def _exact(rows: Rows, codes: np.ndarray, classes: Grouped, first: np.ndarray) -> Released:
    """Classes that publish the codes of one of their rows, or of their cell."""
    cells = {column.name: level_cells(column, codes[at][first], 0) for at, column in enumerate(rows.domain.quasi)}
    return Released(rows=rows, classmap=classes, cells=cells, levels=None, groups=first.size)


def values_of(table: Table, column: Column, codes: np.ndarray) -> pl.Series:
    """Values of codes that occur, as true values are published: in the column's own type, text as canonical text."""
    source = table.kept[column.name]
    if not is_text(source.dtype):
        row = np.zeros(column.card, dtype=np.int64)
        row[table.codes[column.name]] = np.arange(table.n)
        return source.gather(row[codes])
    return column.values.gather(codes).alias(column.name)


# ----------------------------------------
# Counterfeit records as rows of a table, so that everything after an algorithm treats them like any other.


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


def _valued(table: Table, frame: pl.DataFrame, made: Counterfeits) -> dictionary_Coded:
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
