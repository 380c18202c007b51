"""People with rows in several classes: which values are in all of them, straight from who has what in which class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from shoal.verify.claims import Claims, across_targets
from shoal.verify.facts import Facts, Sample
from shoal.verify.judge import slots
from shoal.verify.terms.base import term_of
from shoal.verify.types import Check

_NAME = "across classes"
_CLOSE = 1e-9
# Pairs of person and value that are looked at in one go.
_PAIRS = 1 << 22


def check_across(claims: Claims, facts: Sequence[Facts], asked: bool) -> list[Check]:
    """Everybody without different answers has enough values left over all classes of their rows.

    This holds of every attribute that is claimed.

    Parameters
    ----------
    facts
        Who has what in which class: by all quasi-identifiers, or by each set of them.
    asked
        Whether the recipe asks for it; then it is claimed of every attribute of which a model asks for values.
    """
    if not claims.people:
        return []
    if asked and not set(across_targets(claims)) <= set(claims.across):
        detail = "The manifest's 'across_classes' lack an attribute of which a model asks for values."
        return [Check(name=_NAME, passed=False, detail=detail)]
    found = []
    for slot in slots(claims):
        term = term_of(slot.model)
        if slot.names not in claims.across or term.left is None:
            continue
        worth = term.left(slot.model, Sample(facts[slot.at], slot.names, slot.side))
        people = sum(int(part["people"].sum()) for part in _narrow(facts[slot.at], slot.names, worth))
        counted = "1 person is" if people == 1 else f"{people:,} people are"
        detail = f"{slot.promise} fails: {counted} left with too few values over all classes of their rows."
        if not people:
            detail = f"{slot.promise} leaves enough values over all classes of a person's rows, where these agree."
        found.append(Check(name=f"{_NAME}: {slot.label}", passed=not people, detail=detail))
    return found


def attest_across(claims: Claims) -> list[Check]:
    """Say what a manifest claims, which only the publisher could check: whose rows are whose is not published."""
    named = ", ".join(" and ".join(names) for names in claims.across)
    detail = (
        f"By the publisher's evidence, all classes of a person's rows leave enough values of {named} possible "
        "where these rows do not differ."
    )
    return [Check(name=_NAME, passed=True, detail=detail)] if claims.across else []


def _narrow(facts: Facts, names: tuple[str, ...], worth: float | np.ndarray) -> Iterator[pl.DataFrame]:
    """People for whom the values in all of their classes are worth less than 1, and less than each class is.

    People who have different answers are left out: theirs need not be in all of their classes.
    """
    share = pl.Series(np.broadcast_to(np.minimum(worth, 1.0), len(facts.attribute(names).known)))
    held = facts.held(names)
    answers = held.filter(facts.attribute(names).known[held["value"].to_numpy()])
    changing = answers.group_by("who").agg(pl.col("value").n_unique()).filter(pl.col("value") > 1)
    values = answers.select("class", "value").unique()
    values = values.with_columns(share.gather(values["value"]).alias("worth"))
    classes = values.group_by("class").agg(pl.len().alias("values"), pl.col("worth").sum().alias("whole"))
    # A class without an answer leaves everything possible.
    pairs = held.join(changing, on="who", how="anti").select("class", "who").unique().join(classes, on="class")
    # People with the same classes are looked at once.
    sets = pairs.group_by("who").agg(pl.col("class").sort()).group_by("class").agg(pl.len().alias("people"))
    sets = sets.filter(pl.col("class").list.len() > 1).with_row_index("who")
    pairs = sets.explode("class").join(classes, on="class")
    people = pairs.group_by("who").agg(
        pl.len().alias("times"),
        pl.col("whole").min().clip(upper_bound=1.0),
        pl.col("values").sum().alias("pairs"),
        pl.col("people").first(),
    )
    part = people["pairs"].cum_sum() // _PAIRS
    for _, some in people.with_columns(part.alias("part")).group_by("part"):
        mine = pairs.select("class", "who").join(some, on="who").join(values, on="class")
        left = mine.group_by("who", "value").agg(pl.len(), pl.col("times", "worth").first())
        left = left.filter(pl.col("len") == pl.col("times")).group_by("who").agg(pl.col("worth").sum())
        total = some.join(left, on="who", how="left").with_columns(pl.col("worth").fill_null(0.0))
        yield total.filter(pl.col("worth") < pl.col("whole") - _CLOSE)
