"""What identifiers are known by: words run together, digits, and single words of names as far as they are rare.

What many people share names nobody. Each different identifier is cut into words once. Most of what it could be known
by is never made: no cell can hold an identifier none of whose words begins like a word of the cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.verify.folding import JOINTS, cell_texts, joined_words, number_key, plain_texts, words
from shoal.verify.tally import Numbering
from shoal.verify.values import distinct, encode

# A value that more people have names nobody: five of a small table, one in a thousand of a large one.
_FEW, _SHARE = 5, 1000
_LONGEST, _TURNS, _LEAST_KEY = 8, 4, 5
# Identifiers that are taken apart in one go.
_PART = 1 << 16
# Identifiers are put together when there are so many of them, and then when there are thrice as many as were left.
_ROOM = 1 << 20
# A name has three letters or more; in scripts whose letters are words or syllables, two.
_NAME = r"^\p{L}{3,}|^[\p{Han}\p{Hiragana}\p{Katakana}]{2}"
_LETTERED_OR_DATE = r"\p{L}|^\d{4}-\d\d-\d\d(?:\s|$)|^\d\d?[./]\d\d?[./]\d{4}(?:\s|$)"


class Hidden:
    """Identifiers of all input rows, read batch by batch before anything is looked for."""

    def __init__(self) -> None:
        self._types: dict[str, pl.DataType] = {}
        self._texts: dict[str, _Texts] = {}
        # By column and whether of addresses of mail the part before the @ is all that counts.
        self._cuts: dict[tuple[str, bool], _Cut] = {}
        self._owners: dict[str, Owners] = {}
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
        frame = pl.DataFrame({"text": cell_texts(one)} | ({} if who is None else {"who": who})).drop_nulls("text")
        self._texts.setdefault(one.name, _Texts()).add(frame)
        self._cuts.clear()
        self._owners.clear()

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._types)

    def looked(self, heard: pl.Series) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
        """Of every column, what whole identifiers are known by: words, and digits.

        Parameters
        ----------
        heard
            Different words of all cells that keys are looked for in; those that could not stand there are left out.
        """
        found = []
        for name, kind in self._types.items():
            counted, few = self._texts[name].counted(), self._few(name)
            near = few & self._near(name, heard) if _is_worded(kind) else np.zeros(len(few), dtype=bool)
            found.append((name, _whole(_taken(counted, near)), _numbers(kind, _taken(counted, few))))
        return found

    def owners(self, name: str) -> Owners:
        """Count the rows of each different identifier of a column."""
        if name not in self._owners:
            found = self._texts[name].counted()
            if "who" in found.columns:
                found = found.group_by("text").agg(pl.col("rows").sum())
            self._owners[name] = Owners(found, self._types[name])
        return self._owners[name]

    def every_word(self, name: str) -> pl.DataFrame:
        """Words of names, rare or not, each once, and the ``part`` of the identifiers that have it."""
        cut = self._cut(name, local=True)
        part = np.bincount(cut.words, minlength=len(cut.known)) / max(self._texts[name].counted().height, 1)
        known = pl.DataFrame({"word": cut.known, "part": part})
        return known.filter(pl.col("word").str.contains(_NAME))

    def rare_words(self, name: str) -> pl.DataFrame | None:
        """Words of names that few people have, and the rows of each; None of what is no text."""
        if self._types[name] != pl.String:
            return None
        counted, cut = self._texts[name].counted(), self._cut(name, local=True)
        rows = pl.DataFrame({"word": cut.words}).hstack(counted.drop("text").select(pl.all().gather(cut.rows)))
        found = rows.group_by("word").agg(given=pl.col("rows").sum(), who=_people(counted))
        found = found.filter(pl.col("who") <= self._limit())
        found = found.select(word=cut.known.gather(found["word"]), given="given")
        return found.filter(pl.col("word").str.contains(_NAME))

    def _near(self, name: str, heard: pl.Series) -> np.ndarray:
        """Which identifiers of a column have a word that a key could begin with which stands in cells."""
        cut = self._cut(name, local=False)
        found = np.zeros(self._texts[name].counted().height, dtype=bool)
        found[cut.rows[_beginning(cut.known, heard)[cut.words]]] = True
        return found

    def _cut(self, name: str, *, local: bool) -> _Cut:
        """The identifiers of a column, each taken apart once."""
        texts = self._texts[name].counted()["text"]
        local = local and bool(texts.str.contains("@", literal=True).any())
        if (name, local) not in self._cuts:
            self._cuts[name, local] = _Cut.of(local_names(texts) if local else texts)
        return self._cuts[name, local]

    def _few(self, name: str) -> np.ndarray:
        """Which identifiers few people have."""
        counted = self._texts[name].counted()
        people = pl.col("who").n_unique().over("text") if "who" in counted.columns else pl.col("rows")
        return counted.select(people <= self._limit()).to_series().to_numpy()

    def _limit(self) -> int:
        return max(_FEW, (self._people.count or self._rows) // _SHARE)


class Owners:
    """The different identifiers of a column, and the share that each of its rows has in all rows with it.

    Attributes
    ----------
    texts
        The different identifiers.
    kind
        The type of the column.
    """

    def __init__(self, counted: pl.DataFrame, kind: pl.DataType) -> None:
        self.texts, self.kind = counted["text"], kind
        self._shared = counted.filter(pl.col("rows") > 1).select("text", share=1.0 / pl.col("rows"))

    def shares(self, texts: pl.Series) -> np.ndarray:
        """The share of a row with each text, 0 for null; a text of one row, or that was never read, stands alone."""
        there = texts.is_not_null().cast(pl.Float64).to_numpy()
        if not self._shared.height or not len(texts):
            return there
        met = texts.to_frame("text").join(self._shared, on="text", how="left", maintain_order="left")
        return met["share"].fill_null(1.0).to_numpy() * there


class _Texts:
    """Identifiers, and with people whose they are, each combination with its ``rows``."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = []
        self._room, self._counted = _ROOM, False

    def add(self, frame: pl.DataFrame) -> None:
        """Take in some rows."""
        self._parts.append(frame.with_columns(rows=pl.lit(1, dtype=pl.Int64)))
        self._counted = False
        if sum(part.height for part in self._parts) > self._room:
            self._room = max(_ROOM, 3 * self.counted().height)

    def counted(self) -> pl.DataFrame:
        """Each combination once, in no order."""
        if not self._counted:
            frame = pl.concat(self._parts)
            self._parts = [frame.group_by(frame.columns[:-1]).agg(pl.col("rows").sum())]
            self._counted = True
        return self._parts[0]


