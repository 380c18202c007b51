"""Find identifiers in the cells of their own rows, and identifier columns by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.folding import cell_texts, dates
from shoal.verify.identifier_scan import FreeText, Names
from shoal.verify.identifier_words import LEVEL, Hidden, Owners, is_excess
from shoal.verify.report import Check
from shoal.verify.values import Coded, Held

_WORD = r"[\p{L}\p{N}]+"
# Numbers that count on in both columns, as rows and days of a month do, differ by the same again and again: so far
# apart such differences are looked for, and so unlikely it is that some difference comes too often by chance.
_REACH, _COUNTING = 1 << 12, 1e-2
# A column that holds nothing but the identifiers of its rows repeats them, if so many people have one.
_SEVERAL = 4
# A column of dates holds nothing else in so many of its cells.
_NEARLY_ALL = 0.9
# How identifiers are looked for: texts by their words, dates in any spelling, and the rest by the whole cell.
_WORDS, _DATES, _VALUES = "words", "dates", "values"
_Keys = Mapping[str, pl.DataFrame]


class OwnIdentifiers:
    """Search for each row's identifiers in the cells of the same row, batch by batch.

    A text of at least three characters with a letter fails when its words stand in a text cell of its row, and a date
    when the cell holds it in any usual spelling. Where cells hold those of other rows too, as occupations may hold
    surnames, they fail only when chance does not explain how often it is their own. Other identifiers, short numbers
    above all, fail by that test, or when the column holds nothing else; so do dates in a column of dates.

    Parameters
    ----------
    hidden
        The identifiers of all input rows.
    """

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden
        self._known: dict[str, _Keys] = {}
        self._filled: Counter[str] = Counter()
        # Cells that are a date and nothing else, and those that hold a date among other words.
        self._dates: Counter[str] = Counter()
        self._dated: Counter[str] = Counter()
        self._meetings: dict[tuple[str, str, str], _Meetings] = {}

    def see(self, released: Coded, identifiers: Sequence[pl.Series]) -> None:
        """Compare the rows of a batch with their identifiers, which are aligned with them."""
        if not identifiers:
            return
        for one in identifiers:
            if one.name not in self._known:
                self._known[one.name] = _owner_keys(self._hidden.owners(one.name))
        cells = _Cells(released, {way for known in self._known.values() for way in known})
        for name in released.frame.columns:
            self._filled[name] += cells.filled(name)
            alone, among = cells.dated(name)
            self._dates[name] += alone
            self._dated[name] += among
        for one in identifiers:
            self._see(one, cells)

    def _see(self, identifier: pl.Series, cells: _Cells) -> None:
        """Compare the rows with one of their identifiers."""
        own = cell_texts(identifier)
        shares, numbers = np.empty(0), np.empty(0)
        owners = self._hidden.owners(identifier.name)
        for way, mine in _identifier_keys(own, owners.kind).items():
            near = mine.join(cells.heard(way), on="key", how="semi")
            known = self._known[identifier.name].get(way, near.select("key", many=pl.lit(1, pl.UInt32))[:0])
            known = known.join(cells.heard(way), on="key", how="semi")
            # Rows that come with a release are looked at even where the first pass did not read them.
            unread = near.join(known, on="key", how="anti").select(pl.col("key").unique(), many=pl.lit(1, pl.UInt32))
            known = pl.concat([known, unread])
            if not known.height:
                continue
            shares = shares if len(shares) else owners.shares(own)
            numbers = _whole(own) if way == _VALUES else numbers
            for name, keys in cells.keys(way).items():
                reach = cells.reach(name, keys.join(known, on="key"))
                if not reach.any():
                    continue
                hit = cells.hits(name, keys, near, own if way == _WORDS else None)
                found = self._meetings.setdefault((identifier.name, name, way), _Meetings())
                found.see(hit, reach, shares, max(len(owners.texts), 1))
                if way == _VALUES:
                    found.see_apart(numbers - cells.numbers(name), shares)

    def check(self) -> Check:
        """Judge what all batches hold."""
        if not self._known:
            return Check(name="identifier values", passed=True, detail="The input has no identifier.")
        level = LEVEL / max(len(self._meetings), 1)
        problems = []
        for name in self._known:
            mine = {column: self._contained(name, column, level) for column in self._filled}
            problems += [
                f"{rows:,} cells of '{column}' hold their row's '{name}'" for column, rows in mine.items() if rows
            ]
            often = [column for column in self._filled if self._repeats(name, column, level)]
            problems += [f"'{column}' repeats '{name}' more often than chance" for column in often]
        detail = (
            f"Identifiers are left in the release: {'; '.join(problems)}."
            if problems
            else "No identifier value stands in a cell of its own row."
        )
        return Check(name="identifier values", passed=not problems, detail=detail)

    def _contained(self, name: str, column: str, level: float) -> int:
        """Count rows whose cell holds their identifier in words or as a date; 0 when chance explains it."""
        ways = [_WORDS] if self._is_of_dates(column) else [_WORDS, _DATES]
        met = [self._meetings.get((name, column, way)) for way in ways]
        return sum(one.rows for one in met if one is not None and (not one.strangers or one.is_excess(level)))

    def _repeats(self, name: str, column: str, level: float) -> bool:
        ways = [_VALUES, _DATES] if self._is_of_dates(column) else [_VALUES]
        met = [self._meetings.get((name, column, way)) for way in ways]
        return any(
            one.is_excess(level) or (one.hits >= _SEVERAL and one.rows == self._filled[column])
            for one in met
            if one is not None
        )

    def _is_of_dates(self, column: str) -> bool:
        """Whether cells that hold a date hold nothing else, and are most of a column: then dates meet by chance."""
        return not self._dated[column] and self._dates[column] >= _NEARLY_ALL * self._filled[column]


class _Cells:
    """The different cells of a batch, by column, and the keys by which identifiers are looked for in them."""

    def __init__(self, released: Coded, ways: set[str]) -> None:
        self._held = {
            name: Held(released[name].codes, cell_texts(released[name].distinct)) for name in released.frame.columns
        }
        texts = [name for name in self._held if not released[name].distinct.dtype.is_numeric()]
        self._keys: dict[str, dict[str, pl.DataFrame]] = {way: {} for way in (_WORDS, _DATES, _VALUES)}
        for name, held in self._held.items():
            cells = held.distinct.to_frame("key").with_row_index("place").drop_nulls()
            self._keys[_VALUES][name] = cells
            if name in texts and _WORDS in ways:
                split = cells.lazy().with_columns(pl.col("key").str.extract_all(_WORD)).explode("key").drop_nulls()
                self._keys[_WORDS][name] = split.unique().collect()
            if _DATES in ways:
                self._keys[_DATES][name] = dates(held.distinct)
        self._numeric = {name for name in self._held if name not in texts}
        self._heard = {way: _unique_keys(list(keys.values())) for way, keys in self._keys.items()}

    def keys(self, way: str) -> _Keys:
        """The keys of every column: ``place`` of a cell among the different ones, and ``key``."""
        return self._keys[way]

    def heard(self, way: str) -> pl.DataFrame:
        """The keys of all columns, each once."""
        return self._heard[way]

    def reach(self, name: str, met: pl.DataFrame) -> np.ndarray:
        """Count for every row the identifiers that would be found in its cell, whoever's they are."""
        held = self._held[name]
        many = np.bincount(met["place"].to_numpy(), weights=met["many"].to_numpy(), minlength=len(held.distinct))
        return many[held.codes]

    def hits(self, name: str, keys: pl.DataFrame, rows: pl.DataFrame, own: pl.Series | None) -> np.ndarray:
        """Find the rows whose own key is one of their cell's; of texts, those whose cell has all words of them."""
        held = self._held[name]
        asked = rows.with_columns(cell=pl.lit(pl.Series(held.codes[rows["place"].to_numpy()]).cast(pl.UInt32)))
        met = asked.join(keys, left_on=["cell", "key"], right_on=["place", "key"], how="semi").unique("place")
        if own is not None:
            pairs = pl.DataFrame({"own": own.gather(met["place"]), "text": held.distinct.gather(met["cell"])})
            met = met.filter(_whole_words(pairs))
        return met["place"].to_numpy()

    def filled(self, name: str) -> int:
        """Count the rows with a cell."""
        held = self._held[name]
        return int(held.rows[held.distinct.is_not_null().to_numpy()].sum())

    def dated(self, name: str) -> tuple[int, int]:
        """Count the rows whose cell is a date and nothing else, as all numbers are, and those with one in a text."""
        found = self._keys[_DATES].get(name)
        if found is None or name in self._numeric:
            return (self.filled(name), 0)
        rows = self._held[name].rows
        alone, among = (found.filter(one)["place"].unique() for one in (pl.col("alone"), ~pl.col("alone")))
        return int(rows[alone.to_numpy()].sum()), int(rows[among.to_numpy()].sum())

    def numbers(self, name: str) -> np.ndarray:
        """The whole number in the cell of every row, nan where there is none."""
        held = self._held[name]
        return _whole(held.distinct)[held.codes]


