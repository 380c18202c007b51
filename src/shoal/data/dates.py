"""Columns that look like dates and are not declared as such.

Read as text, a birth date is a category like any other: classes publish sets of exact dates, at a loss that looks
small. So a column that is released and looks like dates needs a word: its format, or that it is categorical after all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from shoal.data.schema import Schema
from shoal.data.texts import is_text
from shoal.errors import SchemaError

# Day first where both would do, as most of the world writes; a column that fits both is told both.
_SEPARATED = tuple(
    order.replace(" ", mark)
    for order in ("%d %m %Y", "%m %d %Y", "%Y %m %d", "%d %m %y", "%m %d %y", "%y %m %d")
    for mark in (".", "/", "-", " ")
)
# Of the names of months, a format reads English ones: %B short and long.
_NAMED = tuple(
    order.replace(" ", mark, 2) for order in ("%d %B %Y", "%B %d %Y", "%Y %B %d") for mark in (" ", "-", "/", ". ", "")
) + ("%d. %B %Y", "%B %d, %Y")
_ISO, _COMPACT = "%Y-%m-%d", ("%Y%m%d", "%d%m%Y", "%m%d%Y")
# A day, a word and a year: a date with a month in another language, which no format reads.
_WORDED = r"^\d{1,2}\.?[ /-]\p{L}{3,12}\.?[ /-]\d{4}$"
_MONTHS = 36
# Every form has five digits or more, and something between them unless they are eight: most columns are neither.
_DIGITS, _PARTED = r"(?:\d\D*){5,}", r"^\d{8}$|\D"
# A date first and a time behind it, perhaps with the half of the day and a zone.
_TIME = r"^(.*\d)(?:[T ]|, )\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)? ?(?i:[ap]m)? ?(?:Z|[A-Z]{3,4}|[+-]\d{2}:?\d{2})?$"
_TIMES = tuple(
    f"{mark}{clock}{zone}"
    for mark in (" ", "T", ", ")
    for clock in ("%H:%M:%S", "%H:%M", "%H:%M:%S%.f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p")
    for zone in ("", "Z", " UTC", "%z", " %z", "%:z")
)
# So many of a column's cells must parse: words for "unknown", however frequent, make no category of a date.
_HALF = 0.5
_SAMPLED, _SAMPLE = 0.25, 200
# More cells than these in another form of date are no slips.
_SLIPS = 0.1
# Eight digits, or three pairs of them, are a date by accident now and then, but not three different ones.
_FEW = 3


@dataclass(frozen=True, kw_only=True)
class Look:
    """Formats that the cells of a column fit, and whether all of them do; ``why`` where no format helps."""

    formats: tuple[str, ...] = ()
    all: bool = True
    why: str = ""


def as_declared(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The rows read for their dates: times of a zone as its clock shows them, whole numbers with a format as text."""
    released = [name for name in schema.released if name in frame.columns]
    zoned = [name for name in released if isinstance(frame[name].dtype, pl.Datetime)]
    digits = [name for name in released if schema.spec(name).format and frame[name].dtype.is_integer()]
    return frame.with_columns(
        *(pl.col(name).dt.replace_time_zone(None) for name in zoned), *(pl.col(name).cast(pl.String) for name in digits)
    )


def refuse_undeclared_dates(frame: pl.DataFrame, schema: Schema, trees: Collection[str] = ()) -> None:
    """Refuse released columns that look like dates, all at once, with the format to declare.

    Parameters
    ----------
    trees
        Columns with a hierarchy, which says already what each value means.
    """
    found = []
    for name in [*schema.quasi, *schema.sensitive, *schema.neutral]:
        spec = schema.spec(name)
        if name not in frame.columns or name in trees or spec.type or spec.order or spec.format:
            continue
        look = look_at(frame[name])
        if look is not None:
            found.append(_sentence(name, look))
    if found:
        raise SchemaError(" ".join(found))


