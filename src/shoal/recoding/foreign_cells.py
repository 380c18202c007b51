"""Cells of a file that no manifest explains, as this and other tools write them: what values each covers.

Numbers and dates may stand alone or as ``[20,29]``, ``[20,30[``, ``[20,30)``, ``20-29``, ``20..29``, ``20 to 29``,
``<20``, ``>=60``, ``60+``, numbers also as ``2*``, and dates as months and years, ``2024-05`` and ``2024``. Texts may
be masked by stars at one end (``SW1**``) or stand in sets, ``{a|b}`` or ``{a, b}``. ``*`` is everything. All other
cells are the value they show.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy import MISSING, ROOT
from shoal.errors import InputError
from shoal.recoding import cell_text as grammar
from shoal.recoding.cover import Cover, cover_column

_EPOCH = date(1970, 1, 1).toordinal()
_LAST = "\U0010ffff"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_DATE = r"\d{4}-\d{2}-\d{2}"
# Both ends of a span, each with whether it belongs to it; None where it has no end there.
Span = tuple[Any, bool, Any, bool]


def foreign_cover(entry: Mapping[str, Any], frame: pl.DataFrame) -> Cover:
    """What the cells of a column cover, by how they are written.

    Parameters
    ----------
    entry
        ``name``, ``type`` (None: whatever fits all cells) and, where cells are labels, the rows of their ``hierarchy``.
    """
    name, type = entry["name"], entry["type"]
    if entry.get("hierarchy"):
        leaves = all(re.fullmatch(_NUMBER, row[0]) for row in entry["hierarchy"])
        made = cover_column({**entry, "type": "numeric" if leaves else "categorical", "cells": "label"}, frame)
        assert made is not None
        return made
    texts = canonical_text(frame[name]).fill_null(MISSING)
    distinct = texts.unique().sort().to_list()
    cell = texts.replace_strict(distinct, list(range(len(distinct))), return_dtype=pl.Int32).to_numpy()
    for kind in ("numeric", "date"):
        spans = [] if type not in (None, kind) else [span(text, kind) for text in distinct]
        wrong = sum(span is None for span in spans)
        if spans and not wrong and any(text not in (ROOT, MISSING) for text in distinct):
            return _of_spans(name, kind, distinct, cell, spans)
        if type == kind:
            what = "number" if kind == "numeric" else "date"
            raise InputError(f"Column '{name}' has {wrong} different cells that are no {what}: give it a hierarchy.")
    return _masked(name, distinct, cell) or _of_sets(name, texts)


def span(text: str, kind: str) -> Span | None:
    """Ends of what a cell covers; None where it is not written like that."""
    if text in (ROOT, MISSING):
        return None, True, None, True
    text = text.strip()
    one, read = (_NUMBER, _number) if kind == "numeric" else (rf"{_DATE}|\d{{4}}-\d{{2}}|\d{{4}}", _days)
    dash = "-" if kind == "numeric" else r"(?<=\s)-(?=\s)"
    between = rf"\s*(?:{dash}|–|—|\.\.+|to|:|/)\s*"
    sides = rf"({one}|-inf|-∞)?(?:\s*[,;]\s*|{between})({one}|inf|∞)?"
    found: Span | None = None
    if match := re.fullmatch(one, text):
        found = _closed(read, text, text)
    elif match := re.fullmatch(rf"({one}){between}({one})", text):
        found = _closed(read, match[1], match[2])
    elif match := re.fullmatch(rf"([\[(\]])\s*{sides}\s*([\])\[])", text):
        found = _bracketed(read, *match.groups())
    elif match := re.fullmatch(rf"(<=|>=|≤|≥|<|>)\s*({one})|({one})\s*\+", text):
        found = _compared(read, *match.groups())
    elif kind == "numeric" and (match := re.fullmatch(r"(\d+)(\*+)", text)):
        unit = 10 ** len(match[2])
        found = int(match[1]) * unit, True, (int(match[1]) + 1) * unit, False
    if found is None or (found[0] is not None and found[2] is not None and found[0] > found[2]):
        return None
    return found


Read = Callable[[str], tuple[Any, Any] | None]


def _closed(read: Read, low: str, high: str) -> Span | None:
    first, last = read(low), read(high)
    return None if first is None or last is None else (first[0], True, last[1], True)


def _bracketed(read: Read, left: str, low: str | None, high: str | None, right: str) -> Span | None:
    first, last = (None if end is None or end.endswith(("inf", "∞")) else read(end) for end in (low, high))
    closed = right == "]"
    # Open at the end of a month means before the month.
    end = None if last is None else last[1] if closed else last[0]
    return None if first is None else first[0 if left == "[" else 1], left == "[", end, closed


def _compared(read: Read, sign: str | None, number: str | None, least: str | None) -> Span | None:
    found = read(number or least or "")
    if found is None:
        return None
    match sign:
        case "<" | "<=" | "≤":
            return None, True, found[0] if sign == "<" else found[1], sign != "<"
        case ">":
            return found[1], False, None, True
    return found[0], True, None, True


def _number(text: str) -> tuple[Any, Any]:
    number = int(text) if re.fullmatch(r"-?\d+", text) else Decimal(text)
    return number, number


def _days(text: str) -> tuple[Any, Any] | None:
    """First and last day of a date, a month or a year."""
    year, month, day = (*(int(part) for part in text.split("-")), 0, 0)[:3]
    try:
        last = calendar.monthrange(year, month or 12)[1]
        ends = date(year, month or 1, day or 1), date(year, month or 12, day or last)
    except ValueError:
        return None
    return ends[0].toordinal() - _EPOCH, ends[1].toordinal() - _EPOCH


def _of_spans(name: str, kind: str, texts: list[str], cell: np.ndarray, spans: Sequence[Span | None]) -> Cover:
    known = [span for span in spans if span is not None]
    ends = sorted({end for span in known for end in (span[0], span[2]) if end is not None})
    place = {end: 2 * at + 1 for at, end in enumerate(ends)}
    last = 2 * len(ends)
    runs = []
    for text, (low, with_low, high, with_high) in zip(texts, known, strict=True):
        first = 0 if low is None else place[low] + (not with_low)
        runs.append((first, last if high is None else place[high] - (not with_high)))
        if text in (ROOT, MISSING):
            runs[-1] = (0, last + 2) if text == ROOT else (last + 1, last + 1)
    return Cover(name=name, type=kind, cell=cell, bounds=ends, codes={}, texts=texts, **_runs(runs, last + 3))


def _runs(runs: Sequence[tuple[int, int]], atoms: int) -> dict[str, Any]:
    low, high = np.array(runs, dtype=np.int32).reshape(-1, 2).T
    return {"run_at": np.arange(len(runs) + 1), "low": low, "high": high, "atoms": atoms}


class _Masked(Cover):
    """Texts with stars at one end; a text lies on a line by its length, then by its letters from the other end.

    A mask is a stretch of that line, and ``codes`` says from which end it is read.
    """

    def place(self, values: pl.Series) -> np.ndarray:
        """int32 atom of every value of some people."""
        texts = canonical_text(values)
        distinct = texts.unique().drop_nulls().sort()
        assert self.bounds is not None
        found = []
        for text in distinct.to_list():
            point = _point(text, self.codes["left"])
            at = bisect_left(self.bounds, point)
            found.append(2 * at + 1 if at < len(self.bounds) and self.bounds[at] == point else 2 * at)
        missing = self.atoms - 2
        if not found:
            return np.full(texts.len(), missing, dtype=np.int32)
        atoms = texts.replace_strict(distinct, found, default=missing, return_dtype=pl.Int32)
        return atoms.fill_null(missing).to_numpy()


def _point(text: str, left: int) -> tuple[int, str]:
    return len(text), text[::-1] if left else text


def _masked(name: str, texts: list[str], cell: np.ndarray) -> Cover | None:
    """Masked texts; None where no cell is masked, or one has stars elsewhere."""
    plain = [text for text in texts if text != MISSING and text.strip(ROOT)]
    starred = {text for text in plain if ROOT in text}
    ends_in = [all(re.fullmatch(mask, text) for text in starred) for mask in (r"[^*]+\*+", r"\*+[^*]+")]
    if not starred or not any(ends_in):
        return None
    left = int(not ends_in[0])
    stretch = {}
    for text in plain:
        size, shown = _point(text, left)
        shown = shown.rstrip(ROOT) if text in starred else shown
        stretch[text] = ((size, shown), (size, shown + _LAST if text in starred else shown))
    ends = sorted({end for both in stretch.values() for end in both})
    place = {end: 2 * at + 1 for at, end in enumerate(ends)}
    missing = 2 * len(ends) + 1
    runs = []
    for text in texts:
        if text in stretch:
            runs.append((place[stretch[text][0]], place[stretch[text][1]]))
        else:
            runs.append((missing, missing) if text == MISSING else (0, missing + 1))
    return _Masked(
        name=name, type="categorical", cell=cell, bounds=ends, codes={"left": left}, texts=texts,
        **_runs(runs, missing + 2),
    )  # fmt: skip


def _of_sets(name: str, texts: pl.Series) -> Cover:
    """Sets and plain values, rewritten as this tool writes them."""
    distinct = texts.unique()
    ours = pl.Series([_as_ours(text) for text in distinct.to_list()], dtype=pl.String)
    frame = pl.DataFrame({name: texts.replace_strict(distinct, ours)})
    made = cover_column({"name": name, "type": "categorical", "cells": "set"}, frame)
    assert made is not None
    return made


def _as_ours(text: str) -> str:
    if text in (ROOT, MISSING):
        return text
    if text.startswith("{") and text.endswith("}") and "," in text and "|" not in text:
        return grammar.format_set(sorted({part.strip() for part in text[1:-1].split(",")}))
    try:
        grammar.parse(text, "set", "categorical")
    except InputError:
        return grammar.escape(text)
    return text
