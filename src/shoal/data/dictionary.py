"""The dictionary of one column, and the codes of its cells: by rank, by hierarchy, or by text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import (
    canonical_text,
    code_dates,
    code_numbers,
    code_texts,
    different_items,
    infer_type,
    item_tree,
)
from shoal.data.column import FLAT, INTERVAL, TREE, Column, counted
from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.texts import is_held, told
from shoal.data.values import format_date, format_number
from shoal.errors import DomainError, HierarchyError, ParameterError, ShoalError

Coded = tuple[Column, np.ndarray]


def code_column(name: str, schema: Schema, series: pl.Series, source: Any) -> Coded:
    """The dictionary of one column and its rows' codes (int32); ``source`` is its hierarchy, or makes it."""
    spec = schema.spec(name)
    role = schema.role(name) or ""
    if spec.items is not None:
        return _item_column(name, role, series, source, spec)
    kind_of_data = infer_type(name, series, spec)
    if spec.domain is not None and kind_of_data not in ("numeric", "date"):
        raise ParameterError(f"Column '{name}' is {kind_of_data}: a domain is for numbers and dates.")
    if source is not None:
        return _tree_column(name, role, kind_of_data, series, source, spec)
    if kind_of_data in ("numeric", "date"):
        return _number_column(name, role, kind_of_data, series, spec, None)
    order = [str(value) for value in spec.order] if spec.order else None
    codes, values = code_texts(name, series, order)
    kind = INTERVAL if kind_of_data == "ordinal" else FLAT
    return _finish(
        codes, values, name=name, role=role, type=kind_of_data, kind=kind, numbers=None, hierarchy=None, spec=spec
    )


def code_held(name: str, schema: Schema, series: pl.Series, source: Any) -> Coded:
    """The same of a column that may hold texts as numbers, each of which is then looked at once."""
    if not is_held(series.dtype):
        return code_column(name, schema, series, source)
    different = series.unique(maintain_order=True)
    try:
        column, code_of = code_column(name, schema, told(different), source)
    except ShoalError:
        return code_column(name, schema, told(series), source)  # which says in how many rows, and where
    codes = np.empty(len(series.dtype.categories) + 1, dtype=np.int32)  # type: ignore[attr-defined]
    codes[_places(different)] = code_of
    found = codes[_places(series)]
    return replace(column, frequencies=counted(found, column.card)), found


def _places(series: pl.Series) -> np.ndarray:
    """Places of texts in the list of the different ones, the last for null."""
    return series.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def _item_column(name: str, role: str, series: pl.Series, source: Any, spec: ColumnSpec) -> Coded:
    """Cells that hold several items are texts like others; a hierarchy is one of their items."""
    texts, mark = canonical_text(series), str(spec.items)
    tree = source(different_items(texts, mark)) if callable(source) else source
    codes, values = code_texts(name, texts, None)
    column, coded = _finish(
        codes, values, name=name, role=role, type="categorical", kind=FLAT, numbers=None, hierarchy=None, spec=spec
    )
    return replace(column, tree=None if tree is None else item_tree(name, texts, mark, tree)), coded


def _number_column(
    name: str, role: str, kind: str, series: pl.Series, spec: ColumnSpec, hierarchy: Hierarchy | None
) -> Coded:
    codes, numbers = code_numbers(name, series) if kind == "numeric" else code_dates(name, series, spec)
    declared = _declared(name, kind, spec, numbers)
    return _finish(
        codes, number_texts(kind, numbers), name=name, role=role, type=kind, kind=INTERVAL, numbers=numbers,
        hierarchy=hierarchy, spec=spec, declared=declared,
    )  # fmt: skip


def number_texts(kind: str, numbers: np.ndarray) -> pl.Series:
    """Canonical texts of exact numbers or days."""
    if kind == "date":
        return pl.Series([format_date(int(day)) for day in numbers], dtype=pl.String)
    if numbers.dtype.kind == "i":
        return pl.Series(numbers).cast(pl.String)
    return pl.Series([format_number(x) for x in numbers.tolist()], dtype=pl.String)


def _declared(name: str, kind: str, spec: ColumnSpec, numbers: np.ndarray) -> tuple[Any, Any] | None:
    if spec.domain is None:
        return None
    parse = code_numbers if kind == "numeric" else lambda n, s: code_dates(n, s, spec)
    codes, bounds = parse(name, pl.Series([str(bound) for bound in spec.domain]))
    if codes[0] > codes[1]:
        raise ParameterError(f"The domain of column '{name}' is upside down: give the lowest value first.")
    low, high = bounds[0], bounds[-1]
    outside = int(sum(1 for x in numbers if x < low or x > high)) if numbers.size else 0
    if outside:
        raise DomainError(
            f"Column '{name}' has {outside} distinct values outside its declared domain: widen it."
        )
    return low, high


