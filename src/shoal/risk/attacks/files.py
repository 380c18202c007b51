"""Attacking a file that any tool made: roles are given, cells are read by how they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from shoal.data.coding import canonical_text, infer_type
from shoal.data.hierarchy_files import build
from shoal.data.keys import Keys
from shoal.data.schema import ColumnSpec, Schema
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.params import choice, nearest
from shoal.recoding.foreign_cells import foreign_cover
from shoal.recoding.kinds import GENERALISED, Trait, named
from shoal.registry import names
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.case import AttackCase, View
from shoal.risk.attacks.run import make_case, refuse_overlap, run_attacks
from shoal.risk.attacks.views import public_view

_TYPES = ("numeric", "date", "categorical")


def attack_frame(
    frame: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    subject: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    types: Mapping[str, str] | None = None,
    kind: str = GENERALISED.name,
    against: pl.DataFrame | None = None,
    control: pl.DataFrame | None = None,
    only: Sequence[str] = (),
    seed: int | None = None,
) -> list[AttackResult]:
    """Attack released rows that no manifest explains, whichever tool made them.

    Parameters
    ----------
    subject
        Column that says whose row it is, here and in the tables of people.
    hierarchies
        Of quasi-identifiers whose cells are labels, and of sensitive columns: a file, a `Hierarchy` or a builder.
    types
        ``"numeric"``, ``"date"`` or ``"categorical"`` where cells should not be guessed at.
    kind
        ``"generalised"``, or ``"microaggregated"`` where cells are means, medians or modes.
    against, control
        People in the data, with quasi-identifiers and true values, and people who are not in it.
    only
        Names of the attacks to run, all that apply by default.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": ["2*", "2*", "[30, 40["], "disease": ["flu", "flu", "cold"]})
    >>> attack_frame(frame, quasi=["age"], sensitive=["disease"], only=["homogeneity"])[0].value
    1.0
    """
    case = file_case(
        frame, quasi=quasi, sensitive=sensitive, subject=subject, hierarchies=hierarchies, types=types, kind=kind,
        against=against, control=control, keys=Keys.from_seed(seed),
    )  # fmt: skip
    return run_attacks(case, only)


def file_case(
    frame: pl.DataFrame,
    *,
    quasi: Sequence[str],
    keys: Keys,
    sensitive: Sequence[str] = (),
    subject: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    types: Mapping[str, str] | None = None,
    kind: str = GENERALISED.name,
    against: pl.DataFrame | None = None,
    control: pl.DataFrame | None = None,
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = (),
) -> AttackCase:
    """Put people beside a file; parameters are those of `attack_frame`."""
    choice("a file", "kind", kind, [name for name in names("kind") if named(name).foreign])
    roles = Schema(quasi=list(quasi), sensitive=list(sensitive), subject=subject)
    used = list(roles.roles())
    roles.check(used if set(used) <= set(frame.columns) else frame.columns)
    if control is not None:
        if against is None:
            raise InputError("A control needs an identified table beside it, or nobody knows whether the two overlap.")
        refuse_overlap(against, control)
    described = _described(frame, roles, hierarchies or {}, types or {}, kind, [against, control])
    view = public_view(
        frame.select(used), described, cover=foreign_cover, subject=None if subject is None else frame[subject]
    )  # fmt: skip
    return make_case(view, described, keys, against=against, control=control, others=others, subject=subject)


def strangers(view: View, against: pl.DataFrame, labelled: Sequence[str] = ()) -> list[str]:
    """Sentences about columns of plain texts many of which nobody has: they may be labels that need a hierarchy."""
    found = []
    for cover in view.matcher.covers if view.matcher is not None else ():
        if cover.bounds is not None or cover.name in labelled:
            continue
        people = set(canonical_text(against[cover.name]).unique().drop_nulls().to_list())
        lost = sum(text not in people for text in cover.codes)
        if lost:
            found.append(
                f"{lost} of {len(cover.codes)} values of '{cover.name}' in the file are nobody's in the table of "
                f"people: if they stand for several values, give a hierarchy of '{cover.name}'."
            )
    return found


def _described(
    frame: pl.DataFrame,
    roles: Schema,
    hierarchies: Mapping[str, Any],
    types: Mapping[str, str],
    kind: str,
    people: Sequence[pl.DataFrame | None],
) -> dict[str, Any]:
    """What a manifest would say, as far as anybody knows."""
    known = [*roles.quasi, *roles.sensitive]
    for what, given in (("hierarchy", hierarchies), ("type", types)):
        for name in given:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean '{near}'?" if near else "remove it."
                raise SchemaError(f"There is a {what} for '{name}', which is neither quasi nor sensitive: {hint}")
    centroids = named(kind).has(Trait.CENTROIDS)
    if centroids and any(name in hierarchies for name in roles.quasi):
        raise ParameterError("Centroids are no labels, so their columns have no hierarchies here: leave these out.")
    entries = []
    for name in known:
        role = "quasi" if name in roles.quasi else "sensitive"
        entry: dict[str, Any] = {"name": name, "role": role, "type": types.get(name), "cells": "value"}
        if entry["type"] is not None:
            choice(f"column '{name}'", "type", entry["type"], _TYPES)
        elif role == "quasi" and centroids:
            entry["type"] = infer_type(name, frame[name], ColumnSpec())
        if name in hierarchies:
            tables = [one for one in (frame if role == "sensitive" else None, *people) if one is not None]
            entry["hierarchy"] = build(name, hierarchies[name], _values(name, tables)).rows()
        entries.append(entry)
    return {"kind": kind, "suppressed": "star", "columns": entries}


def _values(name: str, tables: Sequence[pl.DataFrame]) -> list[str]:
    """Values of a column in some tables, which a builder makes a hierarchy of."""
    texts = [canonical_text(one[name]).alias(name) for one in tables if name in one.columns]
    return pl.concat(texts).drop_nulls().unique().sort().to_list() if texts else []
