"""What the verifier is given and what it gives back: plain data, kept here so that it imports nothing of ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    from shoal.verify.values import Coded


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing the gate or the re-check looked at.

    Attributes
    ----------
    name
        Short name, such as ``"coverage"`` or ``"entropy-l on occupation"``.
    passed
        Whether it held.
    detail
        One sentence fit for the public: column names, counts and class sizes, never a value.
    code
        The warning code that accepts what it found, None where nothing does.
    """

    name: str
    passed: bool
    detail: str
    code: str | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How one model fares on the worst class.

    Attributes
    ----------
    model
        The model as written in a recipe, for example ``{"name": "k", "k": 5}``.
    on
        The sensitive attribute or attributes judged, None for models of class size alone.
    holds
        Whether every class meets the limit.
    by
        ``"rechecked"`` (derivable from file and manifest) or ``"attested"`` (needed the input).
    value, limit
        The worst class's figure and what it is compared with.
    classes
        Number of classes that fail.
    smallest
        Rows in the smallest failing class, 0 when none fails.
    vouched_by
        The package whose term of the model was judged by, None for the verifier's own.
    """

    model: Mapping[str, Any]
    on: str | Sequence[str] | None
    holds: bool
    by: str
    value: float
    limit: float
    classes: int = 0
    smallest: int = 0
    vouched_by: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What the gate is told beside the rows.

    Attributes
    ----------
    manifest
        The manifest to be published, without ``verdicts``, ``classes`` and the hash in ``data``.
    suppressed
        Input rows that were suppressed. With ``suppressed = "star"`` in the manifest they are released as all-star
        rows.
    n_read, n_dropped
        Rows read from the source, and rows dropped for missing cells.
    neutral_limit
        Largest share of released rows that may be unique on quasi + neutral without ``W-NEUTRAL``.
    acknowledged
        Warning codes accepted by the recipe.
    uncoded
        Columns that are published as codes, as the manifest would describe them without: models look at values.
    counterfeits
        How many of the last input rows the method made up.
    hierarchies
        Whole hierarchies by column, of which the manifest shows a part; without one the manifest's is whole.
    policies
        The same of sensitive ranges.
    grids
        Quasi-identifiers whose intervals must not end at values that few people have, each with the width of the grid
        that they end on instead, None where every value is common.
    steps
        Quasi-identifiers whose intervals end on a grid that the recipe declares, each with its width.
    inferred
        Columns of text whose type nobody declares.
    left_out
        Identifiers, and people, of rows that were read and take no part, by column: no cell may hold them either.
    across_classes
        Whether the recipe asks that enough values remain over all classes of a person's rows, where these agree.
    population, population_counts
        Combinations of quasi-identifiers in the population that the input was drawn from, as read, and how many people
        have each; None where no model asks for them.
    """

    manifest: Mapping[str, Any]
    suppressed: np.ndarray
    n_read: int
    n_dropped: int
    neutral_limit: float = 0.05
    acknowledged: Sequence[str] = ()
    uncoded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    counterfeits: int = 0
    hierarchies: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    policies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grids: Mapping[str, float | None] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    inferred: Sequence[str] = ()
    left_out: Mapping[str, pl.Series] = field(default_factory=dict)
    across_classes: bool = False
    population: pl.DataFrame | None = None
    population_counts: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class GateCase(Setting):
    """All that the gate looks at, in memory: the input as it was read, the release as it would be written.

    Attributes
    ----------
    original
        Input rows in source order, as read (text for CSV, typed for frames), missing cells null, rows dropped
        for missing cells already gone. Columns: every quasi, sensitive and neutral one, before any coding.
    released
        The frame that would be written, in release order.
    source
        For each released row the row of ``original`` it comes from.
    identifiers
        Identifier columns of the same rows as ``original`` (may have no columns).
    subject
        The subject of each row of ``original``, or None.
    behind
        For columns of representatives, the interval or set that stands behind each, as text cells of the same rows
        as ``original``, null where suppressed.
    apart, values_from
        Of a bucketised release: the table of sensitive values, None where they stand in ``released``, and the input
        row that each of them comes from.
    guard
        The node that each input row's owner guards, as it was read, or None.
    history
        For each input row the values that its owner's class had in every earlier release, as a list of texts, null
        for new people; None where nothing is known of earlier releases.
    aside
        Columns of the same rows as ``original`` that are dropped, or hashes of their cells; None where there are none.
    """

    original: pl.DataFrame
    released: pl.DataFrame
    source: np.ndarray
    identifiers: pl.DataFrame
    subject: pl.Series | None
    behind: pl.DataFrame | None = None
    apart: pl.DataFrame | None = None
    values_from: np.ndarray | None = None
    guard: pl.Series | None = None
    history: pl.Series | None = None
    aside: pl.DataFrame | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Rows of the input, as they were read; what is left out of a case is None in all of its rows.

    Attributes
    ----------
    original, identifiers, subject, behind, guard, history, aside
        As in :class:`GateCase`, for these rows.
    coded
        The cells of ``original``, where the gate has looked them up before.
    """

    original: pl.DataFrame
    identifiers: pl.DataFrame
    subject: pl.Series | None = None
    behind: pl.DataFrame | None = None
    guard: pl.Series | None = None
    history: pl.Series | None = None
    aside: pl.DataFrame | None = None
    coded: Coded | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Some rows of a table that would be published, and the input rows that they come from.

    Attributes
    ----------
    released
        The rows, in release order.
    source
        The number of each one's input row.
    rows
        Those input rows, one for each; None where a number is that of no row.
    coded
        The cells of ``released``, where the gate has looked them up before.
    """

    released: pl.DataFrame
    source: np.ndarray
    rows: Rows | None
    coded: Coded | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Sayable:
    """What may be said in public beside the released cells, although it may be a value that was read.

    Attributes
    ----------
    declared
        What the recipe declares, by column (orders, domains, non-answers, ranges, parameters of builders), and under
        the empty name what is about no column: names, parameters of models.
    labels
        By column, labels of its hierarchy that do not follow from the data; all of them where it is public.
    """

    declared: Mapping[str, Collection[str]]
    labels: Mapping[str, Collection[str]]


