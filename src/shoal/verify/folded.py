"""Fold texts to the form in which spellings of one name, number or date are equal.

Every comparison of identifiers with cells starts from ``plain_texts``, so that a spelling that is folded there hides
nothing from any of them. All functions work on whole columns; callers give them different texts, not all cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

import numpy as np
import polars as pl

from shoal.verify.values import MISSING, STAR

_LETTERS = {"ß": "ss", "ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
# Two letters that stand for an umlaut fold to the one that is left without its dots: Müller, Mueller, Muller.
_UMLAUTS = {"ae": "a", "oe": "o", "ue": "u"}
_WORD = r"\p{L}+|\p{N}+"
# Soft hyphens, joiners and the like are not seen by whoever reads a name.
_UNSEEN = r"\p{Cf}"
# NFKC leaves the digits of other scripts as they are.
_OTHER_DIGIT = r"[\p{Nd}--[0-9]]"
_BEYOND_ASCII = (pl.col("text").str.len_bytes() != pl.col("text").str.len_chars()).fill_null(False)
JOINTS = r"['’ʼ`´‐‑-]"
_DATE = r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
_RUN = r"\d[\d \t/().+-]*\d"
# Four groups and more are a telephone or file number, though a date may seem to stand at its beginning.
_GROUPS = r"\d{1,4}(?:[./-]\d{1,4}){3,}"
# Country codes and leading zeros come and go; the last nine digits of a long number stay.
_TAIL, _LEAST = 9, 6
# Three single letters and more between other marks are a word: "A n n a", "A.n.n.a". The first expression finds texts
# that may have them, the second closes the gaps.
_SPACED = r"(?:^|[^\p{L}\p{N}])\p{L}[^\p{L}\p{N}]{1,3}\p{L}[^\p{L}\p{N}]{1,3}\p{L}(?:[^\p{L}\p{N}]|$)"
_SPACED_RUN = re.compile(r"(?<![^\W_])[^\W\d_](?:[\W_]{1,3}[^\W\d_](?![^\W_])){2,}")
_GAP = re.compile(r"[\W_]+")

# Months in English, German, French, Spanish, Italian, Portuguese and Dutch, folded.
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jan janv janvier ene enero gen gennaio janeiro januari janner",
            "feb february februar fev fevr fevrier febrero febbraio fevereiro februari",
            "mar march marz mrz mars marzo marco maart mrt",
            "apr april avr avril abr abril aprile",
            "may mai mayo mag maggio maio mei",
            "jun june juni juin junio giu giugno junho",
            "jul july juli juil juillet julio lug luglio julho",
            "aug august aout ago agosto augustus",
            "sep sept september septembre septiembre set settembre setembro",
            "oct october okt oktober octobre octubre ott ottobre out outubro",
            "nov november novembre noviembre novembro",
            "dec december dez dezember decembre dic diciembre dicembre dezembro",
        ),
        start=1,
    )
    for name in names.split()
}
_NAMED_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|o)?"
# Dates as they are usually written, once a text is folded.
_WRITTEN = "|".join((
    r"\d{4} ?[./-] ?\d{1,2} ?[./-] ?\d{1,2}",
    r"\d{1,2} ?[./-] ?\d{1,2} ?[./-] ?\d{2,4}",
    rf"\d{{1,2}}{_ORDINAL}[ .-]*(?:of |de |di )?{_NAMED_MONTH}[ .,/-]*(?:of |de |del )?\d{{2,4}}",
    rf"{_NAMED_MONTH}[ .-]*\d{{1,2}}{_ORDINAL}[ ,.-]+\d{{4}}",
    rf"\d{{4}}[ .-]*{_NAMED_MONTH}[ .-]*\d{{1,2}}",
    r"\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日?",
    r"\d{8,}",
))  # fmt: skip
# What an identifier that is a date looks like; eight digits without a mark may well be another number.
_WHOLE_DATE = rf"^(?:{_WRITTEN.removesuffix('|' + chr(92) + 'd{8,}')})(?:[t ]+[\d:.,+z-]*)?$"


def plain_texts(column: pl.Series) -> pl.Series:
    """Give cells as text in compatible letters and ASCII digits, null for missing ones, ``*`` and blanks."""
    text = pl.col("text").str.strip_chars()
    told = pl.when(~text.is_in([STAR, MISSING, ""])).then(text)
    return _readable(column.cast(pl.String)).to_frame("text").select(told.alias(column.name)).to_series()


def cell_texts(column: pl.Series) -> pl.Series:
    """Give cells as text; whole numbers without the fraction that a float shows."""
    if not column.dtype.is_numeric():
        return plain_texts(column)
    texts = column.cast(pl.String)
    return texts if column.dtype.is_integer() else texts.str.replace(r"\.0+$", "")


def _readable(texts: pl.Series) -> pl.Series:
    """Replace letters and digits of other forms and scripts by the usual ones, and close the gaps in spaced words."""
    found = texts.to_frame("text").select(beyond=_BEYOND_ASCII, spaced=pl.col("text").str.contains(_SPACED))
    texts, beyond, spaced = texts.clone(), *found
    if beyond.any():
        usual = texts.filter(beyond).str.replace_all(_UNSEEN, "").str.normalize("NFKC")
        texts = texts.scatter(beyond.arg_true(), _with_usual_digits(usual))
        spaced = texts.str.contains(_SPACED)
    if spaced.any():
        closed = [_SPACED_RUN.sub(lambda run: _GAP.sub("", run[0]), text) for text in texts.filter(spaced)]
        texts = texts.scatter(spaced.arg_true(), closed)
    return texts


def _with_usual_digits(texts: pl.Series) -> pl.Series:
    other = texts.str.contains(_OTHER_DIGIT).fill_null(False)
    if not other.any():
        return texts
    usual = [re.sub(r"\d", lambda digit: str(int(digit[0])), text) for text in texts.filter(other)]
    return texts.scatter(other.arg_true(), usual)


def fold(text: pl.Expr) -> pl.Expr:
    """Lower case without accents; what an umlaut may be written as becomes the letter below it."""
    return text.map_batches(_folded, return_dtype=pl.String)


def _folded(texts: pl.Series) -> pl.Series:
    """The same, quicker for what has no letter beyond ASCII: it cannot have accents, nor anything unseen."""
    plain = _without_umlauts(pl.col("text").str.to_lowercase())
    quick, beyond = texts.to_frame("text").select(plain, beyond=_BEYOND_ASCII)
    if not beyond.any():
        return quick
    bare = texts.filter(beyond).to_frame("text").select(_without_umlauts(_without_accents(pl.col("text")))).to_series()
    order = np.argsort(beyond.to_numpy(), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return pl.concat([quick.filter(~beyond), bare])[place]


def _without_accents(text: pl.Expr) -> pl.Expr:
    # Letters of other forms have no lower case of their own: they become usual ones first.
    seen = text.str.replace_all(_UNSEEN, "").str.normalize("NFKC")
    lower = seen.str.to_lowercase().str.replace_many(list(_LETTERS), list(_LETTERS.values()))
    return lower.str.normalize("NFKD").str.replace_all(r"\p{M}", "")


def _without_umlauts(text: pl.Expr) -> pl.Expr:
    return text.str.replace_many(list(_UMLAUTS), list(_UMLAUTS.values()))


def words(text: pl.Expr) -> pl.Expr:
    """Runs of letters and runs of digits, in order."""
    return fold(text).str.extract_all(_WORD)


def joined_words(text: pl.Expr) -> pl.Expr:
    """The same with apostrophes and hyphens left out: O'Reilly and OReilly are one name."""
    return words(text.str.replace_all(JOINTS, ""))


