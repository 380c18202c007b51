"""Whether a released cell names anybody: identifiers of any row, in any column.

Whole identifiers are looked for by their words, in any spelling and order; numbers by their digits; and of names also
single words, as far as they are rare. What many people share names nobody, and a word that stands in many more cells
than rows have it in an identifier is vocabulary. All of it is by hash joins of words: linear in the text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.folding import cell_texts, numbers, words
from shoal.verify.identifier_words import LEVEL, Hidden, is_excess, local_names, row_words
from shoal.verify.report import Check
from shoal.verify.tally import Counts
from shoal.verify.values import Coded, Held

# A cell may part what an identifier writes as one, in so many groups.
_GROUPED = 12
# A word that stands in so many more cells than identifiers is vocabulary.
_BASE, _FACTOR = 3, 3
# How likely an honest release is refused because of long numbers in cells of other rows, over all pairs of columns. One
# telephone number in a text is to be found, which no smaller level allows.
_LEVEL = 1e-4
# Different cells of a column that are kept until they are looked at.
_CELLS = 1 << 20
_NEARLY_ALL, _SEVERAL, _HALF = 0.9, 3, 0.5
# Numbers are moved up and down by up to so many units to count how many meet identifiers by chance. A unit is a power
# of ten below this one.
_STEPS, _DIGITS = 32, 10
# Free text: cells of so many words that nobody else has, at least so many and that share of the rows.
_TEXT_WORDS, _TEXT_CELLS, _TEXT_SHARE = 3, 10, 0.05


# By column of identifiers, what whole ones are known by: words, and digits.
_Looked = Sequence[tuple[str, pl.DataFrame, pl.DataFrame]]


class Anybody:
    """No cell of any table holds a whole identifier of anybody; tables are looked at batch by batch."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden
        self._columns: dict[tuple[int, str], _Cells] = {}

    def see(self, batch: Coded, table: int = 0) -> None:
        """Look at a batch of one of the tables."""
        for name in batch.frame.columns if self._hidden.names else []:
            self._columns.setdefault((table, name), _Cells(self._hidden)).see(batch[name])

    def check(self) -> Check:
        """What all batches hold."""
        problems: list[str] = []
        heard = [cells.heard() for cells in self._columns.values()]
        looked = self._hidden.looked(pl.concat(heard).unique()) if heard else []
        for cells in self._columns.values():
            cells.flush(looked)
        pairs = sum(cells.numbered for cells in self._columns.values()) * sum(
            digits.height > 0 for *_, digits in looked
        )
        for (_, column), cells in self._columns.items():
            for name, held in cells.held(looked, _LEVEL / max(pairs, 1)).items():
                if held:
                    problems.append(f"{held:,} cells of '{column}' hold somebody's '{name}'")
        detail = f"Identifiers are left in the release: {'; '.join(problems)}." if problems else (
            "No identifier of any row stands in a cell."
        )  # fmt: skip
        return Check(name="identifiers of anybody", passed=not problems, detail=detail)


