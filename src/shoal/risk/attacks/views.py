"""How attackers see a release, and people beside it: from its files, from the publisher's side, from a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.data.build import build_table
from shoal.data.coding import canonical_text
from shoal.data.column import Column
from shoal.data.domain import Domain
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.policies import given_policy, set_policies
from shoal.data.schema import ColumnSpec, Schema
from shoal.data.stats import unknown_flags, value_text
from shoal.data.table import iso_dates, take_rows
from shoal.errors import InputError
from shoal.recoding.cover import Cover, cover_column, not_suppressed
from shoal.recoding.kinds import CODINGS, Trait, either_has
from shoal.recoding.reader_labels import publisher_manifest
from shoal.recoding.recoded import Released
from shoal.results import Release
from shoal.risk.attacks.base import AttackFigure
from shoal.risk.attacks.case import AttackCase, Matcher, People, Subjects, View
from shoal.risk.attacks.centroids import Centroids


def public_view(
    frame: pl.DataFrame,
    manifest: Mapping[str, Any],
    apart: np.ndarray | None = None,
    *,
    values: pl.DataFrame | None = None,
    subject: pl.Series | None = None,
    cover: Callable[[Mapping[str, Any], pl.DataFrame], Cover | None] = cover_column,
) -> View:
    """A release as its files and its manifest show it.

    Parameters
    ----------
    frame
        The published rows.
    apart
        A number a row; rows whose numbers differ are told apart although their cells agree.
    values
        Sensitive values by group, where a bucketised release has them in a table of their own.
    subject
        Whose row each is, where anybody knows.
    cover
        What the cells of a column cover, by its entry.
    """
    if apart is None and manifest.get("group") in frame.columns:
        apart = _group_ids(frame, frame, manifest)
    columns = {entry["name"]: entry for entry in manifest["columns"]}
    quasi = [entry for entry in columns.values() if entry["role"] == "quasi" and "coded" not in entry]
    kept = not_suppressed(frame, manifest)
    if kept is not None:
        frame, apart = frame.filter(kept), None if apart is None else apart[kept.to_numpy()]
        subject = None if subject is None else subject.filter(kept)
    covers = {entry["name"]: cover(entry, frame) for entry in quasi} if _covering(manifest) else {}
    known = [one for one in covers.values() if one is not None]
    if apart is not None:  # the groups of a bucketised release, whose values are apart from their rows
        ids = np.unique(apart, return_inverse=True)[1].astype(np.int32)
    else:
        texts = [canonical_text(frame[name]) for entry in quasi for name in entry.get("columns", [entry["name"]])]
        ids = _distinct(texts)
    listed, held = (ids, frame) if values is None else (_group_ids(values, frame, manifest), values)
    # Classes that only representatives tell apart stay apart, although nobody's values do.
    matcher = Matcher.of(known, ids) if known and frame.height else None
    count = int(ids.max(initial=-1)) + 1
    sensitive, codes = _sensitive(held, columns)
    return View(
        classes=listed, n_classes=count, sensitive=sensitive, codes=codes, matcher=matcher,
        class_of=_class_of(matcher, ids), left_out=[name for name, one in covers.items() if one is None],
        centroids=_centroids(frame, manifest, ids, count), subjects=None if subject is None else Subjects.of(subject),
    )  # fmt: skip


def _centroids(frame: pl.DataFrame, manifest: Mapping[str, Any], classes: np.ndarray, count: int) -> Centroids | None:
    if _covering(manifest) or not frame.height:
        return None
    quasi = [entry for entry in manifest["columns"] if entry["role"] == "quasi" and "coded" not in entry]
    return Centroids.of(quasi, frame, classes, count)


def _class_of(matcher: Matcher | None, classes: np.ndarray) -> np.ndarray:
    """Class of every distinct row of cells."""
    if matcher is None:
        return np.empty(0, dtype=np.int32)
    class_of = np.zeros(matcher.sizes.size, dtype=np.int32)
    class_of[matcher.of_row] = classes
    return class_of


def release_view(release: Release) -> View:
    """A release as its files show it, with the publisher's own coding of sensitive values.

    Codes on top of classes are taken to be read: what stands behind them is the worst that classes tell.
    """
    rows = release.source[release.released.classes[release.source] >= 0]
    table = take_rows(release.table, rows)
    classes = release.released.classes[rows]
    sensitive = attacked_columns(release.released, table.domain)
    frame, count, subject = _polars(release.frame), release.released.n_classes, table.schema.subject
    public = public_view(frame, publisher_manifest(release.manifest, release.table), _group_numbers(release))
    return View(
        classes=classes, n_classes=count, sensitive=sensitive, codes=table.codes, matcher=public.matcher,
        class_of=_class_of(public.matcher, classes), left_out=public.left_out,
        centroids=_centroids(frame, release.manifest, classes, count),
        subjects=None if subject is None else Subjects.of(table.series(subject)),
        real=rows < release.table.n - release.table.counterfeits if release.table.counterfeits else None,
    )  # fmt: skip


def attacked_columns(released: Released, domain: Domain) -> dict[str, Column]:
    """Sensitive columns whose values are published, or codes that stand for them.

    The latter beside quasi-identifiers that are not as they were.
    """
    coded = [name for name, how in released.coded.items() if CODINGS[how].of_values]
    hidden = released.changed - set([] if released.made.has(Trait.CODES) else coded)
    return {column.name: column for column in domain.sensitive if column.name not in hidden}


def own_people(view: View) -> People:
    """The people of the released records, each known by class, with the values released for them."""
    mine = slice(None) if view.real is None else view.real
    truth, numbers = {}, {}
    for name, column in view.sensitive.items():
        codes = view.codes[name][mine]
        known = unknown_flags(column)[codes] == 0
        truth[name] = np.where(known, codes, -1).astype(np.int64)
        if column.numbers is not None:
            numbers[name] = np.where(known, _positions(column)[codes], np.nan)
    whose, classes = None if view.subjects is None else view.subjects.of_row[mine], view.classes[mine]
    return People(
        n=classes.size, classes=classes, vectors=None, vector=None, truth=truth, numbers=numbers, person=whose
    )  # fmt: skip


def identified_people(view: View, frame: pl.DataFrame, subject: str | None = None) -> People:
    """People of an identified table, known by their quasi-identifiers; sensitive columns they have are the truth.

    Parameters
    ----------
    subject
        Column that says whose row it is, by default the release's own.
    """
    vectors = vector = near = None
    if view.matcher is not None:
        vectors, vector = view.matcher.vectors(frame)
    elif view.centroids is not None:
        near = view.centroids.near(frame)
    else:
        raise InputError("The cells of this release cover no values, so that nobody can be held against them.")
    truth, numbers = {}, {}
    for name, column in view.sensitive.items():
        if name in frame.columns:
            truth[name], found = _truth(column, frame[name])
            if found is not None:
                numbers[name] = found
    return People(
        n=frame.height, classes=None if near is None else near.classes, vectors=vectors, vector=vector, truth=truth,
        numbers=numbers, near=near, person=_persons(view, frame, subject),
    )  # fmt: skip


def _persons(view: View, frame: pl.DataFrame, subject: str | None) -> np.ndarray | None:
    name = subject or (None if view.subjects is None else view.subjects.name)
    if name is None or name not in frame.columns:
        return None
    return Subjects.of(frame[name]).of_row if view.subjects is None else view.subjects.place(frame[name])


def people_frame(release: Release) -> pl.DataFrame:
    """Input rows of a release as an identified table; its counterfeits, the last rows, are nobody's."""
    return iso_dates(release.table).head(release.table.n - release.table.counterfeits)


