"""The class that is a person's own, where the cells of several cover the person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.attacks.case import AttackCase
from shoal.attacks.views import own_people

_NO_CLASS = (
    "Everybody's own class is taken to be known, so there is no control but of the pooled figure: people outside the "
    "data have no class."
)


def in_own_class(case: AttackCase) -> AttackCase:
    """The same case with everybody known by their class, where cells alone would leave several.

    The publisher knows the class of every row of the input. Otherwise the released records stand in for the people,
    each in its own class. A case in which nobody is covered by two classes stays as it is.
    """
    people = case.people
    if people.vectors is None or people.vector is None or case.view.matcher is None:
        return case
    covering = case.view.matcher.counts(people.vectors, np.ones(case.view.matcher.sizes.size))
    if covering[people.vector].max(initial=0.0) <= 1:
        return case
    classes = case.own_classes
    if classes is not None:
        own = replace(people, classes=classes.astype(np.int32), vectors=None, vector=None)
    else:
        own = own_people(case.view)
    return replace(case, people=own, control=None, no_control=_NO_CLASS, input_rows=None, own=None)