@dataclass(frozen=True, kw_only=True, eq=False)
class GateReport:
    """What the gate found: its checks, the verdicts and class figures for the manifest."""

    checks: Sequence[Check]
    verdicts: Sequence[Verdict]
    classes: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        """True when every check passed and every verdict holds."""
        return all(check.passed for check in self.checks) and all(verdict.holds for verdict in self.verdicts)


# ----------------------------------------
# How a model fares on every class.


TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Outcome:
    """One figure a class.

    Attributes
    ----------
    value
        The figure of each class; meaningless where the class is not judged.
    passes
        Whether each class meets the model.
    judged
        Whether the class has any known sensitive value. One without has nothing to disclose.
    worst
        ``"low"`` when small figures are bad, else ``"high"``.
    """

    value: np.ndarray
    passes: np.ndarray
    judged: np.ndarray
    worst: str

    def worst_value(self, limit: float) -> float:
        """The worst judged class's figure; the limit itself when no class has a known value."""
        if not self.judged.any():
            return limit
        judged = self.value[self.judged]
        return float(judged.min() if self.worst == "low" else judged.max())


def at_least(value: np.ndarray, limit: float) -> np.ndarray:
    """``value >= limit`` up to rounding (relative above 1)."""
    return value >= limit - TOLERANCE * max(1.0, abs(limit))


def at_most(value: np.ndarray, limit: float) -> np.ndarray:
    """``value <= limit`` up to rounding (relative above 1)."""
    return value <= limit + TOLERANCE * max(1.0, abs(limit))