class _Cells:
    """The different cells of a column, held against all identifiers when there are many of them, or no more."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden, self._cells = hidden, Counts()
        self._held = dict.fromkeys(hidden.names, 0)
        self._numbers = Counts()
        self._ends: list[Any] = []

    def see(self, held: Held) -> None:
        self._cells.add(_distinct(held))
        column = held.distinct
        if column.dtype.is_numeric() and column.len() > column.null_count():
            ends = [column.min(), column.max(), *self._ends]
            self._ends = [min(ends), max(ends)]
        if self._cells.size > _CELLS:
            self.flush(self._hidden.looked(self.heard()))

    def heard(self) -> pl.Series:
        """The different words of cells that were not yet held against anything."""
        return _tokens(self._cells.counted())["word"].unique()

    @property
    def numbered(self) -> bool:
        """Whether there are long numbers in the cells."""
        return bool(self._numbers.size)

    def held(self, looked: _Looked, level: float) -> dict[str, int]:
        """Rows whose cell holds an identifier, by the name of its column, once all cells are flushed."""
        span = float(self._ends[1] - self._ends[0]) + 1.0 if self._ends else None
        found = self._numbers.counted()
        return {name: self._held[name] + _numbered(found, digits, span, level) for name, _, digits in looked}

    def flush(self, looked: _Looked) -> None:
        """Hold the cells that were kept against all identifiers."""
        cells, self._cells = self._cells.counted(), Counts()
        if not cells.width:
            return
        tokens = _tokens(cells)
        for name, keys, _ in looked:
            self._held[name] += _holding(tokens, keys)
        found = cells.lazy().select("rows", key=numbers(pl.col("text"))).explode("key").drop_nulls("key")
        self._numbers.add(found.group_by("key").agg(pl.col("rows").sum()).collect())


class Names:
    """Columns that are published as they were read hold no words of names, which ``W-NAMES:column`` accepts.

    Some names are words as well: how many rows hold a word of their own identifier is compared with chance.
    """

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden
        rare = [(name, hidden.rare_words(name)) for name in hidden.names]
        self._rare = {name: words for name, words in rare if words is not None}
        self._known = {name: hidden.every_word(name) for name in self._rare}
        self._columns: dict[tuple[str, str], _Heard] = {}

    def see(self, batch: Coded, own: Sequence[pl.Series]) -> None:
        """Look at a batch of columns, and the identifiers of its rows."""
        names = batch.texts
        if not names or not batch.frame.height or not self._rare:
            return
        cells = {name: row_words(batch[name].distinct) for name in names}
        for one in own:
            if one.name not in self._rare:
                continue
            known = self._known[one.name]
            said = {name: _in_rows(of.join(known, on="word"), batch[name]) for name, of in cells.items()}
            # Without a word of any name in the cells, there is nothing to compare.
            some = one if any(frame.height for frame in said.values()) else one[:0]
            mine, shares = row_words(local_names(some)), self._hidden.owners(one.name).shares(cell_texts(some))
            for name, words_said in said.items():
                heard = self._columns.setdefault((name, one.name), _Heard())
                heard.see(words_said, mine, shares, self._rare[one.name])

    def checks(self, accepted: Collection[str]) -> list[Check]:
        """One check a column that holds words of names."""
        found, level = [], LEVEL / max(len(self._columns), 1)
        for column in dict.fromkeys(column for column, _ in self._columns):
            problems = []
            for name in self._rare:
                heard = self._columns.get((column, name))
                rows = 0 if heard is None else heard.rows(self._rare[name], level)
                if rows:
                    problems.append(f"{rows:,} cells of '{column}' hold a word of somebody's '{name}'")
            code = f"W-NAMES:{column}"
            if problems:
                accepts = f", which {code} accepts" if code in accepted else ""
                detail = f"{'; '.join(problems)}{accepts}."
                found.append(Check(name=f"names in {column}", passed=code in accepted, detail=detail, code=code))
        return found


class _Heard:
    """Words of a name in a column: of anybody, and of the row's own identifier, with what chance would bring."""

    def __init__(self) -> None:
        self._sets = Counts()
        self._own = 0
        self._hits = self._expected = 0.0

    def see(self, said: pl.DataFrame, mine: pl.DataFrame, shares: np.ndarray, rare: pl.DataFrame) -> None:
        heard = said.join(rare, on="word", how="semi")
        sets = heard.lazy().group_by("row").agg(pl.col("word").sort()).select(words=pl.col("word").list.join(" "))
        self._sets.see(sets.collect())
        if not said.height:
            return
        own = said.join(mine, on=["row", "word"], how="semi")["row"].unique().to_numpy()
        self._own += len(own)
        self._hits += float(shares[own].sum())
        self._expected += float(shares[said["row"].to_numpy()] @ said["part"].to_numpy())

    def rows(self, rare: pl.DataFrame, level: float) -> int:
        """Rows with a rare word of a name, or those with one of their own where they are more than chance."""
        sets = self._sets.total().lazy().with_row_index("set").with_columns(pl.col("words").str.split(" "))
        heard = sets.explode("words").join(rare.lazy(), left_on="words", right_on="word")
        often = heard.group_by("words").agg(cells=pl.col("rows").sum(), given=pl.col("given").first())
        names = often.filter(pl.col("cells") <= _BASE + _FACTOR * pl.col("given"))
        strange = heard.join(names, on="words", how="semi").unique("set")
        strangers = int(strange.select(pl.col("rows").sum()).collect().item())
        return max(strangers, self._own) if is_excess(self._hits, self._expected, level) else strangers


