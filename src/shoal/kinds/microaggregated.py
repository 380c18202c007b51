"""Means, medians or modes of classes in the place of their members' values."""

from __future__ import annotations

from shoal.kinds.base import Kind, Trait

MICROAGGREGATED = Kind(
    name="microaggregated",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.COVERING: "cells are centroids, which cover no set of values",
        Trait.MATCHING: "cells are centroids, which cover no set of values",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:centroids",
    publish="shoal.recoding.publish:in_one_table",
    attack=None,
    code=None,
    meaning=None,
    implies=(),
    exact="the mean, median or mode of the class, nobody's own",
    known="",
    remark="",
    not_protected=(
        "The last member of a class whose other members are known: a mean gives the missing value away.",
    ),
    class_figures=(
        "Cells of this release are means, medians or modes, which nobody need have: figures about finding people hold "
        "for somebody who knows the person's class, and figures about the population hold for nobody. The attack "
        "'nearest' measures how often the nearest class is the right one.",
    ),
    foreign=True,
    undone=False,
)  # fmt: skip