def look_at(series: pl.Series) -> Look | None:
    """Whether a column looks like dates that would be read as something else; None when it does not."""
    if isinstance(series.dtype, pl.Datetime):
        times = series.dt.replace_time_zone(None)
        return Look(why="holds times of day") if (times.dt.truncate("1d") != times).any() else None
    if not (series.dtype.is_integer() or is_text(series.dtype)):
        return None
    known = series.drop_nulls()
    # A sample turns most columns away; its share may be off by chance.
    sample = known.gather_every(max(1, known.len() // _SAMPLE))
    return _looks(known, _HALF) if _looks(sample, _SAMPLED) is not None else None


def _looks(cells_read: pl.Series, share: float) -> Look | None:
    """The same of cells without missing ones, of which a share must look so."""
    known = cells_read.cast(pl.String).str.strip_chars()
    cells = known.to_frame("text").group_by("text").agg(rows=pl.len()).sort("text")
    days = cells["text"].str.extract(_TIME)
    timed = cells.with_columns(day=days).drop_nulls()
    if timed.is_empty() or int(timed["rows"].sum()) < share * known.len():
        look = _dated(cells["text"], cells["rows"], share)
        return None if look is None or (look.formats == (_ISO,) and look.all) else look  # ISO is read as it is
    look = _dated(timed["day"], timed["rows"], share)
    return None if look is None else _timed(timed["text"], look, timed.height == cells.height)


def _dated(texts: pl.Series, rows: pl.Series, share: float) -> Look | None:
    least, total = share * float(rows.sum()), int(rows.sum())
    if int(rows.filter(texts.str.contains(_DIGITS) & texts.str.contains(_PARTED)).sum()) < least:
        return None
    fits = {form: _fits(texts, form) for form in (_ISO, *_COMPACT, *_SEPARATED, *_NAMED)}
    fits = {form: fit for form, fit in fits.items() if texts.filter(fit).n_unique() >= _fewest(form)}
    counts = {form: int(rows.filter(fit).sum()) for form, fit in fits.items()}
    best = max(counts.values(), default=0)
    together = int(rows.filter(pl.select(pl.any_horizontal(*fits.values())).to_series()).sum()) if fits else 0
    if fits and together >= least:
        if together - best > _SLIPS * total:
            return Look(why="holds dates in several forms")
        formats = tuple(form for form, count in counts.items() if count == best)
        return Look(formats=formats, all=best == total)
    worded = texts.str.contains(_WORDED)
    months = texts.filter(worded).str.extract(r"(\p{L}+)").str.to_lowercase().n_unique()
    if worded.any() and int(rows.filter(worded).sum()) >= least and months <= _MONTHS:
        return Look(why="holds dates with names of months that no format reads")
    return None


def _timed(texts: pl.Series, days: Look, all_timed: bool) -> Look:
    """The formats of dates with the time behind them, which a date column reads and leaves out."""
    for time in _TIMES:
        formats = tuple(f"{day}{time}" for day in days.formats)
        read = [texts.str.to_date(form, strict=False).null_count() == 0 for form in formats]
        if formats and all(read):
            return Look(formats=formats, all=days.all and all_timed)
    return Look(why="holds dates with times in several forms, or of several time zones")


def _fits(texts: pl.Series, form: str) -> pl.Series:
    """Which texts are dates of a form, with as many digits as it says: years of two or four, others of one or two."""
    digits = r"\d{2}" if form in _COMPACT else r"\d{1,2}"
    two = r"\d{2}" if "%y" in form else digits
    shape = form.replace(".", r"\.").replace("%Y", r"\d{4}").replace("%y", r"\d{2}")
    shape = shape.replace("%d", two).replace("%m", two).replace("%B", r"\p{L}{3,9}")
    shaped = texts.str.contains(f"^{shape}$")
    if not shaped.any():
        return shaped
    dates = texts.set(~shaped, None).str.to_date(form, strict=False)
    return dates.is_not_null() & dates.dt.year().is_between(1800, 2199).fill_null(False)


def _fewest(form: str) -> int:
    """Different dates that a form must show before it is believed."""
    return _FEW if form in _COMPACT or "%y" in form else 1


def _sentence(name: str, look: Look) -> str:
    insist = f"or [columns.{name}] type = \"categorical\" to publish the exact values as text"
    if look.why:
        return f"Column '{name}' {look.why}: write plain dates (2024-12-31), drop it, {insist}."
    said = " or ".join(f'format = "{form}"' for form in look.formats)
    most = "" if look.all else "mostly "
    also = "" if look.all else ", make the other cells missing ones (missing_markers)"
    century = " (00 to 69 are read as 2000 to 2069)" if any("%y" in form for form in look.formats) else ""
    declare = f'declare [columns.{name}] type = "date", {said}{century}{also}'
    return f"Column '{name}' looks {most}like dates: {declare}, {insist}."
