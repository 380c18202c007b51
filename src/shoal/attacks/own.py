"""The class that is a person's own, where the cells of several cover the person."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.attacks.base import AttackFigure
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


def pooled(one: AttackFigure) -> AttackFigure:
    """A figure of somebody who cannot tell which of several classes is a person's."""
    name, column = one.name.split(":", 1)
    told = f"Without knowing which of the classes that cover a person is theirs: {one.sentence}"
    return replace(one, name=f"{name}-pooled:{column}", sentence=told)
