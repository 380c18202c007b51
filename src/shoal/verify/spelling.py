"""One spelling a value: what two texts stand for is one value to a program and two to a reader who counts texts.

Tokens have a form that no name has.
"""

from __future__ import annotations

import polars as pl

from shoal.verify.claims import Claims, Column
from shoal.verify.types import Check
from shoal.verify.values import MISSING, STAR, canonical, encode

# Keyed digests of 128 to 256 bits, in hexadecimal.
_TOKEN = r"^([0-9a-f]{32}|[0-9a-f]{34,64})$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def check_spelling(frame: pl.DataFrame, apart: pl.DataFrame | None, claims: Claims) -> list[Check]:
    """Every number and date of a text column is spelled in one way, and every token as tokens are."""
    problems, tokens = [], []
    tables = [frame] if apart is None else [frame, apart]
    for column in claims.columns:
        for table in tables:
            for name in column.files:
                if name not in table.columns or table[name].dtype != pl.String:
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
    """Distinct texts of a number or date that are not the only ones for it, or that no number is written as."""
    if column.reads not in ("numeric", "date") or column.cells not in ("value", "bounds", "representative"):
        return 0
    texts = values.unique(maintain_order=True).drop_nulls()
    texts = texts.filter(~texts.is_in([MISSING, STAR]))
    several = len(texts) - len(encode(canonical(texts, column.reads)[0])[1])
    odd = int((~texts.str.contains(_NUMBER)).sum()) if column.reads == "numeric" and column.role == "quasi" else 0
    return max(several, odd)
