"""Run evaluations on a release."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.catalogue import load, names
from shoal.data.keys import Keys
from shoal.errors import MissingExtraError, ParameterError
from shoal.evaluation.base import Evaluation, Finding
from shoal.evaluation.reading import read_release
from shoal.evaluation.view import Reading
from shoal.params import whole
from shoal.results import Release

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
        A release, or a reading of one (:func:`shoal.evaluation.reading.read_published` reads a written one).
    evaluations
        Names or specs, such as ``shoal.evaluation.counts.CountQueries(workload="type-1")``. ``"all"``, the default, is
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
            found += one.run(reading) if why is None else [_nothing(one, why)]
        except MissingExtraError as error:
            if by_name:
                raise
            found.append(_nothing(one, str(error)))
    return found


def _untouched(one: Evaluation, reading: Reading) -> str | None:
    """Why there is nothing to compare, where whatever an evaluation looks at is published as it was."""
    names = one.looks_at(reading)
    if not names or not reading.untouched.issuperset(names):
        return None
    listed = ", ".join(f"'{name}'" for name in names)
    return f"Untouched: {listed} {'is' if len(names) == 1 else 'are'} published as in the original, row by row."


def _nothing(one: Evaluation, why: str) -> Finding:
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
