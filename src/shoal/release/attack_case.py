"""A release as attackers see it: of rows in memory whole, of others its classes counted over all rows and a sample.

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
from shoal.data.rows import Batch, in_memory
from shoal.data.table import Table
from shoal.engines.base import Capability, OpenRows
from shoal.engines.memory import MemoryRows
from shoal.errors import InputError, ParameterError
from shoal.recipe.recipe import Recipe
from shoal.recoding.kinds import Kind
from shoal.recoding.publish import Publisher, Publishing
from shoal.recoding.reader_labels import publisher_manifest
from shoal.recoding.recoded import Released
from shoal.release.capabilities import require
from shoal.release.entry import keeps_rows, memory_of, methods, opened, plan_of, sink_of
from shoal.release.prepare import Judged, Progress, silent
from shoal.release.publish import publish
from shoal.release.secrets import trial_secrets
from shoal.results import Release
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.case import AttackCase, Matcher, Subjects, View
from shoal.risk.attacks.limits import refuse_over_limits as over_limits
from shoal.risk.attacks.run import hold_out, make_case, refuse_overlap
from shoal.risk.attacks.views import attacked_columns, people_frame, public_view, release_view

# Rows of the people that are attacked, where nobody says how many.
SAMPLE = 10_000
# Bytes of a cell, as it is put together, and of a name; and the share of memory that they may have.
_CELL, _PERSON, _KEPT = 8, 64, 0.35
# Share of the rows in memory that is kept back as a control, where none is given.
HOLD_OUT = 0.2
NOBODY_HELD_OUT = "Nobody was held out, so there is no control."


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


def attack_case(
    release: Release,
    keys: Keys,
    *,
    memory: int,
    most: int = SAMPLE,
    against: pl.DataFrame | None = None,
    control: pl.DataFrame | None = None,
    held_out: bool = False,
    no_control: str | None = None,
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = (),
    progress: Progress = silent,
) -> tuple[AttackCase, int]:
    """Put people beside a release whose rows are open, and say how many rows of theirs are attacked.

    Of rows in memory all people are attacked, or those of ``against``; of others a sample of the release's own.

    Parameters
    ----------
    memory
        Bytes that a run may take.
    most
        Rows to sample.
    held_out
        Whether the control was kept back from the same rows.
    no_control
        Why there is none, where that is so.
    """
    why = no_control if control is None else None
    if Capability.ARRAYS in release.rows.capabilities:
        people = people_frame(release) if against is None else against
        case = make_case(
            release_view(release), release.manifest, keys, against=people, control=control, no_control=why,
            release=release, aligned=against is None, held_out=held_out, others=others,
        )  # fmt: skip
        return case, people.height
    return _sampled_case(release, keys, memory, most, control, why, others, progress)


def _sampled_case(
    release: Release, keys: Keys, memory: int, most: int, control: pl.DataFrame | None, no_control: str | None,
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]], progress: Progress,
) -> tuple[AttackCase, int]:  # fmt: skip
    """A generalised release with a sample of its own people; one pass over the rows."""
    manifest = release.manifest
    released, rows, domain = release.released, release.rows, release.rows.domain
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
        view, manifest, keys, against=people, control=control, no_control=no_control, own=own,
        sampled=people.height < domain.n, others=others,
    )  # fmt: skip
    return case, people.height


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
# A recipe's release made to be attacked, and limits that a recipe sets on attacks.


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """Knowledge beside the release: people in the data, people outside it, and further releases."""

    against: pl.DataFrame | None = None
    control: pl.DataFrame | None = None
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = ()


def recipe_case(
    recipe: Recipe,
    *,
    part: float = HOLD_OUT,
    sample: int | None = None,
    beside: Beside | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> tuple[AttackCase, str, dict[str, int] | None]:
    """Make a release of a recipe to be attacked; say what it states, and of how many rows how many are attacked.

    Parameters
    ----------
    part
        Share of rows in memory that is kept back where no control is given.
    sample
        Rows that are attacked, of those that an engine keeps elsewhere.
    """
    known = beside or Beside()
    keys = Keys.from_seed(recipe.seed if seed is None else seed)
    method, models = methods(recipe)
    if keeps_rows(recipe):
        refuse_unattackable(method.kind, recipe.engine.name)
    require(recipe, method)
    progress("reading")
    with opened(recipe, Keys.from_seed(recipe.seed), progress) as rows:
        control, in_arrays = known.control, Capability.ARRAYS in rows.capabilities
        if in_arrays:
            table = in_memory(rows).table
            inside, kept = hold_out(table, keys, 0.0 if control is not None else part)
            if control is None:
                control = kept
            else:
                control = _dated(control, table)
                refuse_overlap(table.frame if known.against is None else known.against, control)
            rows = MemoryRows(inside)
        secrets = trial_secrets(recipe)
        judged = plan_of(recipe, rows, method, models, Keys.from_seed(recipe.seed), progress, secrets).judged()
        release = publish(judged, sink_of(rows))
        case, people = attack_case(
            release, keys, memory=memory_of(recipe), most=SAMPLE if sample is None else sample, against=known.against,
            control=control, held_out=known.control is None, no_control=NOBODY_HELD_OUT, others=known.others,
            progress=progress,
        )  # fmt: skip
        statement, n = release.manifest["statement"], rows.domain.n
        if in_arrays:
            return case, statement, None
        drawn = f"Attacked are {people:,} of {n:,} rows, drawn by key; classes are counted over all of them."
        told = "Everybody is attacked; classes are counted over all rows." if people == n else drawn
        return case, f"{statement}. {told}", {"rows": people, "of": n}


def _dated(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A control with dates written as the source writes them."""
    given = {name: spec.format for name, spec in table.schema.specs.items() if spec.format is not None}
    texts = [name for name in given if name in frame.columns and frame[name].dtype == pl.String]
    return frame.with_columns(pl.col(name).str.to_date(given[name]) for name in texts)


def refuse_over_limits(recipe: Recipe, release: Release, progress: Progress) -> list[AttackResult]:
    """Attack a release as the limits of its recipe ask for, and refuse it where one is exceeded.

    Where an engine keeps the rows, its own people are attacked, or a sample of them, in classes counted over all rows.
    """
    if Capability.ARRAYS in release.rows.capabilities:
        return over_limits(recipe.limits, release)
    keys, memory = Keys(release.evidence["secret"]), memory_of(recipe)
    return over_limits(
        recipe.limits, release,
        lambda: attack_case(release, keys, memory=memory, no_control=NOBODY_HELD_OUT, progress=progress)[0],
    )  # fmt: skip


def attack_data(result: AttackResult) -> dict[str, Any]:
    """A result as plain data."""
    shown = ("name", "value", "low", "high", "baseline", "control", "control_interval", "trials", "beats", "excess")
    return {
        "name": result.name,
        "story": result.story,
        "note": result.note,
        "excess": result.excess,
        "figures": [{name: getattr(one, name) for name in shown} | {"told": one.told()} for one in result.figures],
        "also": result.also,
    }
