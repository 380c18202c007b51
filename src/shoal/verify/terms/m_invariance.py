"""m-invariance, straight from its definition: values of a class, how often each occurs, and what they were before."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.facts import Sample
from shoal.verify.outcome import Outcome
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count
from shoal.verify.values import canonical


def judge(model: Model, sample: Sample) -> Outcome:
    """Distinct answers of each class, 0 where they are not equally frequent, or not those of earlier releases."""
    answers = sample.histogram.answers()
    distinct = np.bincount(answers.group, minlength=answers.classes).astype(float)
    least, most = answers.extremes(answers.rows.astype(float))
    even = (least == most) & (sample.facts.all_sizes == sample.facts.classes.sizes)
    if sample.side == "history":
        even &= ~_strange(sample)
    value = np.where(even, distinct, 0.0)
    return Outcome(value, ~sample.judged | (value >= model["m"]), sample.judged, "low")


def _strange(sample: Sample) -> np.ndarray:
    """Whether a class has somebody whose earlier classes had other values than this one."""
    facts, attribute = sample.facts, sample.attribute
    strange = np.zeros(facts.classes.count, dtype=bool)
    if facts.history is None:
        return strange
    answers = sample.histogram.answers()
    rows = pl.DataFrame({"class": answers.group, "text": attribute.texts.gather(answers.value)})
    now = rows.group_by("class").agg(pl.col("text").unique().sort().alias("now"))
    before = facts.history
    exploded = before.with_row_index("at").explode("before", empty_as_null=True)
    exploded = exploded.with_columns(canonical(exploded["before"], attribute.columns[0].reads)[0].alias("before"))
    texts = exploded.group_by("at").agg("class", pl.col("before").drop_nulls().unique().sort())
    # A class without any answer is not judged.
    pairs = texts.select(pl.col("class").list.first(), "before").join(now, on="class")
    other = pairs.filter(pl.col("before") != pl.col("now"))
    strange[other["class"].to_numpy()] = True
    return strange


TERM = Term(
    name="m-invariance",
    main="m",
    words="{m}-invariant",
    required={"m": count},
    limit=lambda model: model["m"],
    judge=judge,
    identity=True,
    single=True,
    remembers=True,
    people=False,
    # Judged twice: by what is released, and by what only the publisher knows.
    sides=lambda model: ("released", "history"),
    necessary=lambda model, known: known.distinct >= model["m"],
    left=lambda model, sample: 1 / model["m"],
)
