"""A release as its readers see it, beside the rows it was made from: all that an evaluation looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.evaluation.domains import Domain, column_domain
from shoal.kernels.count.grouping import group_rows
from shoal.kinds.base import Kind, Trait, either_has, kind_of, made_of
from shoal.recoding.cover import cover_column, not_suppressed
from shoal.recoding.labels import publisher_manifest, readers_manifest
from shoal.recoding.meeting import refuse_unmet, refuse_unmet_values
from shoal.results import Release
from shoal.table.coding import canonical_text, infer_type
from shoal.table.keys import Keys
from shoal.table.schema import ColumnSpec
from shoal.table.table import iso_dates

ROLES = ("quasi", "sensitive", "neutral")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Feature(Domain):
    """One released column: what it may hold, what its cells stand for, and the original rows' values.

    Attributes
    ----------
    name, role, type
        Of the column; its role is ``"quasi"``, ``"sensitive"`` or ``"neutral"``.
    """

    name: str
    role: str
    type: str

    def __repr__(self) -> str:
        return f"Feature({self.name!r}, {self.role}, {self.type}, {len(self.values)} values, {len(self.texts)} cells)"

    @property
    def exact(self) -> bool:
        """Whether every cell is one value."""
        return bool((np.diff(self.at) == 1).all())

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Place of every value."""
        return {value: at for at, value in enumerate(self.values)}

    def released(self) -> np.ndarray:
        """int32 value of every released row, -1 where its cell covers several."""
        alone = np.where(np.diff(self.at) == 1, self.code[self.at[:-1]], -1)
        return alone.astype(np.int32)[self.cell]

    def centres(self) -> np.ndarray:
        """float64 a distinct cell: the middle of an interval, else the mean of the numbers it covers."""
        if self.numbers is None:
            raise InputError(f"Column '{self.name}' holds no numbers, so that its cells have no middle.")
        known = np.isfinite(self.numbers[self.code])
        weight = np.where(known, self.share, 0.0)
        total = np.add.reduceat(weight, self.at[:-1])
        summed = np.add.reduceat(weight * np.where(known, self.numbers[self.code], 0.0), self.at[:-1])
        mean = np.divide(summed, total, out=np.full(total.size, np.nan), where=total > 0)
        if self.low is None or self.high is None:
            return mean
        return np.where(np.isfinite(self.low), self.low / 2 + self.high / 2, mean)

    def shares(self) -> np.ndarray:
        """The shares as a dense matrix, cells by values; for small domains."""
        dense = np.zeros((len(self.texts), len(self.values)))
        dense[np.repeat(np.arange(len(self.texts)), np.diff(self.at)), self.code] = self.share
        return dense


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Reading:
    """A release and its original, column by column.

    Attributes
    ----------
    kind, made
        Kind of release, and how its quasi-identifiers were made.
    n, rows
        Original rows, and released ones without those that are all stars.
    source
        Original row behind each released row, where that is known; for fair comparisons only.
    features
        Every released quasi, sensitive and neutral column. The sensitive values of a bucketised release are one
        pairing drawn within its groups.
    groups
        int32 class (bucketised: group) of each released row.
    suppression
        Share of the original rows that were not released; counterfeit rows make up for none.
    left_out
        Columns that are published as codes, which say nothing about values.
    keys
        Where evaluations draw from.
    people
        Person of each original row, where rows of one person are known to be; else rows are people.
    """

    kind: Kind
    made: Kind
    n: int
    rows: int
    source: np.ndarray | None
    features: Mapping[str, Feature]
    groups: np.ndarray
    suppression: float
    left_out: Sequence[str] = ()
    keys: Keys = field(default_factory=lambda: Keys.from_seed(0))
    people: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Reading({self.kind}, {self.rows} of {self.n} rows, {', '.join(self.features)})"

    @property
    def quasi(self) -> list[str]:
        """Names of quasi-identifiers."""
        return self.of("quasi")

    @property
    def sensitive(self) -> list[str]:
        """Names of sensitive columns."""
        return self.of("sensitive")

    @property
    def neutral(self) -> list[str]:
        """Names of neutral columns."""
        return self.of("neutral")

    def of(self, role: str) -> list[str]:
        """Names of the columns of one role."""
        return [name for name, feature in self.features.items() if feature.role == role]


def read_release(release: Release, *, keys: Keys | None = None) -> Reading:
    """A release that was just made, beside its input.

    Parameters
    ----------
    keys
        Where random draws come from; the seed 0 by default, so that a release has one reading.
    """
    table = release.table
    manifest = publisher_manifest(release.manifest, table)
    apart = None if release.apart is None else _polars(release.apart)
    real = table.n - table.counterfeits
    # Behind a counterfeit there is no original row, and readers cannot tell which records are.
    source = release.source if not table.counterfeits else None
    return read_published(
        _polars(release.frame), manifest, iso_dates(table).head(real), values=apart, keys=keys, source=source,
        people=None if table.subjects is None else table.subjects[:real],
    )  # fmt: skip


