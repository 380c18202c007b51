"""Released and original rows as matrices over the same columns, for whatever learns from numbers.

A number is one column, a date likewise (in days); every value of a text is one. An original row is exact. A released
row is what its cells say: the centre of an interval, and for texts the share of each value among those that a cell may
stand for. Everything is worked out once for each distinct cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy import MISSING
from shoal.data.values import format_number
from shoal.data.workload import Axis, sides
from shoal.errors import ParameterError, SchemaError
from shoal.params import nearest
from shoal.utility.domains import Feature, Reading
from shoal.utility.reading import Evaluation, Finding

# Texts beyond the commonest so many share one column: a postcode should not cost a column a place.
WIDEST = 200
_CHUNK = 1 << 16


def is_number(feature: Feature) -> bool:
    """Whether a column is read as one number a row."""
    return feature.numbers is not None and feature.type in ("numeric", "date")


def first_seen(feature: Feature) -> np.ndarray:
    """Every value's code, those that original rows have first and in their order, so that names do not matter."""
    codes, at = np.unique(feature.original, return_index=True)
    seen = codes[np.argsort(at)]
    return np.concatenate([seen, np.setdiff1d(np.arange(len(feature.values)), seen)])


@dataclass(frozen=True, eq=False, kw_only=True)
class Column:
    """The matrix columns of one feature.

    Attributes
    ----------
    feature
        Where the rows come from.
    of
        int64 matrix column of each value, counted from the feature's first; None for a number.
    names
        One a matrix column: ``"age"``, ``"sex = Male"``; a number with missing cells has a second column for these.
    """

    feature: Feature
    of: np.ndarray | None
    names: Sequence[str]

    @classmethod
    def of_feature(cls, feature: Feature, widest: int = WIDEST) -> Column:
        """The columns that a feature needs."""
        name = feature.name
        if is_number(feature):
            missing = feature.values[-1] == MISSING
            return cls(feature=feature, of=None, names=[name, f"{name} is missing"] if missing else [name])
        order = first_seen(feature)
        if order.size > widest:
            counts = np.bincount(feature.original, minlength=order.size)
            order = order[np.argsort(-counts[order], kind="stable")]
        names = [f"{name} = {feature.values[code]}" for code in order[:widest]]
        places = np.empty(order.size, dtype=np.int64)
        places[order] = np.minimum(np.arange(order.size), widest)
        return cls(feature=feature, of=places, names=names + [f"{name} = (other)"] * (order.size > widest))

    def by_value(self) -> np.ndarray:
        """float64 (values, columns): what an exact row holds, NaN for a missing number."""
        if self.of is not None:
            table = np.zeros((self.of.size, len(self.names)))
            table[np.arange(self.of.size), self.of] = 1.0
            return table
        assert self.feature.numbers is not None
        return self._numbers(self.feature.numbers)

    def by_cell(self) -> np.ndarray:
        """float64 (cells, columns): what a released row holds."""
        feature = self.feature
        if self.of is None:
            return self._numbers(feature.centres())
        table = np.zeros((len(feature.texts), len(self.names)))
        np.add.at(table, (np.repeat(np.arange(len(feature.texts)), np.diff(feature.at)), self.of[feature.code]),
                  feature.share)  # fmt: skip
        return table

    def _numbers(self, numbers: np.ndarray) -> np.ndarray:
        return np.stack([numbers, np.isnan(numbers).astype(np.float64)][: len(self.names)], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Some rows of one side: of the release, or of the original.

    Attributes
    ----------
    features
        What is looked at.
    released
        Which side.
    rows
        Row numbers on that side, in the order in which they are looked at.
    """

    features: Sequence[Feature]
    released: bool
    rows: np.ndarray

    def index(self, feature: Feature) -> np.ndarray:
        """Cell (released) or value (original) of every row."""
        return (feature.cell if self.released else feature.original)[self.rows]

    def matrix(self, columns: Sequence[Column], part: slice = slice(None)) -> np.ndarray:
        """float64 (rows, matrix columns), NaN for missing numbers."""
        found = [
            (one.by_cell() if self.released else one.by_value())[self.index(one.feature)[part]] for one in columns
        ]
        return np.concatenate(found, axis=1)

    def chunks(self) -> Iterator[slice]:
        """Parts of the rows, for what would not fit in memory at once."""
        for low in range(0, self.rows.size, _CHUNK):
            yield slice(low, low + _CHUNK)

    def spread(self, feature: Feature) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place among the rows, value and share of everything that the rows' cells may stand for."""
        index = self.index(feature)
        if not self.released:
            return np.arange(index.size), index.astype(np.int64), np.ones(index.size)
        many = np.diff(feature.at)[index]
        row = np.repeat(np.arange(index.size), many)
        place = np.arange(row.size) - np.repeat(np.cumsum(many) - many, many) + np.repeat(feature.at[index], many)
        return row, feature.code[place].astype(np.int64), feature.share[place]

    def marginal(self, feature: Feature) -> np.ndarray:
        """float64: rows of each value, cells spread evenly over what they cover."""
        counts = np.bincount(self.index(feature), minlength=len(feature.texts) if self.released else 0)
        if not self.released:
            return np.bincount(self.index(feature), minlength=len(feature.values)).astype(np.float64)
        weight = np.repeat(counts, np.diff(feature.at)) * feature.share
        return np.bincount(feature.code, weights=weight, minlength=len(feature.values))


def columns_of(features: Sequence[Feature], widest: int = WIDEST) -> list[Column]:
    """Matrix columns of some features, the same for both sides."""
    return [Column.of_feature(feature, widest) for feature in features]


@dataclass(frozen=True, eq=False, kw_only=True)
class Scale:
    """Numbers measured in standard deviations from the mean of training rows, where missing ones are put.

    Indicators are left alone. A number that does not vary in training is 0 ever after: it has taught nothing.

    Attributes
    ----------
    mean, factor
        One a matrix column.
    """

    mean: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, rows: Rows, columns: Sequence[Column]) -> Scale:
        """As the training rows have it."""
        width = sum(len(column.names) for column in columns)
        mean, factor = np.zeros(width), np.ones(width)
        at = 0
        for column in columns:
            if column.of is None:
                values = rows.matrix([column])[:, 0]
                known = values[np.isfinite(values)]
                middle, deviation = (float(known.mean()), float(known.std())) if known.size else (0.0, 0.0)
                varies = deviation > 1e-9 * max(1.0, abs(middle))
                mean[at], factor[at] = middle, 1.0 / deviation if varies else 0.0
            at += len(column.names)
        return cls(mean=mean, factor=factor)

    def __call__(self, matrix: np.ndarray) -> np.ndarray:
        """The same matrix, scaled."""
        return np.nan_to_num((matrix - self.mean) * self.factor)


