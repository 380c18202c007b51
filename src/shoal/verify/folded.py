"""Texts as people read them: words without case, accents and separators, so that spellings of one name meet."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.verify.values import MISSING, STAR

_LETTERS = {"ß": "ss", "ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"}
# Two letters that stand for an umlaut fold to the one that is left without its dots: Müller, Mueller, Muller.
_UMLAUTS = {"ae": "a", "oe": "o", "ue": "u"}
_WORD = r"\p{L}+|\p{N}+"
# Soft hyphens, joiners and the like are not seen by whoever reads a name.
_UNSEEN = r"\p{Cf}"
JOINTS = r"['’ʼ`´‐‑-]"
_DATE = r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
_RUN = r"\d[\d \t/().+-]*\d"
# Four groups and more are a telephone or file number, though a date may seem to stand at its beginning.
_GROUPS = r"\d{1,4}(?:[./-]\d{1,4}){3,}"
# Country codes and leading zeros come and go; the last nine digits of a long number stay.
_TAIL, _LEAST = 9, 6


def plain_texts(column: pl.Series) -> pl.Series:
    """Cells as text, null for missing ones, ``*`` and blanks."""
    text = column.cast(pl.String).str.strip_chars()
    return pl.select(pl.when(~text.is_in([STAR, MISSING, ""])).then(text)).to_series().alias(column.name)


def fold(text: pl.Expr) -> pl.Expr:
    """Lower case without accents; what an umlaut may be written as becomes the letter below it."""
    return text.map_batches(_folded, return_dtype=pl.String)


def _folded(texts: pl.Series) -> pl.Series:
    """The same, quicker for what has no letter beyond ASCII: it cannot have accents, nor anything unseen."""
    beyond = (texts.str.len_bytes() != texts.str.len_chars()).fill_null(False)
    plain, rest = texts.filter(~beyond), texts.filter(beyond)
    plain = _without_umlauts(plain.str.to_lowercase())
    if not len(rest):
        return plain
    bare = pl.select(_without_accents(pl.lit(rest))).to_series()
    order = np.argsort(beyond.to_numpy(), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return pl.concat([plain, _without_umlauts(bare)]).gather(place)


def _without_accents(text: pl.Expr) -> pl.Expr:
    seen = text.str.replace_all(_UNSEEN, "")
    lower = seen.str.to_lowercase().str.replace_many(list(_LETTERS), list(_LETTERS.values()))
    return lower.str.normalize("NFKD").str.replace_all(r"\p{M}", "")


def _without_umlauts(text: pl.Series) -> pl.Series:
    return text.str.replace_many(list(_UMLAUTS), list(_UMLAUTS.values()))


def words(text: pl.Expr) -> pl.Expr:
    """Runs of letters and runs of digits, in order."""
    return fold(text).str.extract_all(_WORD)


def joined_words(text: pl.Expr) -> pl.Expr:
    """The same with apostrophes and hyphens left out: O'Reilly and OReilly are one name."""
    return words(text.str.replace_all(JOINTS, ""))


def numbers(text: pl.Expr) -> pl.Expr:
    """Long numbers of a text, each as its digits: runs, and runs with the separators of telephone numbers between."""
    plain = text.str.replace_all(_UNSEEN, "").str.normalize("NFKC").str.replace_all(r"[‐‑–]", "-")
    dateless = plain.str.replace_all(_DATE, " x ")
    runs = (dateless.str.extract_all(_RUN), dateless.str.extract_all(r"\d+"), plain.str.extract_all(_GROUPS))
    found = pl.concat_list(*runs)
    return found.list.eval(number_key(pl.element())).list.drop_nulls().list.unique()


def number_key(text: pl.Expr) -> pl.Expr:
    """The digits by which a number is known, null where there are too few."""
    digits = text.str.replace_all(r"\D", "")
    return pl.when(digits.str.len_chars() >= _LEAST).then(digits.str.tail(_TAIL).str.strip_chars_start("0"))
