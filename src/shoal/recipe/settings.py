"""Settings of `shoal.read` by name, written by ``python -m tests.settings`` from the sections of a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from shoal.data.sampling import Sampling
from shoal.data.schema import ColumnSpec
from shoal.data.workload import Workload


class ReadSettings(TypedDict, total=False):
    """Entries of [roles] and [source], and what stands under the headings of other sections."""

    identifiers: Sequence[str]
    quasi: Sequence[str]
    sensitive: Sequence[str]
    neutral: Sequence[str]
    pseudonym: Sequence[str]
    drop: Sequence[str]
    subject: str | None
    weight: str | None
    key: str | None
    guard: str | None
    rest: Literal["drop"] | None
    quasi_sets: Sequence[Sequence[str]]
    across_classes: bool
    name: str | None
    columns: Sequence[str] | None
    separator: str | None
    sheet: str | None
    encoding: str
    decimal: Literal[".", ","]
    thousands: str | None
    missing_markers: Sequence[str]
    unpack_limit: int
    missing: Literal["error", "drop", "value"]
    population: Any
    settings: Mapping[str, ColumnSpec | Mapping[str, Any]] | None
    hierarchies: Mapping[str, Any] | None
    weights: Mapping[str, float] | None
    policies: Mapping[str, Any] | None
    workload: Workload | Mapping[str, Any] | None
    research: Mapping[str, Any] | None
    sample: Sampling | Mapping[str, Any] | float | None
    seed: int | None
    base: Path | None
