"""Exact quasi-identifiers in groups, and sensitive values that are known by group only."""

from __future__ import annotations

from shoal.kinds.base import Kind, Trait

BUCKETISED = Kind(
    name="bucketised",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:groups",
    publish="shoal.recoding.buckets:by_group",
    attack="shoal.attacks.required:on_groups",
    code="W-EXACT-QI",
    meaning="Quasi-identifiers are published exactly, so nobody's identity is protected",
    implies=("W-NO-K",),
    exact="exactly as it was collected",
    known=", but known by group only",
    remark=", quasi-identifiers exact",
    not_protected=(
        "Identity and membership: quasi-identifiers are exact, so whoever knows a person's sees whether and in which "
        "group they are.",
        "Values of a group whose other members are known, or that go together with quasi-identifiers throughout the "
        "release.",
    ),
    class_figures=(
        "Quasi-identifiers of this release are published as they are: figures about finding people are those of the "
        "raw data, and say who can be seen to be in it.",
        "Sensitive values are known by group and not by record, so they are left out here: the attacks 'homogeneity', "
        "'background' and 'relinking' measure what groups give away.",
    ),
    foreign=False,
    undone=False,
)  # fmt: skip
