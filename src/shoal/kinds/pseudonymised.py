"""Codes in the place of values, and quasi-identifiers as they were collected."""

from __future__ import annotations

from shoal.kinds.base import Kind, Trait

PSEUDONYMISED = Kind(
    name="pseudonymised",
    lacks={
        Trait.GENERALISED: "nothing is generalised",
        Trait.CENTROIDS: "its quasi-identifiers are no centroids",
        Trait.CLASSES: "sensitive values are coded, so that classes do not show those of their people",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.exact:unchanged",
    publish="shoal.recoding.publish:in_one_table",
    attack="shoal.attacks.required:on_codes",
    code="W-PP-REV",
    meaning="Codes are pseudonymisation, not anonymisation",
    implies=("W-NO-K", "W-UNMODELLED"),
    exact="exactly as it was collected",
    known="",
    remark="",
    not_protected=(
        "Links to people: quasi-identifiers that are not generalised are published exactly.",
        "Coded values: codes are the same for equal values, so they can be read back by rank or by frequency, and by "
        "whoever holds the secrets.",
    ),
    class_figures=(
        "Quasi-identifiers of this release are published as they are: figures about finding people are those of the "
        "raw data. What codes give away they do not show: the attacks 'rank-matching' and 'frequency-matching' do.",
    ),
    foreign=False,
    undone=True,
)  # fmt: skip
