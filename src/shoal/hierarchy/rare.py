"""Outliers recoded: rare values join a general category of their column before anything coarser is tried.

Morton et al. (Sections 5.1 and 5.2) recode outliers after looking at each column's distribution. Here that is a level
of the hierarchy, so that a release says which cells it happened to, and a search decides whether it has to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchy.hierarchy import MISSING, ROOT, Hierarchy
from shoal.params import is_number

OTHER = "other"


def check_least(name: str, least: object) -> int:
    """How many records a value needs not to be rare."""
    if not is_number(least) or least != int(least) or least < 2:  # type: ignore[call-overload, operator]
        raise HierarchyError(
            f"The 'rare' of the hierarchy of '{name}' must be a whole number of at least 2: got {least!r}."
        )
    return int(least)  # type: ignore[call-overload, no-any-return]


def rare_together(tree: Hierarchy, counts: Mapping[str, int], least: int) -> Hierarchy:
    """The same tree with one more level above the values: those with fewer records become one, under each parent.

    Where they have fewer than ``least`` together, the next rarest joins them, until they have as many.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "*"], ["dog", "*"], ["newt", "*"], ["eft", "*"]])
    >>> rare_together(tree, {"cat": 9, "dog": 8, "newt": 2, "eft": 1}, 3).rows()[2]
    ['newt', 'other', '*']
    """
    some: set[str] = set()
    for _, paths in groupby(tree.rows(), key=lambda path: path[1:]):
        some |= _joined([path[0] for path in paths if path[0] != MISSING], counts, least)
    made = replace(_labelled(tree, some), counted=True, relabel=partial(_together_again, tree))
    return made.with_missing() if MISSING in tree.leaf_code else made


def _labelled(tree: Hierarchy, some: Collection[str]) -> Hierarchy:
    """A tree with a level above the values, on which some of them have one label under each parent."""
    rows, taken = [], set(tree.node_labels)
    for leaf, *parent in tree.rows():
        label = _free(OTHER if parent in ([], [tree.labels[-1][0]]) else f"{OTHER} {parent[0]}", taken)
        rows.append([leaf, label if leaf in some else leaf, *(parent or [ROOT])])
    return Hierarchy.from_rows(tree.name, rows)


def _together_again(whole: Hierarchy, tree: Hierarchy) -> Hierarchy:
    """The same groups of rare values, named beside the values that are left; a value that is left alone is itself."""
    joined = {row[0]: row[1] for row in tree.rows() if row[0] != row[1]}
    often = Counter(joined.values())
    return _labelled(_part(whole, tree), {value for value, label in joined.items() if often[label] > 1})


def _part(whole: Hierarchy, tree: Hierarchy) -> Hierarchy:
    """The part of the hierarchy before anything joined that has the values of another one."""
    return whole.part(np.array([label in tree.leaf_code for label in whole.labels[0]]))


def rare_tails(tree: Hierarchy, counts: Mapping[str, int], least: int) -> Hierarchy:
    """The same tree of intervals, whose outermost ones join until each end of a level has enough records.

    Examples
    --------
    >>> rows = [["3", "[0,9]", "*"], ["14", "[10,19]", "*"], ["25", "[20,29]", "*"], ["31", "[30,39]", "*"]]
    >>> rare_tails(Hierarchy.from_rows("age", rows), {"3": 1, "14": 8, "25": 9, "31": 5}, 5).labels[1]
    ('<20', '[20,29]', '[30,39]')
    """
    paths = [path for path in tree.rows() if path[0] != MISSING]
    weights = [counts.get(path[0], 0) for path in paths]
    kept: list[int] = []
    levels: list[list[str]] = []
    low, high = 0, len(paths)  # values below and from here on are in a tail of the level before
    for level in range(1, tree.height):
        labels = [path[level] for path in paths]
        first, last = (
            _end(labels, weights, least, low),
            len(paths) - _end(labels[::-1], weights[::-1], least, len(paths) - high),
        )
        if first < last:
            kept.append(level)
            levels.append(_with_tails(labels, first, last))
            low, high = first, last
    rows = [[path[0], *(level[at] for level in levels), path[-1]] for at, path in enumerate(paths)]
    made = replace(Hierarchy.from_rows(tree.name, rows), counted=True, relabel=partial(_tails_again, tree, kept))
    return made.with_missing() if MISSING in tree.leaf_code else made


def _tails_again(whole: Hierarchy, kept: Sequence[int], tree: Hierarchy) -> Hierarchy:
    """The same tails, named by the intervals of the values that are left.

    Parameters
    ----------
    whole, kept
        The intervals before any of them joined, and which of their levels there are.
    """
    paths = _part(whole, tree).rows()
    levels: list[list[str]] = []
    below = above = False  # whether there is such a tail on the level before
    for at, level in enumerate(kept, 1):
        tails = [tree.labels[at][node] for node in tree.ancestors[at]]
        labels = [path[level] for path in paths]
        first = sum(label.startswith("<") for label in tails)
        last = len(labels) - sum(label.startswith(">=") for label in tails)
        # What is left of a tail may be one interval, which needs no other name.
        below, above = below or len(set(labels[:first])) > 1, above or len(set(labels[last:])) > 1
        levels.append(_with_tails(labels, first if below else 0, last if above else len(labels)))
    rows = [[path[0], *(level[at] for level in levels), path[-1]] for at, path in enumerate(paths)]
    return Hierarchy.from_rows(tree.name, rows)


def _joined(values: Sequence[str], counts: Mapping[str, int], least: int) -> set[str]:
    """Values that become one: the rare ones, and as many of the next as it takes; none where no value is rare."""
    found: list[str] = []
    together = 0
    for value in sorted(values, key=lambda value: (counts.get(value, 0), value)):
        if counts.get(value, 0) >= least and (not found or together >= least):
            break
        found.append(value)
        together += counts.get(value, 0)
    return set(found) if len(found) > 1 else set()


def _free(label: str, taken: Collection[str]) -> str:
    """A label that means nothing else in the column."""
    while label in taken:
        label += " (rare)"
    return label


def _end(labels: Sequence[str], weights: Sequence[int], least: int, least_values: int) -> int:
    """How many values the whole intervals at one end have that hold enough records; 0 where the first one does."""
    done = together = nodes = 0
    for _, run in groupby(range(len(labels)), key=lambda at: labels[at]):
        places = list(run)
        together += sum(weights[at] for at in places)
        done, nodes = done + len(places), nodes + 1
        if together >= least and done >= least_values:
            break
    return done if nodes > 1 or least_values else 0


def _with_tails(labels: Sequence[str], first: int, last: int) -> list[str]:
    found = list(labels)
    if first == len(labels) or (last == 0 and labels):  # no value is left that the tail could end at
        return [ROOT] * len(labels)
    if first:
        found[:first] = [f"<{_start(labels[first])}"] * first
    if last < len(labels):
        found[last:] = [f">={_start(labels[last])}"] * (len(labels) - last)
    return found


def _start(label: str) -> str:
    """The lower end of an interval as builders label it."""
    return label.removeprefix("[").split(",")[0]
