"""k, l, t and alpha of any table, whoever made it.

Cells are compared as they stand, so a generalised file from any tool can be audited. Missing quasi-identifiers are
counted twice over: as a value of their own, and as a wildcard that matches anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.build import build_table
from shoal.data.domain import Domain
from shoal.data.policies import set_policies
from shoal.data.rows import Frequency, PeopledRows
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.stats import GroupStats
from shoal.data.table import Table
from shoal.errors import SchemaError
from shoal.models.base import Model
from shoal.models.feasibility import whole_reference
from shoal.models.judge import Judge, Judgement
from shoal.registry import load
from shoal.risk.classes import counted_rows, homogeneous_share
from shoal.risk.suda import wildcard_stats

# ----------------------------------------
# A table from any file, made by any tool: cells are compared as they stand.


def as_it_stands(
    frame: pl.DataFrame,
    schema: Schema,
    *,
    hierarchies: Mapping[str, Any] | None = None,
    policies: Mapping[str, Any] | None = None,
) -> Table:
    """Code the named columns of a frame, and leave the rest out; those to drop are kept uncoded.

    Equal quasi-identifier cells are equal texts, so that ``[20,29]`` is a value like any other, and a missing cell
    is a value of its own.

    Parameters
    ----------
    hierarchies, policies
        Of sensitive columns: a `Hierarchy` (or a function from distinct texts to one), and sensitive ranges as
        `make_policy` reads them.
    """
    standing = Standing(schema=schema, hierarchies=hierarchies or {}, policies=policies or {})
    used = list(standing.schema.roles())
    missing = [name for name in used if name not in frame.columns]
    return standing.table(frame if missing else frame.select(used), standing.schema, name=None)


@dataclass(frozen=True, eq=False, kw_only=True)
class Standing:
    """Columns of any table, whose cells are compared as they stand: see :func:`as_it_stands`."""

    schema: Schema
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        schema = self.schema
        for name in self.hierarchies:
            if name not in schema.sensitive:
                raise SchemaError(
                    f"There is a hierarchy for '{name}', which is not a sensitive column: cells of quasi-identifiers "
                    "are compared as they stand; leave it out."
                )
        specs = {**schema.specs, **{name: ColumnSpec(type="categorical") for name in schema.quasi}}
        object.__setattr__(self, "schema", replace(schema, specs=specs))

    def table(self, frame: pl.DataFrame, schema: Schema, *, name: str | None, often: Any = None) -> Table:
        """The coded table of some rows; how often values occur matters to nothing here."""
        table = build_table(frame, schema, hierarchies=self.hierarchies, missing="value", name=name)
        return set_policies(table, self.policies)


@dataclass(frozen=True, kw_only=True)
class SensitiveFigures:
    """Figures of one sensitive attribute: the worst class's, except for the share of people in classes of one value.

    That share is among the people (rows, without a subject column) whose value is known, as in the attack
    'homogeneity'; a person counts once a class.
    ``range_confidence`` is the largest share in one sensitive range, None for a column without ranges.
    """

    distinct_l: int
    entropy_l: float
    recursive_c: float
    t: float
    distance: str
    alpha: float
    homogeneous_share: float
    range_confidence: float | None


@dataclass(frozen=True, kw_only=True)
class AuditFigures:
    """Figures under one reading of missing cells."""

    k: int
    classes: int
    unique_share: float
    sensitive: dict[str, SensitiveFigures] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What `audit` found; ``wildcard`` is None when no quasi-identifier has a missing cell."""

    rows: int
    people: int
    quasi: list[str]
    own_value: AuditFigures
    wildcard: AuditFigures | None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def audit(
    frame: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    subject: str | None = None,
) -> Audit:
    """Measure a table as it is.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": ["2*", "2*", "3*"], "disease": ["flu", "flu", "cold"]})
    >>> audit(frame, quasi=["age"], sensitive=["disease"]).own_value.k
    1
    """
    schema = Schema(quasi=list(quasi), sensitive=list(sensitive), subject=subject)
    return audit_rows(counted_rows(as_it_stands(frame, schema)))


