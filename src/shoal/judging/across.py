"""People with rows in several classes: judge the values that all of these classes leave possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from shoal.kinds.base import Trait
from shoal.models.judge import Judge
from shoal.recoding.applied import Released
from shoal.table.classmap import Grouped
from shoal.table.possible import Possible
from shoal.table.stats import Attribute, GroupStats

# At most one in so many people with several known values may have different ones: a slip that some make, say, leaves
# the values of the others as constant as they were.
ONE_IN = 20
Parted = tuple[Grouped, Callable[[], GroupStats]]


def judge_people(
    released: Released, judge: Judge, parted: Sequence[Parted], before: Sequence[tuple[str, ...]] = ()
) -> tuple[np.ndarray, list[tuple[str, ...]], list[str]]:
    """Find the rows of people for whom too few values remain, the attributes judged so, and the models that fail.

    Judged is every attribute of which hardly any released person has different values, by each model that asks for
    values. Which these are follows from the released rows alone.

    Parameters
    ----------
    parted
        Classes by which models are judged, and who counts them: one, or one a set of quasi-identifiers.
    before
        Attributes that were judged already, and people suppressed for them.
    """
    rows, schema = released.rows, released.domain.schema
    gone, across, failing = np.empty(0, dtype=np.int64), list(before), []
    if not rows.domain.by_people or not schema.across_classes or not released.made.has(Trait.CLASSES):
        return gone, [], []
    asked = list(_asked(judge))
    for one in {one.names: one for _, one, _ in asked if one.names not in before}.values():
        some, several = rows.changing(released.classmap, one)
        across += [one.names] if some * ONE_IN <= several else []
    for name, one, shares in asked:
        for classes, counted in parted if one.names in across else ():
            found = rows.narrowed(classes, Possible.of(counted().histograms[one.key], one, shares))
            failing += [name] if found.size else []
            gone = np.union1d(gone, found)
    return gone, across, sorted(set(failing))


def _asked(judge: Judge) -> Iterator[tuple[str, Attribute, np.ndarray]]:
    """Models that ask for values that remain possible, with the attribute and what each value is worth."""
    for model in judge.models:
        for one in model.attributes(judge.reference.domain):
            shares = model.worth_left(one)
            if shares is not None:
                yield model.name, one, shares
