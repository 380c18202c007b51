"""Folds of the verifier over whole frames: in one batch, and in many, which has to come to the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from shoal.verify import hierarchies, released_values
from shoal.verify.cells import Cells, Inputs
from shoal.verify.checks import ExactValues
from shoal.verify.classes import Classes, Look, Looking
from shoal.verify.counts import Counting
from shoal.verify.facts import Facts
from shoal.verify.gate import gate
from shoal.verify.identifier_scan import Anybody, FreeText, Names
from shoal.verify.identifier_words import Hidden
from shoal.verify.identifiers import OwnIdentifiers
from shoal.verify.kinds.averaged import Microaggregated
from shoal.verify.kinds.bucketised import Bucketised
from shoal.verify.kinds.coded import Pseudonymised, Shifted
from shoal.verify.kinds.perturbed import Perturbed
from shoal.verify.kinds.randomised import Randomised
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check, GateCase, GateReport, Rows
from shoal.verify.tally import Numbering
from shoal.verify.values import Coded, encode, read_values

ALL = 1 << 30


def sizes(rows: int) -> list[int]:
    """Batches to try: one that holds everything, and smaller ones, few of them where there are many rows."""
    return [ALL, *([1, 2] if rows <= 8 else [7] if rows <= 40 else [rows // 3 + 1])]


def parts(rows: int, size: int) -> Iterator[slice]:
    """Slices of so many rows, one at least."""
    for start in range(0, max(rows, 1), size):
        yield slice(start, start + size)


def steady(rows: int, fold: Callable[[int], Any]) -> Any:
    """What a fold gives in one batch, having asserted that it gives the same in others."""
    first, *others = [fold(size) for size in sizes(rows)]
    assert all(other == first for other in others)
    return first


def plain(report: GateReport) -> tuple[Any, ...]:
    """A report as something to compare; a figure that is no number is its own text."""
    return list(report.checks), [repr(verdict) for verdict in report.verdicts], dict(report.classes)


def held(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows with their texts kept as numbers of the different ones, in another order than they come in."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(frame[name].cast(pl.Enum(frame[name].drop_nulls().unique().sort())) for name in texts)


def gated(case: GateCase) -> GateReport:
    """The gate's report, which is the same whatever the batches and however texts are kept."""
    reports = [gate(case, size) for size in sizes(max(case.released.height, case.original.height))]
    reports.append(gate(replace(case, original=held(case.original), released=held(case.released))))
    assert all(plain(report) == plain(reports[0]) for report in reports)
    return reports[0]


def find_look(frame: pl.DataFrame, apart: pl.DataFrame | None, claims: Claims, size: int = ALL) -> Look:
    """The classes of a release, in one table or two."""
    found = Looking(claims)
    for part in parts(frame.height, size):
        found.see(Coded(frame[part]))
    table = frame if apart is None else apart
    for part in parts(table.height, size) if claims.group is not None else ():
        found.see_groups(Coded(table[part]))
    return found.look()


def find_classes(frame: pl.DataFrame, claims: Claims) -> Classes:
    """Classes of equal quasi-identifiers."""
    looks = [find_look(frame, None, claims, size).quasi for size in sizes(frame.height)]
    assert all(_told(look) == _told(looks[0]) for look in looks)
    return looks[0]


def _told(classes: Classes) -> Any:
    cells = {name: (codes.tolist(), texts.to_list()) for name, (codes, texts) in classes.cells.items()}
    return classes.names, classes.sizes.tolist(), cells


