"""Frames of pandas, Polars and PyArrow in, through narwhals; `shoal.io.frames` hands the same kind out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal.data.schema import LIST_ROLES, SINGLE_ROLES
from shoal.errors import InputError, MissingExtraError
from shoal.io.cell_format import check_names, has_zeros, normalise, refuse_zeros

# ----------------------------------------
# What a frame was before it was read, and a release in the same form: library, laziness, names, kinds of columns.


_MAPPED = ("settings", "hierarchies", "weights", "policies")


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Where a frame came from.

    Attributes
    ----------
    library
        ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
    lazy
        Whether it was still to be collected.
    index
        Row labels of a pandas frame, for the publisher's own side only; None for every other library.
    names
        What columns were called whose names are whole numbers, by their names as text.
    forms
        The library's own kinds of columns, by name.
    zones
        Time zones of columns of moments, by name.
    """

    library: str = "polars"
    lazy: bool = False
    index: Any = field(default=None, repr=False, compare=False)
    names: Mapping[str, int] = field(default_factory=dict)
    forms: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    zones: Mapping[str, str] = field(default_factory=dict)


def backend_of(native: Any, library: str, *, lazy: bool, names: Mapping[str, int], read: pl.DataFrame) -> Backend:
    """What there is to know of a frame, given what it was read as."""
    zones = {name: zone for name, kind in read.schema.items() if (zone := getattr(kind, "time_zone", None)) is not None}
    if library == "pyarrow":
        forms = {one.name: one.type for one in native.schema}
    elif library == "pandas":
        forms = {str(name): kind for name, kind in native.dtypes.items()}
    else:
        forms = dict(native.schema)
    index = native.index if library == "pandas" else None
    return Backend(library=library, lazy=lazy, index=index, names=names, forms=forms, zones=zones)


def native(frame: pl.DataFrame, backend: Backend | None) -> Any:
    """A release in the form of the frame that it was made of; Polars' where it was made of a file.

    Categories are those that stand in the release, and are in order only where none was generalised. The index is
    fresh, and there is no metadata.
    """
    if backend is None:
        return frame
    frame = _zoned(frame, backend.zones)
    if backend.library == "pandas":
        return _to_pandas(frame, backend)
    if backend.library == "pyarrow":
        return _to_arrow(frame, backend)
    frame = frame.with_columns(
        frame[name].cast(kind)
        for name, form in backend.forms.items()
        if name in frame.columns and (kind := _category(frame[name], form)) is not None
    )
    return frame.lazy() if backend.lazy else frame


def _zoned(frame: pl.DataFrame, zones: Mapping[str, str]) -> pl.DataFrame:
    """Moments are published as the clock there showed them; an hour that came twice is the first of the two."""
    return frame.with_columns(
        pl.col(name).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
        for name, zone in zones.items()
        if isinstance(frame.schema.get(name), pl.Datetime)
    )


def _category(column: pl.Series, form: Any) -> pl.DataType | None:
    """How a column that came as categories goes out as such, None where it did not."""
    if column.dtype != pl.String or form not in (pl.Categorical, pl.Enum):
        return None
    there = set(column.drop_nulls())
    known = form.categories.to_list() if isinstance(form, pl.Enum) else []
    return pl.Enum([one for one in known if one in there]) if there <= set(known) else pl.Categorical()


def _to_arrow(frame: pl.DataFrame, backend: Backend) -> Any:
    import pyarrow as pa

    table = frame.to_arrow()
    for place, name in enumerate(table.column_names):
        form = backend.forms.get(name)
        if form is not None and pa.types.is_dictionary(form) and frame[name].dtype == pl.String:
            table = table.set_column(place, name, table.column(place).dictionary_encode())
    return table


def _to_pandas(frame: pl.DataFrame, backend: Backend) -> Any:
    require_pyarrow()
    import pandas as pd

    result = frame.to_pandas(date_as_object=True)
    for name, dtype in frame.schema.items():
        column, form = frame[name], backend.forms.get(name)
        # pandas would turn whole numbers with gaps into floats, so that 1 is published as 1.0.
        if column.null_count() and (dtype.is_integer() or dtype == pl.Boolean):
            array = pd.arrays.BooleanArray if dtype == pl.Boolean else pd.arrays.IntegerArray
            values = column.fill_null(False if dtype == pl.Boolean else 0).to_numpy(writable=True)
            result[name] = array(values, column.is_null().to_numpy(writable=True))
        elif dtype == pl.String and isinstance(form, pd.CategoricalDtype):
            result[name] = result[name].astype(_pandas_category(column, form))
        elif dtype == pl.String and isinstance(form, pd.StringDtype):
            result[name] = result[name].astype(form)
    return result.rename(columns=dict(backend.names)) if backend.names else result