def numbers(text: pl.Expr) -> pl.Expr:
    """Long numbers of a text, each as its digits: runs, and runs with the separators of telephone numbers between."""
    plain = text.str.replace_all(r"[‐‑–]", "-")
    dateless = plain.str.replace_all(_DATE, " x ")
    runs = (dateless.str.extract_all(_RUN), dateless.str.extract_all(r"\d+"), plain.str.extract_all(_GROUPS))
    found = pl.concat_list(*runs)
    return found.list.eval(number_key(pl.element())).list.drop_nulls().list.unique()


def number_key(text: pl.Expr) -> pl.Expr:
    """The digits by which a number is known, null where there are too few."""
    digits = text.str.replace_all(r"\D", "")
    return pl.when(digits.str.len_chars() >= _LEAST).then(digits.str.tail(_TAIL).str.strip_chars_start("0"))


def dates(texts: pl.Series, *, whole: bool = False) -> pl.DataFrame:
    """Find dates in texts, in their usual spellings.

    Parameters
    ----------
    texts
        Plain texts.
    whole
        Look only at texts that are a date and nothing else, but perhaps a time.

    Returns
    -------
    polars.DataFrame
        ``place`` of the text and ``key``, the date as ``2026-01-31``, each pair once. A date that can be read with
        the day first or the month first is there in both readings.
    """
    there = texts.to_frame("text").with_row_index("place")
    there = there.filter(pl.col("text").str.contains("[0-9][^0-9]+[0-9]" if whole else "[0-9].*[0-9]"))
    if there.height:
        there = there.with_columns(fold(pl.col("text")))
    if there.height and whole:
        there = there.filter(pl.col("text").str.contains(_WHOLE_DATE))
    if not there.height:
        return pl.DataFrame(schema={"place": pl.UInt32, "key": pl.String})
    found = there.select("place", written=pl.col("text").str.extract_all(_WRITTEN)).explode("written").drop_nulls()
    different = found["written"].unique()
    read = [list(_readings(one)) for one in different]
    known = pl.DataFrame({"written": different, "key": read}, schema={"written": pl.String, "key": pl.List(pl.String)})
    return found.join(known.explode("key").drop_nulls(), on="written").select("place", "key").unique()


def _readings(written: str) -> Iterator[str]:
    """Read a written date, in every way that it could be meant."""
    figures = re.findall(r"\d+", written)
    named = [_MONTHS[word] for word in re.findall(r"[a-z]+", written) if word in _MONTHS]
    if len(figures) == 1:
        run = figures[0]
        if len(run) != 8:
            return
        parts = [(run[:4], run[4:6], run[6:]), (run[4:], run[2:4], run[:2]), (run[4:], run[:2], run[2:4])]
    elif named:
        first, second = figures
        parts = [(first, named[0], second) if len(first) == 4 else (second, named[0], first)]
    elif len(figures[0]) == 4:
        parts = [(figures[0], figures[1], figures[2])]
    else:
        parts = [(figures[2], figures[1], figures[0]), (figures[2], figures[0], figures[1])]
    for year, month, day in parts:
        for century in (0,) if len(year) == 4 else (1900, 2000) if len(year) == 2 else ():
            try:
                yield date(century + int(year), int(month), int(day)).isoformat()
            except ValueError:
                continue