class _Cut(NamedTuple):
    """Words of some texts, of each text every word once.

    Attributes
    ----------
    rows, words
        Pairs of a text and the number of a word of it.
    known
        The different words.
    """

    rows: np.ndarray
    words: np.ndarray
    known: pl.Series

    @classmethod
    def of(cls, texts: pl.Series) -> _Cut:
        """Take texts apart, some after others."""
        numbering, rows, words = Numbering(), [], []
        for start in range(0, max(len(texts), 1), _PART):
            part = _cut(texts[start : start + _PART])
            rows.append(part.rows + np.uint32(start))
            words.append(numbering.see(part.known.to_frame("word")).codes.astype(np.uint32)[part.words])
        return cls(np.concatenate(rows), np.concatenate(words), numbering.rows["word"])


def _cut(texts: pl.Series) -> _Cut:
    """The words of texts, spelt and with their joints left out."""
    there = plain_texts(texts).to_frame("text").with_row_index("row").drop_nulls("text")
    # No word goes beyond a blank, and people share most of theirs: each is looked at once, wherever it stands.
    pieces = there["text"].str.split(" ")
    row = np.repeat(there["row"].to_numpy(), pieces.list.len().to_numpy())
    place, different = encode(pieces.explode(empty_as_null=True))
    spelt = _piece_words(different).sort("piece")
    number, known = encode(spelt["word"])
    # The words of a piece stand one after another; every row of the piece has them.
    many = np.bincount(spelt["piece"].to_numpy(), minlength=len(different))
    begins, times = np.cumsum(many) - many, many[place]
    at = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times - begins[place], times)
    pairs = distinct(np.repeat(row, times).astype(np.int64) << 32 | number[at])
    return _Cut((pairs >> 32).astype(np.uint32), (pairs & 0xFFFFFFFF).astype(np.uint32), known)


