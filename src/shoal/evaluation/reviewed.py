"""What reviewers ask about the usefulness of a release, measured once and kept in its evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.evaluation.base import Finding
from shoal.evaluation.counts import CountQueries
from shoal.evaluation.distributions import Distributions, total_variation
from shoal.evaluation.reading import read_release
from shoal.evaluation.run import evaluate
from shoal.evaluation.split import sides
from shoal.evaluation.view import Feature, Reading
from shoal.results import Release

# Rows times columns beyond which somebody would wait.
_MOST = 1_000_000
_BARS = 12
# Values that fewer rows have are not named.
_FEW = 5


def reviewed(release: Release) -> dict[str, Any]:
    """Findings, distributions before and after, and associations; private, since they tell of the original.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.example_census(300).select("age", "sex", "diagnosis")
    >>> table = shoal.read(people, quasi=["age", "sex"], sensitive=["diagnosis"])
    >>> made = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), models=[shoal.DistinctL(l=2)], seed=1)
    >>> sorted(reviewed(made))
    ['associations', 'distributions', 'findings', 'notes']
    """
    table = release.table
    if table.n * len(table.schema.released) > _MOST:
        return _nothing("There are too many rows to measure it in passing: shoal measure --evaluate all does.")
    if not release.frame.shape[0]:
        return _nothing("Nothing was released, so there is nothing to measure.")
    reading = read_release(release)
    found = [one for one in evaluate(reading, [Distributions(), CountQueries()]) if one.value is not None]
    return {
        "findings": found,
        "distributions": _distributions(reading),
        "associations": _associations(found),
        "notes": _notes(found),
    }


def _nothing(why: str) -> dict[str, Any]:
    return {"findings": [], "distributions": {}, "associations": None, "notes": [why]}


def _notes(found: list[Finding]) -> list[str]:
    return [] if found else ["Whatever could be compared is published as it was, or as codes."]


def _distributions(reading: Reading) -> dict[str, Any]:
    """Shares of rows, of columns that are not published as they were."""
    mine = [one for one in reading.features.values() if one.name not in reading.untouched]
    if not mine:
        return {}
    release, original = sides(reading, mine)
    found = {}
    for one in mine:
        before, after = (rows.marginal(one) for rows in (original, release))
        labels, groups = _bars(one, before)
        shares = [np.bincount(groups, weights=side, minlength=len(labels)) / side.sum() for side in (before, after)]
        found[one.name] = {
            "labels": labels, "before": shares[0].tolist(), "after": shares[1].tolist(),
            "variation": total_variation(before / before.sum(), after / after.sum()),
        }  # fmt: skip
    return found


def _bars(feature: Feature, counts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Labels of the bars, and the bar of every value: ranges of numbers, else the most frequent values."""
    if feature.numbers is not None and np.isfinite(feature.numbers).sum() > _BARS:
        known = np.isfinite(feature.numbers)
        # The ends of the outer ranges would be somebody's values.
        low, high = np.quantile(np.repeat(feature.numbers[known], counts[known].astype(np.int64)), (0.02, 0.98))
        edges = np.unique(np.round(np.linspace(low, high, _BARS - 1), 0 if high - low >= _BARS else 3))
        place = np.searchsorted(edges, feature.numbers, side="right")
        if feature.type == "date":
            days = [str(np.datetime64(int(edge), "D")) for edge in edges]
            labels = [f"< {days[0]}", *(f"from {day}" for day in days[:-1]), f"≥ {days[-1]}"]
        else:
            inner = [f"{a:g}–{b:g}" for a, b in zip(edges[:-1], edges[1:], strict=True)]
            labels = [f"< {edges[0]:g}", *inner, f"≥ {edges[-1]:g}"]
        return [*labels, "missing"] if not known.all() else labels, np.where(known, place, len(labels))
    order = np.argsort(-counts, kind="stable")
    named = [int(code) for code in order[: _BARS - 1] if counts[code] >= _FEW]
    groups = np.full(counts.size, len(named), dtype=np.int64)
    groups[named] = np.arange(len(named))
    labels = [str(feature.values[code]) for code in named]
    return [*labels, "others"] if len(named) < counts.size else labels, groups


def _associations(found: list[Finding]) -> dict[str, Any] | None:
    """How far each pair of columns is related, in the original and in the release."""
    told = next((one.also for one in found if "original" in one.also), None)
    return None if told is None else {
        "names": told["names"], "before": told["original"], "after": told["release"]
    }  # fmt: skip
