"""Whether people meet a release that they are held against: a false all-clear is worse than none."""

from __future__ import annotations

import polars as pl

from shoal.attacks.case import View
from shoal.data.coding import canonical_text
from shoal.errors import InputError
from shoal.recoding.cover import refuse_unmet, refuse_unmet_values

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
