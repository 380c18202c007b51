"""Whether what stands in a release follows from the input in the way its kind says, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.cells import Cells
from shoal.verify.claims import Claims, Column
from shoal.verify.classes import Classes
from shoal.verify.coverage import uncovered
from shoal.verify.kinds.bucketised import check_bucketised
from shoal.verify.kinds.microaggregated import check_microaggregated
from shoal.verify.kinds.pseudonymised import check_pseudonymised
from shoal.verify.kinds.randomised import check_randomised
from shoal.verify.kinds.shifted import check_shifted
from shoal.verify.styles import misrepresented, value_texts
from shoal.verify.types import Check, GateCase
from shoal.verify.values import MISSING, read_together, read_values

_WHOLE: dict[str, Callable[..., list[Check]]] = {
    "randomised": check_randomised,
    "microaggregated": check_microaggregated,
}


def check_form(
    case: GateCase, claims: Claims, classes: Classes, cells: dict[str, Cells], source: np.ndarray
) -> list[Check]:
    """Compare the release with its input as its kind demands; coded columns are checked whatever the kind."""
    entries = {column.name: entry for column, entry in zip(claims.columns, case.manifest["columns"], strict=True)}
    coded = [column.name for column in claims.columns if column.coded not in (None, "shifted")]
    plain = [column.name for column in claims.columns if column.coded is None]
    if claims.made == "generalised":
        found = [_check_values(case, claims, source), _check_coverage(case, claims, classes, cells, source)]
        found += [_check_lifted(case, column, source) for column in claims.role("sensitive") if column.cells == "label"]
    elif claims.made == "bucketised":
        found = [_check_origin(case, claims, source), *_bucketised(case, claims, [entries[name] for name in plain])]
    elif claims.made == "pseudonymised":
        # What is not coded stays as it was, quasi-identifiers included, which the same check looks at.
        found, coded = [], [name for name in claims.names if name in (*coded, *plain)]
    else:
        found = _part(_WHOLE[claims.made], case, source, [entries[name] for name in plain])
    if coded:
        found += _part(check_pseudonymised, case, source, [entries[name] for name in coded])
    return found + _check_shifted(case, claims, source)


def _check_shifted(case: GateCase, claims: Claims, source: np.ndarray) -> list[Check]:
    columns = []
    for column in claims.columns:
        if column.coded != "shifted":
            continue
        table, rows = case.released, source
        if claims.group is not None and column.role == "sensitive":
            table, rows = case.released if case.apart is None else case.apart, np.asarray(case.values_from)
        kept = ~np.isin(rows, case.suppressed)
        ours, rows = table[column.name].filter(pl.Series(kept)), rows[kept]
        columns.append((column.name, ours, case.original[column.name].gather(rows), rows, column.days or 0))
    return [check_shifted(columns, case.subject)] if columns else []


def _part(
    check: Callable[..., list[Check]], case: GateCase, source: np.ndarray, entries: Sequence[Mapping[str, Any]]
) -> list[Check]:
    """A kind's checks on some of the columns; starred rows are nobody's."""
    kept = np.flatnonzero(~np.isin(source, case.suppressed))
    released, source = case.released.select([entry["name"] for entry in entries])[kept], source[kept]
    return check(case.original, released, source, {**case.manifest, "columns": list(entries)})


def _bucketised(case: GateCase, claims: Claims, entries: Sequence[Mapping[str, Any]]) -> list[Check]:
    named = [entry["name"] for entry in entries]
    left = case.released.select([name for name in case.released.columns if name in (*named, claims.group)])
    tables: Any = left
    if case.apart is not None:
        right = case.apart.select([name for name in case.apart.columns if name in (*named, claims.group)])
        tables = {"quasi": left, "sensitive": right}
    return check_bucketised(case.original, tables, case.source, {**case.manifest, "columns": list(entries)})


def _check_origin(case: GateCase, claims: Claims, source: np.ndarray) -> Check:
    """The sensitive values are those of the rows they are said to come from, which are the released rows."""
    table = case.released if case.apart is None else case.apart
    rows = case.values_from
    problem = None
    if rows is None or not np.array_equal(np.sort(rows), np.sort(source)):
        problem = "Sensitive values do not come from the released rows, each once."
    else:
        for column in claims.role("sensitive"):
            if column.coded is not None:
                continue
            differs = _differ(table[column.name], case.original[column.name].gather(rows), column)
            if differs:
                problem = f"{differs:,} values of '{column.name}' are not those of the rows they come from."
    return Check(name="origin", passed=problem is None, detail=problem or "Sensitive values come from released rows.")


def _check_values(case: GateCase, claims: Claims, source: np.ndarray) -> Check:
    """I2: sensitive and neutral values are those of the source row."""
    released, rows = case.released, source
    if claims.suppressed == "star":
        kept = np.flatnonzero(~np.isin(source, case.suppressed))
        released, rows = released[kept], source[kept]
    problems = []
    for column in (*claims.role("sensitive"), *claims.role("neutral")):
        if column.coded is not None or column.cells != "value":
            continue
        differs = _differ(released[column.name], case.original[column.name].gather(rows), column)
        if differs:
            problems.append(f"{differs:,} rows of '{column.name}'")
    detail = (
        f"Values differ from their source in {' and '.join(problems)}."
        if problems
        else ("Sensitive and neutral values are those of their source rows.")
    )
    return Check(name="values", passed=not problems, detail=detail)


def _check_lifted(case: GateCase, column: Column, source: np.ndarray) -> Check:
    """Every label is its source row's value or a node above it."""
    kept = ~np.isin(source, case.suppressed)
    labels = value_texts(case.released[column.name].filter(pl.Series(kept)), "categorical")
    values = value_texts(case.original[column.name].gather(source[kept]), column.type)
    above = pl.DataFrame(
        [(row[0], label) for row in column.hierarchy or () for label in set(row)],
        schema={"value": pl.String, "label": pl.String}, orient="row",
    )  # fmt: skip
    pairs = pl.DataFrame({"value": values, "label": labels})
    wrong = pairs.join(above, on=["value", "label"], how="anti").filter(
        (pl.col("value") != MISSING) | (pl.col("label") != MISSING)
    )
    detail = f"{wrong.height:,} cells of '{column.name}' are no node above the value of their source row."
    fine = f"Every cell of '{column.name}' is its source row's value or a node above it."
    return Check(name=f"nodes of {column.name}", passed=not wrong.height, detail=detail if wrong.height else fine)