class _Meetings:
    """How often the identifiers of a column meet the cells of another in their own rows.

    Attributes
    ----------
    rows, strangers
        Rows whose cell holds their own identifier, and other rows whose cell holds somebody's.
    hits
        Owners that are hit, each by the part of its rows.
    """

    def __init__(self) -> None:
        self.rows = self.strangers = 0
        self.hits = self._expected = 0.0
        self._apart = np.zeros(2 * _REACH + 1)

    def see(self, hit: np.ndarray, reach: np.ndarray, shares: np.ndarray, owners: int) -> None:
        """Count rows that are hit, and what chance would bring."""
        self.rows += len(hit)
        self.strangers += int(np.count_nonzero(reach)) - len(hit)
        self.hits += float(shares[hit].sum())
        self._expected += float(shares @ reach) / owners

    def see_apart(self, apart: np.ndarray, shares: np.ndarray) -> None:
        """Count differences of identifiers and cells, other than none."""
        near = np.flatnonzero((np.abs(apart) <= _REACH) & (apart != 0))
        places = (apart[near] + _REACH).astype(np.int64)
        self._apart += np.bincount(places, weights=shares[near], minlength=len(self._apart))

    def is_excess(self, level: float) -> bool:
        """Decide whether neither chance explains the hits, nor numbers that count on."""
        if not is_excess(self.hits, self._expected, level):
            return False
        farthest = int(np.abs(np.flatnonzero(self._apart) - _REACH).max(initial=0))
        differences, other = 2 * farthest + 1, float(self._apart.max())
        usual = max(self._expected, float(self._apart.sum()) / differences)
        # Where some other difference comes again and again, equal numbers have to be more than those.
        counting = is_excess(other, usual, _COUNTING / differences)
        return not counting or is_excess(self.hits, other, level)


