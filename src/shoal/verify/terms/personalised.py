"""Models that look back: at what each person guards, and at the values of earlier releases."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.counts import Known
from shoal.verify.facts import Sample
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Outcome, at_most
from shoal.verify.terms.base import Model, Term, count, positive_share
from shoal.verify.values import canonical

# ----------------------------------------
# Personalised anonymity, recomputed from labels: how likely each person is to be found under what they guard.


def breach_probabilities(
    paths: Sequence[Sequence[str]],
    released: pl.Series,
    guards: pl.Series,
    classes: np.ndarray,
    subjects: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    """Probability of a breach for every record, 0 for one without a guard.

    Parameters
    ----------
    paths
        The sensitive hierarchy, a path from leaf to root for each leaf.
    released, guards
        Label released for each record (null: its value is unknown, and it takes no part), label guarded (null: none).
    classes
        Class of each record, from 0.
    subjects
        Person of each record; None where each is another.
    rows
        How many records each stands for that are like it, one where it is None.
    """
    leaves = _leaves(paths)
    chance = np.zeros(len(classes))
    label, labels = _coded(released)
    guard, guarded = _coded(guards)
    for code in guarded:
        if code not in leaves:
            raise VerificationError("A guard is no node of the sensitive hierarchy.")
    share = np.array([[_share(leaves, node, wanted) for wanted in guarded] for node in labels]).reshape(
        len(labels), len(guarded)
    )
    known = label >= 0
    asks = np.flatnonzero(known & (guard >= 0))
    if not len(asks):
        return chance
    many = np.ones(len(classes), dtype=np.int64) if rows is None else rows
    times = np.ones(len(classes), dtype=np.int64)
    if subjects is not None:
        people, person = np.unique(np.stack([classes, np.asarray(subjects)]), axis=1, return_inverse=True)
        times = _summed(person[known], many[known], people.shape[1])[person]
    cases, of = np.unique(np.stack([classes[asks], guard[asks], times[asks]]), axis=1, return_inverse=True)
    pairs, pair = np.unique(classes[known] * len(labels) + label[known], return_inverse=True)
    counts = _summed(pair, many[known], len(pairs))
    starts = np.searchsorted(pairs, np.arange(int(classes.max()) + 2) * len(labels))
    found = np.empty(cases.shape[1])
    for place, (group, wanted, drawn) in enumerate(cases.T.tolist()):
        mine = slice(starts[group], starts[group + 1])
        found[place] = _drawn(counts[mine], share[pairs[mine] % len(labels), wanted], drawn)
    chance[asks] = found[of]
    return chance


def _summed(place: np.ndarray, rows: np.ndarray, places: int) -> np.ndarray:
    """Whole numbers added up by place."""
    found = np.zeros(places, dtype=np.int64)
    np.add.at(found, place, rows)
    return found


def _leaves(paths: Sequence[Sequence[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in paths:
        for label in path:
            found.setdefault(label, set()).add(path[0])
    return found


def _coded(series: pl.Series) -> tuple[np.ndarray, list[str]]:
    """Codes of distinct labels, -1 for null."""
    labels = series.drop_nulls().unique().sort().to_list()
    codes = {label: code for code, label in enumerate(labels)}
    return series.replace_strict(codes, default=-1, return_dtype=pl.Int64).to_numpy(), labels


def _share(leaves: dict[str, set[str]], node: str, guard: str) -> float:
    """Chance that a leaf under the node lies under the guard."""
    if node not in leaves:
        raise VerificationError("A released sensitive cell is no node of its hierarchy.")
    return len(leaves[node] & leaves[guard]) / len(leaves[node])


def _drawn(counts: np.ndarray, share: np.ndarray, times: int) -> float:
    """Chance that one of so many records drawn from a class lies under the guard.

    One minus the mean product of the misses over all choices of records: the coefficient of a polynomial with a factor
    for every record, over the number of choices; both are scaled by powers of the class size to stay small.
    """
    size = int(counts.sum())
    if times == 1:
        return float((counts * share).sum() / size)
    product = np.array([1.0])
    for many, mine in zip(counts.tolist(), share.tolist(), strict=True):
        factor = np.array([math.comb(many, j) / size**j * (1.0 - mine) ** j for j in range(min(many, times) + 1)])
        product = np.convolve(product, factor)[: times + 1]
    choices = math.comb(size, times) / size**times
    return 1.0 - float(product[times]) / choices


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


class Personalised(Term):
    """Personalised anonymity: hardly anybody is found under what they guard."""

    name = "personalised"
    main = "p"
    words = "of a breach probability of at most {p:g}"
    leaves_open = (
        "People who guard no value of '{}', and hints at guards: where values were lifted, somebody asked for it."
    )
    required = {"p": positive_share}
    optional = {"guard_level": lambda value: value == 0 or count(value)}
    people = False
    guards = True

    def judge(self, model: Model, sample: Sample) -> Outcome:
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

    def needs_input(self, claims: Claims, columns: Sequence[Column]) -> bool:
        return True  # guards are as sensitive as values

    def check(self, claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
        """Guards are nodes of one hierarchy."""
        if len(columns) != 1 or (columns[0].hierarchy is None and columns[0].coded is None):
            raise VerificationError(
                "The manifest's model 'personalised' is not claimed on one column with a hierarchy."
            )

    def necessary(self, model: Model, known: Known) -> np.ndarray:
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


class MInvariance(Term):
    """m-invariance: m values in each class, each as often as the others, and the same as in earlier releases."""

    name = "m-invariance"
    main = "m"
    words = "{m}-invariant"
    required = {"m": count}
    identity = True
    single = True
    remembers = True
    people = False

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Distinct answers of each class, 0 where they are not equally frequent, or not those of earlier releases."""
        answers = sample.histogram.answers()
        distinct = np.bincount(answers.group, minlength=answers.classes).astype(float)
        least, most = answers.extremes(answers.rows.astype(float))
        even = (least == most) & (sample.facts.all_sizes == sample.facts.classes.sizes)
        if sample.side == "history":
            even &= ~_strange(sample)
        value = np.where(even, distinct, 0.0)
        return Outcome(value, ~sample.judged | (value >= model["m"]), sample.judged, "low")

    def sides(self, model: Model) -> Sequence[str]:
        # Judged twice: by what is released, and by what only the publisher knows.
        return ("released", "history")

    def necessary(self, model: Model, known: Known) -> np.ndarray:
        return known.distinct >= model["m"]

    def left(self, model: Model, sample: Sample) -> float | np.ndarray:
        return 1 / model["m"]
