"""Attacking a release: which attacks apply, the people to put them to, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.keys import Keys
from shoal.data.table import Table, iso_dates, take_rows
from shoal.errors import InputError, ParameterError
from shoal.grammar import parse_attack
from shoal.recoding.cover import refuse_unmet, refuse_unmet_values
from shoal.recoding.kinds import Trait, kind_of, made_of
from shoal.recoding.reader_labels import readers_manifest
from shoal.registry import load, make, spared, working
from shoal.results import Release
from shoal.risk.attacks.base import Attack, AttackResult
from shoal.risk.attacks.case import AttackCase, Other, View
from shoal.risk.attacks.optimality_leak import best_of_all
from shoal.risk.attacks.views import identified_people, own_people, people_frame, public_view
from shoal.risk.attacks.views import release_view as see

# ----------------------------------------
# Whether people meet a release that they are held against: a false all-clear is worse than none.


PEOPLE = "the people to attack"
CONTROL = "the control"


def refuse_strangers(view: View, frame: pl.DataFrame, who: str, subject: str | None = None) -> None:
    """Refuse a table of people whose quasi-identifiers or sensitive values are written otherwise than the release's.

    What that means is in :mod:`shoal.recoding.cover`. People of whom no subject is known to the release are refused
    too, where they are said to be in it.
    """
    covers = [] if view.matcher is None else view.matcher.covers
    centroids = [] if view.centroids is None else list(view.centroids.published())
    if not {*(cover.name for cover in covers), *(name for name, _, _ in centroids)} <= set(frame.columns):
        return  # refused where the people are placed
    for cover in covers:
        refuse_unmet(cover, frame[cover.name], who)
    for name, type, released in centroids:
        refuse_unmet_values(name, type, released, frame[name], who)
    for name, column in view.sensitive.items():
        if name in frame.columns:
            codes = view.codes[name]
            released = column.texts.gather(codes).set(pl.Series(codes == column.missing), None)
            refuse_unmet_values(name, column.type, released, frame[name], who)
    named = subject or (None if view.subjects is None else view.subjects.name)
    if who != PEOPLE or view.subjects is None or named not in frame.columns:
        return
    if not canonical_text(frame[named]).is_in(view.subjects.known.to_list()).any():
        raise InputError(f"Column '{named}' of {who} does not meet the release: none of its subjects is in there.")


_NEEDS = {
    "people": "an identified table (--against)",
    "cells": "cells that cover values, which centroids and representatives do not",
    "input": "the publisher's side (name the recipe instead of the folder)",
    "sensitive": "a sensitive column whose true values are known",
    "others": "further releases of the same people (--also)",
    "subjects": "to know whose rows are whose (a 'subject', or the recipe of a release that has one)",
    "everybody": "all people of the data and not a sample of them (--sample, or the engine 'memory')",
    "full-domain": "the best full-domain recoding (optimal, samarati, incognito; no workload), made from a recipe",
}
_NO_CLASS = (
    "Everybody's class is taken to be known here, so there is no control: people outside the data have no class."
)


def attack(
    release: Release,
    *,
    control: pl.DataFrame | None = None,
    no_control: str | None = None,
    only: Sequence[str | Mapping[str, Any]] = (),
    seed: int | None = None,
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = (),
) -> list[AttackResult]:
    """Attack a release from the publisher's side: every row of the input is a person to be found.

    Parameters
    ----------
    control
        People of the same population who are not in the data, with the same columns.
    only
        Attacks to run, such as ``"linkage"`` or ``"proximity eps=30"``, or as tables of a name and parameters; all that
        apply by default.
    seed
        Only for tests and papers; by default draws come from the release's own secret.
    others
        Further releases of the same people, each with its manifest.
    """
    keys = Keys.from_seed(seed) if seed is not None else Keys(release.evidence["secret"])
    if control is not None:
        refuse_overlap(people_frame(release), control)
    case = make_case(
        see(release), release.manifest, keys, against=people_frame(release), control=control,
        no_control=no_control, release=release, aligned=True, others=others,
    )  # fmt: skip
    return run_attacks(case, only)


def make_case(
    view: View,
    manifest: Mapping[str, Any],
    keys: Keys,
    *,
    against: pl.DataFrame | None = None,
    control: pl.DataFrame | None = None,
    no_control: str | None = None,
    release: Release | None = None,
    aligned: bool = False,
    held_out: bool = False,
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = (),
    subject: str | None = None,
    own: np.ndarray | None = None,
    sampled: bool = False,
) -> AttackCase:
    """Put people beside a release.

    Parameters
    ----------
    against, control
        People in the data, by default its own records, and people outside it.
    aligned
        Whether ``against`` is the release's input in its own order.
    held_out
        Whether ``control`` was kept back from the same input. Tables of other origin must meet the release.
    subject
        Column of theirs that says whose row it is, by default the release's own.
    own, sampled
        Class of each row of ``against``, which is then of the release's input, and whether it lacks some of that.
    """
    known = view.matcher is not None or view.centroids is not None
    told = [(frame, readers_manifest(described, [against, control])) for frame, described in others]
    seen_by = [view, *(public_view(frame, described) for frame, described in told)]
    mine = aligned or own is not None
    for table, who in ((None if mine else against, PEOPLE), (None if held_out else control, CONTROL)):
        for one in seen_by:
            if table is not None:
                refuse_strangers(one, table, who, subject)
    people = identified_people(view, against, subject) if known and against is not None else own_people(view)
    seen = people.identified
    beside = identified_people(view, control, subject) if control is not None and known else None
    why = no_control or "No people outside the data were given, so there is no control."
    if control is not None and beside is None:
        why = "The cells of this release cover no values, so people outside the data cannot be held against them."
    found = []
    for other in seen_by[1:]:
        if seen and against is not None and other.matcher is not None:
            theirs = identified_people(other, control, subject) if control is not None else None
            found.append(Other(view=other, people=identified_people(other, against, subject), control=theirs))
    rows = np.arange(people.n) if aligned and release is not None and seen else None
    case = AttackCase(
        kind=kind_of(manifest), made=made_of(manifest), view=view, keys=keys, people=people,
        identified=seen, control=beside, no_control=why, outside=control, release=release, input_rows=rows,
        others=found, own=own if seen else None, sampled=sampled,
    )  # fmt: skip
    return leave_out_absent(case)


def leave_out_absent(case: AttackCase) -> AttackCase:
    """Leave out the people of an identified table who are not in the release: no share may count them.

    The publisher knows who is suppressed. For anybody else, where cells cover the values of the people behind them, it
    is whoever no record matches.
    """
    there = np.ones(case.people.n, dtype=bool)
    if case.own_classes is not None:
        there = case.own_classes >= 0
    elif case.view.matcher is not None and case.people.vectors is not None and case.made.has(Trait.COVERING):
        there = case.view.matcher.counts(case.people.vectors)[case.people.vector] > 0
    if there.all():
        return case
    rows = np.flatnonzero(there)
    return replace(
        case,
        people=case.people.take(rows),
        table=case.people,
        input_rows=None if case.input_rows is None else case.input_rows[rows],
        own=None if case.own is None else case.own[rows],
        others=[replace(other, people=other.people.take(rows)) for other in case.others],
    )


def run_attacks(case: AttackCase, only: Sequence[str | Mapping[str, Any]] = ()) -> list[AttackResult]:
    """Run the attacks asked for, or all that apply to the kind of release; what cannot run says what it lacks."""
    if only:
        return [_run(case, one) for one in only]
    found = [spared("attack", name, partial(_run, case, name)) for name in applicable(case)]
    return [result for result in found if result is not None]


def _run(case: AttackCase, one: str | Mapping[str, Any]) -> AttackResult:
    spec = parse_attack(one) if isinstance(one, str) else dict(one)
    mine = _only_on(case, spec.pop("on", None))
    made: Attack = make("attack", spec)
    if "people" not in made.needs and case.people.near is not None:
        # Whoever knows the class knows more than the nearest one; people outside the data have none.
        told = case.no_control if case.control is None else _NO_CLASS
        own = own_people(mine.view)
        mine = replace(
            mine, people=own, table=None, identified=False, input_rows=None, own=None, control=None, no_control=told
        )
    elif "people" not in made.needs and not mine.people.truth:
        # Nobody's true values are known, so the released records stand in, whose values are.
        mine = replace(
            mine, people=own_people(mine.view), table=None, identified=False, input_rows=None, own=None
        )
    lacking = _lacking(made, mine)
    result = made.result([], lacking) if lacking else made.run(mine)
    if not isinstance(result, AttackResult):
        raise TypeError("An attack gives no result.")
    asked = one if isinstance(one, str) and one != made.name else ""
    return replace(result, asked=asked) if asked else result


def _only_on(case: AttackCase, on: str | Sequence[str] | None) -> AttackCase:
    """The case with some of its sensitive columns."""
    if on is None:
        return case
    columns = [on] if isinstance(on, str) else list(on)
    for name in columns:
        if name not in case.view.sensitive:
            known = ", ".join(case.view.sensitive) or "none"
            raise ParameterError(f"There is no sensitive column '{name}' to attack in this release; it has: {known}.")
    return replace(case, view=replace(case.view, sensitive={name: case.view.sensitive[name] for name in columns}))


def applicable(case: AttackCase) -> list[str]:
    """Names of the attacks that are about something that the release has."""
    return [name for name in working("attack") if case.has(load("attack", name).aim)]


def _lacking(attack: Attack, case: AttackCase) -> str:
    """Why an attack cannot run here, in a sentence; empty where it can."""
    if not case.has(attack.aim):
        others = ", ".join(applicable(case)) or "none"
        why = case.made.lacks[attack.aim]
        return f"'{attack.name}' does not apply to a {case.kind} release, where {why}; these do: {others}."
    have = {
        "people": case.identified,
        "cells": case.view.matcher is not None,
        "input": case.release is not None,
        "sensitive": bool(case.view.sensitive) and bool(case.people.truth),
        "others": bool(case.others),
        "everybody": not case.sampled,
        "subjects": case.people.person is not None,
        "full-domain": best_of_all(case.release),
    }
    told = _NEEDS | ({} if case.own is None else {"input": "all rows in memory (the engine 'memory')"})
    missing = [told[need] for need in attack.needs if not have[need]]
    return f"'{attack.name}' needs {' and '.join(missing)}." if missing else ""


def refuse_overlap(data: pl.DataFrame, control: pl.DataFrame) -> None:
    """Refuse a control some of whose people are in the data.

    Rows are compared on the columns that both have. Different people can agree on all of them, about as often as people
    of the data agree with each other; only more agreement than that is an overlap.
    """
    shared = [name for name in data.columns if name in control.columns]
    if not shared:
        raise InputError("The control has no column of the data: check that it is about the same things.")
    if control.height == 0:
        raise ParameterError("The control has no rows: leave it out.")
    rows, others = (_row_texts(frame, shared) for frame in (data, control))
    counts = rows.group_by("row").len()
    twins = rows.join(counts.filter(pl.col("len") > 1), on="row", how="semi").height / max(rows.height, 1)
    overlap = others.join(counts, on="row", how="semi").height
    allowed = twins * others.height + 3.0 * np.sqrt(twins * (1.0 - twins) * others.height)
    if overlap > allowed:
        raise InputError(
            f"{overlap} of {others.height} rows of the control are in the data too, where about "
            f"{twins * others.height:.0f} would agree by chance: a control must be other people."
        )


def _row_texts(frame: pl.DataFrame, shared: Sequence[str]) -> pl.DataFrame:
    # Numbers may be text on one side: 3 and 3.0 are the same value.
    texts = [canonical_text(frame[name]).alias(name) for name in shared]
    return pl.DataFrame(texts).select(pl.struct(pl.all()).alias("row"))


# ----------------------------------------
# The attacks that reviewers ask for first, run in passing and kept in the evidence.


# Singling out, linking and inference, in this order.
BRIEF = (
    "singling-out",
    "linkage",
    "nearest",
    "homogeneity",
    "skewness",
    "subject-intersection",
    "ra-linkage",
    "record-linkage",
    "relinking",
)
# People times classes beyond which somebody would wait.
_MOST = 200_000_000


def attacked_briefly(release: Release) -> list[AttackResult]:
    """What those of them find that have something to work on; nothing where that would take long."""
    if not release.source.size or release.table.n * max(release.released.n_classes, 1) > _MOST:
        return []
    return [one for one in attack(release, only=BRIEF) if one.figures]


# ----------------------------------------
# People kept back before a release is made: a control of the same population.


def hold_out(table: Table, keys: Keys, part: float) -> tuple[Table, pl.DataFrame | None]:
    """Rows to anonymise, and those kept back, by whole people where rows have a subject.

    Parameters
    ----------
    part
        Share of the rows to keep back; None is kept where that would leave nobody on one of the sides.
    """
    who = table.row_keys if table.subjects is None else table.subjects.astype(np.uint64)
    out = keys.uniform("attack control", who) < part
    if not out.any() or out.all():
        return table, None
    rest = take_rows(table, np.flatnonzero(~out))
    kept = iso_dates(take_rows(table, np.flatnonzero(out)))
    if rest.subjects is not None:
        left, subjects = np.unique(rest.subjects, return_inverse=True)
        rest = replace(rest, subjects=subjects.astype(np.int32)).knowing(n_subjects=left.size)
    return replace(rest, n_read=rest.n, n_dropped=0), kept
