"""How a column of text writes numbers, and which of its cells stand for missing ones."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shoal.io.cell_format import Notation

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
