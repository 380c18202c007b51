"""Whether anything that names a person is left in the release or its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.verify.types import Check
from shoal.verify.values import MISSING, STAR, canonical

# Equal short numbers happen by chance; a column is suspect when they meet in their own row far more often.
_CHANCE_BASE, _CHANCE_FACTOR = 3, 3


def check_identifier_values(released: pl.DataFrame, identifiers: Sequence[pl.Series]) -> Check:
    """Look for each row's identifiers in the cells of the same row.

    A text of at least three characters with a letter fails when its words stand in a text cell of its row;
    where they do so in the next row too, as surnames among occupations might, only when clearly more often.
    Other identifiers fail by the column, when they equal a cell of their own row clearly more often than one
    of the next row.

    Parameters
    ----------
    released, identifiers
        Aligned row by row.
    """
    if not identifiers:
        return Check(name="identifier values", passed=True, detail="The input has no identifier.")
    cells = {name: _texts(released[name]) for name in released.columns}
    text_columns = [name for name in released.columns if not _is_numeric(released[name].dtype)]
    problems = []
    for identifier in identifiers:
        name, own = identifier.name, _texts(identifier)
        telling = own.str.contains(r"\p{L}") & (own.str.len_chars() >= 3)
        for column in text_columns:
            rows = _contained(own, telling, cells[column])
            if rows:
                problems.append(f"{rows:,} cells of '{column}' hold their row's '{name}'")
        rest = pl.select(pl.when(~telling).then(own)).to_series()
        for column, texts in cells.items():
            if _meets_too_often(rest, texts):
                problems.append(f"'{column}' repeats '{name}' more often than chance")
    detail = (
        f"Identifiers are left in the release: {'; '.join(problems)}."
        if problems
        else "No identifier value stands in a cell of its own row."
    )
    return Check(name="identifier values", passed=not problems, detail=detail)


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


def _contained(own: pl.Series, telling: pl.Series, texts: pl.Series) -> int:
    """Rows whose identifier stands, as whole words, in their own cell; 0 when the next row explains it."""
    pairs = pl.DataFrame({"own": pl.select(pl.when(telling).then(own)).to_series(), "text": texts})
    here = _whole_words(pairs)
    if not here:
        return 0
    chance = _whole_words(pairs.with_columns(pl.col("own").shift(1)))
    return here if not chance or here > _CHANCE_BASE + _CHANCE_FACTOR * chance else 0


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


def _words(text: pl.Expr) -> pl.Expr:
    """Words between single blanks, so that a part of a longer word is no match."""
    blank = pl.lit(" ")
    return blank + text.str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars() + blank


def _meets_too_often(own: pl.Series, texts: pl.Series) -> bool:
    if own.null_count() == len(own):
        return False
    turned = own.gather(np.roll(np.arange(len(own)), 1))
    here, chance = int((own == texts).sum()), int((turned == texts).sum())
    return here > _CHANCE_BASE + _CHANCE_FACTOR * chance


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
