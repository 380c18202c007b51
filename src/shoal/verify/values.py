"""Values as the verifier reads them: one canonical text each, and a number where there is one.

A release read back from CSV is all text, the frame that passed the gate was not, so both are brought to the
same canonical texts first: ``3``, ``3.0`` and ``"3.0"`` are one number, dates are ISO, and a missing value is
null. Work is done on distinct values only.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.errors import VerificationError

# ----------------------------------------
# Rows of whole numbers as one number each: sorting these takes a fraction of the time that hashing rows does.


# Of a whole number, those that hold what is packed into it.
_BITS = 63
# Those of 128 bits are none that NumPy knows.
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
# Rows in which small numbers are looked for before all others; numbers are small up to so many times those of rows.
_FIRST, _DENSE = 1 << 12, 4


def row_keys(frame: pl.DataFrame) -> np.ndarray | None:
    """One number a row, equal and in order exactly as the rows are; None where they are not all small whole numbers."""
    columns = frame.get_columns()
    if not columns or not all(column.dtype in _INTEGERS and not column.null_count() for column in columns):
        return None
    # What does not fit is below 0 then.
    numbers = [column.to_numpy().astype(np.int64, copy=False) for column in columns]
    bits = [int(column.max(initial=0)).bit_length() for column in numbers]
    if sum(bits) > _BITS or min(int(column.min(initial=0)) for column in numbers) < 0:
        return None
    keys = np.zeros(frame.height, dtype=np.int64)
    for column, size in zip(numbers, bits, strict=True):
        keys = keys << size | column
    return keys


def key_runs(ordered: np.ndarray) -> np.ndarray:
    """Where each of the different numbers begins among numbers in order."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.arange(0)


