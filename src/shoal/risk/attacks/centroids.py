"""Releases that publish centroids: which class is nearest to a person, where no cell covers the person's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.errors import InputError
from shoal.kernels.grouping import group_rows
from shoal.kernels.microaggregation import nearest_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Nearby:
    """Where people are among centroids, one entry a person.

    Attributes
    ----------
    classes
        int32, the nearest class, the first of those equally near.
    distance
        Squared distance to it.
    records
        Records of all classes as near.
    points, codes
        What the person's values are as numbers and as codes.
    """

    classes: np.ndarray
    distance: np.ndarray
    records: np.ndarray
    points: np.ndarray
    codes: np.ndarray

    def take(self, rows: np.ndarray) -> Nearby:
        """Select some of the people."""
        return Nearby(
            classes=self.classes[rows],
            distance=self.distance[rows],
            records=self.records[rows],
            points=self.points[rows],
            codes=self.codes[rows],
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Centroids:
    """What each class publishes instead of its members' values.

    Numbers and dates are compared by their z-scores over the released records, ordered categories by z-scores of their
    places in the order; other categories are 0 or 1 apart. Squared distances add up.

    Attributes
    ----------
    numbers, texts
        The columns' entries of the manifest.
    middle, scale
        Of the numbers: what is taken off, and what they are divided by.
    centres, labels
        float64 (classes, numbers) and int32 (classes, texts).
    words
        Code of every text that a class publishes, a column of texts.
    sizes
        Records of each class.
    """

    numbers: Sequence[Mapping[str, Any]]
    texts: Sequence[Mapping[str, Any]]
    middle: np.ndarray
    scale: np.ndarray
    centres: np.ndarray
    labels: np.ndarray
    words: Sequence[Mapping[str, int]]
    sizes: np.ndarray

    @classmethod
    def of(
        cls, entries: Sequence[Mapping[str, Any]], frame: pl.DataFrame, classes: np.ndarray, count: int
    ) -> Centroids:
        """Read the centroids of a release, whose rows of a class publish the same."""
        numbers = [entry for entry in entries if _is_number(entry)]
        texts = [entry for entry in entries if not _is_number(entry)]
        values = _stack([_numbers(entry, frame) for entry in numbers], frame.height, np.float64)
        middle, scale = values.mean(axis=0), values.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        words = [_words(frame[entry["name"]]) for entry in texts]
        codes = _codes(texts, words, frame)
        row = np.zeros(count, dtype=np.int64)
        row[classes] = np.arange(classes.size)
        return cls(
            numbers=numbers, texts=texts, middle=middle, scale=scale, centres=((values - middle) / scale)[row],
            labels=codes[row], words=words, sizes=np.bincount(classes, minlength=count).astype(np.float64),
        )  # fmt: skip

    def published(self) -> Iterator[tuple[str, str, pl.Series]]:
        """Name, type and centroids of every column, one a class."""
        for at, entry in enumerate(self.numbers):
            if entry.get("order"):
                yield entry["name"], "ordinal", pl.Series([str(value) for value in entry["order"]])
                continue
            numbers = pl.Series(self.centres[:, at] * self.scale[at] + self.middle[at])
            dates = entry["type"] == "date"
            yield entry["name"], entry["type"], numbers.round().cast(pl.Int32).cast(pl.Date) if dates else numbers
        for known, at, entry in zip(self.words, range(len(self.texts)), self.texts, strict=True):
            words = pl.Series([*known], dtype=pl.String)
            yield entry["name"], "categorical", words.gather(self.labels[:, at][self.labels[:, at] >= 0])

    def near(self, frame: pl.DataFrame) -> Nearby:
        """The nearest classes of some people."""
        absent = [one["name"] for one in (*self.numbers, *self.texts) if one["name"] not in frame.columns]
        if absent:
            raise InputError(
                f"The people to attack have no column '{absent[0]}', which the release has: add it or rename one."
            )
        values = _stack([_numbers(entry, frame) for entry in self.numbers], frame.height, np.float64)
        points, codes = (values - self.middle) / self.scale, _codes(self.texts, self.words, frame)
        ranks = [np.unique(one, return_inverse=True)[1] for one in (*points.T, *codes.T)]
        stacked = np.stack(ranks).astype(np.int32)
        of, first, _ = group_rows(stacked, stacked.max(axis=1, initial=0).astype(np.int64) + 1)
        found, distance, records = nearest_rows(points[first], codes[first], self.centres, self.labels, self.sizes)
        return Nearby(classes=found[of], distance=distance[of], records=records[of], points=points, codes=codes)

    def reaches(self, people: Nearby, classes: np.ndarray) -> np.ndarray:
        """Whether some class of each person (-1: none) is among the nearest."""
        apart = np.nan_to_num(people.points - self.centres[classes]) ** 2
        own = apart.sum(axis=1) + (people.codes != self.labels[classes]).sum(axis=1)
        return (classes >= 0) & (own <= people.distance + 1e-9)


def _is_number(entry: Mapping[str, Any]) -> bool:
    return entry["type"] in ("numeric", "date") or bool(entry.get("order"))


def _numbers(entry: Mapping[str, Any], frame: pl.DataFrame) -> np.ndarray:
    """Numbers, days or places in the order; NaN where there is none."""
    name, given = entry["name"], frame[entry["name"]]
    if entry.get("order"):
        place = {str(value): float(at) for at, value in enumerate(entry["order"])}
        found = canonical_text(given).replace_strict(place, default=None, return_dtype=pl.Float64)
    elif entry["type"] == "date":
        days = given.str.slice(0, 10).str.to_date(strict=False) if given.dtype == pl.String else given.cast(pl.Date)
        found = days.cast(pl.Int32).cast(pl.Float64)
    else:
        found = given.cast(pl.Float64, strict=False)
    if found.null_count() > given.null_count():
        what = "dates" if entry["type"] == "date" else "values of its order" if entry.get("order") else "numbers"
        raise InputError(
            f"Column '{name}' of the release, or of the people held against it, has cells that are no {what}: name "
            "its missing marker, or clean it."
        )
    return found.fill_null(np.nan).to_numpy()


def _words(series: pl.Series) -> dict[str, int]:
    return {text: at for at, text in enumerate(canonical_text(series).unique().drop_nulls().sort().to_list())}


def _codes(entries: Sequence[Mapping[str, Any]], words: Sequence[Mapping[str, int]], frame: pl.DataFrame) -> np.ndarray:
    """Codes of texts: -1 where no class publishes it, -2 where it is missing."""
    found = []
    for entry, known in zip(entries, words, strict=True):
        texts = canonical_text(frame[entry["name"]])
        codes = texts.replace_strict(dict(known) or {"": -1}, default=-1, return_dtype=pl.Int32)
        found.append(pl.select(pl.when(texts.is_null()).then(-2).otherwise(codes)).to_series().to_numpy())
    return _stack(found, frame.height, np.int32)


def _stack(columns: Sequence[np.ndarray], rows: int, dtype: Any) -> np.ndarray:
    return np.ascontiguousarray(np.stack(columns, axis=1).astype(dtype)) if columns else np.empty((rows, 0), dtype)
