"""What identifiers are known by: words run together, digits, and single words of names as far as they are rare.

What many people share names nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.verify.folded import JOINTS, joined_words, number_key, plain_texts, words
from shoal.verify.tally import Counts, Numbering
from shoal.verify.values import encode

# A value that more people have names nobody: five of a small table, one in a thousand of a large one.
_FEW, _SHARE = 5, 1000
_LONGEST, _TURNS, _LEAST_KEY = 8, 4, 5
# Identifiers whose keys are made in one go.
_PART = 1 << 16
# A name has three letters or more; in scripts whose letters are words or syllables, two.
_NAME = r"^\p{L}{3,}|^[\p{Han}\p{Hiragana}\p{Katakana}]{2}"
_LETTERED_OR_DATE = r"\p{L}|^\d{4}-\d\d-\d\d(?:\s|$)|^\d\d?[./]\d\d?[./]\d{4}(?:\s|$)"


class Hidden:
    """Identifiers of all input rows, read batch by batch before anything is looked for."""

    def __init__(self) -> None:
        self._types: dict[str, pl.DataType] = {}
        self._texts: dict[str, Counts] = {}
        self._words: dict[str, pl.DataFrame] = {}
        self._people = Numbering()
        self._rows = 0

    def read(self, hidden: Sequence[pl.Series], who: np.ndarray | None) -> None:
        """Take in the identifiers of some rows, and whose rows they are."""
        for one in hidden:
            self._read(one, who)
            self._rows += len(one) if one is hidden[0] else 0
        if who is not None:
            self._people.see(pl.DataFrame({"who": who}))

    def read_others(self, one: pl.Series, *, people: bool) -> None:
        """Take in a column of rows that take no part; each different cell is taken for somebody's, of nobody seen."""
        different = one.drop_nulls().unique(maintain_order=True)
        self._read(different, -1 - np.arange(len(different)) if people else None)

    def _read(self, one: pl.Series, who: np.ndarray | None) -> None:
        self._types[one.name] = one.dtype
        texts = without_fraction(one) if one.dtype.is_numeric() else plain_texts(one)
        frame = pl.DataFrame({"text": texts} | ({} if who is None else {"who": who})).drop_nulls("text")
        counted = frame.group_by(frame.columns).agg(rows=pl.len())
        self._texts.setdefault(one.name, Counts()).add(counted)
        self._words.pop(one.name, None)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._types)

    def keys(self) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
        """Of every column, what whole identifiers are known by: words, and digits."""
        found = [(name, kind, self._few(name)) for name, kind in self._types.items()]
        return [(name, _whole(kind, texts), _numbers(kind, texts)) for name, kind, texts in found]

    def every_word(self, name: str) -> pl.DataFrame:
        """Words of names, rare or not, each once."""
        return self._word_rows(name).select(pl.col("word").unique())

    def rare_words(self, name: str) -> pl.DataFrame | None:
        """Words of names that few people have, and the rows of each; None of what is no text."""
        if self._types[name] != pl.String:
            return None
        counted = self._word_rows(name)
        found = counted.group_by("word").agg(given=pl.col("rows").sum(), who=_people(counted))
        return found.filter(pl.col("who") <= self._limit()).select("word", "given")

    def _word_rows(self, name: str) -> pl.DataFrame:
        """How many rows have each word of a column of texts, each of which is taken apart once."""
        if name not in self._words:
            texts, found = self._texts[name].counted(), Counts()
            for part in texts.iter_slices(_PART) if texts.height else [texts]:
                found.add(_word_rows(part))
            self._words[name] = found.counted()
        return self._words[name]

    def _few(self, name: str) -> pl.Series:
        """Different identifiers that few people have."""
        counted = self._texts[name].counted()
        if "who" in counted.columns:
            counted = counted.group_by("text").agg(rows=_people(counted))
        return counted.filter(pl.col("rows") <= self._limit())["text"]

    def _limit(self) -> int:
        return max(_FEW, (self._people.count or self._rows) // _SHARE)


def _people(counted: pl.DataFrame) -> pl.Expr:
    """People (or rows) of each group of counted rows."""
    return pl.col("who").n_unique() if "who" in counted.columns else pl.col("rows").sum()


def without_fraction(column: pl.Series) -> pl.Series:
    """Numbers as text; whole ones without the fraction that a float shows."""
    return column.cast(pl.String).str.replace(r"\.0$", "")


def _whole(kind: pl.DataType, texts: pl.Series) -> pl.DataFrame:
    """Keys of identifiers with letters: their words run together, begun with any of them; of mail, the name as well.

    Hashes of them are kept, since there are several an identifier; some more than once, which does no harm.
    """
    found = [pl.DataFrame(schema={"key": pl.UInt64, "first": pl.UInt64})]
    if not kind.is_numeric() and not kind.is_temporal():
        found += [_keys(texts[start : start + _PART]) for start in range(0, len(texts), _PART)]
    return pl.concat(found)


def _keys(texts: pl.Series) -> pl.DataFrame:
    local = texts.filter(texts.str.contains("@")).str.split("@").list.first()
    frame = pl.concat([texts, local]).to_frame("text").select(words=words(pl.col("text")).list.head(_LONGEST))
    # One word of letters is left to the words: as a name it may be one of the language, too.
    frame = frame.with_columns(size=pl.col("words").list.len()).filter(pl.col("size") > 1)
    # Most names have two words, which need no lists.
    pairs = frame.filter(pl.col("size") == 2).select(a=pl.col("words").list.get(0), b=pl.col("words").list.get(1))
    two = [pairs.select(key=pl.col(a) + pl.col(b), first=a) for a, b in ("ab", "ba")]
    frame = frame.filter(pl.col("size") > 2)
    turned = [
        frame.filter(pl.col("size") > turn).select(
            words=pl.concat_list(pl.col("words").list.slice(turn), pl.col("words").list.head(turn))
        )
        for turn in range(_TURNS)
    ]
    keys = pl.concat(turned).select(key=pl.col("words").list.join(""), first=pl.col("words").list.first())
    keys = pl.concat([*two, keys])
    lettered = pl.col("key").str.contains(r"\p{L}") & (pl.col("key").str.len_chars() >= _LEAST_KEY)
    return keys.filter(lettered).select(pl.all().hash())


def _numbers(kind: pl.DataType, texts: pl.Series) -> pl.DataFrame:
    """Digits of identifiers that are long numbers."""
    if kind.is_temporal():
        return pl.DataFrame(schema={"key": pl.String})
    digits = texts.to_frame("text").filter(~pl.col("text").str.contains(_LETTERED_OR_DATE))
    return digits.select(key=number_key(pl.col("text"))).drop_nulls().unique()


def local_names(identifier: pl.Series) -> pl.Series:
    """Of addresses of mail the part before the @, the rest being nobody's."""
    return plain_texts(identifier).str.replace(r"@\S*", " ")


def _word_rows(counted: pl.DataFrame) -> pl.DataFrame:
    """How many rows have each word, and with people whose, given those of different identifiers."""
    each = row_words(local_names(counted["text"]))
    beside = counted.drop("text").select(pl.all().gather(each["row"]))
    words = pl.concat([each.select("word"), beside], how="horizontal")
    return words.group_by(words.columns[:-1]).agg(pl.col("rows").sum())


def row_words(column: pl.Series) -> pl.DataFrame:
    """Row and word, each pair once, of words long enough to be a name."""
    texts = plain_texts(column).alias("text").to_frame().with_row_index("row")
    # No word goes beyond a blank, and people share most of theirs: each is looked at once, wherever it stands.
    pieces = texts.select("row", piece=pl.col("text").str.split(" ")).explode("piece").drop_nulls("piece")
    place, distinct = encode(pieces["piece"])
    words = _piece_words(distinct)
    number, known = encode(words["word"])
    of_piece = pl.DataFrame({"piece": words["piece"], "word": pl.Series(number, dtype=pl.UInt32)})
    rows = pl.DataFrame({"row": pieces["row"], "piece": pl.Series(place, dtype=pl.UInt32)})
    pairs = rows.join(of_piece, on="piece").select(key=pl.col("row").cast(pl.UInt64) * 2**32 + pl.col("word"))
    found = pairs.select(pl.col("key").unique())
    return found.select(
        row=(pl.col("key") // 2**32).cast(pl.UInt32),
        word=pl.lit(known).gather((pl.col("key") % 2**32).cast(pl.UInt32)),
    )


def _piece_words(pieces: pl.Series) -> pl.DataFrame:
    """Words of different pieces of text, and the number of the piece of each."""
    cells, text = pieces.alias("text").to_frame().with_row_index("piece"), pl.col("text")
    spelt = cells.select("piece", word=words(text)).explode("word")
    joined = cells.filter(text.str.contains(JOINTS)).select("piece", word=joined_words(text)).explode("word")
    return pl.concat([spelt, joined]).filter(pl.col("word").str.contains(_NAME))
