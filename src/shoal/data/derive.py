"""Columns derived, recoded, coded at their ends and rounded, before anything else looks at them.

A batch of rows is changed as all rows together are, so that engines that keep rows do the same as memory; only the mean
of values beyond an end needs all of them. What comes out is the input that everything else knows, the gate too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

import polars as pl

from shoal.data.coding import as_items, canonical_text
from shoal.data.column_settings import Derived, End, no_column
from shoal.data.hierarchy import MISSING
from shoal.data.schema import ColumnSpec
from shoal.data.texts import all_told
from shoal.data.values import format_number
from shoal.errors import InputError, ParameterError, SchemaError

# Fewer people beyond an end are nearly told by their mean.
FEWEST = 10
_EXACT = Context(prec=300)
_CENTS = Decimal("0.01")


def changes(specs: Mapping[str, ColumnSpec]) -> bool:
    """Whether any column is changed before it is coded."""
    return any(spec.techniques for spec in specs.values())


def derived_from(specs: Mapping[str, ColumnSpec]) -> list[str]:
    """Columns that others are derived from."""
    named = [(name, source) for name, spec in specs.items() if spec.derived for source in spec.derived.columns]
    return list(dict.fromkeys(source for name, source in named if source != name))


def with_derived(names: Sequence[str], specs: Mapping[str, ColumnSpec]) -> list[str]:
    """Columns of a source, and those that are derived from them."""
    return list(dict.fromkeys([*names, *(name for name, spec in specs.items() if spec.derive)]))


def refuse_batched(specs: Mapping[str, ColumnSpec], engine: str) -> None:
    """Refuse what needs all rows at once."""
    for name, spec in specs.items():
        if _needs_mean(spec):
            raise ParameterError(
                f"The mean of column '{name}' beyond its end needs all rows at once, which the engine '{engine}' does "
                "not have: give a number or a text as 'as', or use the engine 'memory'."
            )


def prepared(
    frame: pl.DataFrame, specs: Mapping[str, ColumnSpec], subject: str | None = None, required: Sequence[str] = ()
) -> pl.DataFrame:
    """Some rows, or all of them, with every column as its settings say.

    Parameters
    ----------
    subject
        The column that says whose row it is, where people have several.
    required
        Columns of which a missing cell leaves the row out: such rows count in no mean.
    """
    frame = all_told(frame) if changes(specs) else frame
    made = [_derived(name, spec.derived, frame, specs) for name, spec in specs.items() if spec.derived is not None]
    frame = frame.with_columns(made)
    mine = {name: spec for name, spec in specs.items() if name in frame.columns}  # told where roles meet columns
    frame = frame.with_columns(_by_cell(frame[name], spec) for name, spec in mine.items())
    averaged = {name: spec for name, spec in mine.items() if _needs_mean(spec)}
    if not averaged:
        return frame
    left = frame.select(pl.lit(True), *(pl.col(name).is_not_null() for name in required if name in frame.columns))
    kept = left.select(pl.all_horizontal(pl.all())).to_series()
    people = frame[subject] if subject is not None and subject in frame.columns else None
    return frame.with_columns(_changed(frame[name], spec, kept, people) for name, spec in averaged.items())


def _needs_mean(spec: ColumnSpec) -> bool:
    return any(end is not None and end.text is None for end in (spec.top_end, spec.bottom_end))


def _by_cell(series: pl.Series, spec: ColumnSpec) -> pl.Series:
    """A column changed as far as each cell says by itself what becomes of it."""
    if spec.recoding is not None:
        series = _recoded(series, spec.recoding, spec.recode_else)
    if spec.changes_numbers and not _needs_mean(spec):
        series = _changed(series, spec)
    if spec.techniques and series.dtype == pl.String:
        series = series.replace(MISSING, None)
    return series if spec.items is None else as_items(series, spec.items)


def _derived(name: str, how: Derived, frame: pl.DataFrame, specs: Mapping[str, ColumnSpec]) -> pl.Series:
    for source in how.columns:
        if source not in frame.columns:
            raise SchemaError(no_column(name, source, frame.columns))
    if name in frame.columns and how.columns != (name,):
        raise SchemaError(f"Column '{name}' is to be derived, and the source has one already: choose another name.")
    first = frame[how.columns[0]]
    if how.how == "first":
        return canonical_text(first).str.slice(0, how.length).str.strip_chars_end().alias(name)
    days = [_dates(name, frame[source], specs.get(source, ColumnSpec())) for source in how.columns]
    if how.at is not None:
        days.append(pl.Series([how.at]).str.to_date("%Y-%m-%d").new_from_index(0, frame.height))
    return _of_dates(how.how, days).alias(name)


def _of_dates(how: str, days: Sequence[pl.Series]) -> pl.Series:
    start, end = days[0].alias("start"), days[-1].alias("end")
    one, two = pl.col("start"), pl.col("end")
    year = two.dt.year().cast(pl.Int64) - one.dt.year().cast(pl.Int64)
    # A year is full on the day of the same name, or on the first one after it.
    short = two.dt.strftime("%m%d") < one.dt.strftime("%m%d")
    way = {
        "years": year - short.cast(pl.Int64),
        "days": (two - one).dt.total_days(),
        "year": one.dt.year().cast(pl.Int64),
        "month": one.dt.strftime("%Y-%m"),
    }[how]
    return pl.DataFrame([start, end]).select(way.alias("way"))["way"]


def _dates(name: str, series: pl.Series, spec: ColumnSpec) -> pl.Series:
    if series.dtype == pl.Date:
        return series
    if isinstance(series.dtype, pl.Datetime):
        return series.dt.replace_time_zone(None).cast(pl.Date)
    texts = series.cast(pl.String)
    found = texts.str.to_date(spec.format or "%Y-%m-%d", strict=False)
    wrong = found.null_count() - texts.null_count()
    if wrong:
        raise InputError(
            f"Column '{name}' is derived from the dates of '{series.name}', of which {wrong} cells are no dates of the "
            f"form {spec.format or 'YYYY-MM-DD'}: give the 'format' under [columns.{series.name}]."
        )
    return found


def _recoded(series: pl.Series, recode: Mapping[str, str], rest: str) -> pl.Series:
    texts = canonical_text(series)
    values = texts.drop_nulls().unique()
    unknown = values.filter(~values.is_in(list(recode)))
    if rest == "error" and unknown.len():
        raise InputError(
            f"Column '{series.name}' has {unknown.len()} different values that its 'recode' does not list: add them, "
            "or set recode_else = \"keep\"."
        )
    return texts.replace(list(recode), list(recode.values()))


def _changed(
    series: pl.Series, spec: ColumnSpec, kept: pl.Series | None = None, people: pl.Series | None = None
) -> pl.Series:
    """Numbers, those beyond an end replaced and the others rounded; worked out once for every different one.

    Parameters
    ----------
    kept, people
        Rows that count in a mean, and whose each row is.
    """
    texts = canonical_text(series)
    known = texts.drop_nulls().unique().sort()
    numbers = _numbers(series.name, known.to_list())
    ends = (spec.top_end, spec.bottom_end)
    high = {text: x for text, x in numbers.items() if ends[0] is not None and x >= ends[0].at}
    low = {text: x for text, x in numbers.items() if ends[1] is not None and x <= ends[1].at}
    counted = texts if kept is None else texts.set(~kept, None)
    top, bottom = (_end(counted, end, one, people) for end, one in zip(ends, (high, low), strict=True))
    rounded = {text: format_number(_rounded(number, spec.rounding)) for text, number in numbers.items()}
    new = {**rounded, **top, **bottom}
    found = texts.replace_strict(known, [new[text] for text in known.to_list()], default=None, return_dtype=pl.String)
    if not series.dtype.is_numeric() or any(end is not None and not end.number for end in ends):
        return found.alias(series.name)
    given = [spec.rounding, *(Decimal(end.text) for end in ends if end is not None and end.text)]
    whole = series.dtype.is_integer() and all(one is None or one == int(one) for one in given)
    return found.cast(pl.Int64 if whole else pl.Float64).alias(series.name)


def _numbers(name: str, texts: Sequence[str]) -> dict[str, Decimal]:
    found, wrong = {}, 0
    for text in texts:
        try:
            found[text] = Decimal(text)
            wrong += not found[text].is_finite()
        except InvalidOperation:
            wrong += 1
    if wrong:
        raise InputError(
            f"Column '{name}' is to be rounded or coded at its ends, and {wrong} of its different values are no "
            "numbers: name them in missing_markers, or recode them."
        )
    return found


def _rounded(number: Decimal, base: Decimal | None) -> Decimal:
    if base is None:
        return number
    times = _EXACT.divide(number, base).quantize(Decimal(1), ROUND_HALF_UP, _EXACT)
    return _EXACT.multiply(times, base)


def _end(texts: pl.Series, end: End | None, beyond: Mapping[str, Decimal], people: pl.Series | None) -> dict[str, str]:
    """What stands for each value beyond an end."""
    if end is None or not beyond:
        return {}
    text = end.text
    if text is None:
        rows = texts.is_in(list(beyond))
        counts = dict(texts.filter(rows).value_counts().iter_rows())
        if not counts:
            return {}
        n = sum(counts.values()) if people is None else people.filter(rows.fill_null(False)).n_unique()
        if n < FEWEST:
            raise InputError(
                f"Only {n} people are beyond the end of column '{texts.name}', whose mean would tell about them: it "
                f"takes {FEWEST}, so move the end, or give a number or a text as 'as'."
            )
        total = sum((beyond[one] * count for one, count in counts.items()), Decimal(0))
        step = Decimal(1) if all(beyond[one] == int(beyond[one]) for one in counts) else _CENTS
        text = format_number((total / sum(counts.values())).quantize(step, ROUND_HALF_UP, _EXACT))
    return dict.fromkeys(beyond, text)