def _truth(column: Column, series: pl.Series) -> tuple[np.ndarray, np.ndarray | None]:
    texts = canonical_text(series)
    codes = {text: code for code, text in enumerate(column.texts.to_list())}
    unknown = unknown_flags(column)
    known = {text: -1 if unknown[code] else code for text, code in codes.items()}
    distinct = texts.unique().drop_nulls()
    # An unknown answer is one whether the release has it or not.
    lost = {ROOT, MISSING, *map(str, column.spec.non_answers)}
    found = [_code(column, known, lost, text) for text in distinct.to_list()]
    mapped = texts.replace_strict(distinct, pl.Series(found, dtype=pl.Int64), default=-1, return_dtype=pl.Int64)
    truth = mapped.fill_null(-1).to_numpy()
    if column.numbers is None:
        return truth, None
    values = series
    if column.type == "date":
        values = series.str.to_date(strict=False) if series.dtype == pl.String else series.cast(pl.Date)
        values = values.cast(pl.Int32)
    exact = values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy() - _base(column)
    return truth, np.where(truth < 0, np.nan, exact)


def _code(column: Column, known: Mapping[str, int], lost: set[str], text: str) -> int:
    """Code of a person's value: -1 unknown, and the number of codes where the release does not have it."""
    for one in (text, value_text(column, text)):
        if one in known:
            return known[one]
    return -1 if text in lost else column.card


