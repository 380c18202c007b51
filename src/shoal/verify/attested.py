"""What a file says against an attested verdict: conditions that must hold whoever the rows belong to.

An attested verdict rests on something that is not published: whose rows are whose, what codes stand for, how wide a
domain is. All the same a file can refute it, by what each model's term calls necessary. Codes stand one for one for
values, where the manifest says that all of them are answers.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.verify.facts import Facts, Sample
from shoal.verify.judge import Slot, judge
from shoal.verify.known import Known
from shoal.verify.terms.base import size_asked, term_of
from shoal.verify.types import Check


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
    if term.necessary is None or slot.side == "history":
        return None
    known = Known(facts, Sample(facts, slot.names, slot.side))
    passes = term.necessary(slot.model, known)
    if term.valued and not term.together:  # which leaves out what has no answer one attribute at a time
        passes |= known.most == 0
    failing = facts.classes.sizes[~passes]
    return _refutation(slot, len(failing), int(failing.min())) if len(failing) else None


def _refutation(slot: Slot, classes: int, smallest: int) -> Check:
    where = "1 class" if classes == 1 else f"{classes:,} classes"
    detail = f"{slot.promise} fails in {where} whatever is not published, the smallest {smallest:,} rows."
    return Check(name=slot.label, passed=False, detail=detail)
