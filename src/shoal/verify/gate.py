"""The gate: input and release side by side, before anything is written.

It checks the invariants of the specification (I1 to I6) with code of its own and gives the verdicts and class
figures that go into the manifest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.checks import (
    check_cells,
    check_classes,
    check_codes,
    check_columns,
    check_exact,
    check_sensitive,
    class_figures,
    no_figures,
)
from shoal.verify.claims import Claims, read_claims
from shoal.verify.classes import Classes, Look, find_look, starred
from shoal.verify.ends import check_ends
from shoal.verify.facts import Facts, subject_codes
from shoal.verify.forms import check_form
from shoal.verify.hierarchies import check_hierarchies
from shoal.verify.identifiers import check_identifier_names, check_identifier_values
from shoal.verify.judge import judge, slots, verdict_check
from shoal.verify.strangers import check_anybody, check_texts, check_words
from shoal.verify.types import Check, GateCase, GateReport
from shoal.verify.values import group_rows

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
    public = read_claims(case.manifest)
    shown = check_hierarchies(public, case)
    case = replace(case, manifest=_told(case))
    claims = read_claims(case.manifest)
    lost = [name for name in claims.names if name not in case.original.columns]
    if lost:
        raise VerificationError(
            f"The gate was given no input column '{lost[0]}' to compare the release with."
        )
    hidden = _hidden(case)
    tokens = [column.name for column in claims.columns if column.coded == "token"]
    names = [column.name for column in hidden if column.name not in tokens]
    checks = [
        *check_columns(case.released, case.apart, claims),
        check_identifier_names(case.released.columns, case.manifest, names),
        _check_rows(case, claims),
        _check_people(case, claims),
        check_codes(case.manifest, claims),
        shown,
    ]
    if not all(check.passed for check in checks):
        return GateReport(checks=checks, verdicts=(), classes=no_figures())

    source = np.asarray(case.source, dtype=np.int64)
    look = find_look(case.released, case.apart, claims)
    origin = source if claims.group is None else np.asarray(case.values_from, dtype=np.int64)
    facts = _facts(case, claims, look, origin)
    readable, cells = check_cells(claims, look.quasi)
    checks += [
        _check_order(claims, source),
        *_check_identifiers(case, hidden, source, origin),
        *_check_read(case, claims, hidden, source, origin),
        readable,
        check_exact(case.released, claims),
        *check_form(case, claims, look.quasi, cells, source),
        check_ends(case, claims, cells),
        check_classes(look.judged),
        check_sensitive(facts),
        _check_neutral(case, claims, look.quasi),
    ]
    true = _true_facts(case, claims, look, origin)
    found = [(slot, judge(slot, true or facts)) for slot in slots(public)]
    checks += [verdict_check(slot, verdict, claims.people) for slot, verdict in found]
    return GateReport(checks=checks, verdicts=[verdict for _, verdict in found], classes=class_figures(facts, look))


def _told(case: GateCase) -> dict[str, Any]:
    """The manifest with whole hierarchies and policies in place of the parts that it shows."""
    whole = {"hierarchy": case.hierarchies, "policy": case.policies}
    entries = [
        entry | {key: known[entry["name"]] for key, known in whole.items() if key in entry and entry["name"] in known}
        for entry in case.manifest["columns"]
    ]
    return {**case.manifest, "columns": entries}


def _hidden(case: GateCase) -> list[pl.Series]:
    """Identifier columns, the subject column, which is never released either, and what tokens stand for."""
    hidden = case.identifiers.get_columns()
    tokens = [entry["name"] for entry in case.manifest["columns"] if entry.get("coded") == "token"]
    named = [*hidden, *(case.original[name] for name in tokens)]
    if case.subject is None or case.subject.name in tokens:
        return named
    return [*named, case.subject]


def _check_identifiers(
    case: GateCase, hidden: Sequence[pl.Series], source: np.ndarray, origin: np.ndarray
) -> list[Check]:
    """No identifier stands in a cell of its own row, nor in anybody else's, in either table."""
    tables = [case.released] if case.apart is None else [case.released, case.apart]
    return [
        *(
            check_identifier_values(table, [column.gather(rows) for column in hidden])
            for table, rows in zip(tables, (source, origin), strict=False)
        ),
        check_anybody(tables, hidden, case.subject),
    ]


