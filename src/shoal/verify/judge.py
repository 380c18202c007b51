"""Which verdicts a manifest's models ask for, and how the release fares on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.facts import Facts, Sample
from shoal.verify.manifest import across_targets
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check, Verdict
from shoal.verify.terms.base import limit, size_asked, term_of

_AGAINST = {
    "input": " against the input", "history": " against earlier releases", "population": " against the population",
}  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """One verdict to be found.

    Attributes
    ----------
    model
        The model as the manifest has it.
    on
        The attribute as a verdict names it: a name, a list of names, or None for models of classes as such.
    names
        The column names behind it.
    side
        For t-closeness the table to compare with, which the model names; for m-invariance ``"released"`` or
        ``"history"``, the earlier releases; else empty.
    by
        ``"rechecked"`` or ``"attested"``.
    at, of
        Which of several sets of quasi-identifiers it is about, and its columns.
    """

    model: Mapping[str, Any]
    on: str | list[str] | None
    names: tuple[str, ...]
    side: str
    by: str
    at: int = 0
    of: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Such as ``entropy-l on occupation``."""
        return (
            self.model["name"]
            + (f" on {target_words(self.model, self.names)}" if self.names else "")
            + _AGAINST.get(self.side, "")
            + (f" by {', '.join(self.of)}" if self.of else "")
        )

    @property
    def promise(self) -> str:
        """The label with its main parameter, such as ``entropy-l = 3 on occupation``."""
        name, parameter = self.model["name"], term_of(self.model).main
        figure = "" if parameter is None else self.model[parameter]
        main = f" = {figure:g}" if isinstance(figure, float) else f" = {figure}" if parameter is not None else ""
        return name + main + self.label.removeprefix(name)


def slots(claims: Claims) -> list[Slot]:
    """The verdicts that the models of a manifest ask for, in order.

    A figure that needs the input, its subjects or values that are published as codes cannot be derived from what is
    published: it is attested.
    """
    found = []
    for model in claims.models if not claims.sets else ():
        found += _slots(claims, model)
    for at, one in enumerate(claims.sets):
        found += [replace(slot, at=at, of=one) for model in claims.models for slot in _slots(claims, model)]
    return found


def _slots(claims: Claims, model: Mapping[str, Any]) -> list[Slot]:
    """The verdicts that one model asks for."""
    found, term = [], term_of(model)
    for on, names in targets(claims, model):
        columns = [claims.column(name) for name in names]
        hidden = term.needs_input(claims, columns) or (claims.people and term.people)
        hidden |= any(column.coded is not None for column in columns)
        counts_people = size_asked(model) > 0 or (term.identity and not term.remembers)
        hidden |= claims.counterfeits > 0 and counts_people  # who is real is not published
        for side in term.sides(model):
            by = "attested" if hidden or side in _AGAINST else "rechecked"
            found.append(Slot(model=model, on=on, names=names, side=side, by=by))
    return found


def judge(slot: Slot, facts: Facts) -> Verdict:
    """The verdict of one slot. A release without any class has nothing to hold on, so nothing holds."""
    term, bound = term_of(slot.model), limit(slot.model)
    if not facts.classes.count:
        return Verdict(model=slot.model, on=slot.on, holds=False, by=slot.by, value=0.0, limit=bound)
    outcome = term.judge(slot.model, Sample(facts, slot.names, slot.side))
    failing = facts.classes.sizes[~outcome.passes]
    return Verdict(
        model=slot.model,
        on=slot.on,
        holds=not len(failing),
        by=slot.by,
        value=outcome.worst_value(bound),
        limit=bound,
        classes=len(failing),
        smallest=int(failing.min()) if len(failing) else 0,
        vouched_by=term.vouched_by,
    )


def verdict_check(slot: Slot, verdict: Verdict, people: bool) -> Check:
    """A verdict in words: class counts and sizes, never a figure that could give a value away."""
    count = verdict.classes
    if verdict.holds:
        detail = f"{slot.promise} holds in every class."
    elif not count:
        detail = f"{slot.promise} cannot hold: the release has no class."
    elif term_of(slot.model).sized:
        smallest = _rows(verdict.smallest)
        if people:
            smallest = "1 person" if verdict.value == 1 else f"{verdict.value:,.0f} people"
        classes = "1 class has" if count == 1 else f"{count:,} classes have"
        detail = f"{slot.promise} fails: {classes} fewer, the smallest {smallest}."
    else:
        detail = (
            f"{slot.promise} fails in {count:,} {'class' if count == 1 else 'classes'}, "
            f"the smallest {_rows(verdict.smallest)}."
        )
    return Check(name=slot.label, passed=verdict.holds, detail=detail)


def targets(claims: Claims, model: Mapping[str, Any]) -> list[tuple[str | list[str] | None, tuple[str, ...]]]:
    """List what a model gives a figure of: as a verdict names it, and the columns behind it."""
    on = model.get("on")
    if not term_of(model).valued:
        return [(None, ())]
    if isinstance(on, str):
        return [(on, (on,))]
    if on is not None:
        return [(list(on), tuple(on))]
    every: Sequence[str] = [column.name for column in claims.role("sensitive")]
    if term_of(model).together:
        return [(list(every), tuple(every))]
    return [(name, (name,)) for name in every]


def target_words(model: Mapping[str, Any], names: Sequence[str]) -> str:
    """Name the columns of one figure, or the combination of them that is taken as one attribute."""
    if len(names) < 2 or term_of(model).together:
        return ", ".join(names)
    return f"the combination of {', '.join(names[:-1])} and {names[-1]}"


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


# ----------------------------------------
# People with rows in several classes: which values are in all of them, straight from who has what in which class.


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
        worth = None
        if slot.names in claims.across and term.asks_left:
            worth = term.left(slot.model, Sample(facts[slot.at], slot.names, slot.side))
        if worth is None:
            continue
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
