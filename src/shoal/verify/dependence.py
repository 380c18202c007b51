"""How the values of a column fix other columns: a fold over batches of rows, of bounded memory.

Of each followed column the rows of a value are counted, and the smallest and the largest cell of the other columns
among them. From these follow how much less rows of one value differ than rows of different people do, and whether the
values are those of people. The same facts decide before a run and at the gate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.verify.tally import Counts
from shoal.verify.values import Coded, Held, add_counts, is_text, key_runs

# ----------------------------------------
# Whether the different values of a column were assigned, as numbers of people are, or measured.
#
# Assigned are texts that nearly nobody shares and whole numbers that avoid each other: where so many people have
# neighbouring numbers, some would have the same one by chance. Numbers with decimals, dates and times are
# measurements.


# Fewer different values tell nothing of a form.
FEWEST = 20
# Neighbours that are counted, and how many people would share a number where so many are neighbours: the chance that
# nobody does is e to the power of minus that.
_STEPS = 10
_SHARED, _SOME = 9 * math.log(10), 5.0
# Numbers of so many digits that are spread evenly over all numbers of that length.
_DIGITS, _EVEN, _EVEN_LIMIT, _EVENLY = 5, 50, 1.36, 0.15
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


# ----------------------------------------
# How far the rows of one value of a column lie apart in another column, compared with rows of different people.


# Sizes from here on count as this one: rows of so many people differ in whatever differs at all.
MOST = 64
_GRID = 256
_PARTS = ("rows", "known", "low", "high", "least", "most")


@dataclass(frozen=True, eq=False)
class Spread:
    """How far the rows of one value lie apart in another column, over all values of several rows.

    Attributes
    ----------
    share
        Observed spread, as a share of what rows of different people have: 0 where each value fixes the column.
    evidence
        -ln of the chance to see so little, were the two columns independent: Hoeffding's bound over disjoint pairs, or
        for numbers Fisher's method over the ranges of all values.
    by_value
        The same with one term a value, so that it is large only where there are many values.
    """

    share: float
    evidence: float
    by_value: float


@dataclass(frozen=True, eq=False)
class Ends:
    """The smallest and largest cell of every other column, for each of some values: as numbers, and as hashes.

    Attributes
    ----------
    rows
        Rows of each value.
    known
        Rows that have a number, by column.
    low, high
        Numbers, nan where there is none; one row a value, one column an other column.
    least, most
        Hashes, by which cells of any kind are the same or not.
    """

    rows: np.ndarray
    known: np.ndarray
    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def take(self, places: np.ndarray) -> Ends:
        """Some of the values."""
        return Ends(*(getattr(self, name)[places] for name in _PARTS))

    def together(self, groups: np.ndarray) -> tuple[Ends, np.ndarray]:
        """Values of one group as one, in the order of the groups, and the first value of each."""
        order = np.argsort(groups, kind="stable")
        begins = key_runs(groups[order])
        if not len(order):
            return self, order
        found = Ends(
            np.add.reduceat(self.rows[order], begins),
            np.add.reduceat(self.known[order], begins, axis=0),
            np.fmin.reduceat(self.low[order], begins, axis=0),
            np.fmax.reduceat(self.high[order], begins, axis=0),
            np.minimum.reduceat(self.least[order], begins, axis=0),
            np.maximum.reduceat(self.most[order], begins, axis=0),
        )
        return found, order[begins]


class Marginal:
    """How often the cells of a column occur, from a sample of rows."""

    def __init__(self, sample: Ends, at: int, *, numeric: bool) -> None:
        self.at, self.numeric = at, numeric
        cells = sample.low[:, at] if numeric else sample.least[:, at]
        self._ordered = np.sort(cells[~np.isnan(cells)] if numeric else cells)
        begins = key_runs(self._ordered)
        self.card = len(begins)
        self.shares = np.diff(begins, append=len(self._ordered)) / max(len(self._ordered), 1)

    def spread(self, ends: Ends) -> tuple[np.ndarray, np.ndarray]:
        """How far apart the cells of each value lie, and how many rows have one; of values with several such rows.

        That is the share of people between them, or 1 where they differ at all.
        """
        if not self.numeric:
            return self.differing(ends)
        several = ends.known[:, self.at] > 1
        low, high = ends.low[several, self.at], ends.high[several, self.at]
        return self._rank(high) - self._rank(low), ends.known[several, self.at]

    def differing(self, ends: Ends) -> tuple[np.ndarray, np.ndarray]:
        """Whether the cells of each value differ at all, and how many rows have one."""
        whole = ends.known[:, self.at] == ends.rows if self.numeric else np.ones(len(ends.rows), dtype=bool)
        return (ends.least[whole, self.at] != ends.most[whole, self.at]).astype(float), ends.rows[whole]

    def range_evidence(self, ends: Ends) -> float:
        """-ln of the chance that the ranges of all values are so narrow; 0 where cells are no numbers.

        The ranges of independent values have chances that are uniform or larger, so that the sum of their -ln is at
        most that of a gamma variable (Fisher's method), which Chernoff's bound is taken of.
        """
        if not self.numeric:
            return 0.0
        several = ends.known[:, self.at] > 1
        rows = np.minimum(ends.known[several, self.at], MOST)
        before = np.searchsorted(self._ordered, ends.low[several, self.at], side="left")
        through = np.searchsorted(self._ordered, ends.high[several, self.at], side="right")
        wide = np.maximum((through - before) / max(len(self._ordered), 1), 1e-9)
        # Of so many numbers between 0 and 1, the chance that their range is at most this.
        chance = np.minimum(wide ** (rows - 1) * (rows - (rows - 1) * wide), 1.0)
        total, count = float(-np.log(chance).sum()), len(rows)
        return total - count - count * math.log(total / count) if total > count > 0 else 0.0

    def _rank(self, numbers: np.ndarray) -> np.ndarray:
        before = np.searchsorted(self._ordered, numbers, side="left")
        through = np.searchsorted(self._ordered, numbers, side="right")
        return (before + through) / (2 * max(len(self._ordered), 1))

    @cached_property
    def by_chance(self) -> np.ndarray:
        """The expected spread of so many rows of different people, by their number."""
        sizes = np.arange(MOST + 1)[:, None]
        if not self.numeric:
            return 1.0 - (self.shares**sizes).sum(axis=1)
        ends = np.cumsum(self.shares)
        if len(ends) > _GRID:
            ends = ends[np.linspace(0, len(ends) - 1, _GRID).astype(int)]
        starts = np.concatenate([[0.0], ends[:-1]])
        middle = (starts + ends) / 2
        highest = (middle * (ends**sizes - starts**sizes)).sum(axis=1)
        lowest = (middle * ((1 - starts) ** sizes - (1 - ends) ** sizes)).sum(axis=1)
        return np.maximum(highest - lowest, 0.0)


def spread_of(ends: Ends, column: Marginal) -> Spread:
    """How far rows of one value lie apart in a column."""
    spread, rows = column.spread(ends)
    expected = float(column.by_chance[np.minimum(rows, MOST)].sum())
    apart, differ = (spread, rows, column.by_chance[2]), (*column.differing(ends), 1 - (column.shares**2).sum())
    return Spread(
        share=float(spread.sum()) / expected if expected > 0 else 1.0,
        evidence=max(_of_pairs(*apart), _of_pairs(*differ), column.range_evidence(ends)),
        by_value=_evidence(float(spread.sum()), expected, len(rows)),
    )


def concat_ends(parts: Sequence[Ends]) -> Ends:
    if len(parts) == 1:
        return parts[0]
    return Ends(*(np.concatenate([getattr(part, name) for part in parts]) for name in _PARTS))


def _of_pairs(spread: np.ndarray, rows: np.ndarray, by_chance: float) -> float:
    """-ln of the chance that disjoint pairs of the rows of all values lie so close."""
    pairs = rows // 2
    count = int(pairs.sum())
    return _evidence(float((spread * pairs).sum()), by_chance * count, count)


def _evidence(seen: float, expected: float, count: int) -> float:
    """-ln of the chance that a sum of so many independent numbers of 0 to 1 is so small (Hoeffding)."""
    if seen >= expected or not count:
        return 0.0
    low, mean = seen / count, min(expected / count, 1 - 1e-9)
    return count * ((low * math.log(low / mean) if low > 0 else 0.0) + (1 - low) * math.log((1 - low) / (1 - mean)))


# The largest spread of rows that lie close together, of what chance gives.
CLOSE = 0.5
# Values of a column that are followed, and rows that tell how often cells occur by chance.
VALUES, ROWS = 1 << 14, 1 << 14
# Rows of a batch that are looked at for a column, as far as values are then left; and which rows of a value that has
# very many: one in so many, so that sizes above `MOST` stay there.
_BUDGET, _ENOUGH, _EVERY = 1 << 15, 1 << 12, 33
# Of what chance gives, the largest spread of rows that a value fixes, and the level of every test: one in 10 ** 9.
FIXED, LEVEL = 0.1, 9 * math.log(10)
# Cells that at most so many pairs of different values share tell the people behind the values apart.
_RARE = 0.1
# The largest spread that is called much finer or computed, and rows of neighbouring values that are taken together.
FINER, _TOGETHER = 0.2, 5
# A column is redundant where another one fixes it among people: a city its region.
_REDUNDANT, _LITTLE = 0.3, 3.0
# Ranks that agree so well, or cells that nobody shares, belong to a copy.
_COPIED = 0.9
# Strata: most combinations of what they fix occur, and each is one of them.
_CROSSED = 0.8
# Strata differ from each other, but for slips; of so many people that share combinations by chance a third do.
_APART = 0.9


class Dependence:
    """The columns of a table: values of ``followed`` columns, and what they fix among ``others``.

    A batch may have more columns, and all batches have the same. Memory is `VALUES` values of each followed column,
    chosen by their hashes so that all rows of a value are counted or none, and `ROWS` rows. Of ``counted`` columns the
    rows of every value are counted, which takes 16 bytes a value.
    """

    def __init__(self, followed: Sequence[str], others: Sequence[str], counted: Collection[str] = ()) -> None:
        self._columns = {name: _Followed(Counts() if name in counted else None) for name in followed}
        self._others = list(dict.fromkeys(others))
        self._numeric = np.ones(len(self._others), dtype=bool)
        self._sample: list[Ends] = []
        self._rows, self._step = 0, 1

    def see(self, batch: Coded) -> None:
        """Take in a batch of rows."""
        height = batch.frame.height
        cells = self._cells(batch)
        for name, values in self._columns.items():
            values.see(batch[name], cells)
        while height > ROWS * self._step:
            self._halve()
        self._sample.append(cells.take(np.arange(-self._rows % self._step, height, self._step)))
        self._rows += height
        while sum(len(part.rows) for part in self._sample) > ROWS:
            self._halve()

    def _halve(self) -> None:
        """Keep every second row of the sample, and of what follows."""
        if self._sample:
            whole = concat_ends(self._sample)
            self._sample = [whole.take(np.arange(0, len(whole.rows), 2))]
        self._step *= 2

    def _cells(self, batch: Coded) -> _Cells:
        """Look up the number and the hash of every different cell; a column is numeric while all of its cells are."""
        codes, numbers, hashes = [], [], []
        for at, name in enumerate(self._others):
            held = batch[name]
            found = numbers_of(held.distinct)
            self._numeric[at] &= found.null_count() == held.distinct.null_count()
            codes.append(held.codes)
            numbers.append(found.to_numpy())
            hashes.append(held.distinct.hash(0).to_numpy().view(np.int64))
        return _Cells(codes, numbers, hashes)

    def values(self, name: str) -> Values:
        """What was found of a followed column."""
        others = {other: one for other, one in self._marginals.items() if other != name}
        return Values(self._columns[name], others)

    @cached_property
    def _marginals(self) -> dict[str, Marginal]:
        sample = concat_ends(self._sample)
        found = [Marginal(sample, at, numeric=bool(self._numeric[at])) for at in range(len(self._others))]
        # What everybody shares tells nothing.
        return {name: one for name, one in zip(self._others, found, strict=True) if one.by_chance[2] > 0}


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of the other columns in a batch: a code for each row, and the number and hash of each code."""

    codes: Sequence[np.ndarray]
    numbers: Sequence[np.ndarray]
    hashes: Sequence[np.ndarray]

    def take(self, rows: np.ndarray) -> Ends:
        """Build the ends of single rows."""
        numbers = np.full((len(rows), len(self.codes)), np.nan)
        hashes = np.zeros(numbers.shape, dtype=np.int64)
        for at, codes in enumerate(self.codes):
            there = codes[rows]
            numbers[:, at], hashes[:, at] = self.numbers[at][there], self.hashes[at][there]
        known = (~np.isnan(numbers)).astype(np.int32)
        return Ends(np.ones(len(rows), dtype=np.int64), known, numbers, numbers, hashes, hashes)


class _Followed:
    """Values of one column."""

    def __init__(self, counts: Counts | None) -> None:
        self._counts = counts
        self.limit = 1 << 64
        self.known = 0
        self._hashes: list[np.ndarray] = []
        self._ends: list[Ends] = []
        self._shown: list[pl.Series] = []

    def see(self, held: Held, cells: _Cells) -> None:
        """Take in the cells of a batch."""
        there = held.distinct.is_not_null().to_numpy()
        hashes = held.distinct.hash(1).to_numpy()
        self.known += int(held.rows[there].sum())
        if self._counts is not None:
            # Without the last bit, a hash is a whole number from 0 on, which is sorted instead of hashed again.
            halves = (hashes[there] >> np.uint64(1)).astype(np.int64)
            self._counts.add(add_counts(pl.DataFrame({"hash": halves, "rows": held.rows[there]})))
        self._narrow(hashes[there], held.rows[there])
        near = there & (hashes <= np.uint64(self.limit - 1))
        frequent = held.rows > MOST * _EVERY
        rows = np.flatnonzero((near & ~frequent)[held.codes])
        if (near & frequent).any():
            rows = np.concatenate([rows, np.flatnonzero((near & frequent)[held.codes])[::_EVERY]])
        ends, first = cells.take(rows).together(held.codes[rows])
        codes = held.codes[rows][first]
        self._hashes.append(hashes[codes])
        self._ends.append(replace(ends, rows=held.rows[codes]))
        self._shown.append(shown_texts(held.distinct.gather(codes)))
        if sum(map(len, self._hashes)) > 2 * VALUES:
            self._fit()

    def _narrow(self, hashes: np.ndarray, rows: np.ndarray) -> None:
        """Follow fewer values where those of a batch are too many, or have too many rows."""
        if len(hashes) <= _ENOUGH:
            return
        order = np.argsort(hashes)
        spent = np.cumsum(np.minimum(rows[order], MOST * _EVERY))
        most = min(max(int(np.searchsorted(spent, _BUDGET)), _ENOUGH), VALUES)
        if most < len(order):
            self.limit = min(self.limit, int(hashes[order[most - 1]]) + 1)

    def _fit(self) -> None:
        """Put parts together, and follow fewer values where there are too many."""
        if len(self._hashes) > 1:
            hashes, shown = np.concatenate(self._hashes), pl.concat(self._shown)
            ends, first = concat_ends(self._ends).together(hashes)
            self._hashes, self._ends, self._shown = [hashes[first]], [ends], [shown.gather(first)]
        if self._hashes and len(self._hashes[0]) > VALUES:  # in ascending order, put together
            keep = np.arange(VALUES)
            self.limit = int(self._hashes[0][VALUES - 1]) + 1
            self._hashes, self._ends = [self._hashes[0][keep]], [self._ends[0].take(keep)]
            self._shown = [self._shown[0].gather(keep)]

    @property
    def most(self) -> int | None:
        """Rows of the most frequent value, None where not all values are counted."""
        if self._counts is None:
            return None
        counted = self._counts.counted()
        return int(counted["rows"].max()) if counted.height else 0  # type: ignore[arg-type]

    def found(self) -> tuple[Ends | None, pl.Series]:
        """Every value that is followed, and how it is written."""
        self._fit()
        return (self._ends[0], self._shown[0]) if self._ends else (None, pl.Series([], dtype=pl.String))


class Values:
    """The values of one column, and what they fix.

    Attributes
    ----------
    shown
        How each is written.
    known
        Rows that have one.
    share
        Share of all values that are followed.
    most
        Rows of the most frequent value; where values are not counted, of those that are followed.
    """

    def __init__(self, column: _Followed, marginals: dict[str, Marginal]) -> None:
        self._ends, self.shown = column.found()
        self.known, self.share, self._marginals = column.known, column.limit / 2.0**64, marginals
        counted, followed = column.most, 0 if self._ends is None else int(self._ends.rows.max(initial=0))
        self.most = followed if counted is None else counted

    @property
    def count(self) -> int:
        """How many values are followed."""
        return len(self.shown)

    @cached_property
    def repeated(self) -> Ends | None:
        """Values of several rows, None where there are none."""
        several = np.arange(0) if self._ends is None else np.flatnonzero(self._ends.rows > 1)
        return None if self._ends is None or not len(several) else self._ends.take(several)

    @property
    def own(self) -> float:
        """Share of the rows that have a value of their own."""
        alone = 0 if self._ends is None else int((self._ends.rows == 1).sum())
        return alone / self.share / max(self.known, 1)

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """How far the rows of one value lie apart, by column."""
        repeated = self.repeated
        return {} if repeated is None else {name: spread_of(repeated, one) for name, one in self._marginals.items()}

    @property
    def are_categories(self) -> bool:
        """Whether values are texts that are no numbers."""
        return self._numbers.null_count() > 0

    def fixes(self, name: str, most: float = FINER) -> bool:
        """Whether the values fix a column, or leave a small part of its range, over rows of different people.

        Of ordered values that hardly repeat, those that follow one another are taken together.

        Parameters
        ----------
        most
            The largest spread, as a share of what chance gives.
        """
        return name in self._marginals and any(
            found.share <= most and found.evidence >= LEVEL
            for ends in (self.repeated, self._neighbours)
            if ends is not None
            for found in [spread_of(ends, self._marginals[name])]
        )

    @cached_property
    def _numbers(self) -> pl.Series:
        return numbers_of(self.shown)

    @cached_property
    def _neighbours(self) -> Ends | None:
        """Values that follow one another, as few together as have several rows; None where they are no numbers."""
        numbers = self._numbers
        if self._ends is None or numbers.null_count():
            return None
        ordered = self._ends.take(np.argsort(numbers.to_numpy(), kind="stable"))
        found, _ = ordered.together((np.cumsum(ordered.rows) - 1) // _TOGETHER)
        return found.take(np.flatnonzero(found.rows > 1))

    def open(self, names: Sequence[str]) -> list[str]:
        """Some columns, where rows of one value lie more than half as far apart as those of different people."""
        return [name for name in names if name in self.spreads and self.spreads[name].share > CLOSE]

    def _fixed(self, names: Collection[str], *, shared: bool) -> list[str]:
        """Some columns that the values fix, but are not computed from."""
        fixed = [name for name, one in self.spreads.items() if one.share <= FIXED and name in names]
        return [name for name in fixed if not self._copies(name) and (self._is_shared(name) or not shared)]

    def tell_apart(self, names: Sequence[str]) -> bool:
        """Whether rows of one value agree nearly always in what different values rarely share: they are of one person.

        People of one name share their sex, and perhaps more, but not their exact age or their place as well.
        """
        fixed = [name for name in self._fixed(names, shared=False) if not self._is_of_neighbours(name)]
        if sum(self.spreads[name].evidence for name in fixed) < LEVEL:
            return False
        cells = self._cells(fixed)
        _, shares = np.unique(cells, axis=0, return_counts=True)
        pairs = len(cells) * (len(cells) - 1)
        return int((shares * (shares - 1)).sum()) <= _RARE * pairs

    def fix_one(self, names: Sequence[str]) -> bool:
        """Whether the values fix one of some columns at least, whose cells several of them share."""
        return any(self.spreads[name].by_value >= LEVEL for name in self._fixed(names, shared=True))

    def numbers_people(self, *, shared: bool) -> bool:
        """Whether the values are numbers of people: over their rows each fixes columns that do not fix each other.

        Parameters
        ----------
        shared
            Whether these are to be columns whose cells several people share; what nobody shares may be a copy.
        """
        fixed = self._fixed(self.spreads, shared=shared)
        own = [name for name in fixed if not any(self._follows(name, other) for other in fixed if other != name)]
        if len(own) < 2 or sum(self.spreads[name].by_value for name in own) < LEVEL:
            return False
        crossed = math.prod(self._marginals[name].card for name in fixed)
        # More values than combinations are people of whom several have the same one, and so are fewer that share some.
        return not _CROSSED * crossed <= self.count / self.share <= crossed or self._share_combinations(fixed)

    def _cells(self, names: Sequence[str]) -> np.ndarray:
        """Cells of some columns, of each value with several rows."""
        repeated = self.repeated
        assert repeated is not None
        return repeated.least[:, [self._marginals[name].at for name in names]]

    def _share_combinations(self, names: Sequence[str]) -> bool:
        """Whether several values have the same cells in some columns, which are then not what the values stand for."""
        cells = self._cells(names)
        return len(np.unique(cells, axis=0)) < _APART * len(cells)

    def _copies(self, name: str) -> bool:
        """Whether a column rises or falls with the values, as what is computed from them does."""
        numbers, column = self._numbers, self._marginals[name]
        if self._ends is None or not column.numeric or numbers.null_count():
            return False
        there = ~np.isnan(self._ends.low[:, column.at])
        ranks = [np.argsort(np.argsort(one[there])) for one in (numbers.to_numpy(), self._ends.low[:, column.at])]
        return len(ranks[0]) > 2 and abs(float(np.corrcoef(ranks[0], ranks[1])[0, 1])) > _COPIED

    def _is_of_neighbours(self, name: str) -> bool:
        """Whether values that follow one another share a column, as dates of birth share an age or a group of ages."""
        if self._ends is None or self._numbers.null_count():
            return False
        ordered = _one_row_each(self._ends).take(np.argsort(self._numbers.to_numpy(), kind="stable"))
        pairs, _ = ordered.together(np.arange(len(ordered.rows)) // 2)
        return spread_of(pairs.take(np.flatnonzero(pairs.rows > 1)), self._marginals[name]).share <= FINER

    def _is_shared(self, name: str) -> bool:
        """Whether several values have the same cell of a column, one with another."""
        cells = self._cells([name])
        return len(np.unique(cells)) < _COPIED * len(cells)

    def _follows(self, name: str, other: str) -> bool:
        """Whether, with each value as one person, another column fixes this one, and not the reverse."""
        forth, back = self._among_people(name, other), self._among_people(other, name)
        return forth < _REDUNDANT and (forth < back or (forth == back and name > other))

    def _among_people(self, name: str, other: str) -> float:
        """Spread of a column among people that share a cell of another one; 1 where too few do."""
        repeated = self.repeated
        assert repeated is not None
        shared, _ = _one_row_each(repeated).together(repeated.least[:, self._marginals[other].at])
        shared = shared.take(np.flatnonzero(shared.rows > 1))
        found = spread_of(shared, self._marginals[name])
        return found.share if found.evidence >= _LITTLE else 1.0


def _one_row_each(ends: Ends) -> Ends:
    """Take each value as one person with one row."""
    known = np.minimum(ends.known, 1)
    return replace(ends, rows=np.ones_like(ends.rows), known=known, high=ends.low, most=ends.least)
