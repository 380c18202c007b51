"""Models of class sizes: who shares their cells, who of the population matches them, and who is in the data."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from shoal.errors import VerificationError
from shoal.verify.cells import read_cells
from shoal.verify.classes import packed
from shoal.verify.coverage import covered
from shoal.verify.facts import Facts, Sample
from shoal.verify.hierarchies import labels, paths
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import TOLERANCE, Outcome, at_least, at_most
from shoal.verify.terms.base import Model, Term, count, number, positive_share, share
from shoal.verify.values import STAR, group_rows, read_values


class K(Term):
    """k-anonymity: nobody is in a class of fewer than k."""

    name = "k"
    main = "k"
    words = "{k}-anonymous"
    group_words = "groups of at least {k} records"
    required = {"k": count}
    identity = True
    sized = True
    valued = False

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Every class has at least k people (or rows)."""
        sizes = sample.sizes
        return Outcome(sizes.astype(float), sizes >= model["k"], np.ones(len(sizes), dtype=bool), "low")

    def size(self, model: Model) -> int:
        return int(model["k"])


class KM(Term):
    """k^m-anonymity: up to m items that somebody is known to have are shared by k records of a class, or by none."""

    name = "k-m"
    main = "k"
    words = "{k}^{m}-anonymous"
    leaves_open = (
        "Items of '{}' beyond those known: k-m counts records that share a few known items, so that whoever knows more "
        "of them, or which ones a person does not have, may find fewer, and what all records of a class have is known "
        "of each."
    )
    required = {"k": count, "m": lambda value: count(value) and value <= 4}
    single = True
    of_cells = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """The fewest records of each class that share up to m of the labels that one of them has.

        Where one label of a class lies above another, knowing an item below both is told by records that show either,
        which no count of labels tells: such a class shares nothing.
        """
        column, texts = sample.attribute.columns[0], sample.attribute.texts.to_list()
        above = paths(column)
        cells = [sorted(set(labels(text, column.mark or ""))) for text in texts]
        fewest = np.zeros(sample.facts.classes.count, dtype=float)
        histogram, records = sample.histogram, Counter[tuple[int, tuple[str, ...]]]()
        standing: dict[int, set[str]] = {}
        for group, value, rows in zip(
            histogram.group.tolist(), histogram.value.tolist(), histogram.rows.tolist(), strict=True
        ):
            standing.setdefault(group, set()).update(cells[value])
            for size in range(1, model["m"] + 1):
                for some in combinations(cells[value], size):
                    records[group, some] += rows
        judged = np.zeros(len(fewest), dtype=bool)
        for (group, _), rows in records.items():
            fewest[group] = rows if not judged[group] else min(fewest[group], rows)
            judged[group] = True
        for group, mine in standing.items():
            if any(above.get(label, {label}) & mine != {label} for label in mine):
                fewest[group] = 0.0
        return Outcome(fewest, ~judged | (fewest >= model["k"]), judged, "low")

    def check(self, claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
        """Rows of generalised releases are counted, by one column of items at a time."""
        if claims.people or claims.sets or claims.made != "generalised":
            raise VerificationError("The manifest claims k-m, which is defined for rows of a generalised release.")
        if any(column.cells != "items" for column in columns):
            raise VerificationError("The manifest claims k-m on a column whose cells hold no items.")


# ----------------------------------------
# Which people of the population match each class: cell by cell and value by value, from what is published.


# Pairs of a class and a combination of values looked at in one go, which bounds the memory.
_PAIRS = 1 << 21


def matching_people(facts: Facts) -> np.ndarray:
    """People of the population whose values the cells of each class cover."""
    found = np.zeros(facts.classes.count, dtype=np.int64)
    for rows, meets in _meetings(facts):
        found[rows] = (meets * facts.population_counts).sum(axis=1)
    return found


def most_present(facts: Facts, shares: np.ndarray) -> np.ndarray:
    """For each class, how likely at most one of the people whom it covers is in the data.

    Somebody whom several classes cover may be in any of them, so that their shares add up.
    """
    odds, found = np.zeros(0 if facts.population is None else facts.population.height), shares.copy()
    known = np.where(np.isfinite(shares), shares, 0.0)  # a class that covers nobody adds to nobody
    for rows, meets in _meetings(facts):
        odds += known[rows] @ meets
    for rows, meets in _meetings(facts):
        found[rows] = np.maximum(found[rows], np.where(meets, odds, 0.0).max(axis=1, initial=0.0))
    return found


def _meetings(facts: Facts) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some classes at a time, and which combinations of values each of them covers."""
    population, people = facts.population, facts.population_counts
    if population is None or people is None:
        raise VerificationError("The population is only known at the gate.")
    parts = []
    for column in facts.claims.role("quasi"):
        of_class, texts = facts.classes.cells[column.name]
        values, cells = read_values(population[column.name], column.type), read_cells(column, texts)
        cell, value = np.divmod(np.arange(len(texts) * len(values.texts)), len(values.texts))
        inside = covered(column, cells, cell, values, value).reshape(len(texts), len(values.texts))
        parts.append((of_class, values.codes, inside))
    step = max(1, _PAIRS // max(len(people), 1))
    for start in range(0, facts.classes.count, step):
        rows = np.arange(start, min(start + step, facts.classes.count))
        meets = np.ones((len(rows), len(people)), dtype=bool)
        for of_class, codes, inside in parts:
            meets &= inside[np.ix_(of_class[rows], codes)]
        yield rows, meets


def limit(model: Model) -> int:
    """k people, or the smallest class that makes fewer people unlikely."""
    if "fraction" not in model:
        return int(model["k"])
    # Larger classes make it less likely, so that halving what is left finds the smallest that will do.
    sizes, likely = range(1, int(model["k"])), model.get("significance", 0.05) + TOLERANCE
    return 1 + bisect_left(sizes, True, key=lambda size: too_few(size, model) <= likely)


def too_few(size: int, model: Model) -> float:
    """The chance that a class of that size in the sample has fewer than k people in the population.

    With every number of people equally likely beforehand, those who were not drawn follow a negative binomial
    distribution.
    """
    drawn = model["fraction"]
    if drawn == 1:
        return float(size < model["k"])
    total = 0.0
    for people in range(size, model["k"]):
        ways = math.lgamma(people + 1) - math.lgamma(size + 1) - math.lgamma(people - size + 1)
        total += math.exp(ways + (size + 1) * math.log(drawn) + (people - size) * math.log1p(-drawn))
    return total


class KMap(Term):
    """k-map: at least k people of the population match the cells of every class."""

    name = "k-map"
    main = "k"
    words = "{k}-map anonymous"
    leaves_open = (
        "People known to be in the data: k-map counts people of the population, by a table or an estimate, and a class "
        "may hold a single record."
    )
    required = {"k": count}
    optional = {"fraction": positive_share, "significance": lambda value: number(value) and 0 < value <= 0.5}
    identity = True
    valued = False
    of_cells = True

    def limit(self, model: Model) -> float:
        return limit(model)

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """People of the population who match, or with a sampling fraction the size of the class."""
        found = matching_people(sample.facts) if "fraction" not in model else sample.sizes
        return Outcome(found.astype(float), found >= limit(model), np.ones(len(found), dtype=bool), "low")

    def size(self, model: Model) -> int:
        return limit(model) if "fraction" in model else 0

    def sides(self, model: Model) -> Sequence[str]:
        return ("",) if "fraction" in model else ("population",)


def could_be(facts: Facts) -> np.ndarray:
    """Rows of all classes that agree with each wherever neither has ``*``.

    Classes are sorted by where they have it; those of two such patterns are compared by the columns that are left.
    """
    columns = facts.claims.role("quasi")
    stars = np.array([_stars(facts, column) for column in columns]).reshape(len(columns), facts.classes.count)
    sizes, found = facts.sizes, np.zeros(facts.classes.count, dtype=np.int64)
    patterns, of_class = np.unique(stars, axis=1, return_inverse=True)
    members = [np.flatnonzero(of_class.ravel() == pattern) for pattern in range(patterns.shape[1])]
    for one, mine in enumerate(members):
        for other, theirs in enumerate(members):
            left = [at for at in range(len(columns)) if not patterns[at, one] and not patterns[at, other]]
            both = np.concatenate([mine, theirs])
            group = _groups(facts, [columns[at] for at in left], both)
            rows = np.bincount(group[len(mine) :], weights=sizes[theirs], minlength=int(group.max()) + 1)
            found[mine] += rows[group[: len(mine)]].astype(np.int64)
    return found


def _stars(facts: Facts, column: Column) -> np.ndarray:
    """Classes whose cell of a column is everything; the root of a hierarchy may have a name of its own."""
    codes, texts = facts.classes.cells[column.name]
    names = [STAR, *({row[-1] for row in column.hierarchy or ()} if column.cells == "label" else ())]
    return texts.is_in(names).to_numpy()[codes]


def _groups(facts: Facts, columns: Sequence[Column], classes: np.ndarray) -> np.ndarray:
    """A number for each of some classes, the same where they agree on some columns."""
    if not columns:
        return np.zeros(len(classes), dtype=np.int64)
    cells = [facts.classes.cells[column.name] for column in columns]
    keys = packed([codes[classes].astype(np.int64) for codes, _ in cells], [len(texts) for _, texts in cells])
    return group_rows(keys)[0]


class KWildcard(Term):
    """k-anonymity where ``*`` counts as any value: every record could be at least k of the release."""

    name = "k-wildcard"
    main = "k"
    words = "{k}-anonymous where * counts as any value"
    leaves_open = (
        "Records that share their cells with fewer: k-wildcard lets '*' count as any value, so that a record may be "
        "the only one that looks as it does, and a few records full of '*' stand in for the k of everybody."
    )
    required = {"k": count}
    identity = True
    valued = False
    of_cells = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Rows that the records of every class could be."""
        found = could_be(sample.facts)
        return Outcome(found.astype(float), found >= model["k"], np.ones(len(found), dtype=bool), "low")

    def check(self, claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
        """Rows are counted, so that nobody may have several."""
        if claims.people:
            raise VerificationError("The manifest claims k-wildcard of people, which is defined for rows alone.")


class DeltaPresence(Term):
    """delta-presence: a class holds some share of the people of the population who match it, and no more."""

    name = "delta-presence"
    main = "delta_max"
    words = "({delta_min:g},{delta_max:g})-present"
    leaves_open = (
        "Membership beyond the odds of delta-presence: they are those of somebody who knows the population table "
        "alone, and of people whom some class covers."
    )
    required = {"delta_max": positive_share, "delta_min": share}
    valued = False
    of_cells = True
    membership = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Between delta_min and delta_max; infinite where nobody of the population matches.

        The figure is that of whoever is likeliest to be in the data, and is larger than a class's own share where cells
        of several classes cover the same people.
        """
        with np.errstate(divide="ignore"):
            shares = sample.sizes / matching_people(sample.facts)
        found = most_present(sample.facts, shares)
        passes = at_most(found, model["delta_max"]) & at_least(shares, model["delta_min"])
        return Outcome(found, passes, np.ones(len(found), dtype=bool), "high")

    def sides(self, model: Model) -> Sequence[str]:
        return ("population",)

    def check(self, claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
        """Refuse limits in the wrong order."""
        if model["delta_min"] > model["delta_max"]:
            raise VerificationError("The manifest's model 'delta-presence' has an impossible 'delta_min'.")
