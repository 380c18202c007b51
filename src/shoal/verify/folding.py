"""Fold texts to the form in which spellings of one name, number or date are equal.

Every comparison of identifiers with cells starts from ``plain_texts``, so that a spelling that is folded there hides
nothing from any of them. All functions work on whole columns; callers give them different texts, not all cells.
"""

from __future__ import annotations

import re

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
# Dashes, minus signs, dots in the middle of a line and slashes of other forms, each as the usual mark.
_MARKS = {r"[\p{Pd}\u2212]": "-", r"[\u00b7\u2022\u2219\u22c5\u30fb]": ".", r"[\u2044\u2215]": "/"}
_BEYOND_ASCII = (pl.col("text").str.len_bytes() != pl.col("text").str.len_chars()).fill_null(False)
JOINTS = r"['’ʼ`´‐‑-]"
_DATE = r"\b\d{4}[-_]\d{1,2}[-_]\d{1,2}\b|\b\d{1,2}[._/]\d{1,2}[._/]\d{2,4}\b"
_RUN = r"\d[\d \t/().+-]*\d"
# Commas part the groups of a telephone number only where the number is no amount: behind a leading zero, or as 3-3-4.
_MARKED = r"\d+(?:_\d+)+|0\d+(?:,\d{2,})+|\d{3},\d{3},\d{4}"
# Four groups and more are a telephone or file number, though a date may seem to stand at its beginning.
_GROUPS = r"\d{1,4}(?:[./-]\d{1,4}){3,}"
# Country codes and leading zeros come and go; the last nine digits of a long number stay.
_TAIL, _LEAST = 9, 6
# Three single letters and more between other marks are a word: "A n n a", "A.n.n.a". The first expression finds texts
# that may have them, the second closes the gaps.
_SPACED = r"(?:^|[^\p{L}\p{N}])\p{L}[^\p{L}\p{N}]{1,3}\p{L}[^\p{L}\p{N}]{1,3}\p{L}(?:[^\p{L}\p{N}]|$)"
_SPACED_RUN = re.compile(r"(?<![^\W_])[^\W\d_](?:[\W_]{1,3}[^\W\d_](?![^\W_])){2,}")
_GAP = re.compile(r"[\W_]+")

