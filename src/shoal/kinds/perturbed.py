"""Quasi-identifiers that are swapped between records, or made up from those of similar ones: nobody's own."""

from __future__ import annotations

from shoal.kinds.base import Kind, Trait

PERTURBED = Kind(
    name="perturbed",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.COVERING: "cells are values that need not be those of the people behind them",
        Trait.MATCHING: "cells are values that need not be those of the people behind them",
        Trait.ALIKE: "records were perturbed and only happen to agree, so that its classes say nothing",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.CLASSES: "records that agree only happen to, so it has no classes of people",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn from a distribution that is known",
        Trait.CODES: "nothing is coded",
    },
    classes="shoal.recoding.exact:perturbed",
    publish="shoal.recoding.publish:in_one_table",
    attack="shoal.attacks.required:on_perturbed",
    code="W-PERTURBED",
    meaning="Perturbed quasi-identifiers hide nobody among others",
    implies=("W-NO-K", "W-UNMODELLED"),
    exact="a value, swapped with another record's, redrawn, with noise, or made up; nothing says which are true",
    known="",
    remark="",
    not_protected=(
        "Links to people: a perturbed record is often still the nearest to its person, and nothing bounds how often.",
        "Sensitive values of whoever is linked: they are published as they are.",
    ),
    class_figures=(
        "Quasi-identifiers of this release were swapped, redrawn or made up, so records of a class only happen to "
        "agree: figures about finding people count what is written, and do not say how likely somebody is found. The "
        "attack 'record-linkage' measures that, from the recipe.",
        "Figures about sensitive values are of classes that the perturbation made, so they bound nobody's guess.",
    ),
    foreign=False,
    undone=False,
)  # fmt: skip