def _beginning(known: pl.Series, heard: pl.Series) -> np.ndarray:
    """Which words of identifiers a key may begin with that is a run of heard words.

    A run is one heard word, whose beginning the first word of the key is then; or it begins with a heard word that is
    one of the identifiers' too, and then one of the two words begins the other.
    """
    found = np.zeros(len(known), dtype=bool)
    own, other = known.str.len_chars().to_numpy(), heard.str.len_chars().to_numpy()
    for size in np.unique(own):
        mine = np.flatnonzero(own == size)
        begun = pl.lit(heard.filter(other >= size)).str.head(int(size)).implode()
        found[mine] = pl.select(pl.lit(known[mine]).is_in(begun)).to_series().to_numpy()
    both = heard.filter(heard.is_in(known.implode()))
    for size in both.str.len_chars().unique():
        found |= pl.select(pl.lit(known).str.head(int(size)).is_in(both.implode())).to_series().to_numpy()
    return found


def _taken(counted: pl.DataFrame, rows: np.ndarray) -> pl.Series:
    """Identifiers of some rows, each once."""
    texts = counted["text"].filter(rows)
    return texts.unique() if "who" in counted.columns else texts


def _is_worded(kind: pl.DataType) -> bool:
    return not kind.is_numeric() and not kind.is_temporal()


def _people(counted: pl.DataFrame) -> pl.Expr:
    """People (or rows) of each group of counted rows."""
    return pl.col("who").n_unique() if "who" in counted.columns else pl.col("rows").sum()


def _whole(texts: pl.Series) -> pl.DataFrame:
    """Keys of identifiers with letters: their words run together, begun with any of them; of mail, the name as well.

    Hashes of them are kept, since there are several an identifier; some more than once, which does no harm.
    """
    found = [pl.DataFrame(schema={"key": pl.UInt64, "first": pl.UInt64})]
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


def row_words(column: pl.Series) -> pl.DataFrame:
    """Row and word, each pair once, of words long enough to be a name."""
    found = _cut(column)
    named = found.known.str.contains(_NAME).to_numpy()[found.words]
    return pl.DataFrame({"row": found.rows[named], "word": found.known.gather(found.words[named])})


def _piece_words(pieces: pl.Series) -> pl.DataFrame:
    """Words of different pieces of text, and the number of the piece of each."""
    cells, text = pieces.to_frame("text").lazy().with_row_index("piece"), pl.col("text")
    spelt = cells.select("piece", word=words(text)).explode("word")
    joined = cells.filter(text.str.contains(JOINTS)).select("piece", word=joined_words(text)).explode("word")
    return pl.concat([spelt, joined]).drop_nulls("word").collect()


# ----------------------------------------
# Tell copied identifiers from those that meet cells by chance.
#
# Chance means: the different identifiers of a column, each with all its rows, are dealt anew to their owners. A hit
# counts by its share of the rows of its owner, so an owner is hit once at most. On average, the sum over all groups
# of so many owners of the products of their hits is at most that of a Poisson variable of the same mean
# (Maclaurin's inequality for the sums of products over owners). With so many hits there are at least the binomial
# coefficient of such groups, which bounds the chance of them, in small tables as in large ones.


# How likely an honest release is refused because of identifiers in cells of their own rows, over all pairs of columns.
LEVEL = 1e-9


def is_excess(hits: float, expected: float, level: float) -> bool:
    """Decide whether so many hits, where so many are expected, are less likely than the level."""
    if hits <= expected or expected <= 0:
        return hits > expected
    # Groups of this many owners bound the chance best.
    group = math.ceil(hits - expected)
    return group * math.log(expected) + math.lgamma(hits - group + 1) - math.lgamma(hits + 1) < math.log(level)
