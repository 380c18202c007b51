"""k^m-anonymity: up to m items that somebody is known to have are shared by k records of a class, or by none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from shoal.errors import VerificationError
from shoal.verify.claims import Claims, Column
from shoal.verify.facts import Sample
from shoal.verify.items import labels, paths
from shoal.verify.outcome import Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count


def judge(model: Model, sample: Sample) -> Outcome:
    """The fewest records of each class that share up to m of the labels that one of them has.

    Where one label of a class lies above another, knowing an item below both is told by records that show either, which
    no count of labels tells: such a class shares nothing.
    """
    column, texts = sample.attribute.columns[0], sample.attribute.texts.to_list()
    above = paths(column)
    cells = [sorted(set(labels(text, column.mark or ""))) for text in texts]
    fewest = np.zeros(sample.facts.classes.count, dtype=float)
    histogram, records = sample.histogram, Counter[tuple[int, tuple[str, ...]]]()
    standing: dict[int, set[str]] = {}
    for group, value, rows in zip(
        histogram.group.tolist(), histogram.value.tolist(), histogram.rows.tolist(), strict=True
    ):
        standing.setdefault(group, set()).update(cells[value])
        for size in range(1, model["m"] + 1):
            for some in combinations(cells[value], size):
                records[group, some] += rows
    judged = np.zeros(len(fewest), dtype=bool)
    for (group, _), rows in records.items():
        fewest[group] = rows if not judged[group] else min(fewest[group], rows)
        judged[group] = True
    for group, mine in standing.items():
        if any(above.get(label, {label}) & mine != {label} for label in mine):
            fewest[group] = 0.0
    return Outcome(fewest, ~judged | (fewest >= model["k"]), judged, "low")


def check(claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
    """Rows of generalised releases are counted, by one column of items at a time."""
    if claims.people or claims.sets or claims.made != "generalised":
        raise VerificationError("The manifest claims k-m, which is defined for rows of a generalised release.")
    if any(column.cells != "items" for column in columns):
        raise VerificationError("The manifest claims k-m on a column whose cells hold no items.")


TERM = Term(
    name="k-m",
    main="k",
    words="{k}^{m}-anonymous",
    leaves_open=(
        "Items of '{}' beyond those known: k-m counts records that share a few known items, so that whoever knows more "
        "of them, or which ones a person does not have, may find fewer, and what all records of a class have is known "
        "of each."
    ),
    required={"k": count, "m": lambda value: count(value) and value <= 4},
    limit=lambda model: model["k"],
    judge=judge,
    single=True,
    of_cells=True,
    check=check,
)
