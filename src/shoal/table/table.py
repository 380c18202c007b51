"""The coded table that algorithms, models and engines share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import DomainError, EmptyTableError, HierarchyError, InputError, ParameterError, SchemaError
from shoal.hierarchy.hierarchy import MISSING, Hierarchy
from shoal.hierarchy.values import format_date, format_number
from shoal.params import choice
from shoal.table.coding import canonical_text, categories_as_text, code_dates, code_numbers, code_texts, infer_type
from shoal.table.column import FLAT, INTERVAL, TREE, Column
from shoal.table.history import History
from shoal.table.invisible import refuse_lookalikes
from shoal.table.keys import key_hashes
from shoal.table.schema import ColumnSpec, Schema
from shoal.table.styles import check_styles
from shoal.table.workload import Cuts, Workload


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Rows about people, coded; never changed after it is built.

    Attributes
    ----------
    frame
        The rows as read, in source order, rows dropped for missing cells gone, missing cells null.
    columns
        Coded quasi-identifiers and sensitive attributes, by name.
    row_keys
        uint64, what each row's random draws are keyed by.
    subjects
        int32 code of each row's subject, None when rows are people.
    n_read, n_dropped
        Rows read, and rows dropped for missing cells.
    backend
        Where the data came from, for handing the same kind of frame back.
    workload
        What the release is for, as declared.
    cuts
        What follows from it for groups, by column: where cells should end, and what it costs not to.
    history
        What earlier releases left of the rows' people, None when this is the first that is looked at.
    counterfeits
        How many of the last rows were made up by the method.
    joint
        Codes, number of codes and flags of unknown ones of tuples of columns, where they are those of a larger table.
    dropped
        Rows left out for missing cells, which nothing published may tell about either; None where there are none.
    """

    frame: pl.DataFrame
    schema: Schema
    columns: Mapping[str, Column]
    row_keys: np.ndarray
    subjects: np.ndarray | None
    n_subjects: int
    n_read: int
    n_dropped: int
    name: str | None = None
    backend: Any = None
    weights: Mapping[str, float] = field(default_factory=dict)
    workload: Workload | None = None
    cuts: Mapping[str, Cuts] = field(default_factory=dict)
    history: History | None = None
    counterfeits: int = 0
    joint: Mapping[tuple[str, ...], tuple[np.ndarray, int, np.ndarray]] = field(default_factory=dict)
    dropped: pl.DataFrame | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Rows that take part."""
        return self.frame.height

    @property
    def quasi(self) -> list[Column]:
        """Quasi-identifiers in schema order."""
        return [self.columns[name] for name in self.schema.quasi]

    @property
    def sensitive(self) -> list[Column]:
        """Sensitive attributes in schema order."""
        return [self.columns[name] for name in self.schema.sensitive]

    @cached_property
    def quasi_codes(self) -> np.ndarray:
        """int32, shape (m, n): the quasi-identifiers' codes, one row a column."""
        return np.stack([column.codes for column in self.quasi])

    @cached_property
    def quasi_weights(self) -> np.ndarray:
        """Attribute weights of the quasi-identifiers, 1 where none is given."""
        return np.array([float(self.weights.get(name, 1.0)) for name in self.schema.quasi])

    def __repr__(self) -> str:
        return (
            f"Table({self.n} rows, quasi={list(self.schema.quasi)}, sensitive={list(self.schema.sensitive)})"
        )


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
    for counted in (*schema.sensitive, *([schema.subject] if schema.subject is not None else [])):
        refuse_lookalikes(frame[counted], schema.spec(counted).non_answers)
    kept = _handle_missing(
        frame, schema, choice("the source", "missing", missing, ("error", "drop", "value"))
    )
    row_keys = _row_keys(frame, schema)
    dropped = None
    if kept is not None:
        dropped = frame.filter(~kept)
        frame, row_keys = frame.filter(kept), row_keys[kept.to_numpy()]
    columns = {
        column: code_column(column, schema, frame[column], hierarchies.get(column))
        for column in [*schema.quasi, *schema.sensitive]
    }
    check_styles(schema, frame.columns, columns)
    subjects, n_subjects = _subjects(frame, schema)
    return Table(
        frame=frame,
        schema=schema,
        columns=columns,
        row_keys=row_keys,
        subjects=subjects,
        n_subjects=n_subjects,
        n_read=frame.height if kept is None else kept.len(),
        n_dropped=0 if kept is None else int((~kept).sum()),
        name=name,
        backend=backend,
        weights=dict(weights or {}),
        dropped=dropped,
    )


