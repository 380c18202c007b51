"""What a column holds: its type, how it is written, what is missing, how many values there are, what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from shoal.data.dates import look_at
from shoal.data.values import format_number
from shoal.io.cell_format import Notation
from shoal.starting import looks
from shoal.starting.notations import PLAIN, Numbers, markers_of, non_answers_of, numbers_of, sentinels_of, words_among
from shoal.starting.words import kind_of_name

_ISO = r"^\d{4}-\d{2}-\d{2}$"
# A text that so many rows have among dates is a habit of whoever wrote them; a rarer one is somebody's cell.
_HABIT = 3


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a column; of its values, what is printed or written is only what a recipe needs.

    Attributes
    ----------
    type
        ``"numeric"``, ``"date"`` or ``"categorical"``.
    missing, distinct
        Missing cells, markers among them, and different values.
    common
        Share of the commonest value among known cells.
    markers
        Cells that stand for a missing value.
    sentinels
        Those of them that are numbers, far from all others.
    formats
        Formats of dates that all cells fit; several where day and month could change places.
    numbers
        How numbers are written.
    problem
        Why cells cannot be read, in words.
    named
        What the column's name says that it is.
    length
        How many characters all values have; None where that differs.
    order
        Values in the order of their codes, of a labelled column.
    non_answers
        Values that say nothing, such as "unknown".
    values
        Its different values and the ``rows`` of each, for nobody's eyes.
    """

    name: str
    type: str
    rows: int
    missing: int
    distinct: int
    common: float = 0.0
    markers: Sequence[str] = ()
    sentinels: Sequence[str] = ()
    formats: Sequence[str] = ()
    numbers: Numbers = field(default_factory=Numbers)
    look: looks.Look = field(default_factory=looks.Look)
    problem: str = ""
    named: str | None = None
    whole: bool = False
    timed: bool = False
    digits: bool = False
    length: int | None = None
    order: Sequence[str] = ()
    non_answers: Sequence[str] = ()
    values: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False, compare=False)

    @property
    def known(self) -> int:
        """Cells that are not missing."""
        return self.rows - self.missing

    @property
    def unique(self) -> float:
        """Different values by known cells."""
        return self.distinct / self.known if self.known else 0.0


def facts_of(series: pl.Series, given: Notation = PLAIN, comma: bool = False, order: Sequence[str] = ()) -> Facts:
    """What a column holds.

    Parameters
    ----------
    given, comma
        As for :func:`shoal.starting.notations.numbers_of`.
    order
        Labels of its values, in their order, where the file has some.
    """
    counted = series.alias("value").drop_nulls().value_counts(name="rows")
    if series.dtype == pl.String:
        found = _of_text(series, counted, given, comma)
    elif series.dtype.is_numeric():
        found = _of_numbers(series.name, counted, looks.numbers_look(counted["value"]) if _is_whole(counted) else None)
    elif series.dtype in (pl.Date, pl.Datetime):
        timed = series.dtype != pl.Date and look_at(series) is not None
        found = _made(series.name, counted, type="date", timed=timed)
    else:
        found = _made(series.name, counted, type="categorical")
    labels = set(counted["value"].to_list()) if order and series.dtype == pl.String else set()
    return replace(
        found, rows=series.len(), missing=series.null_count() + found.missing,
        order=list(order) if labels and labels <= set(order) else [],
    )  # fmt: skip


