"""What a run gives back: plain data, no behaviour of its own beyond looking things up.

``Release`` reaches measures and writers through the registry by name, so that this module imports neither.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from shoal.data.rows import in_memory
from shoal.data.table import html_table
from shoal.data.texts import all_told
from shoal.grammar import target_words
from shoal.recoding.secrets import MappingTable as MappingTable
from shoal.recoding.secrets import Secret
from shoal.registry import load

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from shoal.data.table import Table
    from shoal.engines.base import OpenRows
    from shoal.recoding.outcome import Overlap
    from shoal.recoding.recoded import Released
    from shoal.release.sinks import Sink
    from shoal.verify.report import Check, Verdict

# Rows of a release that a notebook shows.
_FIRST = 5


@dataclass(frozen=True, kw_only=True)
class Score:
    """The value of one measure on one release.

    Attributes
    ----------
    name
        The measure's name.
    value
        The figure, or None when it is undefined (``reason`` says why).
    better
        ``"down"`` when smaller is better, else ``"up"``.
    low, high
        Bounds that the value cannot leave.
    suppression
        Share of records suppressed; it stands beside every utility figure.
    also
        Related figures, such as the tuple-weighted mean beside UM.
    """

    name: str
    value: float | None
    better: str
    low: float
    high: float
    suppression: float
    also: Mapping[str, float | None] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Risk:
    """A risk with its interval, what it is compared with, and what it means.

    Attributes
    ----------
    value, interval
        The figure, and a 95 % interval where it is an estimate; both ends are the value where it was counted.
    baseline
        The same figure for somebody who knows no quasi-identifier at all, None where there is no such figure.
    sentence
        What it means, in one plain sentence.
    """

    value: float
    interval: tuple[float, float]
    baseline: float | None = None
    sentence: str = ""

    @property
    def estimated(self) -> bool:
        """Whether it rests on a model of the population."""
        return self.interval[0] != self.interval[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class Gated:
    """The tables and files that passed the gate, and the only thing that is ever written.

    Attributes
    ----------
    sink
        Has the tables (:mod:`shoal.release.sinks`): ``"release"``, and ``"sensitive"`` where sensitive values have one.
    manifest, report
        The public files that go with them, as bytes; the manifest without what only writing can tell.
    """

    sink: Sink = field(repr=False)
    manifest: bytes = field(repr=False)
    report: bytes = field(repr=False)

    @property
    def kept(self) -> Mapping[str, pl.DataFrame]:
        """The tables; texts that repeat are numbers of the different ones."""
        return {name: self.sink.frame(name) for name in self.sink.names}

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables with all texts one by one, made anew at every call."""
        return {name: all_told(frame) for name, frame in self.kept.items()}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release:
    """A gated release.

    Where its rows stay with an engine, what needs them says where they are.

    Attributes
    ----------
    gated
        What will be written, whatever is done to anything else here.
    verdict
        One :class:`Verdict` a model and attribute.
    checks
        What the gate looked at.
    evidence
        Private facts: counts, secret, timings, exact measures. Never to be published.
    released, rows
        The coded release, and the open rows that it was made of.
    secrets
        What undoes a pseudonymised release, redacted: it goes to a vault, and is in no evidence.
    """

    gated: Gated = field(repr=False)
    verdict: Sequence[Verdict]
    checks: Sequence[Check]
    evidence: Mapping[str, Any] = field(repr=False)
    released: Released = field(repr=False)
    rows: OpenRows = field(repr=False)
    secrets: Sequence[Secret] = field(default=(), repr=False)

    @property
    def table(self) -> Table:
        """The rows that it was made of, where they are in memory."""
        return in_memory(self.rows).table

    @property
    def source(self) -> np.ndarray:
        """The number of the input row behind each released one."""
        return self.gated.sink.source("release")

    @property
    def frame(self) -> Any:
        """A copy of what may be published: same library as the input, shuffled, fresh index."""
        return self.gated.sink.copy("release")

    @property
    def apart(self) -> Any:
        """A copy of the sensitive values by group, where a bucketised release has a table of its own for them."""
        return self.frames.get("sensitive")

    @property
    def frames(self) -> dict[str, Any]:
        """Every table that may be published: ``"release"``, and ``"sensitive"`` where there is one."""
        return {name: self.gated.sink.copy(name) for name in self.gated.sink.names}

    def close(self) -> None:
        """Remove what is kept for the release in a scratch folder; its rows cannot be read any more."""
        self.gated.sink.close()

    def __enter__(self) -> Release:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def manifest(self) -> dict[str, Any]:
        """The public description that goes with it, read anew at every call."""
        found: dict[str, Any] = json.loads(self.gated.manifest)
        return found

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Release holds the rows it was made of and cannot be serialised: write it to a folder.")

    def __repr__(self) -> str:
        return f"Release({self.gated.sink.height('release'):,} rows: {self.manifest['statement']})"

    def _repr_html_(self) -> str:
        """What it promises, and its first rows."""
        rows, frame = self.gated.sink.height("release"), self.gated.sink.head("release", _FIRST)
        first = html_table(frame.columns, frame.rows()) if frame.width else ""
        return f"<p><b>Release</b>, {rows:,} rows</p>{_verdicts_html(self.verdict)}{first}"

    def measure(self, name: str, **parameters: Any) -> Score:
        """Price the release by one measure, for example ``release.measure("ncp")``."""
        return load("measure", name)(**parameters).score(self.released.price_stats())

    def overlap_report(self) -> list[Overlap]:
        """How far the cells of each quasi-identifier overlap in part, such as [13,17] and [15,22]."""
        from shoal.recoding.outcome import overlap_report

        return overlap_report(self.released)

    def aligned(self) -> Any:
        """The publisher's side: input order, null rows where suppressed. Never to be published."""
        return load("io", "aligned")(self)

    def write(
        self,
        folder: str | Path,
        *,
        replace: bool = False,
        format: str = "csv",
        formulas: str = "keep",
        copies: Sequence[str] = (),
    ) -> Path:
        """Write data, manifest and report to ``folder`` and the evidence beside it, whole or not at all."""
        return load("io", "write-release")(
            self, Path(folder), replace=replace, format=format, formulas=formulas, copies=copies
        )


