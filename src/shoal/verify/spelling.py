"""One spelling a value and a cell: what two texts stand for is one to a program and two to a reader who counts texts.

Texts that nobody can tell apart by looking are one value. Tokens have a form that no name has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from shoal.verify.cells import parse_ends, parse_set, parse_text
from shoal.verify.manifest_column import Column
from shoal.verify.manifest_schema import Claims
from shoal.verify.report import Check
from shoal.verify.values import MISSING, STAR, canonical, encode

# Keyed digests of 128 to 256 bits, in hexadecimal.
_TOKEN = r"^([0-9a-f]{32}|[0-9a-f]{34,64})$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
# The ends of intervals are ours: the shortest digits, with an exponent below 1e-7 and from 1e41 on.
_END = (
    r"^-?((0|[1-9][0-9]*)(\.[0-9]*[1-9])?|"
    r"[1-9](\.[0-9]*[1-9])?e(-[89]|-[1-9][0-9]+|4[1-9]|[5-9][0-9]|[1-9][0-9]{2,}))$"
)
_PAIR = r"^\[([^,\[\]]+),([^,\[\]]+)\]$"
# What leaves no mark on a page or a screen, and what looks like a blank.
_UNSEEN = r"[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}--\s]"
_BLANK = r"[\s\u{2800}]+"


def check_spelling(tables: Sequence[Mapping[str, pl.Series]], claims: Claims) -> list[Check]:
    """Every number and date of a text column is spelled in one way, and every token as tokens are.

    Parameters
    ----------
    tables
        The different cells of each column of each table.
    """
    problems, tokens = [], []
    for column in claims.columns:
        for table in tables:
            for name in column.files:
                if name not in table or table[name].dtype != pl.String:
                    continue
                found = _respelled(table[name], column)
                if found:
                    problems.append(f"{found:,} values of '{name}' are spelled in a way that no release is")
                if column.coded == "token" and (odd := _no_tokens(table[name])):
                    tokens.append(f"{odd:,} values of '{name}' are no tokens")
    detail = "; ".join(problems) + "." if problems else "Every value is spelled in one way."
    checks = [Check(name="spelling", passed=not problems, detail=detail)]
    if any(column.coded == "token" for column in claims.columns):
        detail = "; ".join(tokens) + "." if tokens else "Every token has the form of tokens."
        checks.append(Check(name="tokens", passed=not tokens, detail=detail))
    return checks


def _no_tokens(values: pl.Series) -> int:
    known = values.filter((values != MISSING) & (values != STAR)).unique()
    return int((~known.str.contains(_TOKEN)).sum())


def _respelled(values: pl.Series, column: Column) -> int:
    """Distinct texts that are not the only ones for what they stand for, or that no value or cell is written as."""
    text = pl.col("text")
    texts = values.to_frame("text").select(text.filter(~text.is_in([MISSING, STAR])).unique()).to_series()
    if column.cells in ("interval", "set"):
        return _respelled_cells(texts, column)
    if column.cells == "label" or column.coded == "token":
        return 0
    if column.reads not in ("numeric", "date"):
        return _alike(texts) if column.role == "sensitive" else 0
    several = len(texts) - len(encode(canonical(texts, column.reads)[0])[1])
    odd = int((~texts.str.contains(_NUMBER)).sum()) if column.reads == "numeric" and column.role == "quasi" else 0
    return max(several, odd)


def _respelled_cells(texts: pl.Series, column: Column) -> int:
    if column.cells == "interval" and column.type in ("numeric", "date"):
        return _respelled_ranges(texts, column.type)
    found = [_members(cell, column.cells) for cell in texts.to_list()]
    odd = sum(not right for _, right in found)
    return odd + len(found) - len({members for members, _ in found})


def _respelled_ranges(texts: pl.Series, kind: str) -> int:
    """Intervals of one point, and ends of numbers and dates that are not the only ones for them."""
    ends = [texts.str.extract(_PAIR, part) for part in (1, 2)]
    alone = texts.filter(ends[0].is_null())
    every = pl.concat([*ends, alone]).drop_nulls().unique()
    same = canonical(every, kind)[0]
    several = len(every) - len(encode(same)[1])
    odd = every.str.contains(_END) if kind == "numeric" else every == same
    return max(several, int((~odd).sum())) + int((ends[0] == ends[1]).sum())


def _members(cell: str, kind: str) -> tuple[tuple[str, ...], bool]:
    """What a cell of texts stands for, and whether it names each once; an unreadable one is itself."""
    if kind == "set":
        values = parse_set(cell)
    else:
        alone = parse_text(cell, "[")
        values = parse_ends(cell) or (None if alone is None else [alone])
    if values is None:
        return (cell,), True
    whole = values if kind == "interval" else sorted(values)
    return ("", *whole), len(set(values)) == len(values)


def _alike(texts: pl.Series) -> int:
    """Texts beyond the first of each that looks the same."""
    seen = texts.str.normalize("NFC").str.replace_all(_UNSEEN, "").str.replace_all(_BLANK, " ").str.strip_chars(" ")
    return len(texts) - seen.n_unique()
