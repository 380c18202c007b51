"""Frames of pandas, Polars and PyArrow in, through narwhals; `shoal.io.native` hands the same kind out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from shoal.errors import InputError
from shoal.io.native import Backend, backend_of, named, require_pyarrow
from shoal.io.normal import check_names

_LIBRARIES = ("pandas", "polars", "pyarrow")
_ADVICE = "convert it to text, numbers or dates"


def to_polars(frame: Any) -> tuple[pl.DataFrame, Backend]:
    """Convert a frame of any supported library.

    Category columns become text, so that levels without rows go; NaN in pandas means missing; the index of a
    pandas frame is no column; whole numbers as names become text.

    Returns
    -------
    tuple of polars.DataFrame and Backend
        The rows, and what :func:`shoal.io.native.native` needs to hand the same kind of frame back.
    """
    import narwhals as nw

    try:
        wrapped = nw.from_native(frame)
    except nw.exceptions.DuplicateError:
        raise InputError("The frame has two columns of the same name: rename one.") from None
    except TypeError:
        kind = type(frame).__name__
        raise InputError(f"A {kind} is not a frame: give a pandas, Polars or PyArrow one.") from None
    library = wrapped.implementation.value
    if library not in _LIBRARIES:
        raise InputError(f"Frames of {library} are not read directly: convert it to Polars or pandas.")
    native, names = named(frame) if library == "pandas" else (wrapped.to_native(), {})
    lazy = isinstance(native, pl.LazyFrame)
    if lazy:
        native = _collected(native)
    _check_names(list(getattr(native, "column_names", native.columns)))
    converted = native if library == "polars" else _converted(native, library)
    cleaned = clean(converted, "the frame")
    return cleaned, backend_of(native, library, lazy=lazy, names=names, read=cleaned)


def clean(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Columns of text, numbers, truth values and dates; everything else is refused.

    Categories and times of day become text, as do columns without any value, minus zero becomes zero, NaN and
    infinities are refused with their count. ``where`` names the frame or file in messages.
    """
    _check_names(frame.columns)
    plain: list[pl.Expr] = []
    for name, dtype in frame.schema.items():
        if dtype in (pl.Categorical, pl.Enum, pl.Null):
            plain.append(pl.col(name).cast(pl.String))
        elif dtype == pl.Time:
            plain.append(pl.col(name).dt.to_string("%H:%M:%S%.f"))
        elif dtype.is_float():
            plain.append(_without_sign(name, dtype))
        elif not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean, pl.Date, pl.Datetime)):
            shown = str(dtype.base_type()).lower()
            raise InputError(f"Column '{name}' of {where} holds {shown} values: {_ADVICE}.")
    _check_finite(frame, where)
    return frame.with_columns(plain)


def _without_sign(name: str, dtype: pl.DataType) -> pl.Expr:
    """Minus zero is the zero that it equals; adding zero is optimised away."""
    value = pl.col(name)
    return pl.when(value == 0).then(pl.lit(0, dtype)).otherwise(value).alias(name)


def _check_names(names: list[Any]) -> None:
    if not names:
        raise InputError("The frame has no columns: there is nothing to read.")
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise InputError(
                f"The name of column {position} is not text but {type(name).__name__}: rename it."
            )
    check_names(names, "the frame")


def _check_finite(frame: pl.DataFrame, where: str) -> None:
    refuse_nonfinite(nonfinite(frame), where)


def nonfinite(frame: pl.DataFrame) -> dict[tuple[str, str], int]:
    """How many cells of a column are NaN or infinite, where any are."""
    floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
    found = {}
    for what, count in (
        ("NaN", frame.select(pl.col(floats).is_nan().sum())),
        ("infinite", frame.select(pl.col(floats).is_infinite().sum())),
    ):
        for name, cells in zip(floats, count.row(0) if floats else (), strict=True):
            if cells:
                found[name, what] = cells
    return found


def refuse_nonfinite(found: Mapping[tuple[str, str], int], where: str) -> None:
    """Refuse cells that are no numbers, given as :func:`nonfinite` gives them."""
    for (name, what), count in found.items():
        raise InputError(f"Column '{name}' of {where} has {count} {what} cells: correct them or make them null.")


def _collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    try:
        return lazy.collect()
    except pl.exceptions.PolarsError as error:
        # Its message may quote cells.
        raise InputError(f"The lazy frame cannot be collected: it raises {type(error).__name__}.") from None


def _converted(native: Any, library: str) -> pl.DataFrame:
    convert: Any = pl.from_pandas if library == "pandas" else pl.from_arrow
    require_pyarrow()
    try:
        converted: pl.DataFrame = convert(native)
        return converted
    except (Exception, pl.exceptions.PanicException):
        pass
    # Which column it was is not in the message, while one of its cells may be.
    for name in list(native.columns) if library == "pandas" else native.column_names:
        try:
            convert(native[[name]] if library == "pandas" else native.select([name]))
        except (Exception, pl.exceptions.PanicException):
            raise InputError(
                f"Column '{name}' of the frame holds mixed or unknown types: {_ADVICE}."
            ) from None
    raise InputError("The frame cannot be converted: give it as a Polars frame.")
