"""What a column holds: its type, how it is written, what is missing, how many values there are, what they look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from shoal.data.dates import look_at
from shoal.data.values import format_number
from shoal.io.cell_format import Notation
from shoal.recipe import value_patterns
from shoal.recipe.value_patterns import kind_of_name

# ----------------------------------------
# How a column of text writes numbers, and which of its cells stand for missing ones.


PLAIN = Notation()
# In this order; a notation is taken where every cell is a number of it.
_CANDIDATES = (
    Notation(decimal=","),
    Notation(thousands=","),
    *(Notation(thousands=mark) for mark in ("'", "’", " ", "\u00a0", "\u202f")),
    *(Notation(decimal=",", thousands=mark) for mark in (".", " ", "\u00a0", "\u202f", "'", "’")),
)
_THREE = r"^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$"
_SHORT = r"^[+-]?\d{1,3}$"

# What means "missing" wherever it stands, and what does so in a column of numbers or dates.
ALWAYS = frozenset(
    ["na", "n/a", "#n/a", "#na", "nan", "null", "nil", "?", "??", "-", "--", "---", ".", "..", "k.a.", "k. a.",
     "missing", "#null!", "#value!", "#ref!", "#div/0!", "not available", "n. a.", "n.a.", "<na>", "(null)", "entf.",
     "entfällt"]
)  # fmt: skip
AMONG_NUMBERS = frozenset(
    ["unknown", "unbekannt", "unk", "keine angabe", "keine angaben", "nicht bekannt", "nicht erhoben", "none", "keine",
     "refused", "verweigert", "weiß nicht", "weiss nicht", "don't know", "dk", "x", "xx", "xxx", "not known", "offen",
     "fehlt", "ohne", "not recorded", "not done", "n.b.", "nb", "tbd"]
)  # fmt: skip
_UNKNOWN = frozenset(
    ["unknown", "unbekannt", "keine angabe", "keine angaben", "nicht bekannt", "not known", "refused", "verweigert",
     "weiß nicht", "weiss nicht", "don't know", "no answer"]
)  # fmt: skip
_SENTINELS = tuple(
    map(float, (-1, -2, -7, -8, -9, -77, -88, -97, -98, -99, -999, -9999, 99, 999, 9999, 99999, 999999))
)
_BEYOND = 3
_FEWEST = 2
_CODES = r"^\p{Lu}{2}$"


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """How numbers are written; ``either`` where two notations would do, each with its words."""

    notation: Notation = PLAIN
    either: tuple[tuple[str, Notation], ...] = ()


def numbers_of(cells: pl.Series, given: Notation = PLAIN, comma: bool = False) -> Numbers | None:
    """How different cells write numbers; None where they are no numbers.

    Parameters
    ----------
    given
        How the file writes them, where somebody said so.
    comma
        Whether another column of the file has a decimal comma, so that a point may stand between thousands.
    """
    if cells.is_empty() or cells.str.contains(r"^[+-]?0\d").any():
        return None
    if not given.plain and cells.str.contains(given.pattern).all():
        return Numbers(notation=given)
    if cells.cast(pl.Float64, strict=False).null_count() == 0:
        if cells.str.contains(r"(?i)^[+-]?(?:inf|nan)").any():
            return None
        grouped = cells.str.contains(_THREE)
        if comma and grouped.any() and (grouped | cells.str.contains(_SHORT)).all():
            pointed = Notation(decimal=",", thousands=".")
            return Numbers(either=(("points between thousands", pointed), ("decimal points", PLAIN)))
        return Numbers()
    fitting = [one for one in _CANDIDATES if cells.str.contains(one.pattern).all()]
    if not fitting:
        return None
    if fitting[0] == _CANDIDATES[0] and _CANDIDATES[1] in fitting:
        words = ("decimal commas", "commas between thousands")
        return Numbers(notation=fitting[0], either=tuple(zip(words, _CANDIDATES[:2], strict=True)))
    return Numbers(notation=fitting[0])


def markers_of(cells: pl.Series, others_are_values: bool) -> list[str]:
    """Different texts of a column that stand for a missing value.

    Parameters
    ----------
    others_are_values
        Whether all other cells are numbers or dates, among which a word for "unknown" says nothing.
    """
    known = ALWAYS | AMONG_NUMBERS if others_are_values else ALWAYS
    found = [text for text in cells.to_list() if text.casefold() in known]
    # Where all others are codes of two letters, NA is Namibia.
    others = cells.filter(~cells.is_in(found))
    if "NA" in found and others.len() > 2 and others.str.contains(_CODES).all():
        found.remove("NA")
    return sorted(found)


def non_answers_of(cells: pl.Series) -> list[str]:
    """Different texts that say that nothing is known."""
    return sorted(text for text in cells.to_list() if text.casefold() in _UNKNOWN)


def words_among(cells: pl.Series) -> pl.Series:
    """Different texts without those that may stand for a missing value."""
    return cells.filter(~cells.str.to_lowercase().is_in(list(ALWAYS | AMONG_NUMBERS)))


def sentinels_of(numbers: pl.DataFrame) -> list[float]:
    """Numbers that stand for a missing value: far from all others, and what people write for it.

    Parameters
    ----------
    numbers
        Different numbers, ``value``, and how many ``rows`` have each.
    """
    is_one = pl.col("value").is_in(_SENTINELS)
    mine, others = numbers.filter(is_one), numbers.filter(~is_one)
    if mine.is_empty() or others.height < 3:
        return []
    often = dict(zip(mine["value"].to_list(), mine["rows"].to_list(), strict=True))
    low, high = float(others["value"].min()), float(others["value"].max())  # type: ignore[arg-type]
    return [
        sentinel for sentinel in _SENTINELS
        if often.get(sentinel, 0) >= _FEWEST
        and ((sentinel < 0 <= low) or (sentinel > 0 and sentinel >= _BEYOND * high > 0))
    ]  # fmt: skip


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
    look: value_patterns.Look = field(default_factory=value_patterns.Look)
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
        As for :func:`shoal.recipe.column_profile.numbers_of`.
    order
        Labels of its values, in their order, where the file has some.
    """
    counted = series.alias("value").drop_nulls().value_counts(name="rows")
    if series.dtype == pl.String:
        found = _of_text(series, counted, given, comma)
    elif series.dtype.is_numeric():
        look = value_patterns.numbers_look(counted["value"]) if _is_whole(counted) else None
        found = _of_numbers(series.name, counted, look)
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
        name, left, type="numeric", look=value_patterns.Look(direct=direct), whole=_is_whole(left), markers=marked,
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
        direct = value_patterns.numbers_look(texts)
        return _of_numbers(series.name, read, direct, numbers=numbers, markers=markers, missing=gone, **_shape(texts))
    dated = _of_dates(series.name, counted, values)
    if dated is not None:
        return dated
    left, markers, gone = _without(counted, False)
    digits = left.height > 0 and bool(left["value"].str.contains(r"^\d+$").all())
    return _made(
        series.name, left, type="categorical", look=value_patterns.look(left["value"]), markers=markers, missing=gone,
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