def _check_read(
    case: GateCase, claims: Claims, hidden: Sequence[pl.Series], source: np.ndarray, origin: np.ndarray
) -> list[Check]:
    """Columns that are published as they were read hold no words of names, and no text that could say anything."""
    closed = [entry["name"] for entry in case.manifest["columns"] if entry.get("order") or entry.get("hierarchy")]
    names = [
        column.name
        for column in (*claims.role("sensitive"), *claims.role("neutral"))
        if column.coded is None and column.name not in closed
    ]
    found: list[Check] = []
    for table, rows in ((case.released, source), (case.apart, origin)):
        columns = [] if table is None else [table[name] for name in names if name in table.columns]
        own = [column.gather(rows) for column in hidden]
        found += check_words(columns, own, hidden, case.subject, case.acknowledged)
        found += check_texts(columns, case.acknowledged)
    return found


def _facts(case: GateCase, claims: Claims, look: Look, origin: np.ndarray) -> Facts:
    """What models look at; ``origin`` is the input row that each row's sensitive values come from."""
    subject = None if case.subject is None else subject_codes(case.subject)
    rows = origin[look.judged.rows]
    return Facts(
        frame=look.frame,
        claims=claims,
        classes=look.judged,
        original=case.original,
        subject=None if subject is None else subject[rows],
        input_subject=subject,
        origin=rows,
        guard=case.guard,
        history=None if case.history is None else case.history.gather(rows),
        real=rows < case.original.height - case.counterfeits if case.counterfeits else None,
    )


def _true_facts(case: GateCase, claims: Claims, look: Look, origin: np.ndarray) -> Facts | None:
    """The same with values in place of codes, which are what models are about; None where nothing is coded."""
    coded = [column.name for column in claims.role("sensitive") if column.coded is not None]
    if not coded or not claims.models:
        return None
    lost = [name for name in coded if name not in case.uncoded]
    if lost:
        raise VerificationError(f"The gate was not told what the codes of '{lost[0]}' stand for.")
    entries = [case.uncoded.get(entry["name"], entry) for entry in case.manifest["columns"]]
    known = read_claims({**case.manifest, "columns": entries})
    frame = look.frame.with_columns(case.original[name].gather(origin).alias(name) for name in coded)
    return _facts(case, known, replace(look, frame=frame), origin)


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
    made_up = case.counterfeits
    if case.n_read != case.n_dropped + rows - made_up or case.n_dropped < 0 or made_up < 0:
        return "The rows read are not the rows dropped plus the rows given to the gate."
    if case.history is not None and len(case.history) != rows:
        return "What earlier releases had was not given for exactly the input rows."
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
    if claims.counterfeits != made_up - int(away[rows - made_up :].sum()):
        return "The manifest does not give the number of counterfeit rows."
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
    alone = np.bincount(group)[group] == 1
    detail = "of the rows are unique on quasi-identifiers and neutral columns together"
    if claims.made in ("randomised", "pseudonymised", "bucketised"):
        # Where quasi-identifiers are values, most rows are unique already: what counts is what neutral columns add.
        alone &= classes.sizes[classes.of_row] > 1
        detail += ", and not on quasi-identifiers alone"
    share = float(alone.sum() / len(group))
    detail = f"{share:.1%} {detail}"
    accepted = "W-NEUTRAL" in case.acknowledged
    if share > case.neutral_limit:
        detail += (
            ", which W-NEUTRAL accepts" if accepted else f", above the limit of {case.neutral_limit:.1%}"
        )
    passed = accepted or share <= case.neutral_limit
    return Check(name="neutral columns", passed=passed, detail=f"{detail}.", code="W-NEUTRAL")