class FreeText:
    """Columns of free text may say anything about anybody and need ``W-TEXT:column``."""

    def __init__(self) -> None:
        self._texts: dict[str, Counts] = {}
        self._rows = 0

    def see(self, batch: Coded) -> None:
        """Look at a batch of columns."""
        wordy = pl.col("text").str.count_matches(r"\p{Han}{2}|\p{L}{2,}") >= _TEXT_WORDS
        for name in batch.texts:
            self._texts.setdefault(name, Counts()).add(_distinct(batch[name]).filter(wordy))
        self._rows += batch.frame.height

    def checks(self, accepted: Collection[str]) -> list[Check]:
        """One check a column of free text."""
        found = []
        for name, counts in self._texts.items():
            count = int((counts.total()["rows"] == 1).sum())
            if count < max(_TEXT_CELLS, _TEXT_SHARE * self._rows):
                continue
            code = f"W-TEXT:{name}"
            accepts = f", which {code} accepts" if code in accepted else ""
            detail = f"'{name}' looks like free text, {count:,} cells of it unlike any other{accepts}."
            found.append(Check(name=f"free text in {name}", passed=code in accepted, detail=detail, code=code))
        return found


def _distinct(held: Held) -> pl.DataFrame:
    """Different cells and the rows of each."""
    cells = pl.LazyFrame({"text": cell_texts(held.distinct), "rows": held.rows}).drop_nulls("text")
    return cells.group_by("text").agg(pl.col("rows").sum()).sort("text").collect()


def _in_rows(words: pl.DataFrame, held: Held) -> pl.DataFrame:
    """Row and word, and the part of the identifiers with that word, given the words of different cells."""
    if not words.height:
        return words
    rows = pl.DataFrame({"cell": held.codes}, schema={"cell": pl.UInt32}).with_row_index("row")
    return rows.join(words.rename({"row": "cell"}), on="cell").select("row", "word", "part")


def _tokens(cells: pl.DataFrame) -> pl.DataFrame:
    """Words of different cells, in order, with the number and the rows of each cell."""
    if not cells.width:
        return pl.DataFrame(schema={"cell": pl.UInt32, "rows": pl.Int64, "word": pl.String})
    tokens = cells.lazy().with_row_index("cell").select("cell", "rows", word=words(pl.col("text"))).explode("word")
    return tokens.drop_nulls("word").collect()


def _holding(tokens: pl.DataFrame, keys: pl.DataFrame) -> int:
    """Rows whose cell holds a key as words in a row."""
    heard = tokens.lazy().select(hash=pl.col("word").unique().hash())
    # Cells are few beside keys, so that what no cell begins with is left out before anything is built of it.
    firsts = keys.lazy().join(heard, left_on="first", right_on="hash", how="semi").select(pl.col("first").unique())
    tokens = tokens.with_columns(hash=pl.col("word").hash())
    starts = tokens.lazy().with_row_index("at").join(firsts, left_on="hash", right_on="first", how="semi")
    runs = starts.select("at", "cell", "rows", key="word").collect()
    found = [tokens.select("cell", "rows", "hash")]
    # A cell may part what the identifier writes as one: numbers of accounts and insurances come in groups.
    for step in range(1, _GROUPED):
        runs = runs.filter(pl.col("at") + step < tokens.height)
        if not runs.height:  # nearly always, as words that names begin with are few
            break
        beside = tokens.select("cell", "word")[(runs["at"] + step).to_list()]
        runs = runs.with_columns(key=runs["key"] + beside["word"]).filter(beside["cell"] == runs["cell"])
        found.append(runs.select("cell", "rows", hash=pl.col("key").hash()))
    said = pl.concat(found).lazy()
    near = keys.lazy().join(said, left_on="key", right_on="hash", how="semi")
    cells = said.join(near, left_on="hash", right_on="key", how="semi").unique("cell")
    return int(cells.select(pl.col("rows").sum()).collect().item())


