"""Whether anything published tells a value that was read and is not in the released data.

Every file of a release is looked at as it lies on disk. The cells of its tables are what is released. All other texts
and numbers are held against every value that was read, dropped and suppressed rows and columns included: in the
description of a column against the values of that column, elsewhere against those of all columns. What the recipe
itself declares, labels that no data went into, and our own words may stand there.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from shoal.verify.mentions import Mention, figures, manifest_mentions, page_mentions, phrase, phrases
from shoal.verify.types import Check, Sayable
from shoal.verify.values import MISSING, STAR, canonical
from shoal.verify.vocabulary import OURS

MANIFEST, PAGE = "manifest.json", "report.html"
_TABLES = (".csv", ".parquet")
# Words of a value, numbers with their decimals as one; the same expression that mentions are cut by.
_WORDS = r"[0-9]+(?:[.,][0-9]+)+|[^\W_]+"
_LONGEST = 6
# A cell may show several values: both ends of an interval, all members of a set.
_PARTS = r"[^\[\]{}|,()<>=]+"
_PLAIN = (pl.String, pl.Boolean, pl.Date)


def check_leaks(files: Mapping[str, bytes], read: Mapping[str, Sequence[pl.Series]], sayable: Sayable) -> Check:
    """Look for values that were read and are not released in everything that is published.

    Parameters
    ----------
    files
        Every file of the staged folder, by name.
    read
        Every column that was read, whatever its role, as one or several series: rows dropped, dates parsed.
    sayable
        What may be said beside the released cells.
    """
    problems: list[str] = []
    try:
        tables = {name: _table(name, data) for name, data in files.items() if name.endswith(_TABLES)}
        found = manifest_mentions(files[MANIFEST])
    except (pl.exceptions.PolarsError, ValueError, KeyError) as error:
        return _check([f"the files cannot be read ({type(error).__name__})"])
    problems += [f"'{name}' holds more than its cells" for name, more in _extras(files, tables).items() if more]
    told = " ".join(mention.text for mention in found)
    if PAGE in files:
        page = page_mentions(files[PAGE].decode("utf-8", "replace"), figures(files[MANIFEST]))
        known = phrases(told, _LONGEST)
        found += [one for one in page if one.loose or not phrases(one.text, _LONGEST) <= known]
    for name, data in files.items():
        if name not in (MANIFEST, PAGE, *tables):
            found.append(Mention(name, data.decode("utf-8", "replace"), None, loose=True))
    cells = _Cells(list(tables.values()), found)
    for column, series in read.items():
        for name, count in _told(column, series, found, cells, sayable).items():
            problems.append(f"'{name}' tells {count:,} {'value' if count == 1 else 'values'} of '{column}'")
    return _check(problems)


def _check(problems: Sequence[str]) -> Check:
    fine = "Nothing published tells a value that was read and is not released."
    detail = f"Something published tells what is not released: {'; '.join(problems)}." if problems else fine
    return Check(name="leaks", passed=not problems, detail=detail)


def _table(name: str, data: bytes) -> pl.DataFrame:
    if name.endswith(".parquet"):
        return pl.read_parquet(io.BytesIO(data))
    return pl.read_csv(io.BytesIO(data), infer_schema=False)


def _extras(files: Mapping[str, bytes], tables: Mapping[str, pl.DataFrame]) -> dict[str, bool]:
    """Whether a Parquet file has metadata, statistics or dictionaries that do not follow from its cells.

    Written anew from its cells, a file that holds nothing else has the same bytes.
    """
    found = {}
    for name, table in tables.items():
        if not name.endswith(".parquet"):
            continue
        plain = all(dtype in _PLAIN or dtype.is_numeric() or isinstance(dtype, pl.Datetime) for dtype in table.dtypes)
        again = io.BytesIO()
        table.rechunk().write_parquet(again)
        found[name] = not plain or again.getvalue() != files[name]
    return found


class _Cells:
    """What the released cells show: texts by column, and their words."""

    def __init__(self, tables: Sequence[pl.DataFrame], mentions: Sequence[Mention]) -> None:
        self.types = {mention.column.name: mention.column for mention in mentions if mention.column is not None}
        owner = {file: column.name for column in self.types.values() for file in column.files}
        self.by_column: dict[str, list[pl.Series]] = {}
        words: set[str] = set()
        for table in tables:
            for series in table.get_columns():
                texts = series.cast(pl.String).drop_nulls().unique()
                parts = texts.str.replace_all(r"\\(.)", "$1").str.extract_all(_PARTS).explode().drop_nulls().unique()
                self.by_column.setdefault(owner.get(series.name, series.name), []).extend([texts, parts])
                words.update(_phrases(pl.concat([texts, parts])).to_list())
        self.words = words

    def kind(self, column: str) -> str:
        return self.types[column].type if column in self.types else "categorical"

    def shown(self, column: str) -> set[str]:
        """Canonical texts of what the cells of a column show."""
        series = self.by_column.get(column, [])
        return {text for one in series for text in canonical(one, self.kind(column))[0].drop_nulls().to_list()}


def _told(
    column: str, series: Sequence[pl.Series], mentions: Sequence[Mention], cells: _Cells, sayable: Sayable
) -> dict[str, int]:
    """How many values of a column each file tells, though no cell shows them."""
    distinct = [one.drop_nulls().unique() for one in series]
    told: dict[str, set[str]] = {}
    for file, value in _described(column, distinct, mentions, cells, sayable):
        told.setdefault(file, set()).add(value)
    for file, value in _mentioned(distinct, mentions, cells, sayable):
        told.setdefault(file, set()).add(value)
    return {file: len(values) for file, values in told.items()}


def _described(
    column: str, distinct: Sequence[pl.Series], mentions: Sequence[Mention], cells: _Cells, sayable: Sayable
) -> list[tuple[str, str]]:
    """Values that the description of their own column tells."""
    kind = cells.kind(column)
    labels = sayable.labels.get(column, ())
    mine = [one for one in mentions if one.column is not None and one.column.name == column and one.text not in labels]
    pieces = [(one.file, piece) for one in mine for piece in {one.text, *_parts(one.text)}]
    if not pieces:
        return []
    texts = canonical(pl.Series([piece for _, piece in pieces], dtype=pl.String), kind)[0].to_list()
    read = {text for one in distinct for text in canonical(one, kind)[0].drop_nulls().to_list()}
    declared = canonical(pl.Series(sorted(sayable.declared.get(column, ())), dtype=pl.String), kind)[0].to_list()
    hidden = read - cells.shown(column) - set(declared) - {STAR, MISSING, ""}
    return [(file, text) for (file, _), text in zip(pieces, texts, strict=True) if text in hidden]


def _mentioned(
    distinct: Sequence[pl.Series], mentions: Sequence[Mention], cells: _Cells, sayable: Sayable
) -> list[tuple[str, str]]:
    """Values whose words stand anywhere else."""
    places: dict[str, list[Mention]] = {}
    for mention in mentions:
        if mention.column is None or mention.loose:
            for text in phrases(mention.text, _LONGEST):
                places.setdefault(text, []).append(mention)
    declared = {phrase(text) for texts in sayable.declared.values() for text in texts}
    # Sentences name columns, whose words are no values there either.
    ours = OURS.union(*(phrase(text).split() for text in sayable.declared.get("", ())))
    wanted = [text for text in places if text not in cells.words and text not in declared]
    found = []
    for series in distinct:
        words = _phrases(series.cast(pl.String))
        for text in words.filter(words.is_in(wanted)).unique().to_list():
            found += [(one.file, text) for one in places[text] if one.judges(text, ours)]
    return found


def _phrases(texts: pl.Series) -> pl.Series:
    """The words of each text, in small letters, as far as they are compared."""
    return texts.str.to_lowercase().str.extract_all(_WORDS).list.head(_LONGEST).list.join(" ")


def _parts(text: str) -> Collection[str]:
    return pl.Series([text]).str.extract_all(_PARTS).explode().drop_nulls().to_list() if text[:1] in "[(<>" else ()