def read_published(
    frame: pl.DataFrame,
    manifest: Mapping[str, Any],
    original: pl.DataFrame,
    *,
    values: pl.DataFrame | None = None,
    keys: Keys | None = None,
    source: np.ndarray | None = None,
    people: np.ndarray | None = None,
) -> Reading:
    """A written release beside the rows it was made from.

    Parameters
    ----------
    frame, manifest
        The published rows and their description.
    original
        The rows that were anonymised, with the same column names; dates are typed or ISO.
    values
        Sensitive values by group, where a bucketised release has them in a table of their own.
    source
        Original row of every published row, where that is known.
    people
        Person of every original row, where rows are not people.
    """
    keys = Keys.from_seed(0) if keys is None else keys
    kept = not_suppressed(frame, manifest)
    if kept is not None:
        frame, source = frame.filter(kept), None if source is None else source[kept.to_numpy()]
    real = frame.height - int(manifest.get("counterfeits", 0))
    if not frame.height or real > original.height:
        raise InputError(
            f"The release has {frame.height} rows and the original {original.height}: there is nothing to compare."
        )
    manifest = readers_manifest(manifest, [original])
    if values is not None:
        frame = _paired(frame, values, manifest["group"], keys)
    entries = [entry for entry in manifest["columns"] if entry["role"] in ROLES]
    made = made_of(manifest)
    features = {entry["name"]: _feature(entry, frame, original, made) for entry in entries if "coded" not in entry}
    return Reading(
        kind=kind_of(manifest), made=made, n=original.height, rows=frame.height, source=source, features=features,
        groups=_groups(frame, features, manifest), suppression=1.0 - real / original.height,
        left_out=[entry["name"] for entry in manifest["columns"] if "coded" in entry], keys=keys,
        people=people,
    )  # fmt: skip


def refuse_other_rows(frame: pl.DataFrame, manifest: Mapping[str, Any], original: pl.DataFrame) -> None:
    """Refuse rows of a file whose values are written otherwise than the cells of the release that it is held against.

    What that means is in :mod:`shoal.recoding.meeting`.
    """
    centroids = either_has(manifest, Trait.CENTROIDS)
    for entry in manifest["columns"]:
        name = entry["name"]
        if entry["role"] not in ROLES or "coded" in entry or name not in original.columns:
            continue
        cover = None if entry["role"] != "quasi" or centroids else cover_column(entry, frame)
        if cover is not None:
            refuse_unmet(cover, original[name], "the original")
        elif name in frame.columns and entry["cells"] != "representative":
            refuse_unmet_values(name, entry.get("type") or "categorical", frame[name], original[name], "the original")


def _feature(entry: Mapping[str, Any], frame: pl.DataFrame, original: pl.DataFrame, made: Kind) -> Feature:
    name, role = entry["name"], entry["role"]
    if name not in original.columns:
        raise InputError(f"The original has no column '{name}', which the release has: name the file it was made from.")
    if role == "neutral":  # a manifest does not say what neutral columns hold
        entry = {**entry, "type": infer_type(name, original[name], ColumnSpec())}
    # Centroids and representatives stand for the people of a class, and cover nothing.
    stands = entry["cells"] == "representative" or (made.has(Trait.CENTROIDS) and role == "quasi")
    domain = column_domain(entry, frame, original[name], stands=stands)
    return Feature(name=name, role=role, type=entry["type"], **vars(domain))


def _paired(frame: pl.DataFrame, values: pl.DataFrame, group: str, keys: Keys) -> pl.DataFrame:
    """The rows with sensitive values of their groups, paired at random."""
    mine, theirs = (one[group].cast(pl.String) for one in (frame, values))
    drawn = keys.shuffle("evaluation pairing", np.arange(values.height, dtype=np.uint64))
    rows = mine.arg_sort().to_numpy()
    drawn = drawn[theirs.gather(drawn).arg_sort().to_numpy()]
    if frame.height != values.height or not mine.gather(rows).equals(theirs.gather(drawn), check_names=False):
        raise InputError("The groups of the two tables do not hold as many rows as each other: verify the release.")
    order = np.empty(frame.height, dtype=np.int64)
    order[rows] = drawn
    return frame.hstack(values.drop(group)[order])


def _groups(frame: pl.DataFrame, features: Mapping[str, Feature], manifest: Mapping[str, Any]) -> np.ndarray:
    if manifest.get("group") in frame.columns:
        numbers = canonical_text(frame[manifest["group"]])
        return numbers.unique().sort().search_sorted(numbers).cast(pl.Int32).to_numpy()
    quasi = [feature for feature in features.values() if feature.role == "quasi"]
    if not quasi:
        return np.zeros(frame.height, dtype=np.int32)
    cards = np.array([len(feature.texts) for feature in quasi])
    return group_rows(np.stack([feature.cell for feature in quasi]), cards)[0].astype(np.int32)


def _polars(frame: Any) -> pl.DataFrame:
    return frame if isinstance(frame, pl.DataFrame) else pl.from_dataframe(frame)
