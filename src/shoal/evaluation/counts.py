"""``count-queries``: how far counts on a release are off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.evaluation.base import Evaluation, Finding
from shoal.evaluation.estimate import ErrorSummary, answer, summarise
from shoal.evaluation.queries import Workload, workload_of
from shoal.evaluation.view import Reading

# Points of the curve of sorted errors that a plot shows.
_POINTS = 101
# Queries whose own figures are listed.
_LISTED = 50


@dataclass(frozen=True, kw_only=True)
class CountQueries(Evaluation):
    """Answer count queries on the original and on the release, and compare.

    Parameters
    ----------
    workload
        ``"random"`` (Yang & Qiao: sensitive attributes and random quasi-identifiers among random values), ``"points"``
        (one value of every column), ``"type-1"`` or ``"type-2"`` (Loukides: a range of one quasi-identifier and an
        interval or a value of the sensitive attributes), a workload of :mod:`shoal.evaluation.queries`, or queries in
        words.
    """

    workload: str | Workload | Sequence[str] = "random"
    name: ClassVar[str] = "count-queries"

    def __post_init__(self) -> None:
        workload_of(self.workload)

    def refusal(self, reading: Reading) -> str | None:
        """A release of codes alone answers nothing."""
        return None if reading.features else "Every column is published as codes, so that no query can be answered."

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """What can be asked for: columns of codes take no part."""
        return list(reading.features)

    def run(self, reading: Reading) -> list[Finding]:
        """Median, mean and 90th percentile of relative errors."""
        queries = workload_of(self.workload).make(reading)
        answers = answer(reading, queries)
        ours = summarise(answers, reading.keys)
        trivial = summarise(answers, reading.keys, answers.independent)
        also: dict[str, Any] = {
            "queries": ours.queries, "excluded": ours.excluded, "floored mean": ours.floored,
            "floored mean of independence": trivial.floored,
        }  # fmt: skip
        errors = answers.errors()
        if errors.size:
            places = np.linspace(0.0, 1.0, _POINTS)
            also["curve"] = np.quantile(errors, places).tolist()
            also["curve of independence"] = np.quantile(answers.errors(answers.independent), places).tolist()
        if len(queries) <= _LISTED:
            also["each"] = [
                {"query": str(query), "truth": int(truth), "estimate": float(estimate)}
                for query, truth, estimate in zip(queries, answers.truth, answers.estimate, strict=True)
            ]
        return _findings(ours, trivial, also)


def _findings(ours: ErrorSummary, trivial: ErrorSummary, also: dict[str, Any]) -> list[Finding]:
    if ours.median is None or trivial.median is None:
        sentence = f"All {ours.queries} queries have the true answer 0, so that there is no relative error."
        return [Finding(name="count-queries median", value=None, better="down", sentence=sentence, also=also)]
    counted = ours.queries - ours.excluded
    figures = [
        ("median", ours.median, ours.median_interval, trivial.median, "Half of the counts are off by at most {}"),
        ("mean", ours.mean, ours.mean_interval, trivial.mean, "On average counts are off by {}, tiny ones most"),
        ("90th percentile", ours.p90, None, trivial.p90, "Nine counts in ten are off by at most {}"),
    ]  # fmt: skip
    return [
        Finding(
            name=f"count-queries {name}", value=value, better="down", interval=interval, baseline=baseline,
            sentence=f"{told.format(_percent(value))} ({counted} queries; {_percent(baseline)} from one-way tables).",
            also=also if name == "median" else {},
        )
        for name, value, interval, baseline, told in figures
    ]  # fmt: skip


def _percent(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.1%}" if value < 10 else f"{value:.0%}"