def check_identifier_names(columns: Sequence[str], manifest: Mapping[str, Any], identifiers: Sequence[str]) -> Check:
    """Look for identifier columns by name in the release and in the manifest."""
    left = [name for name in identifiers if name in columns]
    told = [name for name in identifiers if name not in left and name and _mentions(manifest, name)]
    detail = "No identifier column is in the release or its manifest."
    if left:
        detail = f"The identifier column '{left[0]}' is in the release."
    elif told:
        detail = f"The manifest names the identifier column '{told[0]}'."
    return Check(name="identifier columns", passed=not left and not told, detail=detail)


def _owner_keys(owners: Owners) -> dict[str, pl.DataFrame]:
    """Count for every key the different identifiers that are known by it."""
    found = {way: keys for way, keys in _identifier_keys(owners.texts, owners.kind).items() if keys.height}
    one = pl.lit(1, pl.UInt32)
    return {
        # Whole texts are different already.
        way: keys.select("key", many=one) if way == _VALUES else keys.group_by("key").agg(many=pl.len())
        for way, keys in found.items()
    }


def _identifier_keys(texts: pl.Series, kind: pl.DataType) -> dict[str, pl.DataFrame]:
    """Give what identifiers are looked for by, in each way: ``place`` of the identifier, and ``key``."""
    frame = texts.to_frame("key").with_row_index("place").drop_nulls()
    if kind.is_integer():
        return {_VALUES: frame}
    telling = frame.select(pl.col("key").str.contains(r"\p{L}") & (pl.col("key").str.len_chars() >= 3)).to_series()
    days = dates(texts, whole=True)
    rest = frame.filter(~telling).join(days, on="place", how="anti")
    # No text stands in a cell without its first word.
    begins = frame.filter(telling).with_columns(pl.col("key").str.extract(_WORD, 0))
    return {_WORDS: begins, _DATES: days, _VALUES: rest}