def _tree_column(name: str, role: str, kind: str, series: pl.Series, source: Any, spec: ColumnSpec) -> Coded:
    texts = _leaf_texts(name, kind, series, spec)
    present = texts.drop_nulls().unique()
    hierarchy: Hierarchy = source(in_order(kind, present)) if callable(source) else source
    if kind in ("numeric", "date"):
        hierarchy = _sorted_leaves(hierarchy)
    absent = sum(text not in hierarchy.leaf_code for text in present.to_list())
    if absent:
        raise HierarchyError(
            f"The hierarchy of '{name}' lacks {absent:,} of {present.len():,} values: add a line for each."
        )
    if spec.use == "interval":
        if kind not in ("numeric", "date"):
            raise ParameterError(f"Column '{name}' is {kind}: use = \"interval\" is for numbers and dates.")
        return _number_column(name, role, kind, series, spec, None)
    if texts.null_count():
        hierarchy = hierarchy.with_missing()
    leaves = list(hierarchy.labels[0])
    codes = texts.fill_null(MISSING).cast(pl.Enum(leaves)).to_physical().cast(pl.Int32).to_numpy(writable=True)
    missing = hierarchy.leaf_code.get(MISSING, -1)
    numbers = _leaf_numbers(kind, leaves[: missing if missing >= 0 else None], role)
    column = Column(
        name=name,
        role=role,
        type=kind,
        kind=TREE,
        frequencies=counted(codes, len(leaves)),
        texts=pl.Series(leaves, dtype=pl.String),
        numbers=numbers,
        missing=missing,
        hierarchy=hierarchy,
        spec=spec,
    )
    return column, codes


def _leaf_texts(name: str, kind: str, series: pl.Series, spec: ColumnSpec) -> pl.Series:
    if kind not in ("numeric", "date"):
        return canonical_text(series)
    codes, numbers = code_numbers(name, series) if kind == "numeric" else code_dates(name, series, spec)
    return pl.concat([number_texts(kind, numbers), pl.Series([None], dtype=pl.String)]).gather(codes)


def in_order(kind: str, texts: pl.Series) -> list[str]:
    """Distinct texts in value order, which is the order builders keep among siblings."""
    if kind != "numeric":
        return texts.sort().to_list()
    return [text for _, text in sorted((float(text), text) for text in texts.to_list())]


def _sorted_leaves(hierarchy: Hierarchy) -> Hierarchy:
    """The same hierarchy with leaves in value order, so that nodes that are intervals keep that order.

    Numbers among the leaves get their canonical text, by which the column's values are looked up. Where some leaves are
    no numbers, such as dates or the word for a non-answer, text order is theirs.
    """
    leaves = [(_as_number(row[0]), row) for row in hierarchy.rows()]
    rows = [[row[0] if number is None else format_number(number), *row[1:]] for number, row in leaves]
    numbers = [number for number, _ in leaves if number is not None]
    if len(numbers) < len(rows):
        return hierarchy.with_rows(sorted(rows, key=lambda row: row[0]))
    return hierarchy.with_rows([rows[place] for place in sorted(range(len(rows)), key=numbers.__getitem__)])


def _as_number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def _leaf_numbers(kind: str, leaves: Sequence[str], role: str) -> np.ndarray | None:
    """Numbers of a sensitive tree column's leaves, when depth-first order is value order."""
    if kind not in ("numeric", "date") or role != "sensitive":
        return None
    series = pl.Series(leaves, dtype=pl.String)
    codes, numbers = code_numbers("", series) if kind == "numeric" else code_dates("", series, ColumnSpec())
    return numbers if np.array_equal(codes, np.arange(len(leaves))) else None


def _finish(codes: np.ndarray, values: Sequence[str] | pl.Series, *, name: str, **known: Any) -> Coded:
    """Append the missing value as the last code where it occurs."""
    texts = pl.Series(values, dtype=pl.String) if not isinstance(values, pl.Series) else values
    missing = texts.len() if (codes == texts.len()).any() else -1
    if missing >= 0:
        texts = pl.concat([texts, pl.Series([MISSING])])
    frequencies = counted(codes, texts.len())
    column = Column(name=name, frequencies=frequencies, texts=texts.alias(name), missing=missing, **known)
    return column, np.ascontiguousarray(codes, dtype=np.int32)
