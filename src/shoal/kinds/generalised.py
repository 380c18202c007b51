"""Cells that cover the values behind them, the same for all records of a class."""

from __future__ import annotations

from shoal.kinds.base import Kind, Trait

GENERALISED = Kind(
    name="generalised",
    lacks={
        Trait.CENTROIDS: "its cells are no centroids",
        Trait.GROUPS: "its sensitive values stand beside their records",
        Trait.NOISE: "nothing was redrawn at random",
        Trait.CODES: "nothing is coded",
        Trait.PERTURBED: "nothing was swapped or made up",
    },
    classes="shoal.recoding.applied:generalised",
    publish="shoal.recoding.publish:in_one_table",
    attack=None,
    code=None,
    meaning=None,
    implies=(),
    exact=None,
    known="",
    remark="",
    not_protected=(),
    class_figures=(),
    foreign=True,
    undone=False,
)