def _made(name: str, counted: pl.DataFrame, *, type: str, **more: object) -> Facts:
    """Facts of the cells that are left, of which ``rows`` and ``missing`` are set later."""
    rows = int(counted["rows"].sum())
    common = float(counted["rows"].max() or 0) / rows if rows else 0.0  # type: ignore[arg-type]
    return Facts(
        name=name, type=type, rows=rows, missing=int(more.pop("missing", 0)), distinct=counted.height, common=common,  # type: ignore[call-overload]
        named=kind_of_name(name), values=counted, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _of_numbers(name: str, counted: pl.DataFrame, direct: str | None, **more: object) -> Facts:
    numbers = counted.with_columns(pl.col("value").cast(pl.Float64))
    sentinels = sentinels_of(numbers)
    left = numbers.filter(~pl.col("value").is_in(sentinels))
    texts = [format_number(one) for one in sentinels]
    gone = int(numbers["rows"].sum()) - int(left["rows"].sum())
    marked = [*more.pop("markers", ()), *texts]  # type: ignore[misc]
    missing = int(more.pop("missing", 0)) + gone  # type: ignore[call-overload]
    return _made(
        name, left, type="numeric", look=looks.Look(direct=direct), whole=_is_whole(left), markers=marked,
        sentinels=texts, missing=missing, **more,
    )  # fmt: skip


def _of_text(series: pl.Series, counted: pl.DataFrame, given: Notation, comma: bool) -> Facts:
    values = words_among(counted["value"])
    numbers = numbers_of(values, given, comma)
    if numbers is not None:
        left, markers, gone = _without(counted, True)
        plain = numbers.notation.read(left["value"]).cast(pl.Float64, strict=False)
        read = left.with_columns(value=plain).group_by("value").agg(pl.col("rows").sum())
        texts = left["value"] if _is_whole(read) else left["value"].clear()
        direct = looks.numbers_look(texts)
        return _of_numbers(series.name, read, direct, numbers=numbers, markers=markers, missing=gone, **_shape(texts))
    dated = _of_dates(series.name, counted, values)
    if dated is not None:
        return dated
    left, markers, gone = _without(counted, False)
    digits = left.height > 0 and bool(left["value"].str.contains(r"^\d+$").all())
    return _made(
        series.name, left, type="categorical", look=looks.look(left["value"]), markers=markers, missing=gone,
        digits=digits, non_answers=non_answers_of(left["value"]), **_shape(left["value"]),
    )  # fmt: skip


def _of_dates(name: str, counted: pl.DataFrame, values: pl.Series) -> Facts | None:
    if values.is_empty():
        return None
    left, markers, gone = _without(counted, True)
    cells = left.select(pl.col("value").repeat_by("rows").explode(empty_as_null=True))["value"]
    if bool(left["value"].str.contains(_ISO).all()) and left["value"].str.to_date(strict=False).null_count() == 0:
        return _made(name, left, type="date", markers=markers, missing=gone)
    look = look_at(cells)
    if look is None:
        return None
    if look.why or not look.formats:
        return _made(name, left, type="date", problem=look.why or "holds dates that no format reads", missing=gone)
    if not look.all:
        right = left["value"].str.to_date(look.formats[0], strict=False).is_not_null()
        stray = left.filter(~right)
        if bool((stray["rows"] < _HABIT).any()):
            what = f"has {int(stray['rows'].sum()):,} cells that are no dates: correct them, or give --missing-marker"
            return _made(name, left, type="date", problem=what, missing=gone)
        markers, gone = [*markers, *stray["value"].sort().to_list()], gone + int(stray["rows"].sum())
        left = left.filter(right)
    return _made(name, left, type="date", formats=tuple(look.formats), markers=markers, missing=gone)


def _without(counted: pl.DataFrame, others_are_values: bool) -> tuple[pl.DataFrame, list[str], int]:
    """Values without markers, the markers, and their rows."""
    markers = markers_of(counted["value"], others_are_values)
    gone = counted["value"].is_in(markers)
    return counted.filter(~gone), markers, int(counted.filter(gone)["rows"].sum())


def _shape(texts: pl.Series) -> dict[str, object]:
    lengths = texts.str.len_chars().unique()
    return {"length": int(lengths[0])} if lengths.len() == 1 else {}


def _is_whole(counted: pl.DataFrame) -> bool:
    values = counted["value"].cast(pl.Float64)
    return bool((values == values.round()).all())
