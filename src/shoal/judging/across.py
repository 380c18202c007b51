"""People with rows in several classes: judge the values that all of these classes leave possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from shoal.data.classes import Grouped
from shoal.data.stats import Attribute, GroupStats, Possible
from shoal.models.judge import Judge
from shoal.recoding.kinds import Trait
from shoal.recoding.recoded import Released

Parted = tuple[Grouped, Callable[[], GroupStats]]


def judge_people(
    released: Released, judge: Judge, parted: Sequence[Parted]
) -> tuple[np.ndarray, list[tuple[str, ...]], list[str]]:
    """Find the rows of people for whom too few values remain, the attributes judged so, and the models that fail.

    Judged is everybody without different known values of the attribute in released rows, by each model that asks for
    values. Whom this leaves out follows from the released rows alone.

    Parameters
    ----------
    parted
        Classes by which models are judged, and who counts them: one, or one a set of quasi-identifiers.
    """
    rows, schema = released.rows, released.domain.schema
    gone, across, failing = np.empty(0, dtype=np.int64), [], set()
    if not rows.domain.by_people or not schema.across_classes or not released.made.has(Trait.CLASSES):
        return gone, [], []
    for name, one, shares in _asked(judge):
        across.append(one.names)
        for classes, counted in parted:
            found = rows.narrowed(classes, one, Possible.of(counted().histograms[one.key], one, shares))
            failing |= {name} if found.size else set()
            gone = np.union1d(gone, found)
    return gone, list(dict.fromkeys(across)), sorted(failing)


def _asked(judge: Judge) -> Iterator[tuple[str, Attribute, np.ndarray]]:
    """Models that ask for values that remain possible, with the attribute and what each value is worth."""
    for model in judge.models:
        for one in model.attributes(judge.reference.domain):
            shares = model.worth_left(one)
            if shares is not None:
                yield model.name, one, shares
