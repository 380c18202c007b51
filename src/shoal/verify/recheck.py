"""The re-check: a release and its manifest, without the input.

It derives every ``rechecked`` verdict and all class figures again, compares them with the manifest, and says
which verdicts rest on the publisher's evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.checks import (
    ExactValues,
    Histories,
    check_cells,
    check_classes,
    check_codes,
    check_columns,
    check_measured,
    check_sensitive,
    class_figures,
    no_figures,
)
from shoal.verify.classes import Classes, Look, Looking
from shoal.verify.counts import Counting, Known
from shoal.verify.facts import Facts, Sample
from shoal.verify.hierarchies import check_labels, shown_columns
from shoal.verify.judge import Slot, attest_across, judge, slots, verdict_check
from shoal.verify.manifest import read_claims
from shoal.verify.manifest_schema import ClaimedClasses, ClaimedVerdict, Claims
from shoal.verify.manifest_sentences import lacks
from shoal.verify.report import Check, GateReport, Verdict
from shoal.verify.spelling import check_spelling
from shoal.verify.tally import BATCH, Numbering, Standing
from shoal.verify.terms.base import limit, size_asked, term_of
from shoal.verify.values import Coded
from shoal.verify.wording import check_words

# ----------------------------------------
# What a file says against an attested verdict: conditions that must hold whoever the rows belong to.
#
# An attested verdict rests on something that is not published: whose rows are whose, what codes stand for, how wide
# a domain is. All the same a file can refute it, by what each model's term calls necessary. Codes stand one for one
# for values, where the manifest says that all of them are answers.


def refuted(slot: Slot, facts: Facts) -> Check | None:
    """A failed check where the file alone shows that an attested verdict cannot hold; None where it does not."""
    term, asked = term_of(slot.model), size_asked(slot.model)
    made_up = facts.claims.counterfeits
    if made_up and facts.classes.sizes.sum() - made_up < asked * facts.classes.count:
        return _refutation(slot, facts.classes.count, facts.classes.smallest)
    columns = [facts.claims.column(part) for part in slot.names]
    if not facts.classes.count or any(
        column.coded == "shifted" or (column.coded is not None and not column.answers) for column in columns
    ):
        return None
    weaker = term.weaker(slot.model, facts, slot.names) if slot.side == "input" else None
    if weaker is not None:
        verdict = judge(replace(slot, model=weaker, side="released"), facts)
        if not verdict.holds:
            return _refutation(slot, verdict.classes, verdict.smallest)
    if term.rows_first and all(column.coded is None for column in columns):
        verdict = judge(slot, facts)
        return None if verdict.holds else _refutation(slot, verdict.classes, verdict.smallest)
    known = Known(facts, Sample(facts, slot.names, slot.side))
    passes = None if slot.side == "history" else term.necessary(slot.model, known)
    if passes is None:
        return None
    if term.valued and not term.together:  # which leaves out what has no answer one attribute at a time
        passes |= known.most == 0
    failing = facts.classes.sizes[~passes]
    return _refutation(slot, len(failing), int(failing.min())) if len(failing) else None


def _refutation(slot: Slot, classes: int, smallest: int) -> Check:
    where = "1 class" if classes == 1 else f"{classes:,} classes"
    detail = f"{slot.promise} fails in {where} whatever is not published, the smallest {smallest:,} rows."
    return Check(name=slot.label, passed=False, detail=detail)


_CLOSE = 1e-9


def recheck(frame: pl.DataFrame, manifest: Mapping[str, Any], apart: pl.DataFrame | None = None) -> GateReport:
    """Verify a published release.

    Parameters
    ----------
    frame
        The release as read back: from CSV every column as text (null for ``<missing>`` in value columns),
        from Parquet as stored.
    manifest
        The manifest published with it.
    apart
        The table of sensitive values, where the release has one.

    Returns
    -------
    GateReport
        Attested verdicts are repeated from the manifest.

    Raises
    ------
    VerificationError
        When the manifest cannot be read or lacks what has to be compared.
    """
    found = Recheck(manifest)
    for part in frame.iter_slices(BATCH) if frame.height else [frame]:
        found.see(part)
    if apart is not None:
        for part in apart.iter_slices(BATCH) if apart.height else [apart]:
            found.see_apart(part)
    return found.report()


class Recheck:
    """The same as a fold: ``see`` each batch of the release and of the table of sensitive values, then ``report``.

    It keeps the classes, the different cells of each column, and one batch. At least one batch is to be seen of each
    table, which may be empty. Where the batches end makes no difference.
    """

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._manifest, self._claims = manifest, read_claims(manifest)
        verdicts, classes = self._claims.verdicts, self._claims.classes
        if verdicts is None or classes is None or self._claims.rows is None:
            key = "verdicts" if verdicts is None else "classes" if classes is None else "data.rows"
            raise VerificationError(lacks(key))
        self._claimed, self._figures = verdicts, classes
        self._release, self._apart = Standing(), Standing()
        self._looking, self._counting = Looking(self._claims), Counting(self._claims)
        self._sets = [Counting(self._claims) for _ in self._claims.sets]
        self._exact = ExactValues(self._claims)
        self._histories = Histories(self._claims)
        self._labelled = {column.name: Numbering() for column in shown_columns(self._claims)}

    def see(self, rows: pl.DataFrame | Coded) -> None:
        """Look at a batch of the release."""
        batch, claims = Coded.of(rows), self._claims
        self._release.see(batch)
        self._see_labels(batch)
        if not set(claims.files) <= set(batch.frame.columns):
            return
        placed = self._looking.see(batch)
        self._histories.see(batch, placed)
        self._exact.see(batch)
        if claims.group is None:
            self._counting.see(batch, placed)
            for counting, one in zip(self._sets, placed.sets, strict=True):
                counting.see(batch, one)
        elif not claims.apart:
            self._counting.see(batch, self._looking.see_groups(batch))

    def see_apart(self, rows: pl.DataFrame | Coded) -> None:
        """Look at a batch of the table of sensitive values."""
        batch = Coded.of(rows)
        self._apart.see(batch)
        self._see_labels(batch)
        if self._claims.apart and set(self._claims.apart) <= set(batch.frame.columns):
            placed = self._looking.see_groups(batch)
            self._counting.see(batch, placed)
            self._histories.see(batch, placed)

    def _see_labels(self, batch: Coded) -> None:
        """Keep the different cells of columns whose hierarchy may show no other labels."""
        for name, found in self._labelled.items():
            if name in batch.frame.columns:
                found.see(batch[name].distinct.to_frame(name))

    def report(self) -> GateReport:
        """What all batches hold."""
        manifest, claims, tables = self._manifest, self._claims, (self._release, self._apart)
        release, apart = (table.columns for table in tables)
        checks = [
            *check_columns(release or (), apart, claims),
            _check_rows(self._release.rows, None if apart is None else self._apart.rows, claims),
            check_codes(manifest, claims),
            *check_words(manifest, claims),
        ]
        if not set(claims.files) <= set(release or ()) or not set(claims.apart) <= set(apart or ()):
            return GateReport(checks=checks, verdicts=(), classes=no_figures())
        look = self._looking.look()
        facts = self._counting.facts(look.judged)
        asked = [counting.facts(one) for counting, one in zip(self._sets, look.sets, strict=True)] or [facts]
        ours = class_figures(facts, look)
        checks += [check_cells(claims, look.quasi)[0], self._exact.check(), check_classes(look.judged)]
        checks += [check_sensitive(facts), *_check_groups(look, claims)]
        checks += check_spelling([table.cells for table in tables], claims)
        labelled = {name: found.rows[name] for name, found in self._labelled.items() if found.count}
        checks.append(check_labels(claims, labelled))
        checks.append(check_measured(manifest, claims, look.quasi, facts, self._histories))
        checks += attest_across(claims)
        wanted = slots(claims)
        checks += _check_figures(ours, self._figures, wanted, look.judged)
        checks.append(_check_list(wanted, self._claimed))
        verdicts = []
        # With a wrong list of verdicts nothing can be compared one by one; the models are judged all the same.
        pairs = zip(wanted, self._claimed, strict=True) if checks[-1].passed else ((slot, None) for slot in wanted)
        for slot, claim in pairs:
            if slot.by == "rechecked":
                verdict = judge(slot, asked[slot.at])
                checks.append(_compared(verdict_check(slot, verdict, claims.people), verdict, claim))
            else:
                verdict = _attested(slot, claim)
                mine = look.asked[slot.at]
                checks.append(refuted(slot, asked[slot.at]) or _check_attested(slot, verdict, claims, mine))
            verdicts.append(verdict)
        return GateReport(checks=checks, verdicts=verdicts, classes=ours)


def _check_rows(rows: int, apart: int | None, claims: Claims) -> Check:
    right = rows == claims.rows
    detail = f"The release has {rows:,} rows" + (
        ", as the manifest says." if right else f", the manifest says {claims.rows:,}."
    )
    if apart is not None and apart != rows:
        right, detail = False, f"The release has {rows:,} rows, and {apart:,} of sensitive values."
    return Check(name="rows", passed=right, detail=detail)


def _check_groups(look: Look, claims: Claims) -> list[Check]:
    """Groups of two tables are the same, each as large in one as in the other."""
    if not claims.apart or claims.group is None:
        return []
    sizes = []
    for classes in (look.pinned, look.judged):
        code, texts = classes.cells[claims.group]
        rows = np.bincount(code, weights=classes.sizes, minlength=len(texts))
        sizes.append(dict(zip(texts.to_list(), rows.tolist(), strict=True)))
    same = sizes[0] == sizes[1]
    detail = "Groups are equally large in both tables." if same else "Some groups differ in size between the tables."
    return [Check(name="groups", passed=same, detail=detail)]


def _check_figures(
    ours: Mapping[str, Any], theirs: ClaimedClasses, wanted: Sequence[Slot], classes: Classes
) -> list[Check]:
    """The classes and the counts of every sensitive column are those that passed the gate."""
    same = (
        (ours["count"], ours["smallest"]) == (theirs.count, theirs.smallest)
        and ours["digest"]["quasi"] == theirs.digest["quasi"]
    )
    smallest = f"smallest class {classes.smallest:,} rows"
    sized = [slot.label for slot in wanted if size_asked(slot.model)] or ["classes"]
    detail = (
        "The classes are those that passed the gate."
        if same
        else (f"{', '.join(sized)}: the classes are not those that passed the gate ({smallest}).")
    )
    checks = [Check(name="digest of the classes", passed=same, detail=detail)]
    for name, digest in ours["digest"].items():
        if name == "quasi":
            continue
        same = digest == theirs.digest[name]
        touched = list(dict.fromkeys(slot.label for slot in wanted if name in slot.names)) or [name]
        detail = (
            f"The counts of '{name}' are those that passed the gate."
            if same
            else (
                f"{', '.join(touched)}: the counts per class are not those that passed the gate ({smallest})."
            )
        )
        checks.append(Check(name=f"digest of {name}", passed=same, detail=detail))
    return checks


def _check_list(wanted: Sequence[Slot], claimed: Sequence[ClaimedVerdict]) -> Check:
    """There is one verdict for each model and attribute, none missing, added or altered."""
    asked = [(_plain(slot.model), _plain(slot.on), slot.by, term_of(slot.model).vouched_by) for slot in wanted]
    given = [(_plain(entry.model), _plain(entry.on), entry.by, entry.vouched_by) for entry in claimed]
    right = asked == given
    detail = (
        f"The manifest has the {len(asked)} verdicts its models ask for."
        if right
        else (f"The manifest's {len(given)} verdicts are not the {len(asked)} that its models ask for.")
    )
    return Check(name="verdicts", passed=right, detail=detail)


def _compared(check: Check, verdict: Verdict, claim: ClaimedVerdict | None) -> Check:
    """A check of a re-derived verdict, failed as well when the manifest claims another figure."""
    if claim is None or not check.passed:
        return check
    value = math.nan if claim.value is None else claim.value
    if claim.holds and _close(value, verdict.value) and _close(claim.limit, verdict.limit):
        return check
    return Check(
        name=check.name,
        passed=False,
        detail=f"{check.name}: the manifest's figures are not those of the release.",
    )


def _attested(slot: Slot, claim: ClaimedVerdict | None) -> Verdict:
    bound = limit(slot.model)
    holds, value = False, math.nan
    if claim is not None:
        holds = claim.holds and _close(claim.limit, bound)
        value = math.nan if claim.value is None else claim.value
    by = term_of(slot.model).vouched_by
    return Verdict(model=slot.model, on=slot.on, holds=holds, by="attested", value=value, limit=bound, vouched_by=by)


def _check_attested(slot: Slot, verdict: Verdict, claims: Claims, classes: Classes) -> Check:
    """A verdict that rests on evidence; people in a class are at most its rows, which is checked."""
    asked = size_asked(slot.model)
    if asked > classes.smallest:
        below = classes.sizes[classes.sizes < asked]
        fewer = "1 class has" if len(below) == 1 else f"{len(below):,} classes have"
        detail = f"{slot.promise} fails: {fewer} fewer than {asked} rows, the smallest {classes.smallest:,}."
        return Check(name=slot.label, passed=False, detail=detail)
    if not verdict.holds:
        return Check(
            name=slot.label, passed=False, detail=f"{slot.promise} is not claimed to hold by the manifest."
        )
    counted = " (people are counted)" if claims.people and slot.side not in ("input", "history") else ""
    detail = (
        f"{slot.promise} rests on the publisher's evidence{counted}: it cannot be derived from the release."
    )
    return Check(name=slot.label, passed=True, detail=detail)


def _plain(value: Any) -> Any:
    """Lists and tuples alike, mappings as plain dicts."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