def _base(column: Column) -> float:
    return float(column.numbers[0]) if column.numbers is not None and column.numbers.size else 0.0


def _positions(column: Column) -> np.ndarray:
    """Places of the codes as offsets from the lowest, the missing one nowhere."""
    return np.where(np.isfinite(column.positions), column.positions, np.nan)


def _covering(manifest: Mapping[str, Any]) -> bool:
    """Whether cells cover the values of the people behind them: centroids do not."""
    return not either_has(manifest, Trait.CENTROIDS)


def _distinct(columns: Sequence[pl.Series]) -> np.ndarray:
    """Number of each distinct row."""
    frame = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    return frame.select(pl.struct(pl.all()).rank("dense").cast(pl.Int32) - 1).to_series().to_numpy()


def _sensitive(
    frame: pl.DataFrame, columns: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Column], Mapping[str, np.ndarray]]:
    """Released sensitive columns, coded as their types and hierarchies say; those of a table apart are not here."""
    wanted = {
        name: entry
        for name, entry in columns.items()
        if entry["role"] == "sensitive" and name in frame.columns and entry["cells"] == "value" and "coded" not in entry
    }
    if not wanted or not frame.height:
        return {}, {}
    specs = {
        name: ColumnSpec(
            type=entry["type"], order=entry.get("order") or None, non_answers=tuple(entry.get("non_answers", ()))
        )
        for name, entry in wanted.items()
    }
    trees = {
        name: Hierarchy.from_rows(name, entry["hierarchy"]) for name, entry in wanted.items() if entry.get("hierarchy")
    }
    # In a file a missing cell is written out.
    data = frame.select(list(wanted)).with_columns(pl.col(pl.String).replace(MISSING, None), pl.lit("").alias(""))
    # A table needs a quasi-identifier; no column of a release can have the empty name.
    schema = Schema(quasi=[""], sensitive=list(wanted), specs=specs)
    table = build_table(data, schema, hierarchies=trees, missing="value")
    ranges = {name: given_policy(entry["policy"]) for name, entry in wanted.items() if entry.get("policy")}
    found = set_policies(table, ranges).columns
    return {name: found[name] for name in wanted}, table.codes


def _group_ids(frame: pl.DataFrame, rows: pl.DataFrame, manifest: Mapping[str, Any]) -> np.ndarray:
    """Place of each row's group among the groups of the released rows."""
    groups = rows[manifest["group"]].cast(pl.String).unique().sort()
    mine = frame[manifest["group"]].cast(pl.String)
    if not mine.is_in(groups.to_list()).all():
        raise InputError("The table of sensitive values has groups that the released rows lack: verify the release.")
    return groups.search_sorted(mine).cast(pl.Int32).to_numpy()


def _group_numbers(release: Release) -> np.ndarray | None:
    return release.released.classes[release.source] if release.released.made.has(Trait.GROUPS) else None


def _polars(frame: Any) -> pl.DataFrame:
    return frame if isinstance(frame, pl.DataFrame) else pl.from_dataframe(frame)


# ----------------------------------------
# The class that is a person's own, where the cells of several cover the person.


_NO_CLASS = (
    "Everybody's own class is taken to be known, so there is no control but of the pooled figure: people outside the "
    "data have no class."
)


def in_own_class(case: AttackCase) -> AttackCase:
    """The same case with everybody known by their class, where cells alone would leave several.

    The publisher knows the class of every row of the input. Otherwise the released records stand in for the people,
    each in its own class. A case in which nobody is covered by two classes stays as it is.
    """
    people = case.people
    if people.vectors is None or people.vector is None or case.view.matcher is None:
        return case
    covering = case.view.matcher.counts(people.vectors, np.ones(case.view.matcher.sizes.size))
    if covering[people.vector].max(initial=0.0) <= 1:
        return case
    classes = case.own_classes
    if classes is not None:
        own = replace(people, classes=classes.astype(np.int32), vectors=None, vector=None)
    else:
        own = own_people(case.view)
    return replace(case, people=own, control=None, no_control=_NO_CLASS, input_rows=None, own=None)


def pooled(one: AttackFigure) -> AttackFigure:
    """A figure of somebody who cannot tell which of several classes is a person's."""
    name, column = one.name.split(":", 1)
    told = f"Without knowing which of the classes that cover a person is theirs: {one.sentence}"
    return replace(one, name=f"{name}-pooled:{column}", sentence=told)
