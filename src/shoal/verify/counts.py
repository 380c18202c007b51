"""What the models look at, counted batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.classes import Classes, Placed
from shoal.verify.facts import Facts, Histogram, Sample, Tallies
from shoal.verify.judge import slots
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import TOLERANCE, Rows
from shoal.verify.tally import Counts, Dictionary
from shoal.verify.terms.base import size_asked, term_of
from shoal.verify.values import STAR, Coded, Held, canonical, encode


class Counting:
    """The fold behind :class:`Facts`: first the input, at the gate, then the released rows.

    Parameters
    ----------
    gated
        Whether there is an input to compare with.
    people
        Whether rows have owners.
    """

    def __init__(self, claims: Claims, *, gated: bool = False, people: bool = False) -> None:
        self._claims = claims
        terms = [term_of(model) for model in claims.models] if gated else []
        asked = [slot for slot in slots(claims) if slot.names]
        kinds = {column.name: column.reads for column in claims.role("sensitive")}
        together = list(dict.fromkeys([*((name,) for name in kinds), *(slot.names for slot in asked)]))
        self._released = Tallies(kinds, together, people=people)
        compared = [slot.names for slot in asked if gated and term_of(slot.model).reads_input]
        theirs = {name: kinds[name] for names in compared for name in names}
        both = list(dict.fromkeys([*((name,) for name in theirs), *compared]))
        self._original = Tallies(theirs, both, people=people) if compared else None
        spread = claims.role("quasi") if any(term.of_cells for term in terms) else []
        self._quasi = {column.name: Dictionary(column.type) for column in spread}
        self._members = {column.name: Counts() for column in spread if column.cells == "representative"}
        guarded = [slot.names[0] for slot in asked if gated and term_of(slot.model).guards]
        self._guarded = {name: Counts() for name in guarded}
        self._history: pl.DataFrame | None = None
        self._gated = gated

    def read(self, original: pl.DataFrame, who: np.ndarray | None) -> None:
        """Count rows of the input."""
        if self._original is not None:
            columns = {name: Held(*encode(original[name])) for name in self._original.dictionaries}
            self._original.see(columns, np.zeros(original.height, dtype=np.int64), who)
        for name, dictionary in self._quasi.items():
            dictionary.see(original[name])

    def see(
        self, batch: Coded, placed: Placed, rows: Rows | None = None, who: np.ndarray | None = None,
        real: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Count a batch of the table that holds sensitive values.

        Parameters
        ----------
        placed
            Its rows that are in a class.
        rows, who, real
            For each row of the batch the input row that its values come from, at the gate, whose it is, and whether it
            is no counterfeit.
        """
        inside, group = placed.rows, placed.of_row
        who = None if who is None else who[inside]
        columns = {name: batch[name].of(inside) for name in self._released.dictionaries}
        self._released.see(columns, group, who, None if real is None else real[inside])
        if rows is None:
            return
        for name, members in self._members.items():
            value = self._quasi[name].see(rows.original[name].gather(inside))
            members.see(pl.DataFrame({"class": group, "value": value}))
        for name, records in self._guarded.items():
            records.see(self._records(name, batch.frame[name].gather(inside), rows, inside, group, who))
        if rows.history is not None:
            found = pl.DataFrame({"class": group, "before": rows.history.gather(inside)}).drop_nulls("before").unique()
            self._history = found if self._history is None else pl.concat([self._history, found]).unique()

    def _records(
        self, name: str, labels: pl.Series, rows: Rows, inside: np.ndarray, group: np.ndarray, who: np.ndarray | None
    ) -> pl.DataFrame:  # fmt: skip
        """What the model of personalised anonymity looks at, a row a record."""
        column = self._claims.column(name)
        found = {
            "class": pl.Series(group),
            "label": canonical(labels, "categorical")[0],
            "truth": _known_texts(rows.original[name].gather(inside), column),
        }
        if rows.guard is not None:
            found["guard"] = canonical(rows.guard.gather(inside), "categorical")[0].str.strip_chars()
        return pl.DataFrame(found | ({} if who is None else {"who": pl.Series(who)}))

    def facts(self, classes: Classes) -> Facts:
        """What was counted."""
        return Facts(
            claims=self._claims,
            classes=classes,
            released=self._released,
            original=self._original,
            quasi=self._quasi if self._gated else None,
            members={name: counts.total() for name, counts in self._members.items()},
            guarded={name: counts.total() for name, counts in self._guarded.items()},
            history=self._history,
        )