def audit_rows(rows: PeopledRows, progress: Callable[[str], None] = lambda step: None) -> Audit:
    """The same of rows that are coded already, as their cells stand."""
    progress("counting classes")
    judge = _judge(rows)
    cells, stats = _classes(rows, judge)
    progress("taking missing cells for anything")
    wild = wildcard_stats(rows, cells.codes, stats, judge.attributes)
    return Audit(
        rows=rows.domain.n,
        people=int(judge.reference.stats.sizes[0]),
        quasi=list(rows.domain.schema.quasi),
        own_value=_figures(judge, stats, stats),
        wildcard=None if wild is None else _figures(judge, wild, stats),
    )


def audit_classes(rows: PeopledRows) -> tuple[AuditFigures, AuditFigures]:
    """Figures of rows that are coded already, missing cells values of their own; and of all of them as one class."""
    judge = _judge(rows)
    _, stats = _classes(rows, judge)
    everybody = judge.reference.stats
    return _figures(judge, stats, stats), _figures(judge, everybody, everybody)


def _judge(rows: PeopledRows) -> Judge:
    models = _probes(rows.domain)
    return Judge(models, whole_reference(rows, models))


def _classes(rows: PeopledRows, judge: Judge) -> tuple[Frequency, GroupStats]:
    cells = rows.frequency(judge.attributes)
    return cells, GroupStats(sizes=cells.sizes, rows=cells.rows, histograms=cells.histograms)


def _probes(domain: Domain) -> list[Model]:
    """Models that cannot fail, for the figures they compute."""
    if not domain.schema.sensitive:
        return []
    made: dict[str, dict[str, Any]] = {
        "distinct-l": {"l": 2},
        "entropy-l": {"l": 2.0},
        "recursive-cl": {"c": 1.0, "l": 2},
        "t-closeness": {"t": 1.0},
        "alpha-k-general": {"alpha": 1.0, "k": 2},
    }
    models = [load("model", name)(**parameters) for name, parameters in made.items()]
    ranged = [column.name for column in domain.sensitive if column.policy is not None]
    return models + [load("model", "range-confidence")(p=1.0, on=name) for name in ranged]


def _figures(judge: Judge, stats: GroupStats, own: GroupStats) -> AuditFigures:
    """Worst class a figure; ``own`` counts the rows that see each group."""
    found: dict[str, dict[str, Any]] = {}
    for judgement in judge.judge(stats):
        if judgement.on is not None:
            entry = found.setdefault(judgement.on[0], {})
            entry[judgement.model.name] = judgement.worst
            if judgement.model.name == "distinct-l":
                entry["homogeneous"] = homogeneous_share(judge, judgement, own)
            if judgement.model.name == "t-closeness":
                entry["distance"] = _distance(judge, judgement)
    return AuditFigures(
        k=int(stats.sizes.min()),
        classes=int(stats.sizes.size),
        unique_share=float(own.rows[stats.sizes == 1].sum() / own.rows.sum()),
        sensitive={name: _sensitive(entry) for name, entry in found.items()},
    )


def _distance(judge: Judge, judgement: Judgement) -> str:
    one = next(one for one in judge.attributes if one.names == judgement.on)
    return judgement.model.distance_for(one.names, one.column)  # type: ignore[attr-defined, no-any-return]


def _sensitive(entry: dict[str, Any]) -> SensitiveFigures:
    distinct = entry["distinct-l"]
    return SensitiveFigures(
        distinct_l=int(distinct) if np.isfinite(distinct) else 0,
        entropy_l=entry["entropy-l"],
        recursive_c=entry["recursive-cl"],
        t=entry["t-closeness"],
        distance=entry["distance"],
        alpha=entry["alpha-k-general"],
        homogeneous_share=entry["homogeneous"],
        range_confidence=entry.get("range-confidence"),
    )