def facts_of(
    frame: pl.DataFrame, claims: Claims, *, apart: pl.DataFrame | None = None, original: pl.DataFrame | None = None,
    subject: np.ndarray | None = None, input_subject: np.ndarray | None = None, origin: np.ndarray | None = None,
    size: int = 3, **given: Any,
) -> Facts:  # fmt: skip
    """What is counted of a release; ``subject``, ``real`` and ``origin`` are of its rows, all else of the input's."""
    looking, counting = Looking(claims), Counting(claims, gated=original is not None, people=subject is not None)
    if original is not None:
        for part in parts(original.height, size):
            counting.read(original[part], None if subject is None else np.asarray(input_subject)[part])
    real, table = given.pop("real", None), frame if apart is None else apart
    for part in parts(table.height, size):
        placed = looking.see(Coded(frame[part]))
        if claims.group is not None:
            placed = looking.see_groups(Coded(table[part]))
        rows = None
        if original is not None and origin is not None:
            mine = origin[part]
            more = {name: None if series is None else series.gather(mine) for name, series in given.items()}
            rows = Rows(original=original[mine], identifiers=pl.DataFrame(), **more)
        who = None if subject is None else subject[part]
        counting.see(Coded(table[part]), placed, rows, who, None if real is None else real[part])
    return counting.facts(looking.look().judged)


def check_exact(frame: pl.DataFrame, claims: Claims) -> Check:
    """Values that are published as quasi-identifiers."""

    def fold(size: int) -> Check:
        found = ExactValues(claims)
        for part in parts(frame.height, size):
            found.see(Coded(frame[part]))
        return found.check()

    return steady(frame.height, fold)


def check_ends(case: GateCase, claims: Claims, cells: Mapping[str, Cells]) -> Check:
    """Ends of intervals."""

    def fold(size: int) -> Check:
        read = SimpleNamespace(inputs=Inputs(claims.columns), left=Inputs(claims.columns))
        who = None if case.subject is None else encode(case.subject)[0]
        gone = np.isin(np.arange(case.original.height), case.suppressed)
        for part in parts(case.original.height, size):
            mine = None if who is None else who[part]
            read.inputs.read(case.original[part], mine)
            read.left.read(case.original[part].filter(~gone[part]), None if mine is None else mine[~gone[part]])
        return released_values.check_ends(claims, case.grids, case.steps, read, cells)

    return steady(case.original.height, fold)


def check_hierarchies(public: Claims, case: GateCase) -> Check:
    """Hierarchies of the manifest."""
    tables = [case.released, *([] if case.apart is None else [case.apart])]
    cells = {column.name: column.unique() for table in tables for column in table.get_columns()}
    return hierarchies.check_hierarchies(public, case.hierarchies, cells)


def check_identifier_values(released: pl.DataFrame, identifiers: Sequence[pl.Series]) -> Check:
    """Identifiers in the cells of their own rows."""

    def fold(size: int) -> Check:
        found = OwnIdentifiers(_known(identifiers, None, size))
        for part in parts(released.height, size):
            found.see(Coded(released[part]), [one[part] for one in identifiers])
        return found.check()

    return steady(released.height, fold)


def _known(hidden: Sequence[pl.Series], people: pl.Series | None, size: int) -> Hidden:
    found, numbering = Hidden(), Numbering()
    for part in parts(len(hidden[0]) if hidden else 0, size):
        who = None if people is None else numbering.see(people[part].to_frame()).codes
        found.read([one[part] for one in hidden], who)
    return found


def check_anybody(tables: Sequence[pl.DataFrame], hidden: Sequence[pl.Series], people: pl.Series | None) -> Check:
    """Identifiers of anybody."""

    def fold(size: int) -> Check:
        found = Anybody(_known(hidden, people, size))
        for place, table in enumerate(tables):
            for part in parts(table.height, size):
                found.see(Coded(held(table[part]) if size == ALL else table[part]), place)
        return found.check()

    return steady(max([table.height for table in tables], default=0), fold)


def check_words(
    columns: Sequence[pl.Series], own: Sequence[pl.Series], hidden: Sequence[pl.Series], people: pl.Series | None,
    accepted: Collection[str],
) -> list[Check]:  # fmt: skip
    """Words of names."""

    def fold(size: int) -> list[Check]:
        found, numbered = Names(_known(hidden, people, size)), Names(_known(hidden, people, size))
        for part in parts(len(columns[0]) if columns else 0, size):
            cells = pl.DataFrame([one[part] for one in columns])
            found.see(Coded(cells), [one[part] for one in own])
            numbered.see(Coded(held(cells)), [one[part] for one in own])
        assert numbered.checks(accepted) == found.checks(accepted)
        return found.checks(accepted)

    return steady(len(columns[0]) if columns else 0, fold)