def _known_texts(values: pl.Series, column: Column) -> pl.Series:
    """Canonical texts, null for what says nothing."""
    texts, _ = canonical(values, column.type)
    refused, _ = canonical(pl.Series(column.non_answers, dtype=pl.String), column.type)
    frame = pl.DataFrame({"text": texts})
    known = pl.col("text").is_in([STAR, *refused.drop_nulls()]).not_()
    return frame.select(pl.when(known).then("text")).to_series()


# ----------------------------------------
# What a file tells of an attribute whose people are not published: bounds on how many of them have which value.
#
# Where people are counted, a value that stands in c rows belongs to one person at least and to c at most, and a
# class in which k people were promised has that many pairs of a person and a value; the flattest histogram that
# this allows is majorised by every other, so that where it fails a diversity, all do.


@dataclass(frozen=True, eq=False)
class Known:
    """What the file tells about one attribute in every class."""

    facts: Facts
    sample: Sample

    @cached_property
    def people(self) -> np.ndarray:
        """People (or rows) of each class, no fewer; rows are people where nobody is counted twice."""
        sizes, claims = self.facts.classes.sizes, self.facts.claims
        promised = max(size_asked(model) for model in claims.models)
        return np.minimum(sizes, promised) if claims.people else sizes

    @cached_property
    def most(self) -> np.ndarray:
        """People (or rows) with an answer in each class, no more."""
        answers = self.sample.histogram.answers()
        return np.bincount(answers.group, weights=answers.rows, minlength=answers.classes)

    @cached_property
    def least(self) -> np.ndarray:
        """People (or rows) with an answer in each class, no fewer; it may be below 0."""
        return self.people - (self.facts.classes.sizes - self.most)

    @cached_property
    def view(self) -> Histogram:
        """Answers, with as few people to each as the promised class sizes allow, and as even."""
        return flattest(self.sample.histogram.answers(), self.least)

    @cached_property
    def whole(self) -> Histogram:
        """The same with non-answers as ordinary values."""
        return flattest(self.sample.histogram, self.people)

    @property
    def distinct(self) -> np.ndarray:
        """Distinct answers of each class."""
        return np.bincount(self.view.group, minlength=self.view.classes)

    @property
    def coded(self) -> bool:
        """Whether values are published as codes."""
        return any(column.coded is not None for column in self.sample.attribute.columns)


def flattest(view: Histogram, least: np.ndarray) -> Histogram:
    """The most even counts of at most an entry's rows and at least 1 that add up to at least ``least`` in each class.

    They are the rows cut off at one height a class, the lowest that will do.
    """
    order = np.lexsort((view.rows, view.group))
    group, rows = view.group[order], view.rows[order].astype(float)
    values = np.bincount(group, minlength=view.classes)
    first = np.concatenate([[0], np.cumsum(values)[:-1]])
    running = np.concatenate([[0.0], np.cumsum(rows)])
    below = running[:-1] - running[first[group]]
    above = values[group] - (np.arange(len(group)) - first[group])
    target = np.maximum(least, values)[group]
    reached = np.flatnonzero(below + above * rows >= target)
    found, at = np.unique(group[reached], return_index=True)
    height = np.full(view.classes, np.inf)
    height[found] = ((target - below) / above)[reached[at]]
    return replace(view, count=np.minimum(view.rows, height[view.group]))


def largest_allowed(limit: Any) -> Any:
    """The largest figure that is at most a limit, as the gate compares them."""
    return limit + TOLERANCE * np.maximum(1.0, limit)


def possible_shares(limit: np.ndarray, known: Known) -> np.ndarray:
    """Whether some number of people can leave every answer with at most its limit's share of them.

    One person is the fewest that a value can have, so a class needs at least 1/limit people. With P people a value has
    at most min(rows, limit P), and all of them need one: the sum less P is concave in P and 0 without people, so that
    the fewest people tell.
    """
    view, share = known.view, largest_allowed(limit)
    people = known.least.astype(float)
    np.maximum.at(people, view.group, 1.0 / share)
    room = np.minimum(view.rows, share * people[view.group])
    return view.sums(room) >= people * (1 - TOLERANCE)