def take_rows(table: Table, rows: np.ndarray) -> Table:
    """The same table with some of its rows; dictionaries, domains and hierarchies stay those of the whole."""
    columns = {name: replace(column, codes=column.codes[rows]) for name, column in table.columns.items()}
    return replace(
        table,
        frame=table.frame[rows],
        columns=columns,
        row_keys=table.row_keys[rows],
        subjects=None if table.subjects is None else table.subjects[rows],
        history=None if table.history is None else table.history.take(rows),
        joint={names: (codes[rows], card, unknown) for names, (codes, card, unknown) in table.joint.items()},
    )


def with_crowd(table: Table, size: int) -> Table:
    """The same table, told how many people must have a value for it to be published as the end of an interval."""
    columns = dict(table.columns)
    for column in table.quasi:
        if column.numbers is not None:
            people = column.frequencies
            if table.subjects is not None:
                count = int(table.subjects.max(initial=0)) + 1
                pairs = np.unique(column.codes.astype(np.int64) * count + table.subjects)
                people = np.bincount(pairs // count, minlength=column.card)
            columns[column.name] = replace(column, people=people, crowd=max(size, 2))
    return replace(table, columns=columns)


def iso_dates(table: Table) -> pl.DataFrame:
    """The rows as read, with dates of another format parsed, so that anybody can compare them."""
    given = {name: spec.format for name, spec in table.schema.specs.items() if spec.format is not None}
    dates = [
        pl.col(name).str.to_date(given[name])
        for name in given
        if (name in table.columns or name in table.schema.shifted) and table.frame[name].dtype == pl.String
    ]
    return table.frame.with_columns(dates)


def _check_names(schema: Schema, hierarchies: Mapping[str, Any], weights: Mapping[str, float]) -> None:
    for column in hierarchies:
        if schema.role(column) not in ("quasi", "sensitive"):
            raise SchemaError(
                f"There is a hierarchy for '{column}', which is neither quasi nor sensitive: remove it."
            )
    for column, weight in weights.items():
        if schema.role(column) != "quasi":
            raise SchemaError(
                f"There is a weight for '{column}', which is not a quasi-identifier: remove it."
            )
        if not weight > 0:
            raise ParameterError(f"The weight of '{column}' must be a number above 0. Got {weight}.")


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


def code_column(name: str, schema: Schema, series: pl.Series, source: Any) -> Column:
    """The codes and dictionary of one column; ``source`` is its hierarchy, or makes it."""
    spec = schema.spec(name)
    role = schema.role(name) or ""
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
    return _finish(name, role, kind_of_data, kind, codes, values, None, None, spec)


def _number_column(
    name: str, role: str, kind: str, series: pl.Series, spec: ColumnSpec, hierarchy: Hierarchy | None
) -> Column:
    codes, numbers = code_numbers(name, series) if kind == "numeric" else code_dates(name, series, spec)
    declared = _declared(name, kind, spec, numbers)
    return _finish(
        name, role, kind, INTERVAL, codes, number_texts(kind, numbers), numbers, hierarchy, spec, declared
    )


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


def _tree_column(name: str, role: str, kind: str, series: pl.Series, source: Any, spec: ColumnSpec) -> Column:
    texts = _leaf_texts(name, kind, series, spec)
    present = texts.drop_nulls().unique()
    hierarchy: Hierarchy = source(in_order(kind, present)) if callable(source) else source
    if kind in ("numeric", "date"):
        hierarchy = _sorted_leaves(hierarchy)
    absent = [text for text in present.sort().to_list() if text not in hierarchy.leaf_code]
    if absent:
        shown = ", ".join(repr(text) for text in absent[:5]) if role == "quasi" else f"{len(absent)} values"
        raise HierarchyError(f"The hierarchy of '{name}' does not contain {shown}: add a line for each.")
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
    return Column(
        name=name,
        role=role,
        type=kind,
        kind=TREE,
        codes=codes,
        texts=pl.Series(leaves, dtype=pl.String),
        numbers=numbers,
        missing=missing,
        hierarchy=hierarchy,
        spec=spec,
    )


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


def _finish(
    name: str,
    role: str,
    kind_of_data: str,
    kind: str,
    codes: np.ndarray,
    values: Sequence[str] | pl.Series,
    numbers: np.ndarray | None,
    hierarchy: Hierarchy | None,
    spec: ColumnSpec,
    declared: Any = None,
) -> Column:
    """Append the missing value as the last code where it occurs."""
    texts = pl.Series(values, dtype=pl.String) if not isinstance(values, pl.Series) else values
    missing = texts.len() if (codes == texts.len()).any() else -1
    if missing >= 0:
        texts = pl.concat([texts, pl.Series([MISSING])])
    return Column(
        name=name,
        role=role,
        type=kind_of_data,
        kind=kind,
        codes=np.ascontiguousarray(codes, dtype=np.int32),
        texts=texts.alias(name),
        numbers=numbers,
        missing=missing,
        hierarchy=hierarchy,
        spec=spec,
        declared=declared,
    )
