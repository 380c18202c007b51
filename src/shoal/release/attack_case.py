"""A release whose rows an engine keeps, as attackers see it: its classes counted over all rows, and people to attack.

What stays in memory of every released row is its class, whose row it is and the codes of its sensitive values, 4 bytes
each; more rows than memory holds like that are refused. The people are a sample that is drawn by key: what is found of
them holds for all, within its interval.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.column import counted
from shoal.data.keys import Keys, key_hashes
from shoal.data.rows import Batch
from shoal.engines.base import Capability, OpenRows
from shoal.errors import InputError, ParameterError
from shoal.recipe.recipe import Recipe
from shoal.recoding.kinds import Kind
from shoal.recoding.publish import Publisher, Publishing
from shoal.recoding.reader_labels import publisher_manifest
from shoal.recoding.recoded import Released
from shoal.release.entry import memory_of
from shoal.release.prepare import Judged, Progress
from shoal.results import Release
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.case import AttackCase, Matcher, Subjects, View
from shoal.risk.attacks.limits import attacks_of, refuse_broken, size_risks
from shoal.risk.attacks.limits import refuse_over_limits as over_limits
from shoal.risk.attacks.run import make_case, run_attacks
from shoal.risk.attacks.views import attacked_columns, public_view

# Rows of the people that are attacked, where nobody says how many.
SAMPLE = 10_000
# Bytes of a cell, as it is put together, and of a name; and the share of memory that they may have.
_CELL, _PERSON, _KEPT = 8, 64, 0.35


def refuse_unattackable(kind: Kind, name: str) -> None:
    """Refuse releases whose rows are not classes, before anything is read."""
    if not kind.generalises:
        raise ParameterError(
            f"A {kind} release is attacked row by row: use the engine 'memory', or see what 'shoal run' measures of it "
            f"on the engine '{name}'."
        )


class Sampling:
    """Some rows of a stream of batches: those with the smallest draws, all of a person or none.

    Parameters
    ----------
    most
        Rows to end with, at most; more only where one person alone has more.
    """

    def __init__(self, keys: Keys, subject: str | None, most: int) -> None:
        self._keys, self._subject, self._most = keys, subject, most
        self._frames: list[pl.DataFrame] = []
        self._limit: int | None = None
        self._rows = 0

    def see(self, batch: Batch, classes: np.ndarray, told: pl.DataFrame | None = None) -> None:
        """Take in a batch, each row in a class or (-1) in none.

        Parameters
        ----------
        told
            What is kept of its rows, by default every column as it was read.
        """
        whose = self._subject
        units = batch.keys if whose is None else key_hashes(canonical_text(batch.as_read(whose)).fill_null(""))
        drawn = self._keys.bits("attack sample", units)
        kept = np.arange(drawn.size) if self._limit is None else np.flatnonzero(drawn < np.uint64(self._limit))
        # Columns of no source are called so.
        beside = [pl.Series(" drawn", drawn[kept]), pl.Series(" class", classes[kept].astype(np.int32))]
        self._frames.append((batch.read if told is None else told)[kept].with_columns(beside))
        self._rows += kept.size
        if self._rows > 2 * self._most:
            self._cut()

    def _cut(self) -> None:
        frame = pl.concat(self._frames)
        drawn, rows = np.unique(frame[" drawn"].to_numpy(), return_counts=True)
        units = max(int(np.searchsorted(np.cumsum(rows), self._most, side="right")), 1)
        if units < drawn.size:
            self._limit = int(drawn[units])
            frame = frame.filter(pl.col(" drawn") < self._limit)
        self._frames, self._rows = [frame], frame.height

    def found(self) -> tuple[pl.DataFrame, np.ndarray]:
        """The rows in the order of the source, and their classes."""
        self._cut()
        (frame,) = self._frames
        return frame.drop(" drawn", " class"), frame[" class"].to_numpy()


@dataclass(frozen=True, eq=False, kw_only=True)
class Attackable:
    """What attacks are given.

    Attributes
    ----------
    people, rows
        Rows of the people who are attacked, and rows that there are.
    """

    case: AttackCase
    people: int
    rows: int

    @property
    def told(self) -> str:
        """What to know of it."""
        if self.people == self.rows:
            return "Everybody is attacked; classes are counted over all rows."
        drawn = f"Attacked are {self.people:,} of {self.rows:,} rows, drawn by key"
        return f"{drawn}; classes are counted over all of them."


def attackable(
    judged: Judged,
    manifest: Mapping[str, Any],
    keys: Keys,
    *,
    memory: int,
    most: int = SAMPLE,
    control: pl.DataFrame | None = None,
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = (),
    progress: Progress = lambda step: None,
) -> Attackable:
    """A generalised release with a sample of its own people; one pass over the rows.

    Parameters
    ----------
    memory
        Bytes that a run may take.
    most
        Rows of the people who are attacked.
    """
    released, rows, domain = judged.released, judged.rows, judged.rows.domain
    placing = rows.placing(released.classmap)
    sensitive = attacked_columns(released, domain)
    _refuse_too_many(rows, len(sensitive), memory)
    arrays: dict[str, list[np.ndarray]] = {name: [] for name in ("", *sensitive)}
    whose: list[pl.Series] = []
    sampling, subject, seen = Sampling(keys, domain.schema.subject, most), domain.schema.subject, 0
    for batch in rows.batches("kept"):
        classes = placing(batch)
        sampling.see(batch, classes)
        there = np.flatnonzero(classes >= 0)
        arrays[""].append(classes[there].astype(np.int32))
        for name in sensitive:
            arrays[name].append(batch.codes[name][there].astype(np.int32))
        if subject is not None:
            whose.append(batch.as_read(subject).gather(there))
        seen += classes.size
        progress(f"looking at classes: {seen:,} of {domain.n:,} rows")
    codes = {name: np.concatenate(several) for name, several in arrays.items()}
    classes = codes.pop("")
    # How common a value is, attackers count in the release.
    sensitive = {
        name: replace(column, frequencies=counted(codes[name], column.card))
        for name, column in sensitive.items()
    }
    people, own = sampling.found()
    view = View(
        classes=classes, n_classes=released.n_classes, sensitive=sensitive, codes=codes,
        **_cells(released, rows, manifest, classes),
        subjects=None if subject is None else Subjects.of(pl.concat(whose)),
    )  # fmt: skip
    case = make_case(
        view, manifest, keys, against=people, control=control, no_control=None if control is not None else _NOBODY,
        own=own, sampled=people.height < domain.n, others=others,
    )  # fmt: skip
    return Attackable(case=case, people=people.height, rows=domain.n)


def _refuse_too_many(rows: OpenRows, sensitive: int, memory: int) -> None:
    """Refuse more rows than memory holds classes and sensitive values of."""
    domain = rows.domain
    needed = domain.n * (_CELL * (1 + sensitive) + (_PERSON if domain.by_people else 0)) / _KEPT
    if needed > memory:
        # What others are given is said in settings of theirs.
        given = "give 'memory' under [engine] as much, or " if Capability.LOAD in rows.capabilities else ""
        raise InputError(
            f"An attack holds the classes and sensitive values of all rows in memory, and those of {domain.n:,} rows "
            f"need {needed / 1e9:.1f}GB: {given}attack a release of some of the rows."
        )


_NOBODY = "Nobody was held out, so there is no control."


def _cells(
    released: Released, rows: OpenRows, manifest: Mapping[str, Any], classes: np.ndarray
) -> dict[str, Any]:
    """What the cells of classes cover, by a frame of one row a class."""
    count = released.n_classes
    nothing = pl.Series([None] * count, dtype=pl.String)
    frame = Publishing(released, "drop").frame(np.arange(count), lambda name: nothing)
    public = public_view(frame, publisher_manifest(manifest, rows.domain))
    matcher = public.matcher
    if matcher is None:
        return {"matcher": None, "class_of": np.empty(0, dtype=np.int32), "left_out": public.left_out}
    class_of = np.zeros(matcher.sizes.size, dtype=np.int32)
    class_of[matcher.of_row] = np.arange(count)
    return {"matcher": _counted(matcher, classes), "class_of": class_of, "left_out": public.left_out}


def _counted(matcher: Matcher, classes: np.ndarray) -> Matcher:
    """The same cells with all rows that have them."""
    of_row = matcher.of_row[classes]
    return replace(matcher, of_row=of_row, sizes=np.bincount(of_row, minlength=matcher.sizes.size))


# ----------------------------------------
# Some rows of a release beside what they were made of, where an engine keeps the rows: for the publisher's eyes.


def some_beside(judged: Judged, most: int) -> tuple[np.ndarray, pl.DataFrame, pl.DataFrame]:
    """Numbers of the rows that come first in the release, from 0 in the source, their cells as read and as released.

    A row that is suppressed has nothing but nulls on the released side, and columns that stand in a table of their own
    are left out of it.
    """
    rows, released = judged.rows, judged.released
    publisher = Publisher.of(released, rows.placing(released.classmap), "star")
    found = rows.published(publisher, judged.output.order, judged.keys)
    first = next(found, None)
    if isinstance(found, Generator):
        found.close()
    if first is None:
        return np.empty(0, dtype=np.int64), pl.DataFrame(), pl.DataFrame()
    batch, classes, frame = first
    read = batch.take(np.arange(min(most, batch.rows.size)))
    gone = pl.Series(classes[:most] < 0)
    after = frame[:most].select(pl.when(~gone).then(pl.all().cast(pl.String)))
    return read.rows, read.held(rows.domain.schema.released), after


# ----------------------------------------
# Limits that a recipe sets on attacks.


def refuse_over_limits(
    recipe: Recipe, judged: Judged, release: Release, progress: Progress
) -> list[AttackResult]:
    """Attack a release as the limits of its recipe ask for, and refuse it where one is exceeded.

    Where an engine keeps the rows, its own people are attacked, or a sample of them, in classes counted over all rows.
    """
    if Capability.ARRAYS in judged.rows.capabilities:
        return over_limits(recipe.limits, release)
    refuse_unattackable(judged.released.made, recipe.engine.name)
    wanted, results = attacks_of(recipe.limits), list[AttackResult]()
    if wanted:
        found = attackable(judged, release.manifest, judged.keys, memory=memory_of(recipe), progress=progress)
        results = run_attacks(found.case, wanted)
    refuse_broken(recipe.limits, results, size_risks(judged.rows.stats(judged.released.classmap, []).sizes))
    return results
