"""Whether anything that names a person is left in the release or its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.coded import Coded, Held
from shoal.verify.types import Check
from shoal.verify.values import MISSING, STAR, canonical

# Equal short numbers happen by chance; a column is suspect when they meet in their own row far more often.
_CHANCE_BASE, _CHANCE_FACTOR = 3, 3
_WORD = r"[\p{L}\p{N}]+"
_START = np.zeros(1, dtype=np.int64)


class OwnIdentifiers:
    """Look for each row's identifiers in the cells of the same row, batch by batch.

    A text of at least three characters with a letter fails when its words stand in a text cell of its row;
    where they do so in the next row too, as surnames among occupations might, only when clearly more often.
    Other identifiers fail by the column, when they equal a cell of their own row clearly more often than one
    of the next row.
    """

    def __init__(self) -> None:
        self._meetings: dict[tuple[str, str], _Meetings] = {}

    def see(self, released: Coded, identifiers: Sequence[pl.Series]) -> None:
        """Compare the rows of a batch with their identifiers, which are aligned with them."""
        held = {name: released[name] for name in released.frame.columns} if identifiers else {}
        cells = {name: Held(one.codes, _texts(one.distinct)) for name, one in held.items()}
        said = {name: _vocabulary(cells[name]) for name, one in held.items() if not _is_numeric(one.distinct.dtype)}
        for identifier in identifiers:
            own = _texts(identifier)
            telling = own.str.contains(r"\p{L}") & (own.str.len_chars() >= 3)
            words = pl.select(pl.when(telling).then(own)).to_series().alias("own")
            rest = pl.select(pl.when(~telling).then(own)).to_series()
            begins = words.str.extract(_WORD, 0)
            some = rest.is_not_null().arg_true().to_numpy()
            near = begins.is_in(pl.concat([*said.values(), begins[:0]]).unique().implode()).fill_null(False).arg_true()
            for name, texts in cells.items():
                found = self._meetings.setdefault((identifier.name, name), _Meetings())
                if name in said:
                    mine = near.filter(begins.gather(near).is_in(said[name].implode())) if len(near) else near
                    found.see_words(words, texts, mine.to_numpy())
                found.see_equal(rest, texts, some)

    def check(self) -> Check:
        """What all batches hold."""
        if not self._meetings:
            return Check(name="identifier values", passed=True, detail="The input has no identifier.")
        problems = []
        for name in dict.fromkeys(name for name, _ in self._meetings):
            mine = {column: found for (one, column), found in self._meetings.items() if one == name}
            held = [(column, found.contained) for column, found in mine.items() if found.contained]
            problems += [f"{rows:,} cells of '{column}' hold their row's '{name}'" for column, rows in held]
            often = [column for column, found in mine.items() if found.too_often]
            problems += [f"'{column}' repeats '{name}' more often than chance" for column in often]
        detail = (
            f"Identifiers are left in the release: {'; '.join(problems)}."
            if problems
            else "No identifier value stands in a cell of its own row."
        )
        return Check(name="identifier values", passed=not problems, detail=detail)


class _Meetings:
    """How often an identifier meets the cells of a column in its own row, and in the next one."""

    def __init__(self) -> None:
        self.said = self.said_next = self.equal = self.equal_next = 0
        self._last_words: str | None = None
        self._last: str | None = None
        self._first: str | None = None
        self._begun = False

    def see_words(self, own: pl.Series, texts: Held, near: np.ndarray) -> None:
        """Look at identifiers that begin with a word of the column: no other stands in a cell of it."""
        if not len(own):
            return
        if len(near):
            self.said += _whole_words(_pairs(own.gather(near), texts, near))
            self.said_next += _whole_words(_following(own, texts, near))
        if self._last_words is not None:
            self.said_next += _whole_words(_pairs(pl.Series([self._last_words]), texts, _START))
        self._last_words = own[-1]

    def see_equal(self, own: pl.Series, texts: Held, some: np.ndarray) -> None:
        """Look at identifiers that are no null."""
        if not len(own):
            return
        if len(some):
            self.equal += _equal(_pairs(own.gather(some), texts, some))
            self.equal_next += _equal(_following(own, texts, some))
        if self._last is not None:
            self.equal_next += _equal(_pairs(pl.Series([self._last]), texts, _START))
        if not self._begun:
            self._first, self._begun = texts.distinct[int(texts.codes[0])], True
        self._last = own[-1]

    @property
    def contained(self) -> int:
        """Rows whose identifier stands, as whole words, in their own cell; 0 when the next row explains it."""
        clear = not self.said_next or self.said > _CHANCE_BASE + _CHANCE_FACTOR * self.said_next
        return self.said if clear else 0

    @property
    def too_often(self) -> bool:
        """Whether equal values meet in their own row far more often than in the next, the first after the last."""
        around = self._last is not None and self._last == self._first
        return self.equal > _CHANCE_BASE + _CHANCE_FACTOR * (self.equal_next + around)


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


def _whole_words(pairs: pl.DataFrame) -> int:
    """Rows whose text holds their own identifier, not as a part of a longer word."""
    shortest = pairs["own"].str.len_chars().min()
    longest = pairs["text"].unique().str.len_chars().max()
    if shortest is None or longest is None or longest < shortest:  # type: ignore[operator]
        return 0
    # Plain containment is quick and seldom; only what passes it is taken apart into words.
    found = pairs.filter(pl.col("text").str.contains(pl.col("own"), literal=True))
    words = found.select(own=_words(pl.col("own")), text=_words(pl.col("text")))
    return int(words.select(pl.col("text").str.contains(pl.col("own"), literal=True).sum()).item())


def _pairs(own: pl.Series, texts: Held, rows: np.ndarray) -> pl.DataFrame:
    """Identifiers, and beside each the text of a row."""
    return pl.DataFrame({"own": own, "text": texts.distinct.gather(texts.codes[rows])})


def _following(own: pl.Series, texts: Held, rows: np.ndarray) -> pl.DataFrame:
    """Identifiers of some rows, and beside each the text of the row after it."""
    before = rows[rows + 1 < len(own)]
    return _pairs(own.gather(before), texts, before + 1)


def _equal(pairs: pl.DataFrame) -> int:
    return int((pairs["own"] == pairs["text"]).sum())


def _vocabulary(texts: Held) -> pl.Series:
    """The words of a column, each once."""
    return texts.distinct.str.extract_all(_WORD).explode().drop_nulls().unique()


def _words(text: pl.Expr) -> pl.Expr:
    """Words between single blanks, so that a part of a longer word is no match."""
    blank = pl.lit(" ")
    return blank + text.str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars() + blank


def _texts(column: pl.Series) -> pl.Series:
    """Cells as trimmed texts, null for missing ones and for the verifier's own ``*`` and ``<missing>``."""
    if _is_numeric(column.dtype):
        return canonical(column, "numeric")[0]
    text = column.cast(pl.String).str.strip_chars()
    return pl.select(pl.when(~text.is_in([STAR, MISSING, ""])).then(text)).to_series()


def _is_numeric(dtype: pl.DataType) -> bool:
    return dtype.is_numeric()


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
