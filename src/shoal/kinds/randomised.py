"""Quasi-identifiers redrawn at random: every cell is a value, and nothing says whose."""

from __future__ import annotations

from shoal.kinds.base import Kind, Trait

RANDOMISED = Kind(
    name="randomised",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.COVERING: (
            "cells were redrawn at random, and none tells what a wrong value loses: the evaluations count-queries and "
            "rules measure that"
        ),
        Trait.ALIKE: "records were redrawn at random and only happen to agree, so that its classes say nothing",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.CLASSES: "records that agree only happen to, so it has no classes of people",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:redrawn",
    publish="shoal.recoding.publish:in_one_table",
    attack="shoal.attacks.required:on_noise",
    code="W-RA-LINK",
    meaning="Random anonymisation is noise, not anonymity",
    implies=("W-NO-K", "W-UNMODELLED"),
    exact="a value; in every record one or several were drawn anew, and nothing says which",
    known="",
    remark="",
    not_protected=(
        "Links to people: all quasi-identifiers of a record but those redrawn are exact, and often all of them are.",
        "Sensitive values of whoever is re-linked: they are published as they are. The noise's entropy (Pa) bounds no "
        "attacker.",
    ),
    class_figures=(
        "Quasi-identifiers of this release were redrawn at random, so records of a class only happen to agree: figures "
        "about finding people count what is written, and do not say how likely somebody is found. The attacks "
        "'posterior' and 'ra-linkage' measure that, from the recipe.",
        "Figures about sensitive values are of classes that the noise made, so they bound nobody's guess: 'ra-linkage' "
        "measures it.",
    ),
    foreign=False,
    undone=False,
)  # fmt: skip
