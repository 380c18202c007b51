"""t-closeness: a class's distribution is near the table's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.errors import VerificationError
from shoal.verify.claims import Claims, Column
from shoal.verify.closeness import default_distance, t_closeness
from shoal.verify.facts import Facts, Sample
from shoal.verify.known import Known, largest_allowed
from shoal.verify.outcome import TOLERANCE
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import not_negative, one_of


def check(claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
    """Refuse a distance that a column has not."""
    distance = model.get("distance")
    for column in columns:
        if distance == "ordered" and (joint or (column.type == "categorical")):
            raise VerificationError(
                f"The manifest claims an ordered distance on '{column.name}', which has no order."
            )
        if distance == "hierarchical" and (joint or (column.hierarchy is None and column.coded is None)):
            raise VerificationError(
                f"The manifest claims a hierarchical distance on '{column.name}', which has no hierarchy."
            )


def weaker(model: Model, facts: Facts, names: tuple[str, ...]) -> Model | None:
    """Twice t against the released rows: a mixture of the classes, hence within t of the input as well.

    Rows must be counted, by a distance that obeys the triangle, on values that are published. A class without any
    answer holds however far it is from the input, and with it the released rows may be.
    """
    columns = [facts.claims.column(name) for name in names]
    distance = model.get("distance") or default_distance(columns)
    plain = not facts.claims.people and all(column.coded is None for column in columns)
    if not plain or distance not in ("equal", "variational", "hierarchical"):
        return None
    if not Sample(facts, names, "input").judged.all():
        return None
    return {**model, "t": 2 * largest_allowed(model["t"])}


def necessary(model: Model, known: Known) -> np.ndarray:
    """Two classes are at most twice t apart, since both are within t of the table.

    What share of its class a value has at least in one and at most in another is compared; moving a share from one
    value to another costs 1 (equal), or at least a step of the order or of the hierarchy.
    """
    view = known.view
    total = view.sums(view.rows)[view.group]
    fewest = np.maximum(1.0, view.rows - (known.most - known.least)[view.group])
    others = view.sums(fewest)[view.group] - fewest
    low = fewest / (fewest + total - view.rows)
    high = view.rows / np.maximum(known.least[view.group], view.rows + others)
    values = len(known.sample.attribute.known)
    at_one, at_other = np.zeros(values), np.full(values, np.inf)
    np.maximum.at(at_one, view.value, low)
    np.minimum.at(at_other, view.value, high)
    at_other[np.bincount(view.value, minlength=values) < (known.most > 0).sum()] = 0.0
    gap = np.max(at_one - at_other, initial=0.0)
    return np.full(view.classes, gap <= 2 * _moved(model, known) + TOLERANCE)


def _moved(model: Model, known: Known) -> float:
    """The largest share that can be moved between values within t."""
    columns, t = known.sample.attribute.columns, float(largest_allowed(model["t"]))
    distance = model.get("distance") or default_distance(columns)
    if distance == "kl":  # Pinsker
        return float(np.sqrt(t / 2))
    if distance == "ordered":
        # It is divided by the number of values, of which the input may have more.
        if known.sample.side == "input" and model["t"]:
            return np.inf
        return t * (len(np.unique(known.whole.value)) - 1)
    if distance == "hierarchical" or (known.coded and len(columns) == 1 and model.get("distance") is None):
        height = len(columns[0].hierarchy[0]) - 1 if columns[0].hierarchy else np.inf
        return t * height if model["t"] else t
    return t


TERM = Term(
    name="t-closeness",
    main="t",
    words="{t:g}-close",
    required={"t": not_negative},
    optional={
        "distance": one_of(None, "equal", "ordered", "hierarchical", "variational", "kl"),
        "reference": one_of("input", "released"),
    },
    limit=lambda model: model["t"],
    judge=t_closeness,
    sides=lambda model: (model.get("reference", "input"),),
    reads_input=True,
    check=check,
    can_fail=lambda model: model.get("distance") == "kl" or model["t"] < 1,
    necessary=necessary,
    weaker=weaker,
    left=lambda model, sample: 1 / 2,
)