def _verdicts_html(verdicts: Sequence[Verdict]) -> str:
    """What was promised of which column, and what was found."""
    return html_table(
        ["Model", "Column", "Found", "Limit", "Holds"],
        (
            (
                " ".join(str(part) for key, part in one.model.items() if key in ("name", "distance")),
                target_words(one.model["name"], one.on),
                None if one.value is None else f"{one.value:.4g}", None if one.limit is None else f"{one.limit:.4g}",
                "yes" if one.holds else "no",
            )
            for one in verdicts
        ),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SurveyNode:
    """What one node of a lattice would do to the table.

    Attributes
    ----------
    levels, loss
        Level of each quasi-identifier; figure of the survey's measure, None where it has none.
    suppressed
        Rows in classes that fail a model.
    classes, smallest
        Classes that hold, and rows of the smallest of them (0 when there is none).
    verdict
        ``"allowed"``, ``"over"`` (more rows suppressed than the limit allows) or ``"fails"`` (no class holds).
    """

    levels: tuple[int, ...]
    loss: float | None
    suppressed: int
    classes: int
    smallest: int
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Survey:
    """Nodes of a table's lattice side by side. Private: it tells about suppressed people.

    Attributes
    ----------
    measure, better
        What ``loss`` is, and ``"down"`` when smaller is better, else ``"up"``.
    rows, limit
        Rows of the table, and the largest share of them that may be suppressed.
    columns, heights, level_names
        Quasi-identifiers in the order of a node's levels, their highest levels, and what each level means.
    lattice, chosen
        Nodes in the lattice, and how many of those below are here for which reason.
    nodes, optimum, proven
        The nodes, best first within each verdict; the place of the best (None: none is allowed); if it is proven.
    """

    measure: str
    better: str
    rows: int
    limit: float
    columns: Sequence[str]
    heights: Sequence[int]
    level_names: Sequence[Sequence[str]]
    lattice: int
    chosen: Mapping[str, int]
    nodes: Sequence[SurveyNode]
    optimum: int | None
    proven: bool

    @property
    def complete(self) -> bool:
        """Whether every node of the lattice is here."""
        return len(self.nodes) == self.lattice
