"""Who is learned from and who is judged: a keyed share of the people is kept out of every training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.data.hierarchy import MISSING
from shoal.errors import InputError, ParameterError
from shoal.params import real
from shoal.utility.domains import Feature, Reading
from shoal.utility.features import Rows, find, is_number

_STREAM = "evaluation held out"
# Numbers of more different values than this are not taken for classes unless they are named.
_FEW = 20
# Rows times classes: many classes are told of fewer people, because learners hold a figure for each.
_WORK = 1_000_000
NO_CLASSES = f"No released column has classes (texts, or at most {_FEW} different numbers): name a 'target'."


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """Three lots of rows.

    Attributes
    ----------
    release, original
        Rows to learn from, in the order of the original where it is known, so that equal rows teach the same.
    test
        Original rows of the people held out.
    fair
        Whether the held-out people are known to be absent from ``release``.
    trials
        People among the test rows: rows of one person succeed or fail together.
    """

    release: Rows
    original: Rows
    test: Rows
    fair: bool
    trials: int

    @property
    def caution(self) -> str:
        """What a sentence has to add where people could not be held out of the release."""
        return "" if self.fair else (
            " The release does not say whose its rows are, so that those it is judged on may be among those it taught."
        )  # fmt: skip


def known_codes(feature: Feature) -> np.ndarray:
    """bool a value: whether it is an answer."""
    return np.array([value != MISSING for value in feature.values])


def split(
    reading: Reading, features: Sequence[Feature], target: Feature, *, held_out: float, most: int, classes: bool = True
) -> Split:
    """Hold a share of the people out, among at most ``most`` of them; rows without a known target are left out.

    Many classes are told of fewer people: rows times classes stay within a million, with a thousand people at least.

    Parameters
    ----------
    classes
        Whether the target's values are classes, of which there must be no more than there are rows to judge by.
    """
    people = np.arange(reading.n) if reading.people is None else reading.people
    number = int(people.max()) + 1
    known = known_codes(target)[target.original]
    found = np.unique(target.original[known]).size
    most = min(most, max(1_000, _WORK // max(1, found))) if classes else most
    order = reading.keys.shuffle(_STREAM, np.arange(number, dtype=np.uint64))[: max(2, most)]
    part = np.zeros(number, dtype=np.int8)  # 0 unused, 1 taught, 2 judged
    part[order] = 1
    part[order[: max(1, round(held_out * order.size))]] = 2
    mine = part[people]
    test, own = (np.flatnonzero((mine == which) & known) for which in (2, 1))
    if classes and test.size < found:
        raise ParameterError(
            f"Only {test.size} rows are held out, and '{target.name}' has {found} classes: hold more out or choose "
            "another target."
        )
    release = _taught(reading, target, mine, most)
    if not own.size or not release.size or not test.size:
        raise InputError(f"Too few rows with a known '{target.name}' are left to learn from and to judge by.")
    return Split(
        release=Rows(features=features, released=True, rows=release),
        original=Rows(features=features, released=False, rows=own),
        test=Rows(features=features, released=False, rows=test),
        fair=reading.source is not None,
        trials=int(np.unique(people[test]).size),
    )


def _taught(reading: Reading, target: Feature, part: np.ndarray, most: int) -> np.ndarray:
    """Released rows to learn from."""
    known = _answered(target)[target.cell]
    if reading.source is not None:
        rows = np.flatnonzero((part[reading.source] == 1) & known)
        return rows[np.argsort(reading.source[rows], kind="stable")]
    rows = np.flatnonzero(known)
    chosen = reading.keys.shuffle(_STREAM, rows.astype(np.uint64))[: max(2, most)]
    return rows[np.sort(chosen)]


def sides(reading: Reading, features: Sequence[Feature], target: Feature | None = None) -> tuple[Rows, Rows]:
    """All released rows in the order of the original where it is known, and all original ones; known targets only."""
    released = np.arange(reading.rows) if reading.source is None else np.argsort(reading.source, kind="stable")
    original = np.arange(reading.n)
    if target is not None:
        known = known_codes(target)
        original = original[known[target.original]]
        released = released[_answered(target)[target.cell[released]]]
    return (
        Rows(features=features, released=True, rows=released),
        Rows(features=features, released=False, rows=original),
    )  # fmt: skip


def _answered(target: Feature) -> np.ndarray:
    """bool a distinct cell: whether it may stand for an answer."""
    known = known_codes(target)[target.code]
    return np.add.reduceat(np.where(known, target.share, 0.0), target.at[:-1]) > 0.0


def held_out_rows(reading: Reading) -> str:
    """What a release is judged on, in words."""
    if not reading.coded:
        return "original rows held out"
    return "original rows held out, coded as published" if reading.paired else "of its own rows held out"


def check_held_out(owner: str, share: float) -> None:
    """A share strictly between 0 and 1."""
    if real(owner, "held_out", share, low=0.0, high=1.0, open_low=True) == 1.0:
        raise ParameterError(f"The 'held_out' of {owner} must leave somebody to learn from: give a share below 1.")


def target_of(reading: Reading, name: str | None) -> Feature:
    """The column to be told: by default the first of classes, sensitive ones before others."""
    name = default_target(reading) if name is None else name
    if name is None:
        raise ParameterError(NO_CLASSES)
    return find(reading.features, name)


def default_target(reading: Reading) -> str | None:
    """The first column of texts, or of a few numbers."""
    order = [*reading.sensitive, *reading.neutral, *reading.quasi]
    few = (
        name for name in order
        if not is_number(reading.features[name]) or np.unique(reading.features[name].original).size <= _FEW
    )  # fmt: skip
    return next(few, None)
