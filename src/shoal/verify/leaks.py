"""Whether anything published tells a value that was read and is not in the released data.

Every file of a release is looked at as it lies on disk. The cells of its tables are what is released. All other texts
and numbers are held against every value that was read, dropped and suppressed rows and columns included: in the
description of a column against the values of that column, elsewhere against those of all columns. What the recipe
itself declares, labels that no data went into, and our own words may stand there.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from shoal.verify.folder import read_csv
from shoal.verify.mentions import Mention, figures, manifest_mentions, page_mentions, phrase, phrases
from shoal.verify.report import Check, Sayable
from shoal.verify.values import MISSING, STAR, Coded, canonical, encode, is_text
from shoal.verify.wording import OURS

MANIFEST, PAGE = "manifest.json", "report.html"
_TABLES = (".csv", ".parquet")
# Words of a value, numbers with their decimals as one; the same expression that mentions are cut by.
_WORDS = r"[0-9]+(?:[.,][0-9]+)+|[^\W_]+"
_LONGEST = 6
# Values that are looked at in one go.
_ROWS = 1 << 17
# A cell may show several values: both ends of an interval, all members of a set.
_PARTS = r"[^\[\]{}|,()<>=]+"
_PLAIN = (pl.String, pl.Boolean, pl.Date)


class Shown:
    """Different cells of tables that are read back batch by batch, for whoever looks at them afterwards."""

    def __init__(self) -> None:
        self._cells: dict[str, list[pl.Series]] = {}

    def see(self, rows: pl.DataFrame | Coded) -> None:
        """Take in some rows."""
        batch = Coded.of(rows)
        for name in batch.frame.columns:
            self._cells.setdefault(name, []).append(batch[name].distinct.cast(pl.String))

    @property
    def columns(self) -> list[pl.Series]:
        """The columns, each cell once."""
        return [pl.concat(parts).unique() for parts in self._cells.values()]


def check_leaks(
    files: Mapping[str, bytes],
    read: Mapping[str, Sequence[pl.Series]],
    sayable: Sayable,
    shown: Shown | None = None,
) -> Check:
    """Look for values that were read and are not released in everything that is published.

    Parameters
    ----------
    files
        Every file of the staged folder, by name; those of CSV may be left out where ``shown`` is given.
    read
        Every column that was read, whatever its role, as one or several series: rows dropped, dates parsed.
    sayable
        What may be said beside the released cells.
    shown
        The cells of the tables, where somebody has read them already.
    """
    try:
        tables = {name: _table(name, data) for name, data in files.items() if name.endswith(_TABLES)}
        found = Leaks({name: data for name, data in files.items() if name not in tables}, sayable)
    except (pl.exceptions.PolarsError, ValueError, KeyError) as error:
        return _check([f"the files cannot be read ({type(error).__name__})"])
    for table in tables.values() if shown is None else (column.to_frame() for column in shown.columns):
        found.see(table)
    for column, several in read.items():
        for series in several:
            found.read(column, series)
    return found.report([name for name, table in tables.items() if _more_than_cells(name, files[name], table)])


class Leaks:
    """The same as a fold: what is said in public is known first, then come tables as released and columns as read.

    Only of what is said anywhere is it remembered whether it was released, and whether it was read.

    Parameters
    ----------
    files
        Every public file that is no table.
    """

    def __init__(self, files: Mapping[str, bytes], sayable: Sayable) -> None:
        found = manifest_mentions(files[MANIFEST])
        told = " ".join(mention.text for mention in found)
        if PAGE in files:
            page = page_mentions(files[PAGE].decode("utf-8", "replace"), figures(files[MANIFEST]))
            known = phrases(told, _LONGEST)
            found += [one for one in page if one.loose or not phrases(one.text, _LONGEST) <= known]
        for name, data in files.items():
            if name not in (MANIFEST, PAGE):
                found.append(Mention(name, data.decode("utf-8", "replace"), None, loose=True))
        self._mentions, self._sayable = found, sayable
        self._types = {mention.column.name: mention.column for mention in found if mention.column is not None}
        self._owner = {file: column.name for column in self._types.values() for file in column.files}
        self._places = _places(found)
        self._first_words = pl.Series([text.partition(" ")[0] for text in self._places], dtype=pl.String).implode()
        self._beginnings = pl.Series([text[:3] for text in self._places], dtype=pl.String).unique().implode()
        self._described: dict[str, list[tuple[str, str]]] = {}
        self._read: dict[str, set[str]] = {}
        self._shown: dict[str, set[str]] = {}
        self._last: dict[str, pl.Series] = {}
        self._words_shown: set[str] = set()
        self._words_read: dict[str, set[str]] = {}

    def see(self, rows: pl.DataFrame | Coded) -> None:
        """Take in rows of a table as it is released."""
        table = Coded.of(rows)
        for name in table.frame.columns:
            texts = self._new(name, table[name].distinct.cast(pl.String).drop_nulls())
            if not texts.len():
                continue
            parts = pl.col("text").str.replace_all(r"\\(.)", "$1").str.extract_all(_PARTS).explode().drop_nulls()
            column, found = self._owner.get(name, name), texts.to_frame("text").select(parts.unique()).to_series()
            shown = pl.concat([texts, found, self._items(column, texts)])
            self._shown.setdefault(column, set()).update(self._told_of(column, shown))
            self._words_shown.update(self._said(shown))

    def read(self, column: str, values: pl.Series) -> None:
        """Take in values of a column as it was read."""
        told, words = self._read.setdefault(column, set()), self._words_read.setdefault(column, set())
        # Texts that repeat come as numbers of the different ones; of others there may be as many as rows.
        whole = values.unique() if isinstance(values.dtype, pl.Enum) else values
        for start in range(0, len(whole), _ROWS):
            some = whole[start : start + _ROWS].drop_nulls()
            some = some.cast(pl.String) if is_text(some.dtype) else some.unique()
            if (items := self._items(column, some)).len():
                some = pl.concat([some.cast(pl.String), items])
            told.update(self._told_of(column, some))
            words.update(self._said(some.cast(pl.String)))

    def report(self, extras: Sequence[str] = ()) -> Check:
        """What is told; ``extras`` are tables that hold more than their cells."""
        problems = [f"'{name}' holds more than its cells" for name in extras]
        for column in self._words_read:
            told: dict[str, set[str]] = {}
            for file, value in [*self._in_descriptions(column), *self._elsewhere(column)]:
                told.setdefault(file, set()).add(value)
            for name, values in told.items():
                count = len(values)
                problems.append(f"'{name}' tells {count:,} {'value' if count == 1 else 'values'} of '{column}'")
        return _check(problems)

    def _new(self, name: str, texts: pl.Series) -> pl.Series:
        """Different cells of a batch without those of the batch before, which most of the next are."""
        before, self._last[name] = self._last.get(name), texts
        return texts.unique() if before is None else texts.filter(~texts.is_in(before.implode())).unique()

    def _items(self, column: str, texts: pl.Series) -> pl.Series:
        """What cells of a column of items hold, one by one; nothing of others."""
        mark = self._types[column].mark if column in self._types else None
        if mark is None:
            return pl.Series([], dtype=pl.String)
        return texts.cast(pl.String).str.split(mark).explode().drop_nulls().unique()

    def _kind(self, column: str) -> str:
        return self._types[column].type if column in self._types else "categorical"

    def _pieces(self, column: str) -> list[tuple[str, str]]:
        """What the description of a column says, part by part: the file, and the text as values of it are written."""
        if column not in self._described:
            labels = self._sayable.labels.get(column, ())
            mine = [
                one
                for one in self._mentions
                if one.column is not None and one.column.name == column and one.text not in labels
            ]
            pieces = [(one.file, piece) for one in mine for piece in {one.text, *_parts(one.text)}]
            texts = canonical(pl.Series([piece for _, piece in pieces], dtype=pl.String), self._kind(column))[0]
            self._described[column] = [(file, text) for (file, _), text in zip(pieces, texts.to_list(), strict=True)]
        return self._described[column]

    def _told_of(self, column: str, values: pl.Series) -> list[str]:
        """Which of some values the description of their column says."""
        said = {text for _, text in self._pieces(column)}
        if not said:
            return []
        texts = canonical(values.unique(), self._kind(column))[0]
        return texts.to_frame("text").filter(pl.col("text").is_in(list(said))).to_series().to_list()

    def _said(self, values: pl.Series) -> list[str]:
        """Which words of some values are said anywhere else."""
        # Nothing said begins as most values do: three plain letters or digits are the first of a word.
        start = pl.col("value").str.head(3)
        other = start.str.contains(r"^[0-9A-Za-z]{3}$") & ~start.str.to_lowercase().is_in(self._beginnings)
        head = pl.col("value").str.splitn(" ", 2).struct.field("field_0").alias("head")
        some = values.to_frame("value").lazy().filter(~other.fill_null(False)).unique().with_columns(head).collect()
        # Most values begin with a word that nothing said begins with, and need not be taken apart. Words end at blanks,
        # and many values have the same text before their first.
        of_value, heads = encode(some["head"])
        begins = pl.col("head").str.to_lowercase().str.extract(_WORDS, 0)
        near = (begins.is_in(self._first_words) | begins.is_null()).fill_null(True)
        begun = heads.to_frame("head").select(near).to_series().to_numpy()
        rest = some["value"].filter(pl.Series(begun[of_value], dtype=pl.Boolean)).to_frame("value")
        words = _phrases(pl.col("value"))
        return rest.select(words.filter(words.is_in(list(self._places))).unique()).to_series().to_list()

    def _in_descriptions(self, column: str) -> list[tuple[str, str]]:
        """Values that the description of their own column tells."""
        kind = self._kind(column)
        declared = canonical(pl.Series(sorted(self._sayable.declared.get(column, ())), dtype=pl.String), kind)[0]
        hidden = self._read.get(column, set()) - self._shown.get(column, set())
        hidden -= {*declared.to_list(), STAR, MISSING, ""}
        return [(file, text) for file, text in self._pieces(column) if text in hidden]

    def _elsewhere(self, column: str) -> list[tuple[str, str]]:
        """Values whose words stand anywhere else."""
        declared = {phrase(text) for texts in self._sayable.declared.values() for text in texts}
        # Sentences name columns, whose words are no values there either.
        ours = OURS.union(*(phrase(text).split() for text in self._sayable.declared.get("", ())))
        found = []
        for text in self._words_read[column] - self._words_shown - declared:
            found += [(one.file, text) for one in self._places[text] if one.judges(text, ours)]
        return found


def _places(mentions: Sequence[Mention]) -> dict[str, list[Mention]]:
    """Where every run of words stands that is not in the description of a column."""
    places: dict[str, list[Mention]] = {}
    for mention in mentions:
        if mention.column is None or mention.loose:
            for text in phrases(mention.text, _LONGEST):
                places.setdefault(text, []).append(mention)
    return places


def _check(problems: Sequence[str]) -> Check:
    fine = "Nothing published tells a value that was read and is not released."
    detail = f"Something published tells what is not released: {'; '.join(problems)}." if problems else fine
    return Check(name="leaks", passed=not problems, detail=detail)


def _table(name: str, data: bytes) -> pl.DataFrame:
    if name.endswith(".parquet"):
        return pl.read_parquet(io.BytesIO(data))
    return read_csv(data)


def _more_than_cells(name: str, data: bytes, table: pl.DataFrame) -> bool:
    """Whether a Parquet file has metadata, statistics or dictionaries that do not follow from its cells.

    Written anew from its cells, a file that holds nothing else has the same bytes.
    """
    if not name.endswith(".parquet"):
        return False
    plain = all(dtype in _PLAIN or dtype.is_numeric() or isinstance(dtype, pl.Datetime) for dtype in table.dtypes)
    again = io.BytesIO()
    table.rechunk().write_parquet(again)
    return not plain or again.getvalue() != data


def _phrases(texts: pl.Expr) -> pl.Expr:
    """The words of each text, in small letters, as far as they are compared."""
    return texts.str.to_lowercase().str.extract_all(_WORDS).list.head(_LONGEST).list.join(" ")


def _parts(text: str) -> Collection[str]:
    return re.findall(_PARTS, text) if text[:1] in "[(<>" else ()