def _numbered(found: pl.DataFrame, digits: pl.DataFrame, span: float | None, level: float) -> int:
    """Rows whose cell holds a long number of an identifier, 0 where chance explains it.

    Parameters
    ----------
    found
        Numbers of a column, each once, and its rows.
    digits
        Numbers of the identifiers.
    span
        How many numbers a numeric column could hold.
    level
        How likely chance may bring as many numbers.
    """
    met = found.join(digits, on="key", how="semi")
    if not met.height:
        return 0
    rows, hits = int(met["rows"].sum()), met.height
    if hits >= max(_SEVERAL, _NEARLY_ALL * found.height) and _is_column_of(met, digits, level):
        return rows
    if span is not None:
        chance = digits.height / span
        if not is_excess(hits, found.height * chance, level):  # usual, and `_near` takes longer than all else here
            return 0
        # Round amounts meet each other more often than other numbers, so each kind is compared with its own chance.
        is_round = pl.col("key").str.ends_with("0")
        for kind in (is_round, ~is_round):
            ours = found.filter(kind)
            expected = max(ours.height * chance, _near(ours, digits))
            if is_excess(met.filter(kind).height, expected, level / 2):
                return rows
        return 0
    size = pl.col("key").str.len_chars().alias("size")
    lengths = found.group_by(size).len().join(digits.group_by(size).len("given"), on="size")
    expected = float((lengths["len"] * lengths["given"] / 10.0 ** lengths["size"]).sum())
    return rows if is_excess(hits, expected, level) else 0


def _is_column_of(met: pl.DataFrame, digits: pl.DataFrame, level: float) -> bool:
    """Decide whether numbers that are all identifiers are so many, or so far apart, that they are no other numbers.

    Identifiers that run on are all numbers between their ends, so that any other column that begins and ends between
    them holds nothing else. It is free to begin and end anywhere among numbers of their length.
    """
    ours, theirs = (keys["key"].cast(pl.Int64, strict=False).drop_nulls().to_numpy() for keys in (met, digits))
    if met.height >= _HALF * digits.height or not len(ours):
        return met.height >= _HALF * digits.height
    width = int(np.ptp(theirs)) + 1
    numbers = 9.0 * 10.0 ** (len(str(theirs.max())) - 1)
    return int(np.ptp(ours)) + 1 >= _HALF * width and (width / numbers) ** 2 < level


def _near(found: pl.DataFrame, digits: pl.DataFrame) -> float:
    """Numbers of a column that would be identifiers if they were a little larger or smaller, on average.

    Round numbers stay as round: amounts such as 120000 meet each other more often than others.
    """
    ours, theirs = (
        np.sort(keys["key"].cast(pl.Int64, strict=False).drop_nulls().to_numpy()) for keys in (found, digits)
    )
    if not len(theirs):
        return 0.0
    units = np.ones_like(ours)
    for power in 10 ** np.arange(1, _DIGITS):
        units[ours % power == 0] = power
    met = 0
    for step in range(-_STEPS, _STEPS + 1):
        moved = ours + step * units
        places = np.minimum(np.searchsorted(theirs, moved), len(theirs) - 1)
        met += int(np.count_nonzero(theirs[places] == moved)) if step else 0
    return met / (2 * _STEPS)
