"""From text or typed columns to sorted dictionaries and codes, exactly: a value that would be rounded is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property

import numpy as np
import polars as pl

from shoal.data.column import Column
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.schema import ColumnSpec
from shoal.data.values import format_number
from shoal.errors import DomainError, HierarchyError, InputError, SchemaError

_SAMPLE = 1000
# A float keeps every decimal number of up to 15 significant digits apart.
_FLOAT_DIGITS = 15
_WHOLE = 1 << 53  # up to here floats hold every whole number
_LARGEST = 1e100  # squares and sums of squares stay within the floats' range
_DENSE_RANGE = 1 << 22
_DIFFERENT = 1 << 16  # texts that are kept as numbers
_WORD_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
# An exponent this large may leave the floats' range.
_LONG_EXPONENT = r"[eE][+-]?\d{3}"


def infer_type(name: str, series: pl.Series, spec: ColumnSpec) -> str:
    """Type of a column: as declared, else from its dtype or, for text, from what every cell parses as."""
    if spec.type is not None:
        return spec.type
    if spec.order:
        return "ordinal"
    dtype = series.dtype
    if dtype.is_numeric():
        return "numeric"
    if dtype == pl.Date or (dtype == pl.Datetime and (series.cast(pl.Date).cast(dtype) == series).all()):
        return "date"
    if dtype != pl.String:
        return "categorical"
    if spec.format is not None:
        return "date"
    sample = series.drop_nulls().head(_SAMPLE)
    if sample.is_empty():
        return "categorical"
    for kind, parses in (("numeric", _all_numbers), ("date", _all_dates)):
        if parses(sample) and parses(series):
            return kind
    return "categorical"


def _all_numbers(series: pl.Series) -> bool:
    """Every cell is a number, and none has a leading zero that a number would lose (postcodes)."""
    if series.cast(pl.Float64, strict=False).null_count() > series.null_count():
        return False
    return not series.str.contains(r"^[+-]?0\d").any()


def _all_dates(series: pl.Series) -> bool:
    return series.str.to_date("%Y-%m-%d", strict=False).null_count() == series.null_count()


def code_numbers(name: str, series: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Codes (missing = number of values) and sorted exact values of a numeric column."""
    if series.dtype == pl.String:
        return _code_number_text(name, series)
    if series.dtype in _WORD_INTEGERS:
        return _checked(name, *_rank(series.cast(pl.Int64)))
    if series.dtype.is_float():
        _refuse_nonfinite(name, series)
        return _checked(name, *_rank(_widened(series)))
    if series.dtype.is_numeric():
        return _code_number_text(name, series.cast(pl.String))
    raise SchemaError(f"Column '{name}' is declared numeric but holds {series.dtype} values: check its type.")


def _widened(series: pl.Series) -> pl.Series:
    """A short float means the decimal that it is written as, in a frame as in a file."""
    return series if series.dtype == pl.Float64 else series.cast(pl.String).cast(pl.Float64)


def _refuse_nonfinite(name: str, series: pl.Series) -> None:
    bad = int((~series.is_finite()).sum() or 0)
    if bad:
        raise InputError(
            f"Column '{name}' has {bad} cells that are NaN or infinite: clean them, or name them in missing_markers."
        )


