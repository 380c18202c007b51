"""Values as the verifier reads them: one canonical text each, and a number where there is one.

A release read back from CSV is all text, the frame that passed the gate was not, so both are brought to the
same canonical texts first: ``3``, ``3.0`` and ``"3.0"`` are one number, dates are ISO, and a missing value is
null. Work is done on distinct values only.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.keys import as_they_come, group_keys, row_keys

STAR = "*"
MISSING = "<missing>"

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^([+-]?)0*([0-9]+)$"
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
    digits = raw.str.replace(_WHOLE, "${1}${2}").str.strip_prefix("+").replace("-0", "0")
    read = values.select(raw.cast(pl.String).str.strip_chars()).with_columns(
        number=pl.when(raw.str.contains(_NUMBER)).then(raw).cast(pl.Float64, strict=False),
        exact=pl.when(raw.str.contains(_WHOLE)).then(digits),
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
