"""Run evaluations on a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shoal.data.keys import Keys
from shoal.errors import MissingExtraError, ParameterError
from shoal.params import whole
from shoal.registry import load, names
from shoal.results import Release
from shoal.utility.count_queries import CountQueries
from shoal.utility.distributions import Distributions, total_variation
from shoal.utility.domains import Feature, Reading
from shoal.utility.holdout import sides
from shoal.utility.reading import Evaluation, Finding, read_release

Wanted = Sequence[str | Evaluation]
ALL = "all"


def evaluate(
    release: Release | Reading,
    evaluations: Wanted = (),
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Finding]:
    """What can still be done with a release, beside the rows it was made from.

    Parameters
    ----------
    release
        A release, or a reading of one (:func:`shoal.utility.reading.read_published` reads a written one).
    evaluations
        Names or specs, such as ``shoal.utility.count_queries.CountQueries(workload="type-1")``. ``"all"``, the default,
        is
        every one that is not there already.
    seed
        Of the random draws, such as those of queries; the same seed asks every release the same. A reading has its
        own keys.

    Returns
    -------
    list of Finding
        Those of evaluations that do not apply, that would compare untouched columns with themselves,
        or that need a library that is not installed and were not asked for by
        name, have no value, and a sentence that says why.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.example_census(300).select("age", "sex", "diagnosis")
    >>> table = shoal.read(people, quasi=["age", "sex"], sensitive=["diagnosis"])
    >>> release = shoal.anonymize(table, algorithm=shoal.Mondrian(k=5), models=[shoal.DistinctL(l=2)], seed=1)
    >>> [finding.name for finding in shoal.evaluate(release, ["count-queries"])]
    ['count-queries median', 'count-queries mean', 'count-queries 90th percentile']
    """
    chosen = _chosen(evaluations or [ALL])
    whole("evaluate", "seed", seed, least=0)
    reading = release if isinstance(release, Reading) else read_release(release, keys=Keys.from_seed(seed))
    found: list[Finding] = []
    for one, by_name in chosen:
        if progress is not None:
            progress(one.name)
        why = one.refusal(reading) or _untouched(one, reading)
        try:
            found += one.run(reading) if why is None else [_not_run(one, why)]
        except MissingExtraError as error:
            if by_name:
                raise
            found.append(_not_run(one, str(error)))
    return found


def _untouched(one: Evaluation, reading: Reading) -> str | None:
    """Why there is nothing to compare, where whatever an evaluation looks at is published as it was."""
    names = one.looks_at(reading)
    if not names or not reading.untouched.issuperset(names):
        return None
    listed = ", ".join(f"'{name}'" for name in names)
    return f"Untouched: {listed} {'is' if len(names) == 1 else 'are'} published as in the original, row by row."


def _not_run(one: Evaluation, why: str) -> Finding:
    return Finding(name=one.name, value=None, better="up", sentence=why)


def _chosen(wanted: Wanted) -> list[tuple[Evaluation, bool]]:
    """Evaluations in order, and whether each was asked for by itself."""
    known = [one if one == ALL else _spec(one) for one in wanted]
    listed = {one.name for one in known if not isinstance(one, str)}
    rest = [(_spec(name), False) for name in names("evaluation") if name not in listed]
    found: list[tuple[Evaluation, bool]] = []
    for one in known:
        if not isinstance(one, str):
            found.append((one, True))
        else:
            found, rest = found + rest, []
    return found


def _spec(given: Any) -> Evaluation:
    if isinstance(given, Evaluation):
        return given
    if not isinstance(given, str):
        raise ParameterError(f"An evaluation must be a name or a spec. Got {given!r}.")
    made: Evaluation = load("evaluation", given)()
    return made


# ----------------------------------------
# What reviewers ask about the usefulness of a release, measured once and kept in its evidence.


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
        return _not_reviewed("There are too many rows to measure it in passing: shoal measure --evaluate all does.")
    if not release.frame.shape[0]:
        return _not_reviewed("Nothing was released, so there is nothing to measure.")
    reading = read_release(release)
    found = [one for one in evaluate(reading, [Distributions(), CountQueries()]) if one.value is not None]
    return {
        "findings": found,
        "distributions": _distributions(reading),
        "associations": _associations(found),
        "notes": [] if found else ["Whatever could be compared is published as it was, or as codes."],
    }


def _not_reviewed(why: str) -> dict[str, Any]:
    return {"findings": [], "distributions": {}, "associations": None, "notes": [why]}


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