def _code_number_text(name: str, series: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    whole = series.cast(pl.Int64, strict=False)
    if whole.null_count() == series.null_count():
        return _checked(name, *_rank(whole))
    real = series.cast(pl.Float64, strict=False)
    wrong = real.null_count() - series.null_count()
    if wrong:
        row = int((real.is_null() & series.is_not_null()).arg_true()[0]) + 1
        raise InputError(
            f"Column '{name}' is numeric but {wrong} cells are not numbers, the first in row {row}: "
            "declare it categorical or clean it."
        )
    _refuse_nonfinite(name, real)
    significand = series.str.replace_all(r"[eE].*$", "").str.replace_all(r"\D", "").str.strip_chars_start("0")
    long = (significand.str.len_bytes() > _FLOAT_DIGITS) | series.str.contains(_LONG_EXPONENT)
    # What a float is written as is what it keeps; others are few.
    texts = series.filter((long & (series != real.cast(pl.String))).fill_null(False)).unique().to_list()
    _refuse_inexact(name, sum(not _float_keeps(text) for text in texts))
    codes, values = _checked(name, *_rank(real))
    return codes, as_integers(values)


def as_integers(values: np.ndarray) -> np.ndarray:
    """Convert numbers of text to integers where all are whole, so that ``20.0`` is the number that ``20`` is."""
    exact = values.dtype.kind == "f" and bool(((values == np.floor(values)) & (np.abs(values) <= _WHOLE)).all())
    return values.astype(np.int64) if exact else values


def _float_keeps(text: str) -> bool:
    try:
        return Decimal(text) == Decimal(repr(float(text)))
    except InvalidOperation:  # an exponent beyond anything
        return False


def _checked(name: str, codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, after refusing numbers that later arithmetic would round, or that would leave its range."""
    if values.dtype.kind == "i":
        large = [x for x in values[(values > _WHOLE) | (values < -_WHOLE)].tolist() if int(float(x)) != x]
        _refuse_inexact(name, len(large))
        return codes, values
    size = np.abs(values)
    extreme = int(((size > _LARGEST) | ((size < 1 / _LARGEST) & (size > 0))).sum())
    if extreme:
        raise InputError(
            f"Column '{name}' has {extreme} numbers beyond 1e100 or nearer to 0 than 1e-100: change its unit, or "
            "declare it categorical."
        )
    return codes, values


def _refuse_inexact(name: str, count: int) -> None:
    if count:
        raise InputError(
            f"Column '{name}' has {count} numbers with more digits than 64-bit floats keep (15 always fit): round "
            "them, or declare the column categorical."
        )


def _rank(series: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Dense ranks; a small range of whole numbers is ranked by counting instead of sorting."""
    known = series.drop_nulls()
    values = known.to_numpy()
    if values.size == 0:
        return np.zeros(series.len(), dtype=np.int32), values
    if values.dtype.kind == "f":
        values = values + 0.0  # negative zero equals zero
    low, high = values.min(), values.max()
    if values.dtype.kind == "i" and int(high) - int(low) < _DENSE_RANGE:
        seen = np.zeros(int(high) - int(low) + 1, dtype=bool)
        seen[values - low] = True
        rank = np.cumsum(seen, dtype=np.int32) - 1
        distinct = np.flatnonzero(seen).astype(np.int64) + low
        ranks = rank[values - low]
    else:
        distinct, inverse = np.unique(values, return_inverse=True)
        ranks = inverse.astype(np.int32)
    if known.len() == series.len():
        return ranks, distinct
    codes = np.full(series.len(), distinct.size, dtype=np.int32)
    codes[series.is_not_null().to_numpy()] = ranks
    return codes, distinct


def code_dates(name: str, series: pl.Series, spec: ColumnSpec) -> tuple[np.ndarray, np.ndarray]:
    """Codes and sorted days since 1970 of a date column."""
    if series.dtype == pl.String:
        dates = series.str.to_date(spec.format or "%Y-%m-%d", strict=False)
        wrong = dates.null_count() - series.null_count()
        if wrong:
            row = int((dates.is_null() & series.is_not_null()).arg_true()[0]) + 1
            raise InputError(
                f"Column '{name}' is a date column but {wrong} cells are not dates of the form "
                f"{spec.format or 'YYYY-MM-DD'}, the first in row {row}: give its 'format'."
            )
    elif series.dtype == pl.Date:
        dates = series
    elif series.dtype.is_temporal() and series.dtype.base_type() == pl.Datetime:
        dates = series.cast(pl.Date)
        if (dates.cast(series.dtype) != series).any():
            raise InputError(
                f"Column '{name}' holds times of day: cast it to dates first, or drop the column."
            )
    else:
        raise SchemaError(
            f"Column '{name}' is declared a date but holds {series.dtype} values: check its type."
        )
    return _rank(dates.cast(pl.Int32).cast(pl.Int64))


def code_texts(name: str, series: pl.Series, order: list[str] | None) -> tuple[np.ndarray, list[str]]:
    """Codes and dictionary of text; ``order`` fixes the dictionary (ordinal columns, hierarchy leaves)."""
    texts = series if series.dtype == pl.String else canonical_text(series)
    if order is None:
        values = texts.drop_nulls().unique().sort().to_list()
    else:
        values = list(order)
        if len(set(values)) < len(values):
            raise SchemaError(f"The order of column '{name}' names a value twice: keep one of them.")
        unknown = set(texts.drop_nulls().unique().to_list()) - set(values)
        if unknown:
            raise DomainError(
                f"Column '{name}' has {len(unknown)} values that are not in its declared list: add them to it."
            )
    if not values:
        return np.zeros(texts.len(), dtype=np.int32), values
    codes = texts.cast(pl.Enum(values)).to_physical().cast(pl.Int32)
    return codes.fill_null(len(values)).to_numpy(writable=True), values


def categories_as_text(frame: pl.DataFrame, specs: Mapping[str, ColumnSpec]) -> pl.DataFrame:
    """The rows with numbers that are declared to be categories as text, so that 1.0 is the category 1 everywhere."""
    named = [name for name, spec in specs.items() if spec.type in ("categorical", "ordinal") or spec.order]
    return frame.with_columns(canonical_text(frame[name]) for name in named if frame[name].dtype.is_float())


def numbered(column: pl.Series) -> pl.Series:
    """Texts as numbers of the different ones, for whoever makes many rows of them; any other column as it is.

    So are texts of which very many differ: every file of such numbers has all of the texts beside them.
    """
    if column.dtype != pl.String:
        return column
    different = column.drop_nulls().unique(maintain_order=True)
    return column.cast(pl.Enum(different)) if different.len() <= _DIFFERENT else column


def canonical_text(series: pl.Series) -> pl.Series:
    """The text by which hierarchies, sets and messages know a typed value."""
    if series.dtype == pl.String:
        return series
    if series.dtype.is_float():
        _refuse_nonfinite(series.name, series)
        series = _widened(series)
        distinct = series.drop_nulls().unique()
        texts = pl.Series([format_number(x) for x in distinct.to_list()], dtype=pl.String)
        return series.replace_strict(distinct, texts, default=None, return_dtype=pl.String)
    return series.cast(pl.String)


# ----------------------------------------
# Columns whose cells hold several items: how cells are read and written, and which items a dictionary holds.


NONE = "<none>"  # a cell without any item
_TAKEN = (ROOT, NONE, MISSING)


def as_items(series: pl.Series, mark: str) -> pl.Series:
    """Cells with each item once, in order, and one mark between two; a cell of no items says so."""
    texts = canonical_text(series)
    distinct = texts.drop_nulls().unique()
    parts = distinct.replace(NONE, "").str.split(mark).list.eval(pl.element().str.strip_chars())
    parts = parts.list.eval(pl.element().filter(pl.element() != "").unique().sort())
    odd = parts.list.eval(pl.element().is_in(_TAKEN).any()).list.first().fill_null(False)
    if odd.any():
        raise InputError(
            f"Column '{series.name}' has {int(odd.sum())} different cells with an item written as '{ROOT}', '{NONE}' "
            f"or '{MISSING}', which have a meaning in releases: recode them."
        )
    joined = pl.select(pl.when(parts.list.len() == 0).then(pl.lit(NONE)).otherwise(parts.list.join(mark))).to_series()
    return texts.replace_strict(distinct, joined, default=None, return_dtype=pl.String).alias(series.name)


def different_items(texts: pl.Series, mark: str) -> list[str]:
    """Every item of some cells, in order."""
    known = texts.drop_nulls().unique()
    return known.filter(~known.is_in([NONE, MISSING])).str.split(mark).explode().unique().sort().to_list()


def item_tree(name: str, texts: pl.Series, mark: str, tree: Hierarchy) -> Hierarchy:
    """A hierarchy that holds every item, and whose labels can stand in cells."""
    found = different_items(texts, mark)
    absent = sum(item not in tree.leaf_code for item in found)
    if absent:
        raise HierarchyError(
            f"The hierarchy of '{name}' lacks {absent:,} of {len(found):,} items: add a line for each."
        )
    odd = [label for label in tree.node_labels if mark in label or label in (NONE, MISSING)]
    if odd:
        raise HierarchyError(
            f"The hierarchy of '{name}' has {len(odd):,} labels with '{mark}' in them, which stands between items, or "
            f"written as '{NONE}' or '{MISSING}': rename them."
        )
    return tree


@dataclass(frozen=True, eq=False)
class Items:
    """The items of every code of a column, as nodes of its hierarchy, or of a tree of nothing but its items."""

    column: Column

    @property
    def mark(self) -> str:
        """What stands between two items."""
        assert self.column.spec.items is not None
        return self.column.spec.items

    @cached_property
    def labels(self) -> list[str]:
        """Text of every node; the last is the top."""
        tree = self.column.tree
        return [*different_items(self.column.texts, self.mark), ROOT] if tree is None else tree.node_labels

    @cached_property
    def parent(self) -> np.ndarray:
        """int64, the lowest node above each that has more items, -1 at the top and where there is no hierarchy."""
        tree, found = self.column.tree, np.full(len(self.labels), -1, dtype=np.int64)
        if tree is None:
            return found
        for level in range(tree.height):
            nodes, above = tree.ancestors[level], tree.ancestors[level + 1]
            found[tree.offsets[level] + nodes] = tree.offsets[level + 1] + above
        above = found.copy()
        while (same := (found >= 0) & (self.leaves[found] == self.leaves)).any():
            found[same] = above[found[same]]
        return found

    @cached_property
    def leaves(self) -> np.ndarray:
        """int64, how many items lie below each node."""
        tree = self.column.tree
        if tree is not None:
            return np.concatenate([np.bincount(nodes) for nodes in tree.ancestors]).astype(np.int64)
        return np.append(np.ones(len(self.labels) - 1, dtype=np.int64), len(self.labels) - 1)

    @cached_property
    def by_code(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the items of each code begin, and all of them."""
        texts = self.column.texts
        empty = texts.is_in([NONE, MISSING]).to_numpy()
        parts = pl.select(pl.when(pl.Series(~empty)).then(texts.str.split(self.mark)).otherwise([])).to_series()
        leaves = self.labels[: -1 if self.column.tree is None else self.column.tree.n_leaves]
        items = parts.explode().drop_nulls()
        known = pl.DataFrame({"item": pl.Series(leaves, dtype=pl.String), "place": np.arange(len(leaves))})
        place = pl.DataFrame({"item": items}).join(known, on="item", how="left", maintain_order="left")["place"]
        return np.cumsum([0, *parts.list.len().to_list()]), place.to_numpy().astype(np.int64)

    def of(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of some codes, one after the other."""
        starts, items = self.by_code
        lengths = np.diff(starts)[codes]
        ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        place = np.arange(ptr[-1]) - np.repeat(ptr[:-1], lengths) + np.repeat(starts[codes], lengths)
        return ptr, items[place]

    def texts(self, ptr: np.ndarray, nodes: np.ndarray) -> pl.Series:
        """Cells of nodes, negative ones left out, each label once and in order; a cell of none says so."""
        cell = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))[nodes >= 0]
        labels = pl.Series(self.labels, dtype=pl.String).gather(nodes[nodes >= 0])
        found = (
            pl.DataFrame({"cell": cell, "label": labels}).unique().sort("cell", "label")
            .group_by("cell", maintain_order=True).agg(pl.col("label").str.join(self.mark))
        )  # fmt: skip
        out = pl.Series([NONE]).new_from_index(0, ptr.size - 1)
        return out.scatter(found["cell"], found["label"]) if found.height else out