def _pandas_category(column: pl.Series, form: Any) -> Any:
    import pandas as pd

    known = [str(one) for one in form.categories]
    there = set(column.drop_nulls())
    listed = [*(one for one in known if one in there), *sorted(there - set(known))]
    return pd.CategoricalDtype(listed, ordered=bool(form.ordered) and there <= set(known))


def named(native: Any) -> tuple[Any, dict[str, int]]:
    """A pandas frame with text for names that are whole numbers, and what they were."""
    numbers = {str(name): name for name in native.columns if isinstance(name, int) and not isinstance(name, bool)}
    if not numbers:
        return native, {}
    names = [str(name) if str(name) in numbers and isinstance(name, int) else name for name in native.columns]
    if len(set(names)) < len(names):
        raise InputError("The frame has two columns of the same name, one of them a number: rename one.")
    return native.set_axis(names, axis=1), numbers


def numbers_as_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Let whole numbers name columns wherever a call names any, since those of a pandas frame may be such."""
    found = dict(given)
    for role in LIST_ROLES:
        if isinstance(found.get(role), Sequence) and not isinstance(found[role], str):
            found[role] = [_text(one) for one in found[role]]
    for role in SINGLE_ROLES:
        if role in found:
            found[role] = _text(found[role])
    for what in _MAPPED:
        if isinstance(found.get(what), Mapping):
            found[what] = {_text(name): entry for name, entry in found[what].items()}
    return found


def _text(name: Any) -> Any:
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


def require_pyarrow() -> None:
    """Say what to install where pandas frames cannot be converted."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("A pandas frame", "pyarrow", "arrow") from None


_LIBRARIES = ("pandas", "polars", "pyarrow")
_ADVICE = "convert it to text, numbers or dates"


def to_polars(frame: Any) -> tuple[pl.DataFrame, Backend]:
    """Convert a frame of any supported library.

    Category columns become text, so that levels without rows go; NaN in pandas means missing; the index of a
    pandas frame is no column; whole numbers as names become text.

    Returns
    -------
    tuple of polars.DataFrame and Backend
        The rows, and what :func:`shoal.io.frames.native` needs to hand the same kind of frame back.
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


# ----------------------------------------
# Batches of rows that arrive anywhere: brought into the form that a source has, and what is wrong with them
# counted.
#
# Whoever reads a batch does not see the others, so faults are counted here and refused where the counts come
# together.


_ZERO, _UNREADABLE = "zero", "unreadable"


@dataclass(frozen=True, kw_only=True)
class Arriving:
    """What is done to every batch.

    Attributes
    ----------
    where
        What the source is called in messages.
    missing_markers
        Cells that mean "missing", besides empty ones.
    decoded
        Whether somebody else made text of bytes, and put a mark where that could not be done.
    zones
        Columns whose times come in another zone than they have in the source, and that one.
    """

    where: str
    missing_markers: Sequence[str] = ()
    decoded: bool = False
    zones: Mapping[str, str] = field(default_factory=dict)

    def faults(self, frame: pl.DataFrame) -> dict[tuple[str, str], int]:
        """Cells that no table may have, by column and what they are."""
        found = nonfinite(frame)
        for column in frame.select(pl.selectors.string()):
            found[column.name, _ZERO] = int(has_zeros(column).sum())
            if self.decoded:
                found[column.name, _UNREADABLE] = int(column.str.contains("\ufffd", literal=True).sum() or 0)
        return {key: count for key, count in found.items() if count}

    def clean(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows as they are read."""
        clocks = [pl.col(name).dt.convert_time_zone(zone) for name, zone in self.zones.items() if name in frame.columns]
        return normalise(clean(frame.with_columns(clocks), self.where), self.where, self.missing_markers)

    def refuse(self, found: Mapping[tuple[str, str], int]) -> None:
        """Refuse cells that no table may have, so many of them: numbers before texts, as a whole frame is looked at."""
        texts = {key: count for key, count in found.items() if key[1] in (_ZERO, _UNREADABLE)}
        refuse_nonfinite({key: count for key, count in found.items() if key not in texts}, self.where)
        for (name, what), count in texts.items():
            if what == _ZERO:
                refuse_zeros(name, count, self.where)
            raise InputError(
                f"Column '{name}' of {self.where} has {count} cells that are not UTF-8: save it as UTF-8, or give "
                "its 'encoding'."
            )
