"""The model of personalised anonymity, judged class by class from labels and guards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.claims import Claims, Column
from shoal.verify.facts import Sample
from shoal.verify.known import Known
from shoal.verify.outcome import Outcome, at_most
from shoal.verify.personalised import breach_probabilities
from shoal.verify.terms.base import Model, Term
from shoal.verify.terms.parameters import count, positive_share


def judge(model: Model, sample: Sample) -> Outcome:
    """The likeliest breach of each class; records of unknown value take no part."""
    facts, (name,) = sample.facts, sample.names
    records = facts.guarded.get(name)
    if records is None:
        raise VerificationError("What people guard is only known at the gate.")
    seen = records.select(pl.when(pl.col("truth").is_not_null()).then("label")).to_series()
    paths = facts.claims.column(name).hierarchy or ()
    group, who = records["class"].to_numpy(), records["who"].to_numpy() if facts.people else None
    guards = _guards(model, records, paths)
    chances = breach_probabilities(paths, seen, guards, group, who, records["rows"].to_numpy())
    worst = np.zeros(facts.classes.count)
    np.maximum.at(worst, group, chances)
    judged = np.zeros(facts.classes.count, dtype=bool)
    judged[group[records["truth"].is_not_null().to_numpy()]] = True
    return Outcome(worst, at_most(worst, model["p"]) | ~judged, judged, "high")


def _guards(model: Model, records: pl.DataFrame, paths: Sequence[Sequence[str]]) -> pl.Series:
    """The label that each record guards, null for none: as its owner wrote it, or at one level above its value."""
    level = model.get("guard_level")
    if level is not None:
        above = {path[0]: path[min(level, len(path) - 1)] for path in paths}
        return records["truth"].replace_strict(above, default=None, return_dtype=pl.String)
    if "guard" not in records.columns:
        raise VerificationError("The gate was not told what people guard.")
    asked = (pl.col("guard") != "") & pl.col("truth").is_not_null()
    return records.select(pl.when(asked).then("guard")).to_series()


def check(claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
    """Guards are nodes of one hierarchy."""
    if len(columns) != 1 or (columns[0].hierarchy is None and columns[0].coded is None):
        raise VerificationError("The manifest's model 'personalised' is not claimed on one column with a hierarchy.")


def necessary(model: Model, known: Known) -> np.ndarray:
    """Where everybody guards something and all of a class have one value, that value is out.

    A ``*`` beside it is a value that was lifted all the way, no missing answer, so cells count as they stand.
    """
    column, view = known.sample.attribute.columns[0], known.view
    if model.get("guard_level") is None or column.hierarchy is None or model["p"] >= 1:
        return np.ones(view.classes, dtype=bool)
    leaves = {row[0] for row in column.hierarchy}
    leaf = np.array([text in leaves for text in known.sample.attribute.texts.to_list()], dtype=bool)
    bare = np.bincount(view.group, weights=leaf[view.value], minlength=view.classes)
    cells = np.bincount(known.whole.group, minlength=view.classes)
    return ~((bare == 1) & (cells == 1))


TERM = Term(
    name="personalised",
    main="p",
    words="of a breach probability of at most {p:g}",
    leaves_open=(
        "People who guard no value of '{}', and hints at guards: where values were lifted, somebody asked for it."
    ),
    required={"p": positive_share},
    optional={"guard_level": lambda value: value == 0 or count(value)},
    limit=lambda model: model["p"],
    judge=judge,
    people=False,
    guards=True,
    needs_input=lambda claims, columns: True,  # guards are as sensitive as values
    check=check,
    necessary=necessary,
)
