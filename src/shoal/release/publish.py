"""Publish a release: batches of rows become released rows, and the gate sees each beside the rows it comes from."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.data.classes import RowIds
from shoal.data.keys import Keys
from shoal.data.rows import Batch
from shoal.engines.base import OpenRows
from shoal.engines.prefetch import ahead, begun
from shoal.io.evidence import manifest_bytes, row_bytes
from shoal.recoding.cells import CellColumn
from shoal.recoding.publish import (
    RELEASE_ORDER,
    SENSITIVE_ORDER,
    Published,
    Publisher,
    group_name,
    permuted,
    released_columns,
    shown_texts,
)
from shoal.recoding.recoded import Released
from shoal.recoding.recodings import Bucketed
from shoal.recoding.rewriting import ByClass, rewritten
from shoal.release.gating import refuse_failed, with_verdicts
from shoal.release.sinks import Sink
from shoal.reports.release import release_html
from shoal.results import Gated as Passed
from shoal.results import Release
from shoal.verify.gate import Gate, looked_up
from shoal.verify.report import Batch as Gated
from shoal.verify.report import Rows
from shoal.verify.tally import BATCH

if TYPE_CHECKING:
    from shoal.release.prepare import Judged


def person_frames(rows: OpenRows) -> Iterator[pl.DataFrame]:
    """All rows as they were read, batch by batch, with hashes of columns that are dropped."""
    roles = rows.domain.schema
    names = [*roles.released, *roles.identifiers, *rows.followed]
    for batch in rows.batches("kept"):
        people = [] if roles.subject is None or roles.subject in names else [batch.as_read(roles.subject)]
        yield batch.held(names).hstack(people)


@dataclass(frozen=True, eq=False)
class Given:
    """Rows as they were read, and as they would be published."""

    rows: OpenRows
    released: Released

    @cached_property
    def represented(self) -> dict[str, CellColumn]:
        """Columns of which one value stands for the cell that the gate looks at."""
        cells = self.released.cells if self.released.made.generalises else {}
        return {name: mine for name, mine in cells.items() if mine.column.cells == "representative"}

    def rows_of(self, batch: Batch, classes: np.ndarray | None) -> Rows:
        """Rows as the gate takes them in; their classes matter where values stand for cells."""
        roles, followed, history = self.rows.domain.schema, self.rows.followed, self.rows.history
        index = pl.Series([] if classes is None else classes)
        behind = pl.DataFrame(
            [cells.texts().gather(index.set(index < 0, None)).alias(name) for name, cells in self.represented.items()]
        )
        return Rows(
            original=batch.held(roles.released),
            identifiers=_columns(batch, roles.identifiers),
            subject=None if roles.subject is None else batch.as_read(roles.subject),
            guard=None if roles.guard is None else batch.as_read(roles.guard),
            history=None if history is None else history.gather(batch.rows),
            behind=behind,
            aside=_columns(batch, followed) if followed else None,
        )

    def beside(self, found: Iterable[Published]) -> Iterator[tuple[Gated, Published | None]]:
        """Released rows beside those that they come from, their cells looked up as the gate does it.

        The gate looks at few rows at a time; with the last of some that were published together comes what they are.
        """
        try:
            for published in found:
                batch, classes, frame = published
                for part in _parts(frame.height):
                    mine = self.rows_of(batch.take(part), classes[part])
                    seen = looked_up(Gated(released=frame[part], source=batch.rows[part], rows=mine))
                    yield seen, published if part.stop >= frame.height else None
        finally:
            if isinstance(found, Generator):
                found.close()  # before anybody removes the folder that it reads

    def read(self) -> Iterator[tuple[Rows, bytes]]:
        """All rows of the source as the gate takes them in, few at a time, and what tells them apart."""
        placing = self.rows.placing(self.released.classmap) if self.represented else None
        for batch in self.rows.batches("kept"):
            ranked = self.rows.ranked(batch)
            told = b"" if ranked is None else row_bytes(ranked)
            for part in _parts(batch.rows.size):
                some = batch.take(part)
                yield self.rows_of(some, None if placing is None else placing(some)), told
                told = b""


def _parts(rows: int) -> Iterator[slice]:
    """Slices of rows that the gate looks at in one go; one at least."""
    step = BATCH if rows > 2 * BATCH else max(rows, 1)
    return (slice(start, start + step) for start in range(0, max(rows, 1), step))


def _columns(batch: Batch, names: Sequence[str]) -> pl.DataFrame:
    """Columns that are not coded, as they are kept."""
    return pl.DataFrame([batch.column(name) for name in names])


# ----------------------------------------
# Sensitive values by group, of rows that an engine keeps: in a table of their own, or shuffled within their groups.


# Random bits of a row are of so many.
_BITS = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class Buckets:
    """A bucketised release on its way to its tables.

    Attributes
    ----------
    publisher
        Publishes rows with their own sensitive values.
    order
        ``"shuffled"`` or ``"kept"``, that of the released rows.
    """

    rows: OpenRows
    released: Released
    publisher: Publisher
    keys: Keys
    order: str

    @property
    def apart(self) -> bool:
        """Whether sensitive values stand in a table of their own."""
        assert isinstance(self.released.recoding, Bucketed)
        return self.released.recoding.publication != "permuted"

    @cached_property
    def group(self) -> str:
        """Name of the column of group numbers."""
        return group_name(self.released.domain.types)

    @cached_property
    def sensitive(self) -> list[str]:
        """Sensitive columns in the order of the release."""
        domain = self.released.domain
        return [name for name in released_columns(domain) if name in domain.schema.sensitive]

    def published(self) -> Iterator[Published]:
        """Released rows, their classes, and what is published of them."""
        others = None if self.apart else _Slices(self._values(batch) for batch in self._by_turn())
        for batch, classes, frame in self.rows.published(self.publisher, self.order, self.keys):
            numbers = pl.Series(self.group, classes.astype(np.int64) + 1)
            if others is None:
                yield batch, classes, frame.drop(self.sensitive).with_columns(numbers)
            else:
                yield batch, classes, frame.with_columns(*others.take(frame.height).iter_columns(), numbers)

    def valued(self, judged: pl.DataFrame | pl.LazyFrame) -> Iterator[Published]:
        """Rows whose sensitive values stand in the release, their classes, and the table that holds them.

        Parameters
        ----------
        judged
            The released rows, as they were judged.
        """
        at = 0
        for batch in self._by_turn() if not self.apart else self.rows.arranged(self._another_order):
            classes = self._ids[batch.rows]
            if self.apart:
                numbers = pl.Series(self.group, classes.astype(np.int64) + 1)
                yield batch, classes, pl.DataFrame([numbers, *self._values(batch).iter_columns()])
            else:
                yield batch, classes, judged.slice(at, batch.rows.size).lazy().collect()
                at += batch.rows.size

    def _values(self, batch: Batch) -> pl.DataFrame:
        return self.publisher.frame(batch, self._ids[batch.rows]).select(self.sensitive)

    def _another_order(self, rows: np.ndarray, row_keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Another order than the release's, or values would still stand side by side with their rows."""
        kept = np.flatnonzero(self._ids[rows] >= 0)
        return kept, self.keys.bits(SENSITIVE_ORDER, row_keys[kept])

    def _by_turn(self) -> Iterator[Batch]:
        """Rows in the order of the released rows that their sensitive values go to."""
        turn = self._turns
        # Turns are dealt as random bits are: spread over all of them.
        step = np.uint64((1 << _BITS) // max(turn.size, 1) - 1)

        def dealt(rows: np.ndarray, row_keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            mine = turn[rows]
            kept = np.flatnonzero(mine >= 0)
            return kept, mine[kept].astype(np.uint64) * step

        return self.rows.arranged(dealt)

    @cached_property
    def _ids(self) -> np.ndarray:
        assert isinstance(self.released.classmap, RowIds)
        return self.released.classmap.ids

    @cached_property
    def _turns(self) -> np.ndarray:
        """int64, the place in the release that the sensitive values of each row go to, -1 for none."""
        ids, row_keys = self._ids, self.rows.row_keys()
        rows = np.arange(ids.size) if self.order == "kept" else self.keys.shuffle(RELEASE_ORDER, row_keys)
        values_from = permuted(ids, row_keys, self.keys, rows[ids[rows] >= 0])
        turn = np.full(ids.size, -1, dtype=np.int64)
        turn[values_from] = np.arange(values_from.size)
        return turn


class _Slices:
    """Rows that come in batches, handed out in others."""

    def __init__(self, parts: Iterator[pl.DataFrame]) -> None:
        self._parts = parts
        self._rest: pl.DataFrame | None = None

    def take(self, count: int) -> pl.DataFrame:
        """The next rows."""
        waiting = [] if self._rest is None else [self._rest]
        while self._rest is None or sum(one.height for one in waiting) < count:
            self._rest = next(self._parts)
            waiting.append(self._rest)
        found = pl.concat(waiting)
        self._rest = found[count:]
        return found[:count]


# ----------------------------------------
# What a release shows of its columns, found out before its rows are published.


@dataclass(frozen=True, eq=False)
class Showing:
    """A release before its rows are published.

    Attributes
    ----------
    group
        Name of the column of group numbers of a bucketised release, else None.
    """

    rows: OpenRows
    released: Released
    group: str | None = None

    def texts(self, name: str) -> set[str]:
        """Collect the texts of a column of which other values are published than were read."""
        one = self.released.rewriting.get(name)
        if one is None:
            return set()
        if isinstance(one, ByClass):
            return shown_texts(one.columns[name])
        found: set[str] = set()
        placing = self.rows.placing(self.released.classmap)
        for batch in self.rows.batches("kept"):
            classes = placing(batch)
            found |= shown_texts(rewritten({name: one}, batch, classes)[name].gather((classes >= 0).nonzero()[0]))
        return found


# ----------------------------------------
# Through the gate and into a sink, batch by batch.


def publish(judged: Judged, sink: Sink) -> Release:
    """Publish all rows of a release, each seen by the gate before a sink takes it."""
    rows, released, progress, order = judged.rows, judged.released, judged.progress, judged.output.order
    manifest = judged.manifest()
    gate, given = Gate(judged.setting(manifest)), Given(rows, released)
    publisher = Publisher.of(released, rows.placing(released.classmap), judged.output.suppressed)
    buckets = None
    if judged.group is not None:
        buckets = Buckets(rows=rows, released=released, publisher=publisher, keys=judged.keys, order=order)
    found = rows.published(publisher, order, judged.keys) if buckets is None else buckets.published()
    seen = 0
    # Rows are put in the order of the release while the gate reads them in that of the source.
    with begun(given.beside(found)) as coming:
        digest = _input_read(judged, gate, given)
        for looked_at, whole in coming:
            gate.see(looked_at)
            seen += looked_at.released.height
            progress(f"checking every cell at the gate: {seen:,} rows")
            if whole is not None:
                batch, _, frame = whole
                sink.add("release", frame, batch.rows)
    if buckets is not None:
        for batch, classes, frame in buckets.valued(sink.rows("release")):
            for part in _parts(frame.height):
                mine = given.rows_of(batch.take(part), classes[part])
                gate.see_values(Gated(released=frame[part], source=batch.rows[part], rows=mine), apart=buckets.apart)
            if buckets.apart:
                sink.add("sensitive", frame, batch.rows)
    report = gate.report()
    refuse_failed(report)
    sink.seal()
    public = with_verdicts(manifest, report)
    evidence = {**judged.evidence, "seconds": time.perf_counter() - judged.started}
    return Release(
        gated=Passed(manifest=manifest_bytes(public), report=release_html(public).encode(), sink=sink),
        verdict=report.verdicts,
        checks=report.checks,
        evidence=evidence if digest is None else {**evidence, "input_hash": digest},
        released=released,
        rows=rows,
        secrets=judged.secrets,
    )


def _input_read(judged: Judged, gate: Gate, given: Given) -> str | None:
    """Show the gate all rows of the source; gives their keyed hash, by each different value once.

    A table that is in memory is hashed when it is written.
    """
    digest = hmac.new(judged.evidence["secret"], digestmod=hashlib.sha256)
    for values in judged.rows.ordered.values():
        digest.update(row_bytes(values.to_frame()))
    seen = 0
    for rows, told in ahead(given.read()):
        gate.read(rows)
        digest.update(told)
        seen += rows.original.height
        judged.progress(f"reading for the gate: {seen:,} of {judged.rows.domain.n:,} rows")
    return digest.hexdigest() if judged.rows.ordered else None