def check_texts(columns: Sequence[pl.Series], accepted: Collection[str]) -> list[Check]:
    """Free text."""

    def fold(size: int) -> list[Check]:
        found, numbered = FreeText(), FreeText()
        for part in parts(len(columns[0]) if columns else 0, size):
            cells = pl.DataFrame([one[part] for one in columns])
            found.see(Coded(cells))
            numbered.see(Coded(held(cells)))
        assert numbered.checks(accepted) == found.checks(accepted)
        return found.checks(accepted)

    return steady(len(columns[0]) if columns else 0, fold)


def _kind(
    make: Callable[[], Any], original: pl.DataFrame, released: pl.DataFrame, source: Any, apart: Any = None
) -> list[Check]:
    rows = np.asarray(source)
    fits = len(rows) == released.height and bool(((rows >= 0) & (rows < original.height)).all())
    once = fits and len(np.unique(rows)) == len(rows)
    everybody = once and len(rows) == original.height
    accounts: Any = SimpleNamespace(once=once, everybody=everybody)

    def fold(size: int) -> list[Check]:
        found = make()
        for part in parts(released.height, size):
            some = rows[part].astype(np.int64) if fits else np.arange(0)
            found.see(released[part] if fits else released[:0], original[some])
        if isinstance(found, Bucketised):
            table = released if apart is None else apart
            for part in parts(table.height, size):
                found.see_values(table[part])
        checks: list[Check] = found.checks(accounts)
        return checks

    return steady(released.height, fold)


def check_bucketised(original: pl.DataFrame, released: Any, source: Any, claims: Mapping[str, Any]) -> list[Check]:
    """A bucketised release."""
    one = isinstance(released, pl.DataFrame)
    left, right = (released, None) if one else (released["quasi"], released["sensitive"])
    return _kind(lambda: Bucketised(claims, one=one), original, left, source, right)


def check_microaggregated(
    original: pl.DataFrame, released: pl.DataFrame, source: Any, claims: Mapping[str, Any]
) -> list[Check]:
    """A microaggregated release."""
    return _kind(lambda: Microaggregated(claims), original, released, source)


def check_pseudonymised(
    original: pl.DataFrame, released: pl.DataFrame, source: Any, claims: Mapping[str, Any]
) -> list[Check]:
    """A pseudonymised release."""
    return _kind(lambda: Pseudonymised(claims), original, released, source)


def check_randomised(
    original: pl.DataFrame, released: pl.DataFrame, source: Any, claims: Mapping[str, Any]
) -> list[Check]:
    """A randomised release."""
    kinds = {column["name"]: column["type"] for column in claims["columns"] if column["role"] == "quasi"}
    inputs = {name: read_values(original[name], kind).texts for name, kind in kinds.items()}
    return _kind(lambda: Randomised(claims, inputs), original, released, source)


def check_perturbed(
    original: pl.DataFrame, released: pl.DataFrame, source: Any, claims: Mapping[str, Any]
) -> list[Check]:
    """A perturbed release."""
    columns = [
        SimpleNamespace(**{"cells": "value", **column}) for column in claims["columns"] if column["role"] == "quasi"
    ]
    inputs = Inputs(columns)  # type: ignore[arg-type]
    inputs.read(original, None)
    return _kind(lambda: Perturbed(claims, inputs), original, released, source)


def check_shifted(
    columns: Sequence[tuple[str, pl.Series, pl.Series, np.ndarray, int]], subject: pl.Series | None
) -> Check:
    """Shifted dates: name, published and true ones, the input row of each, and the largest move in days."""
    who = None if subject is None else encode(subject)[0]

    def fold(size: int) -> Check:
        found = Shifted()
        for name, ours, theirs, rows, days in columns:
            for part in parts(len(ours), size):
                found.see(name, days, ours[part], theirs[part], None if who is None else who[rows[part]])
        return found.check()

    return steady(max([len(ours) for _, ours, *_ in columns], default=0), fold)