def _differ(ours: pl.Series, theirs: pl.Series, column: Column) -> int:
    if ours.dtype == theirs.dtype:
        odd = (~ours.eq_missing(theirs)).arg_true()
        if not len(odd):
            return 0
        ours, theirs = ours.gather(odd), theirs.gather(odd)
    # What is left may be one value in two spellings, such as 3.0 and "3".
    values, codes = read_together(ours, theirs, column.type)
    return int((values.codes != codes).sum())


def _check_coverage(
    case: GateCase, claims: Claims, classes: Classes, cells: dict[str, Cells], source: np.ndarray
) -> Check:
    """I3: every quasi-identifier cell covers its source value."""
    problems = []
    origin = source[classes.rows]
    for column in claims.role("quasi"):
        values = read_values(case.original[column.name], column.type)
        cell_of_row = classes.cells[column.name][0][classes.of_row]
        found = (column, cells[column.name], cell_of_row, values, values.codes[origin])
        if column.cells == "representative":
            problem = misrepresented(*found, _behind(case, column.name).gather(origin))
        else:
            rows = uncovered(*found)
            problem = f"{rows:,} cells of '{column.name}'" if rows else None
        if problem is not None:
            problems.append(problem)
    detail = (
        f"{' and '.join(problems)} do not cover the value of their source row."
        if problems
        else ("Every quasi-identifier cell covers the value of its source row.")
    )
    return Check(name="coverage", passed=not problems, detail=detail)


def _behind(case: GateCase, name: str) -> pl.Series:
    """The cells behind a column of representatives, one an input row."""
    if case.behind is None or name not in case.behind.columns or case.behind.height != case.original.height:
        raise VerificationError(f"The gate was not given what the representatives of '{name}' stand for.")
    return case.behind[name]
