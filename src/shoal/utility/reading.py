"""What an evaluation is, and what it hands back: findings with what they are compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text, infer_type
from shoal.data.keys import Keys
from shoal.data.schema import ColumnSpec
from shoal.data.table import iso_dates
from shoal.errors import InputError
from shoal.kernels.grouping import group_rows
from shoal.recoding.cover import cover_column, not_suppressed, refuse_unmet, refuse_unmet_values
from shoal.recoding.kinds import Kind, Trait, either_has, kind_of, made_of
from shoal.recoding.reader_labels import publisher_manifest, readers_manifest
from shoal.results import Release
from shoal.utility.coded_columns import refuse_absent, with_codes
from shoal.utility.domains import Feature, Reading, column_domain


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One figure of one evaluation.

    Attributes
    ----------
    name
        Name of the evaluation and, where it has several figures, of the figure: ``"count-queries mean"``.
    value
        The figure, None where it is undefined; the sentence says why.
    better
        ``"up"`` where a larger one is better, else ``"down"``.
    sentence
        What it means, in one plain sentence.
    interval
        95 % interval, None where the figure was counted.
    baseline
        The same figure without the release: of a trivial estimate, or of a guess that looks at no column.
    also
        Related figures as plain data: numbers, texts, lists and mappings of them.
    """

    name: str
    value: float | None
    better: str
    sentence: str
    interval: tuple[float, float] | None = None
    baseline: float | None = None
    also: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What somebody would do with a release; parameters only, the release arrives in :meth:`run`."""

    name: ClassVar[str]

    def run(self, reading: Reading) -> list[Finding]:
        """Findings, the most important first."""
        raise NotImplementedError

    def refusal(self, reading: Reading) -> str | None:
        """Why this says nothing about a release, in one sentence; None where it does."""
        return None

    def looks_at(self, reading: Reading) -> Sequence[str]:
        """Columns that it compares: where all of these are untouched it says so, and is not run."""
        return list(reading.mined[0].features)

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as a recipe would write them."""
        given = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return {"name": self.name} | {key: value for key, value in given.items() if value is not None}


# ----------------------------------------
# A release as its readers see it, beside the rows it was made from: all that an evaluation looks at.


ROLES = ("quasi", "sensitive", "neutral")


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
        codes={name: release.released.written[name].head(real) for name in release.released.coded},
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
    codes: Mapping[str, pl.Series] | None = None,
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
    codes
        Code of every original row, by coded column, where that is known (``Secret.encode`` tells).
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
    found = Reading(
        kind=kind_of(manifest), made=made, n=original.height, rows=frame.height, source=source, features=features,
        groups=_groups(frame, features, manifest), suppression=1.0 - real / original.height,
        left_out=[entry["name"] for entry in manifest["columns"] if "coded" in entry], keys=keys,
        people=people,
    )  # fmt: skip
    return with_codes(found, entries, frame, original, codes or {})


def refuse_other_rows(frame: pl.DataFrame, manifest: Mapping[str, Any], original: pl.DataFrame) -> None:
    """Refuse rows of a file whose values are written otherwise than the cells of the release that it is held against.

    What that means is in :mod:`shoal.recoding.cover`.
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
    refuse_absent(name, original)
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
