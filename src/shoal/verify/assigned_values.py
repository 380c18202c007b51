"""Whether the different values of a column were assigned, as numbers of people are, or measured.

Assigned are texts that nearly nobody shares and whole numbers that avoid each other: where so many people have
neighbouring numbers, some would have the same one by chance. Numbers with decimals, dates and times are measurements.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from shoal.verify.values import is_text

# Fewer different values tell nothing of a form.
FEWEST = 20
# Neighbours that are counted, and how many people would share a number where so many are neighbours: the chance that
# nobody does is e to the power of minus that.
_STEPS = 10
_SHARED, _SOME = 9 * math.log(10), 5.0
# Numbers of at least so many digits, of which there are so many, whose distance from an even spread over all numbers
# of that length (Kolmogorov and Smirnov) is less than chance gives one in twenty times, and than a small share.
_DIGITS, _EVEN, _EVEN_LIMIT, _EVENLY = 5, 50, 1.36, 0.15
# Cells of one form, but for slips.
_NEARLY = 0.95
# So many digits no measurement has; of two lengths at most, as leading zeros or area codes make them.
_LONG, _MOSTLY, _ROUND = 9, 0.8, 0.1
_DIALLED = r"^0\d{5,}$"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_YEAR = r"(1[89]|20)\d\d"
# Dates, months and times, alone or with a time behind; spans of years.
_DATE = (
    r"^(\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4}|\d{1,3}:\d\d(:\d\d([.,]\d+)?)?"
    rf"|(\d\d? )?\p{{L}}{{3,9}}\.?[ -]?(\d\d?,? )?{_YEAR}|\d{{4}} ?[QqMmWw]\d\d?|{_YEAR}[/–-](\d\d|{_YEAR})"
    r"|\d\d?[- .]\p{L}{3,9}\.?[- ]\d{2,4}|\d{4}[- ]\p{L}{3,9}\.?|\d\d?/\d\d?-(\d\d?/)?\d\d?/\d{2,4})"
    r"([T ,]+\d\d?[:.]\d\d.*)?$"
)
# Letters and so many digits, all of one length.
_CODE = r"^\p{L}+[-_/ ]?\d{4,}$"
# Groups with digits, or of a single letter, which names of people and streets do not have; and addresses of mail.
_IN_GROUPS = r"^((\S*\d\S*|\p{L}|[()+-]+)( +|$))+$|^[^\s@,;|]+@[^\s@,;|]+$"
_DIGIT_OR_MAIL = r"[\d@]"
# A serial number within a year, and two numbers beside each other, such as a blood pressure or a score.
_OF_YEAR = rf"^{_YEAR} ?[/–-] ?\d+$|^\d+ ?[/–-] ?{_YEAR}$"
_RATIO = r"^\d{1,4}([.,]\d+)? ?[/x:–-] ?\d{1,4}([.,]\d+)?$"
# Days with a time behind as one number, and seconds or milliseconds since 1970, of 1998 to 2036.
_TIMED = rf"^{_YEAR}(0[1-9]|1[0-2])([0-2]\d|3[01])([01]\d|2[0-3])[0-5]\d([0-5]\d)?$|^(9|1\d|20)\d{{8}}(\d{{3}})?$"
_YEARS = (1800, 2100)
_DATED = r"^\d{4}-\d\d-\d\d"


def is_assigned(texts: pl.Series, shared: float = 0.0, *, known: bool = False) -> bool:
    """Whether different values, as texts, were assigned to people.

    Parameters
    ----------
    shared
        Rows whose value somebody else has too, as a share of the different values.
    known
        Whether it is known that each value belongs to one person, so that some evidence of a form does.
    """
    cells = _cells(texts)
    if cells.len() < FEWEST or _most(cells, _DATE):
        return False
    if has_number_form(cells, shared, known=known):
        return True
    numbers = _most(cells, _RATIO) or _most(_bare(cells), _NUMBER)
    return not numbers and not _most(_bare(cells).str.replace_all(r"[\s_'%,$€£<>~+-]", ""), _NUMBER)


def has_number_form(texts: pl.Series, shared: float = 0.0, *, known: bool = False) -> bool:
    """Whether different values have the form of numbers that were assigned: codes, or whole numbers of one register."""
    cells = _cells(texts)
    if _most(cells, _CODE) and cells.str.len_chars().n_unique() == 1:
        return True
    if cells.len() < FEWEST or _most(cells, _DATE):
        return False
    bare = _bare(cells)
    if _most(bare, _NUMBER):
        return _are_numbers(bare, shared, _SOME if known else _SHARED)
    return _has_fixed_form(cells) or _most(cells, _OF_YEAR)


def are_codes(texts: pl.Series) -> bool:
    """Whether values are numbers, codes or addresses of mail, and neither names nor dates."""
    cells = texts.drop_nulls().str.strip_chars()
    if not len(cells) or _most(cells, _DATE) or not (_most(cells, _IN_GROUPS) and _most(cells, _DIGIT_OR_MAIL)):
        return False
    numbers = cells.cast(pl.Int64, strict=False)
    return bool(numbers.null_count()) or not _are_dates(numbers.to_numpy())


def _cells(texts: pl.Series) -> pl.Series:
    """Different cells, without blanks around them."""
    cells = texts.drop_nulls().str.strip_chars()
    return cells.filter(cells != "").unique()


def _bare(cells: pl.Series) -> pl.Series:
    """Cells without the letters that all of them begin or end with: a unit, or the letters of a code."""
    for pattern in (r"^\D*?\p{L}\D*", r"\s?[\p{L}%°]\D*$"):
        edge = cells.str.extract(f"({pattern})", 1)
        if edge.null_count() == 0 and edge.n_unique() == 1:
            cells = cells.str.replace(pattern, "")
    return cells


def _are_numbers(cells: pl.Series, shared: float, level: float) -> bool:
    """Whether numbers were assigned."""
    whole = cells.filter(cells.str.contains(r"^\d+$"))
    if whole.len() < _NEARLY * cells.len():
        return False
    lengths = whole.str.len_chars()
    if lengths.n_unique() == 1 and lengths[0] > 1 and whole.str.starts_with("0").any():
        return True
    if _most(whole, _DIALLED) or _are_long(whole, lengths):
        return True
    numbers = np.unique(whole.cast(pl.Int64, strict=False).drop_nulls().to_numpy())
    if len(numbers) < FEWEST or _are_dates(numbers):
        return False
    return _avoid_each_other(numbers, shared, level) or _fill_evenly(numbers)


def _are_long(whole: pl.Series, lengths: pl.Series) -> bool:
    """Whether whole numbers have more digits than measurements, as telephones do, or numbers that begin with a date."""
    common = lengths.value_counts(sort=True)["count"].head(2).sum()
    if common < _NEARLY * whole.len() or float((lengths >= _LONG).mean()) < _MOSTLY:  # type: ignore[arg-type]
        return False
    return float(whole.str.ends_with("00").mean()) < _ROUND and not _most(whole, _TIMED)  # type: ignore[arg-type]


def _are_dates(numbers: np.ndarray) -> bool:
    """Whether whole numbers are years, or days written as YYYYMMDD, YYMMDD or YYYYMM."""
    inside = [_YEARS[0] <= numbers, numbers <= _YEARS[1]]
    if np.mean(inside[0] & inside[1]) >= _NEARLY:
        return True
    month, day = numbers // 100 % 100, numbers % 100
    in_month = (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    days = in_month & (numbers // 10000 >= _YEARS[0]) & (numbers // 10000 <= _YEARS[1])
    # Two digits for the year: numbers that follow one another would leave the days of a month.
    short = in_month & (numbers >= 100_000) & (numbers < 1_000_000) & (len(np.unique(month)) > 1)
    months = (numbers // 100 >= _YEARS[0]) & (numbers // 100 <= _YEARS[1]) & (day >= 1) & (day <= 12)
    return any(bool(np.mean(found) >= _NEARLY) for found in (days, short, months))


def _avoid_each_other(numbers: np.ndarray, shared: float, level: float) -> bool:
    """Whether more people have neighbouring numbers than could be without sharing some, were they drawn by chance."""
    steps = np.diff(numbers)
    scaled = (numbers - numbers[0]) // np.gcd.reduce(steps)
    near = sum(int(np.isin(scaled + step, scaled, assume_unique=True).sum()) for step in range(1, _STEPS + 1))
    expected = near / _STEPS / 2
    return expected >= level and shared * len(numbers) < 0.2 * expected


def _fill_evenly(numbers: np.ndarray) -> bool:
    """Whether long numbers are spread evenly over all numbers of their length, as drawn ones are."""
    n, digits = len(numbers), len(str(numbers[0]))
    if n < _EVEN or digits < _DIGITS or digits != len(str(numbers[-1])) or numbers[0] < 0:
        return False
    low, high = 10 ** (digits - 1), 10**digits
    places = (numbers - low) / (high - low)
    ends = np.arange(1, n + 1) / n
    gap = max(float(np.max(ends - places)), float(np.max(places - ends + 1 / n)))
    return gap < min(_EVENLY, _EVEN_LIMIT / math.sqrt(n))


def _has_fixed_form(cells: pl.Series) -> bool:
    """Whether numbers in groups have one form and many digits, as numbers of insurances and telephones do."""
    forms = cells.str.replace_all(r"\d", "0").value_counts(sort=True)
    if forms["count"][0] < _NEARLY * cells.len():
        return False
    form = str(forms[forms.columns[0]][0])
    return form.count("0") >= 7 and "," not in form and "." not in form and bool(set(form) - {"0"})


def _most(cells: pl.Series, pattern: str) -> bool:
    return bool(cells.str.contains(pattern).mean() >= _NEARLY)  # type: ignore[operator]


def numbers_of(cells: pl.Series) -> pl.Series:
    """The numbers behind cells, days for dates, null for others."""
    kind = cells.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return cells.cast(pl.Float64).fill_nan(None)
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        return cells.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64) / 86_400_000_000
    if not is_text(kind):
        return pl.Series([None], dtype=pl.Float64).new_from_index(0, len(cells))
    texts = pl.col("text").str.strip_chars()
    days = texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")).dt.epoch("us")
    numbers = texts.str.contains(r"^[+-]?\d*\.?\d+([eE][+-]?\d+)?$")
    return cells.cast(pl.String).to_frame("text").select(
        pl.when(numbers).then(texts.cast(pl.Float64, strict=False))
        .when(texts.str.contains(_DATED)).then(days.cast(pl.Float64) / 86_400_000_000)
    ).to_series()  # fmt: skip


def shown_texts(cells: pl.Series) -> pl.Series:
    """Cells as texts that tell their form."""
    if cells.dtype.is_float():
        whole = (cells == cells.floor()) & cells.is_finite()
        digits = cells.set((~whole).fill_null(True), None).cast(pl.Int64, strict=False).cast(pl.String)
        return digits.fill_null(cells.cast(pl.String))
    return cells.cast(pl.String).str.slice(0, 64)
