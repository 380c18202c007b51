"""The gate: input and release side by side, before anything is written.

It checks the invariants of the specification (I1 to I6) with code of its own and gives the verdicts and class
figures that go into the manifest.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.results import Check, GateCase, GateReport
from shoal.verify.cells import Cells
from shoal.verify.checks import (
    check_cells,
    check_classes,
    check_columns,
    check_sensitive,
    class_figures,
    no_figures,
)
from shoal.verify.claims import Claims, read_claims
from shoal.verify.classes import Classes, find_classes, starred
from shoal.verify.coverage import uncovered
from shoal.verify.facts import Facts, subject_codes
from shoal.verify.identifiers import check_identifier_names, check_identifier_values
from shoal.verify.judge import judge, slots, verdict_check
from shoal.verify.values import group_rows, read_together, read_values

# Below this many rows a random order is ascending too often to call it a leak.
_ORDER_ROWS = 20


def gate(case: GateCase) -> GateReport:
    """Judge a release against its input.

    Parameters
    ----------
    case
        Input, release, the correspondence of their rows, and the manifest to be published.

    Returns
    -------
    GateReport
        ``passed`` decides whether the release may be written. When rows or columns do not even fit together,
        nothing further is judged and there are no verdicts.

    Raises
    ------
    VerificationError
        When the manifest cannot be read, or the input lacks a column of it.
    """
    claims = read_claims(case.manifest)
    lost = [name for name in claims.names if name not in case.original.columns]
    if lost:
        raise VerificationError(
            f"The gate was given no input column '{lost[0]}' to compare the release with."
        )
    hidden = _hidden(case)
    checks = [
        check_columns(case.released, claims),
        check_identifier_names(case.released.columns, case.manifest, [column.name for column in hidden]),
        _check_rows(case, claims),
        _check_people(case, claims),
    ]
    if not all(check.passed for check in checks):
        return GateReport(checks=checks, verdicts=(), classes=no_figures())

    source = np.asarray(case.source, dtype=np.int64)
    classes = find_classes(case.released, claims)
    facts = _facts(case, claims, classes, source)
    readable, cells = check_cells(claims, classes)
    checks += [
        _check_order(claims, source),
        check_identifier_values(case.released, [column.gather(source) for column in hidden]),
        _check_values(case, claims, source),
        readable,
        _check_coverage(case, claims, classes, cells, source),
        check_classes(classes),
        check_sensitive(facts),
        _check_neutral(case, claims, classes),
    ]
    found = [(slot, judge(slot, facts)) for slot in slots(claims)]
    checks += [verdict_check(slot, verdict, claims.people) for slot, verdict in found]
    return GateReport(checks=checks, verdicts=[verdict for _, verdict in found], classes=class_figures(facts))


def _hidden(case: GateCase) -> list[pl.Series]:
    """Identifier columns, and the subject column, which is never released either."""
    hidden = case.identifiers.get_columns()
    return hidden if case.subject is None else [*hidden, case.subject]


def _facts(case: GateCase, claims: Claims, classes: Classes, source: np.ndarray) -> Facts:
    subject = None if case.subject is None else subject_codes(case.subject)
    return Facts(
        frame=case.released,
        claims=claims,
        classes=classes,
        original=case.original,
        subject=None if subject is None else subject[source[classes.rows]],
        input_subject=subject,
    )


def _check_rows(case: GateCase, claims: Claims) -> Check:
    """I1: every row read is released, suppressed or dropped, exactly once."""
    problem = _row_problem(case, claims)
    detail = problem or "Every row read is released, suppressed or dropped, exactly once."
    return Check(name="rows", passed=problem is None, detail=detail)


def _row_problem(case: GateCase, claims: Claims) -> str | None:
    rows = case.original.height
    source, suppressed = np.asarray(case.source), np.asarray(case.suppressed)
    if len(source) != case.released.height or claims.rows not in (None, case.released.height):
        return "The release, its list of source rows and the manifest disagree on the number of rows."
    if (case.identifiers.width and case.identifiers.height != rows) or (
        case.subject is not None and len(case.subject) != rows
    ):
        return "Identifiers or subjects were not given for exactly the input rows."
    if case.n_read != case.n_dropped + rows or case.n_dropped < 0:
        return "The rows read are not the rows dropped plus the rows given to the gate."
    for index in (source, suppressed):
        if len(index) and (index.dtype.kind not in "iu" or index.min() < 0 or index.max() >= rows):
            return "A released or suppressed row points outside the input."
    times = np.bincount(source.astype(np.int64), minlength=rows)
    away = np.bincount(suppressed.astype(np.int64), minlength=rows)
    if claims.suppressed == "drop":
        times = times + away
    elif not starred(case.released)[away[source.astype(np.int64)] > 0].all():
        return "A suppressed row is released with something other than * in a column."
    if (away > 1).any() or (times > 1).any():
        return f"{int(((times > 1) | (away > 1)).sum()):,} input rows are accounted for more than once."
    if (times == 0).any():
        return f"{int((times == 0).sum()):,} input rows are neither released nor suppressed."
    return None


def _check_people(case: GateCase, claims: Claims) -> Check:
    """The manifest says that people are counted exactly when subjects are given."""
    right = claims.people == (case.subject is not None)
    counted = "people" if case.subject is not None else "rows"
    detail = (
        f"Models count {counted}, as the manifest says."
        if right
        else (f"Models count {counted}, but the manifest says otherwise.")
    )
    return Check(name="people", passed=right, detail=detail)


def _check_order(claims: Claims, source: np.ndarray) -> Check:
    """I6: a release said to be shuffled is not in the order of its source."""
    kept = claims.order == "shuffled" and len(source) >= _ORDER_ROWS and bool((np.diff(source) > 0).all())
    detail = (
        "The release is in the order of its source although the manifest says shuffled."
        if kept
        else (f"The order of the rows is {claims.order}, as the manifest says.")
    )
    return Check(name="order", passed=not kept, detail=detail)


def _check_values(case: GateCase, claims: Claims, source: np.ndarray) -> Check:
    """I2: sensitive and neutral values are those of the source row."""
    released, rows = case.released, source
    if claims.suppressed == "star":
        kept = np.flatnonzero(~np.isin(source, case.suppressed))
        released, rows = released[kept], source[kept]
    problems = []
    for column in (*claims.role("sensitive"), *claims.role("neutral")):
        ours, theirs = released[column.name], case.original[column.name].gather(rows)
        differs = _differ(ours, theirs, column.type)
        if differs:
            problems.append(f"{differs:,} rows of '{column.name}'")
    detail = (
        f"Values differ from their source in {' and '.join(problems)}."
        if problems
        else ("Sensitive and neutral values are those of their source rows.")
    )
    return Check(name="values", passed=not problems, detail=detail)


def _differ(ours: pl.Series, theirs: pl.Series, kind: str) -> int:
    if ours.dtype == theirs.dtype:
        odd = (~ours.eq_missing(theirs)).arg_true()
        if not len(odd):
            return 0
        ours, theirs = ours.gather(odd), theirs.gather(odd)
    # What is left may be one value in two spellings, such as 3.0 and "3".
    values, codes = read_together(ours, theirs, kind)
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
        rows = uncovered(column, cells[column.name], cell_of_row, values, values.codes[origin])
        if rows:
            problems.append(f"{rows:,} cells of '{column.name}'")
    detail = (
        f"{' and '.join(problems)} do not cover the value of their source row."
        if problems
        else ("Every quasi-identifier cell covers the value of its source row.")
    )
    return Check(name="coverage", passed=not problems, detail=detail)


def _check_neutral(case: GateCase, claims: Claims, classes: Classes) -> Check:
    """Few rows are unique on quasi-identifiers and neutral columns together."""
    neutral = [column.name for column in claims.role("neutral")]
    if not neutral or not classes.count:
        return Check(name="neutral columns", passed=True, detail="No neutral column is released.")
    together = (
        case.released[classes.rows]
        .select(neutral)
        .with_columns(pl.Series("class", classes.of_row).alias("\x00"))
    )
    group, _ = group_rows(together)
    share = float((np.bincount(group) == 1).sum() / len(group))
    accepted = "W-NEUTRAL" in case.acknowledged
    detail = f"{share:.1%} of the rows are unique on quasi-identifiers and neutral columns together"
    if share > case.neutral_limit:
        detail += (
            ", which W-NEUTRAL accepts" if accepted else f", above the limit of {case.neutral_limit:.1%}"
        )
    return Check(name="neutral columns", passed=accepted or share <= case.neutral_limit, detail=detail + ".")