def pick(features: Mapping[str, Feature], names: Sequence[str] | None, *, without: str | None = None) -> list[Feature]:
    """Features by name, all of them without names; never the target."""
    for name in names or ():
        find(features, name)
    return [features[name] for name in (names if names is not None else features) if name != without]


def looked_at(names: Sequence[str] | None, features: Mapping[str, Feature], target: str | None) -> list[str]:
    """Names of the columns that are learned from, and of what is told."""
    chosen = list(features if names is None else names)
    return chosen if target is None or target in chosen else [*chosen, target]


def listed(owner: str, name: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names as a tuple, which a recipe may give as a list or alone; None for none."""
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(one, str) for one in names):
        raise ParameterError(f"The '{name}' of {owner} must be one name or more. Got {given!r}.")
    return names


def find(features: Mapping[str, Feature], name: str) -> Feature:
    """One feature, or an error that proposes the nearest name."""
    if name not in features:
        near = nearest(name, features)
        hint = f" Did you mean '{near}'?" if near else ""
        raise ParameterError(f"The release has no readable column '{name}'.{hint}")
    return features[name]


def frame_features(train: pl.DataFrame, test: pl.DataFrame | None = None) -> dict[str, Feature]:
    """Plain frames as if the first were a release and the second its original; numbers by type, all else texts.

    Parameters
    ----------
    train, test
        Exact values under the same column names. One frame alone is both.
    """
    test = train if test is None else test
    if set(train.columns) != set(test.columns):
        raise SchemaError("The two frames must have the same columns.")
    return {name: _exact(name, train[name], test[name]) for name in train.columns}


def _exact(name: str, train: pl.Series, test: pl.Series) -> Feature:
    numeric = train.dtype.is_numeric() and test.dtype.is_numeric()
    both = [one.cast(pl.Float64) if numeric else canonical_text(one) for one in (train, test)]
    distinct = pl.concat(both).unique().drop_nulls().sort()
    if not distinct.len():
        raise SchemaError(f"Column '{name}' has no values: leave it out.")
    codes = [distinct.search_sorted(one.fill_null(distinct[0])).to_numpy() for one in both]
    texts = [format_number(Decimal(repr(value))) for value in distinct] if numeric else list(distinct)
    numbers = distinct.to_numpy() if numeric else None
    if any(one.null_count() for one in both):
        codes = [np.where(one.is_null().to_numpy(), len(texts), code) for one, code in zip(both, codes, strict=True)]
        texts, numbers = [*texts, MISSING], None if numbers is None else np.append(numbers, np.nan)
    cell, original = (code.astype(np.int32) for code in codes)
    every = np.arange(len(texts))
    return Feature(
        name=name, role="neutral", type="numeric" if numeric else "categorical", values=texts, numbers=numbers,
        original=original, cell=cell, texts=texts, at=np.arange(len(texts) + 1), code=every.astype(np.int32),
        share=np.ones(len(texts)),
    )  # fmt: skip


# ----------------------------------------
# Whether boundaries that analysts need are still there in the cells of a release.


@dataclass(frozen=True, kw_only=True)
class Boundaries(Evaluation):
    """Share of released cells that lie wholly on one side of a boundary.

    Parameters
    ----------
    boundaries
        By column, as in a workload: values x ("below x" and "x and above"), labels of a hierarchy, or lists of values.
    """

    name: ClassVar[str] = "boundaries"
    boundaries: Mapping[str, Sequence[Any]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.boundaries, Mapping):
            raise ParameterError("The 'boundaries' of an evaluation must be a table of a list a column.")

    def refusal(self, reading: Reading) -> str | None:
        """Without boundaries there is nothing to look for, and in columns published as codes they mean nothing."""
        if not self.boundaries:
            return "no boundaries were named"
        lost = [name for name in self.boundaries if name in reading.left_out]
        return f"column '{lost[0]}' is published as codes" if lost else None

    def run(self, reading: Reading) -> list[Finding]:
        """One finding: the mean over boundaries, each beside it."""
        shares: dict[str, float] = {}
        for name, values in self.boundaries.items():
            if name not in reading.features:
                near = nearest(name, reading.features)
                hint = f"did you mean '{near}'?" if near else f"there are {', '.join(reading.features)}."
                raise ParameterError(f"A boundary is on '{name}', which is not a column of the release: {hint}")
            for value in values:
                shares[f"{name} {value}"] = kept_share(reading.features[name], value)
        mean = float(np.mean(list(shares.values())))
        sentence = f"{mean:.1%} of the released cells lie wholly on one side of a boundary that was asked for."
        return [Finding(name=self.name, value=mean, better="up", sentence=sentence, also=shares)]


def kept_share(feature: Feature, value: Any) -> float:
    """Share of the released rows whose cell does not reach over a boundary."""
    axis = Axis(feature.name, feature.type, feature.hierarchy, feature.values)
    above = sides(axis, value).astype(np.int64)[feature.code]
    counts = np.add.reduceat(above, feature.at[:-1])
    one_side = (counts == 0) | (counts == np.diff(feature.at))
    return float(one_side[feature.cell].mean())