_NUMBERS = [f"{number:02}" for number in range(1, 13)]
# Months in English, German, French, Spanish, Italian, Portuguese and Dutch, folded.
_MONTHS = {
    name: number
    for number, names in zip(
        _NUMBERS,
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
        strict=True,
    )
    for name in names.split()
}
_NAMED_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
_ROMAN = dict(zip(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"], _NUMBERS, strict=True))
# Three figures and more, or two and a month, with marks or blanks between them.
_MONTH = rf"(?:{_NAMED_MONTH}|[ivx]+)"
_OF = r"(?:(?:day )?(?:of|de|del|di) )"
_BETWEEN = rf"(?:(?:st|nd|rd|th|er|o)\b)?(?:\s*[./_|:,;'’\\年月日-]\s*[./,'’-]?\s*|\s+){_OF}?"
_STEP = rf"(?:(?:{_BETWEEN})?{_MONTH}(?:{_BETWEEN})?|{_BETWEEN})\d+"
_NAMED = rf"{_NAMED_MONTH}(?:{_BETWEEN})?\d+{_BETWEEN}\d+|\d+(?:{_BETWEEN})?{_MONTH}(?:{_BETWEEN})?\d+"
_SERIES = rf"(?:{_NAMED}|\d+(?:{_STEP}){{2}})(?:{_STEP})*|\d{{8,}}"
# What an identifier that is a date looks like; eight digits without a mark may well be another number.
_WHOLE_DATE = rf"^(?:{_NAMED}|\d+{_BETWEEN}\d+{_BETWEEN}\d+)日?(?:[t ]+[\d:.,+z-]*)?$"


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
        for others, mark in _MARKS.items():
            usual = usual.str.replace_all(others, mark)
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
    dateless = text.str.replace_all(_DATE, " x ")
    found = pl.concat_list(
        *(dateless.str.extract_all(one) for one in (_RUN, _MARKED, r"\d+")), text.str.extract_all(_GROUPS)
    )
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
        ``place`` of the text, ``key``, the date as ``2026-01-31``, and whether the text is a date ``alone``, each date
        once. A date that can be read with the day first or the month first is there in both readings.
    """
    text = pl.col("text")
    there = texts.to_frame("text").with_row_index("place")
    there = there.filter(text.str.contains("[0-9][^0-9]+[0-9]" if whole else "[0-9].*[0-9]"))
    if there.height:
        there = there.with_columns(fold(text))
    if there.height and whole:
        there = there.filter(text.str.contains(_WHOLE_DATE))
    found = there.lazy().with_columns(series=text.str.extract_all(_SERIES)).explode("series").drop_nulls().collect()
    if not found.height:
        return pl.DataFrame(schema={"place": pl.UInt32, "key": pl.String, "alone": pl.Boolean})
    read = found.join(_readings(found["series"].unique(), first=whole), on="series").lazy()
    alone = text.str.contains(_WHOLE_DATE) | text.str.contains(r"^\d{8}$")
    return read.select("place", "key", alone=alone).unique().collect()


def _readings(series: pl.Series, *, first: bool) -> pl.DataFrame:
    """Read three parts that follow each other as a date, in every way that they could be meant, or the first only."""
    parts, eight = _parts(series), pl.col("eight")
    orders = [("a4", "b2", "c2", "alike"), ("a4", "middle", "c2", "within"), ("c4", "first", "b2", "within")]
    for year, usual in (("c4", "alike"), ("c19", "usual"), ("c20", "usual")):
        orders += [(year, "b2", "a2", usual), (year, "a2", "b2", usual), (year, "middle", "a2", "within")]
    there = parts.filter("within", pl.col("begins") | (not first))
    read = [
        there.filter(pl.col(usual)).select("series", key=pl.concat_str(year, month, day, separator="-"))
        for year, month, day, usual in orders
    ]
    there = parts.filter(eight.is_not_null())
    for ends in (((0, 4), (4, 2), (6, 2)), ((4, 4), (2, 2), (0, 2)), ((4, 4), (0, 2), (2, 2))):
        key = pl.concat_str([eight.str.slice(*end) for end in ends], separator="-")
        read.append(there.select("series", key=key))
    found = pl.concat(read).drop_nulls()
    return found.filter(pl.col("key").str.to_date("%Y-%m-%d", strict=False).is_not_null()).unique()


def _parts(series: pl.Series) -> pl.DataFrame:
    """Cut figures that follow each other into parts, each with the two that come next, as far as they may be of a date.

    Years of two digits are read only between marks that are usual in dates, and not where such figures go on, as those
    of addresses of computers do.
    """
    part, run, gap, tight, word = (pl.col(name) for name in ("part", "run", "gap", "tight", "word"))
    clean = pl.col("series").str.replace_all(r"(\d)(?:st|nd|rd|th|er|o)\b", "${1}").str.replace_all(rf"\b{_OF}", "~")
    parts = series.to_frame("series").with_row_index("run").with_columns(part=clean)
    parts = parts.with_columns(part.str.extract_all(r"(?:\d+|[a-z]+)[^\da-z]*")).explode("part")
    parts = parts.with_columns(
        a=part.str.extract(r"^(\d+)"), word=part.str.extract("^([a-z]+)"),
        gap=part.str.extract(r"([^\da-z]*)$").str.replace_all(r"[\s年月日]+", ""),
        tight=part.str.extract(r"\d([./-])$").fill_null(""),
    )  # fmt: skip
    goes_on = (tight.shift(1) == tight) | (tight.shift(-2) == tight)
    parts = parts.with_columns(
        b=pl.col("a").shift(-1), c=pl.col("a").shift(-2), within=run.shift(-2) == run, begins=run.is_first_distinct(),
        alike=(gap == gap.shift(-1)) & (gap != "~"), marked=gap.is_in(["", "~"]).not_() & (gap.shift(-1) != ""),
        number=((tight != "") & (tight == tight.shift(-1)) & goes_on).fill_null(False),
        first=word.replace_strict(_MONTHS, default=None, return_dtype=pl.String),
        roman=word.replace_strict(_ROMAN, default=None, return_dtype=pl.String),
    )  # fmt: skip
    roman = pl.when(pl.col("marked") | (word.shift(-1).str.len_chars() > 1)).then(pl.col("roman").shift(-1))
    size = {name: pl.col(name).str.len_chars() for name in "abc"}
    two, alike = pl.when(size["c"] == 2).then(pl.col("c")), pl.col("alike")
    return parts.with_columns(
        **{f"{name}2": pl.when(size[name] <= 2).then(pl.col(name).str.zfill(2)) for name in "abc"},
        a4=pl.when(size["a"] == 4).then(pl.col("a")), c4=pl.when(size["c"] == 4).then(pl.col("c")),
        middle=pl.coalesce(pl.col("first").shift(-1), roman), c19="19" + two, c20="20" + two,
        usual=alike & gap.is_in([".", "/", "-"]) & ~pl.col("number"), eight=pl.when(size["a"] == 8).then(pl.col("a")),
    )  # fmt: skip