def as_they_come(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Small numbers, numbered anew as they first come, and where each of the new ones first stands."""
    first = np.full(int(numbers.max()) + 1 if len(numbers) else 0, -1)
    start, size = 0, _FIRST
    # Mostly all of them stand among the first rows, and nobody has to look on.
    while start < len(numbers) and (first < 0).any():
        mine, found = numbers[start : start + size], np.full(len(first), -1)
        # Of several, the last that is written stays.
        found[mine[::-1]] = np.arange(start + len(mine) - 1, start - 1, -1)
        first = np.where(first < 0, found, first)
        start, size = start + size, 8 * size
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used])]
    new = np.zeros(len(first), dtype=np.int64)
    new[used] = np.arange(len(used))
    return new[numbers], first[used]


def group_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each number that of its group, in the order in which these first come, and where each group first stands."""
    if len(keys) and keys.min() >= 0 and keys.max() < _DENSE * len(keys):
        return as_they_come(keys)
    order = np.argsort(keys)
    begins = key_runs(keys[order])
    first = np.minimum.reduceat(order, begins) if len(keys) else order
    came = np.argsort(first)
    rank = np.empty_like(came)
    rank[came] = np.arange(len(rank))
    groups = np.empty_like(order)
    groups[order] = np.repeat(rank, np.diff(begins, append=len(keys)))
    return groups, first[came]


def count_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """How often each combination of some columns occurs, as ``rows``."""
    keys = row_keys(frame)
    if keys is None:
        return frame.group_by(frame.columns).agg(rows=pl.len().cast(pl.Int64))
    return _summed(frame, keys, np.ones(len(keys), dtype=np.int64))


def add_counts(counted: pl.DataFrame) -> pl.DataFrame:
    """Combinations that were counted, some of them several times, each once; their ``rows`` are the last column."""
    frame = counted.drop("rows")
    keys = row_keys(frame)
    if keys is None:
        return counted.group_by(frame.columns).agg(pl.col("rows").sum())
    return _summed(frame, keys, counted["rows"].to_numpy())


def in_order(counted: pl.DataFrame) -> pl.DataFrame:
    """The same in ascending order of the combinations."""
    frame = counted.drop("rows")
    keys = row_keys(frame)
    if keys is None:
        return counted.sort(frame.columns)
    return counted if (keys[1:] > keys[:-1]).all() else counted[np.argsort(keys)]


def _summed(frame: pl.DataFrame, keys: np.ndarray, rows: np.ndarray) -> pl.DataFrame:
    order = np.argsort(keys)
    begins = key_runs(keys[order])
    total = np.add.reduceat(rows[order], begins) if len(keys) else rows
    return frame[order[begins]].with_columns(rows=pl.Series(total, dtype=pl.Int64))


STAR = "*"
MISSING = "<missing>"

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE_TEXT = r"^([+-]?)0*([0-9]+)$"
_SHORT = 15  # characters that certainly hold no more digits than a float
_DAY = 86_400_000_000


@dataclass(frozen=True, eq=False)
class Values:
    """A column as codes into its distinct canonical values.

    Attributes
    ----------
    codes
        For each row, the position of its value in ``texts``.
    texts
        Distinct canonical texts; null stands for missing.
    numbers
        The number (days, for dates) behind each text, nan where there is none.
    """

    codes: np.ndarray
    texts: pl.Series
    numbers: np.ndarray


def group_rows(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of a frame, by exact equality; null equals null.

    Returns
    -------
    tuple
        For each row the number of its group, and for each group its first row (ascending).
    """
    keys = row_keys(frame)
    if keys is not None:
        return group_keys(keys)
    places = {name: f"c{place}" for place, name in enumerate(frame.columns)}
    numbered = frame.lazy().rename(places).with_row_index("row")
    first = numbered.select(pl.first("row").over(list(places.values()))).collect().to_series().to_numpy()
    is_first = np.zeros(frame.height, dtype=bool)
    is_first[first] = True
    return (np.cumsum(is_first) - 1)[first], np.flatnonzero(is_first)


def is_text(kind: pl.DataType) -> bool:
    """Whether cells of a type are texts, kept one by one or as numbers of the different ones."""
    return kind == pl.String or isinstance(kind, pl.Categorical | pl.Enum)


def encode(values: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """Codes and distinct values as they first come, by exact equality; null is a value of its own.

    Texts that are kept as numbers come back as texts.
    """
    if is_text(values.dtype):
        return _encode_texts(values)
    codes, first = group_rows(values.to_frame())
    return codes, values[first]


def _encode_texts(values: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """The same of texts, which Polars numbers several times as fast as it groups them."""
    codes, first = as_they_come(_places(number_texts(values) if values.dtype == pl.String else values))
    return codes, values[first].cast(pl.String)


def _places(held: pl.Series) -> np.ndarray:
    """Small whole numbers, one a text, and one more for null."""
    numbers = held.to_physical()
    if numbers.null_count():
        most = numbers.max()
        numbers = numbers.cast(pl.Int64).fill_null(most + 1 if isinstance(most, int) else 0)
    return numbers.to_numpy()


def number_texts(values: pl.Series) -> pl.Series:
    """Texts as numbers of the different ones, which are those of this column alone."""
    return values.cast(pl.Categorical(pl.Categories.random()))


def distinct(values: np.ndarray) -> np.ndarray:
    """Sorted distinct numbers. numpy hashes them, which is ten times slower when most are distinct."""
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def read_values(column: pl.Series, kind: str) -> Values:
    """Read a column of type ``kind`` (numeric, date, ordinal or categorical)."""
    return read_encoded(*encode(column), kind)


def read_encoded(raw: np.ndarray, distinct: pl.Series, kind: str) -> Values:
    """The same of a column whose different values somebody has found."""
    texts, numbers = canonical(distinct, kind)
    merged, unique = encode(texts)
    number = np.full(len(unique), np.nan)
    number[merged] = numbers
    return Values(codes=raw if len(unique) == len(texts) else merged[raw], texts=unique, numbers=number)


def read_together(released: pl.Series, original: pl.Series, kind: str) -> tuple[Values, np.ndarray]:
    """Read a released and an input column into one dictionary; gives the former and the latter's codes."""
    return together(read_values(released, kind), read_values(original, kind))


def together(ours: Values, theirs: Values) -> tuple[Values, np.ndarray]:
    """The same of two columns that are read already."""
    merged, texts = encode(pl.concat([ours.texts, theirs.texts]))
    numbers = np.full(len(texts), np.nan)
    numbers[merged] = np.concatenate([ours.numbers, theirs.numbers])
    split = len(ours.texts)
    return Values(codes=merged[:split][ours.codes], texts=texts, numbers=numbers), merged[split:][
        theirs.codes
    ]


def canonical(values: pl.Series, kind: str) -> tuple[pl.Series, np.ndarray]:
    """Canonical texts (null for missing) and numbers (nan for none) of some values.

    A text that is no number or date in a column of that type keeps its own text and has no number.
    """
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        raise VerificationError(
            f"The column '{values.name}' holds {values.dtype} values, which cannot be verified: "
            "use text, numbers or dates."
        )
    reader = {"numeric": _numeric, "date": _date}.get(kind, _text)
    # In few steps over all of a column: of small tables, every step of Polars takes more than its work.
    found = reader(values.to_frame("raw")).lazy().select(
        pl.col("text").replace(MISSING, None), pl.col("number").fill_null(float("nan"))
    ).collect()
    number = found["number"].to_numpy().astype(np.float64)
    return found["text"].rename(""), np.where(np.isfinite(number), number, np.nan)


def _numeric(values: pl.DataFrame) -> pl.DataFrame:
    raw, number, kind = pl.col("raw"), pl.col("number"), values["raw"].dtype
    if kind.is_integer() or kind == pl.Boolean:
        whole = raw.cast(pl.Int64) if kind == pl.Boolean else raw
        return values.select(text=whole.cast(pl.String), number=whole.cast(pl.Float64))
    if kind == pl.Float64:
        return _number_text(values.select(raw.fill_nan(None).cast(pl.String), number=raw.fill_nan(None)))
    # Float32 and Decimal go through their texts, which is what a CSV file would hold.
    digits = raw.str.replace(_WHOLE_TEXT, "${1}${2}").str.strip_prefix("+").replace("-0", "0")
    read = values.select(raw.cast(pl.String).str.strip_chars()).with_columns(
        number=pl.when(raw.str.contains(_NUMBER)).then(raw).cast(pl.Float64, strict=False),
        exact=pl.when(raw.str.contains(_WHOLE_TEXT)).then(digits),
    )
    # More digits than a float is written with: there are few, so Python may compare them.
    long = number.is_finite() & (raw.str.len_bytes() > _SHORT) & (raw != number.cast(pl.String))
    text = pl.coalesce("exact", "text").alias("text")
    return _written_out(_number_text(read).with_columns(text, long=long.fill_null(False)), "long", "raw")


def _number_text(read: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers in digits; others as their exact bits, as float formatting may change with versions."""
    number = pl.col("number")
    whole = number.is_finite() & (number == number.floor())
    digits = pl.when(whole).then(number).cast(pl.Int64, strict=False).cast(pl.String)
    exact = pl.lit("\x00") + pl.lit(pl.Series("bits", read["number"].to_numpy().view(np.int64))).cast(pl.String)
    text = pl.when(whole).then(digits).when(number.is_finite()).then(exact).otherwise(pl.col("raw"))
    # Beyond 53 bits a float means the decimal that it is written as; there are few, so Python may write them out.
    huge = (number.is_finite() & (number.abs() >= 2.0**53)).fill_null(False)
    return _written_out(read.with_columns(text=text, huge=huge), "huge", "number")


def _written_out(read: pl.DataFrame, where: str, given: str) -> pl.DataFrame:
    """The same with texts of some numbers as Python writes them, given as texts or as floats."""
    if not read[where].any():
        return read
    places = read[where].arg_true()
    texts = [one if isinstance(one, str) else repr(one) for one in read[given].gather(places)]
    return read.with_columns(read["text"].scatter(places, [_long_text(one) for one in texts]))


def _long_text(raw: str) -> str:
    """Whole numbers in digits; others as the bits of the float they are, or as their decimal where they are none."""
    try:
        number = Decimal(raw)
    except InvalidOperation:  # an exponent beyond anything
        return raw
    if number == number.to_integral_value():
        return str(int(number))
    if Decimal(repr(float(raw))) == number:
        return f"\x00{np.float64(raw).view(np.int64)}"
    sign, figures, exponent = number.as_tuple()
    shown = "".join(map(str, figures)).rstrip("0")
    return f"\x00{'-' * sign}{shown}e{int(exponent) + len(figures) - len(shown)}"


def _date(values: pl.DataFrame) -> pl.DataFrame:
    raw = pl.col("raw")
    if isinstance(values["raw"].dtype, pl.Datetime):
        moment = raw.dt.replace_time_zone(None).cast(pl.Datetime("us"))
        read = values.select(raw.cast(pl.String), moment=moment)
    else:
        day = raw.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
        time = raw.str.replace(" ", "T").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        read = values.select(raw.cast(pl.String).str.strip_chars()).with_columns(moment=pl.coalesce(day, time))
    stamp, micro = pl.col("moment"), pl.col("moment").dt.epoch("us")
    text = pl.coalesce(
        pl.when(micro % _DAY == 0).then(stamp.dt.strftime("%Y-%m-%d")),
        stamp.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f"),
        raw,
    )
    return read.select(text=text, number=micro / _DAY)


def _text(values: pl.DataFrame) -> pl.DataFrame | pl.LazyFrame:
    raw, none = pl.col("raw"), pl.lit(None, dtype=pl.Float64)
    if values["raw"].dtype.is_float():
        raw = raw.fill_nan(None)
        return _number_text(values.select(raw.cast(pl.String), number=raw.cast(pl.Float64))).with_columns(number=none)
    return values.lazy().select(text=raw.cast(pl.String), number=none)


# ----------------------------------------
# A batch of a table whose different cells are found once, for all that look at them.


# Texts that come so often are looked at by the different ones.
_REPEATED = 8


class Held(NamedTuple):
    """What a column of a batch holds.

    Attributes
    ----------
    codes
        For each row, the position of its cell in ``distinct``.
    distinct
        Different cells in the order in which they first came; null is one of them.
    """

    codes: np.ndarray
    distinct: pl.Series

    @property
    def rows(self) -> np.ndarray:
        """How many rows have each cell."""
        return np.bincount(self.codes, minlength=len(self.distinct))

    def read(self, texts: pl.Series) -> Held:
        """The same with another text for each cell; cells of one text are one, and null is a text too."""
        merged, found = encode(texts)
        return Held(self.codes if len(found) == len(texts) else merged[self.codes], found)

    def of(self, rows: np.ndarray) -> Held:
        """Some rows, with their own cells only."""
        if len(rows) == len(self.codes):
            return self
        mine = self.codes[rows]
        codes, first = as_they_come(mine)
        return Held(codes, self.distinct.gather(mine[first]))


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame with all texts one by one, whether they were kept as numbers of the different ones or not."""
    kept = [name for name, kind in frame.schema.items() if is_text(kind) and kind != pl.String]
    return frame.with_columns(pl.col(kept).cast(pl.String)) if kept else frame


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame whose texts are kept as numbers where they repeat, for whoever takes its rows in another order."""
    found = []
    for column in frame.get_columns():
        if column.dtype == pl.String:
            kept = number_texts(column)
            most = kept.to_physical().max()
            column = kept if most is not None and _REPEATED * most < len(column) else column  # type: ignore[operator]
        found.append(column)
    return pl.DataFrame(found)


class Coded:
    """Rows of a table, and what each column holds, looked up when it is first asked for.

    Attributes
    ----------
    frame
        The rows.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._held: dict[str, Held] = {}

    @classmethod
    def of(cls, rows: pl.DataFrame | Coded) -> Coded:
        """Rows of a table; what somebody has looked up already stays so."""
        return rows if isinstance(rows, Coded) else cls(rows)

    @classmethod
    def known(cls, frame: pl.DataFrame, before: Coded | None) -> Coded:
        """A frame, and what was looked up of it before, if that is of this very frame."""
        return before if before is not None and before.frame is frame else cls(frame)

    def look_up(self) -> None:
        """Find what every column holds."""
        for name in self.frame.columns:
            self[name]

    def __getitem__(self, name: str) -> Held:
        if name not in self._held:
            self._held[name] = Held(*encode(self.frame[name]))
        return self._held[name]

    def take_over(self, name: str, same: pl.Series) -> None:
        """Look a column up in one that was found to have the same cells, and holds texts as numbers."""
        self._held[name] = Held(*encode(same.alias(name)))

    @property
    def texts(self) -> list[str]:
        """The columns of texts."""
        return [name for name, kind in self.frame.schema.items() if is_text(kind)]

    @cached_property
    def plain(self) -> pl.DataFrame:
        """The rows, with all texts one by one."""
        return plain(self.frame)

    def select(self, names: list[str]) -> Coded:
        """The same with these columns only."""
        found = Coded(self.frame.select(names))
        found._held = self._held
        return found
