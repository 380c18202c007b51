"""What a frame was before it was read, and a release in the same form: library, laziness, names, kinds of columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import polars as pl

from shoal.errors import InputError, MissingExtraError

P = ParamSpec("P")
T = TypeVar("T")

_LISTED = ("identifiers", "quasi", "sensitive", "neutral", "pseudonym", "drop")
_SINGLE = ("subject", "weight", "key", "guard")
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


def numbers_as_names(read: Callable[P, T]) -> Callable[P, T]:
    """Let whole numbers name columns wherever a call names any, since those of a pandas frame may be such."""

    @functools.wraps(read)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        given: dict[str, Any] = dict(kwargs)
        for role in _LISTED:
            if isinstance(given.get(role), Sequence) and not isinstance(given[role], str):
                given[role] = [_text(one) for one in given[role]]
        for role in _SINGLE:
            if role in given:
                given[role] = _text(given[role])
        for what in _MAPPED:
            if isinstance(given.get(what), Mapping):
                given[what] = {_text(name): entry for name, entry in given[what].items()}
        return read(*args, **given)

    return wrapped


def _text(name: Any) -> Any:
    return str(name) if isinstance(name, int) and not isinstance(name, bool) else name


def require_pyarrow() -> None:
    """Say what to install where pandas frames cannot be converted."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("A pandas frame", "pyarrow", "arrow") from None
