"""What a file tells of an attribute whose people are not published: bounds on how many of them have which value.

Where people are counted, a value that stands in c rows belongs to one person at least and to c at most, and a class in
which k people were promised has that many pairs of a person and a value; the flattest histogram that this allows is
majorised by every other, so that where it fails a diversity, all do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.verify.facts import Facts, Histogram, Sample
from shoal.verify.outcome import TOLERANCE
from shoal.verify.terms.base import size_asked


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
