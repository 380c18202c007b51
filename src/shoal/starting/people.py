"""Which column says whose row it is, where people have several rows."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from shoal.starting.columns import Facts
from shoal.starting.words import is_numbered, is_person

# What stays the same in all rows of a person.
_STEADY = ("date of birth", "sex")
_SINGLE, _FEW, _LEAST = 0.98, 0.02, 10
_NEARLY_ALL = 0.99


def subject_of(frame: pl.DataFrame, facts: Mapping[str, Facts]) -> tuple[str, str] | None:
    """The column that tells people apart and why it is taken for that; None where every row is somebody else's.

    It repeats, has many values and no gaps, and is called after people, or is a number under which birth dates and sex
    never change.
    """
    steady = [name for name, one in facts.items() if one.named in _STEADY]
    found: list[tuple[bool, float, str, str]] = []
    for name, one in facts.items():
        if not _may_be(one):
            continue
        rows = one.rows / one.distinct
        if is_person(name):
            found.append((True, one.distinct, name, f"a person, {rows:.1f} rows each"))
        elif steady and is_numbered(name) and _keeps(frame, name, steady):
            kept = " and ".join(steady[:2])
            found.append((False, one.distinct, name, f"{rows:.1f} rows each, with one {kept}"))
    if not found:
        return None
    best = max(found)
    return best[2], best[3]


def _may_be(one: Facts) -> bool:
    several = max(_LEAST, _FEW * one.rows) <= one.distinct < _SINGLE * one.rows
    plain = one.type == "categorical" or (one.type == "numeric" and one.whole)
    return several and plain and one.missing == 0 and not one.look.text and one.named not in _STEADY


def _keeps(frame: pl.DataFrame, name: str, steady: list[str]) -> bool:
    """Whether nearly everybody has one value of each steady column."""
    changes = frame.group_by(name).agg(pl.col([other for other in steady if other != name]).n_unique())
    return all(float((changes[other] == 1).mean()) >= _NEARLY_ALL for other in changes.columns if other != name)  # type: ignore[arg-type]