def _unique_keys(keys: Sequence[pl.DataFrame]) -> pl.DataFrame:
    none = pl.LazyFrame(schema={"key": pl.String})
    return pl.concat([one.lazy().select("key") for one in keys] or [none]).unique().collect()


def _whole(texts: pl.Series) -> np.ndarray:
    """Whole numbers, nan for other texts."""
    return texts.cast(pl.Int64, strict=False).cast(pl.Float64).to_numpy()


def _whole_words(pairs: pl.DataFrame) -> pl.Series:
    """Tell which texts hold their own identifier, not as a part of a longer word."""
    return pairs.select(_words(pl.col("text")).str.contains(_words(pl.col("own")), literal=True)).to_series()


def _words(text: pl.Expr) -> pl.Expr:
    """Words between single blanks, so that a part of a longer word is no match."""
    blank = pl.lit(" ")
    return blank + text.str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars() + blank


def _mentions(manifest: Mapping[str, Any], name: str) -> bool:
    """Whether a manifest names a column: in a list of columns, in a model, or in quotes in a sentence."""
    columns = [entry.get("name") for entry in manifest.get("columns", ())]
    targets: list[Any] = []
    for entry in (*manifest.get("models", ()), *manifest.get("verdicts", ())):
        on = entry.get("on")
        targets.extend(on if isinstance(on, list | tuple) else [on])
    accepted = [str(code).partition(":")[2] for code in manifest.get("acknowledged", ())]
    sentences = [manifest.get("statement", ""), *manifest.get("not_protected", ())]
    quoted = any(f"{mark}{name}{mark}" in str(sentence) for sentence in sentences for mark in ("'", '"', "`"))
    return name in [*columns, *targets, *accepted] or quoted


# ----------------------------------------
# Whether the rows of a table that would be published name anybody: their own owners, and anybody else.


class Named:
    """One table, looked at batch by batch.

    Parameters
    ----------
    read
        Columns that are published as they were read: they hold no words of names, and no text that could say anything.
    """

    def __init__(self, hidden: Hidden, read: Sequence[str]) -> None:
        self._own, self._names, self._texts = OwnIdentifiers(hidden), Names(hidden), FreeText()
        self._read = read

    def see(self, batch: Coded, hidden: Sequence[pl.Series]) -> None:
        """Look at a batch, and at what is hidden of its rows."""
        self._own.see(batch, hidden)
        read = batch.select([name for name in self._read if name in batch.frame.columns])
        self._names.see(read, hidden)
        self._texts.see(read)

    def own(self) -> Check:
        """What was found of the rows' own identifiers."""
        return self._own.check()

    def read(self, accepted: Collection[str]) -> list[Check]:
        """What was found in columns that are published as they were read."""
        return [*self._names.checks(accepted), *self._texts.checks(accepted)]
