"""Which values a released cell covers, so that people can be held against cells without comparing every pair.

The values of a column are cut into *atoms*, stretches that no cell tells apart. A cell covers a few runs of atoms, a
person's value lies in one atom.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.values import format_number
from shoal.errors import InputError
from shoal.recoding import cell_text as grammar
from shoal.recoding.cell_text import interval_texts

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False, kw_only=True)
class Cover:
    """The distinct cells of one column, and the atoms that each covers.

    Attributes
    ----------
    name, type
        Of the column.
    cell
        int32, the distinct cell of every released row.
    run_at, low, high
        Runs of atoms: cell c covers ``low[r]`` to ``high[r]``, both included, for r from ``run_at[c]`` on.
    atoms
        Number of atoms; the last two are the missing value and whatever no cell names.
    bounds
        Ends of intervals in ascending order, between which atoms lie; None for a column of texts.
    codes
        Atom of every text, for a column of texts.
    texts
        Text of every distinct cell, bounds as an interval.
    """

    name: str
    type: str
    cell: np.ndarray
    run_at: np.ndarray
    low: np.ndarray
    high: np.ndarray
    atoms: int
    bounds: Sequence[Any] | None
    codes: Mapping[str, int]
    texts: Sequence[str]

    def place(self, values: pl.Series) -> np.ndarray:
        """int32 atom of every value of some people."""
        texts = canonical_text(values)
        distinct = texts.unique().drop_nulls().sort()
        if self.bounds is None:
            found = [self.codes.get(self._leaf(text), self.atoms - 1) for text in distinct.to_list()]
        else:
            found = _between(self.bounds, _quantities(self.name, self.type, distinct.to_list()))
        missing = self.atoms - 2
        if not found:
            return np.full(texts.len(), missing, dtype=np.int32)
        atoms = texts.replace_strict(distinct, pl.Series(found, dtype=pl.Int32), default=missing, return_dtype=pl.Int32)
        return atoms.fill_null(missing).to_numpy()

    def _leaf(self, text: str) -> str:
        if self.type != "numeric" or text in self.codes:
            return text
        try:  # 39.0 is the 39 of a hierarchy
            return format_number(Decimal(text))
        except (InvalidOperation, InputError):
            return text


def cover_column(entry: Mapping[str, Any], frame: pl.DataFrame) -> Cover | None:
    """The cells of one quasi-identifier as a manifest describes them; None where a cell says nothing about values.

    Parameters
    ----------
    entry
        The column in the manifest, or declared: ``name``, ``type``, ``cells`` and, for labels, ``hierarchy``.
    frame
        The release.
    """
    name, kind = entry["name"], entry["cells"]
    if kind == "representative":
        return None
    texts, kind = (_bound_cells(entry, frame), "interval") if kind == "bounds" else (canonical_text(frame[name]), kind)
    texts = texts.fill_null(MISSING)
    distinct = texts.unique().sort()
    cell = distinct.search_sorted(texts).cast(pl.Int32).to_numpy()
    if entry["type"] in ("numeric", "date") and kind in ("interval", "value"):
        made = _number_runs(entry, kind, distinct.to_list())
    else:
        made = _text_runs(entry, kind, distinct.to_list())
    return Cover(name=name, type=entry["type"], cell=cell, texts=distinct.to_list(), **made)


def not_suppressed(frame: pl.DataFrame, manifest: Mapping[str, Any]) -> pl.Series | None:
    """Rows of a release that are not all stars; None where suppressed rows are left out of it anyhow."""
    if manifest.get("suppressed") != "star":
        return None
    listed = [name for entry in manifest["columns"] for name in entry.get("columns", [entry["name"]])]
    stars = pl.all_horizontal(
        (pl.col(name).cast(pl.String) == ROOT).fill_null(False) for name in listed if name in frame.columns
    )
    return frame.select((~stars).alias("kept"))["kept"]


def _bound_cells(entry: Mapping[str, Any], frame: pl.DataFrame) -> pl.Series:
    low, high = (canonical_text(frame[column]) for column in entry["columns"])
    return interval_texts(low, high).fill_null(ROOT)


def _number_runs(entry: Mapping[str, Any], kind: str, texts: list[str]) -> dict[str, Any]:
    """Atoms of numbers: every end of an interval, and every gap between two ends."""
    parsed = [grammar.parse(text, kind, entry["type"]) for text in texts]
    ends = sorted({end for cell in parsed for end in _ends(entry, cell)})
    missing = 2 * len(ends) + 1
    place = {end: 2 * at + 1 for at, end in enumerate(ends)}
    runs = []
    for cell in parsed:
        if isinstance(cell, grammar.Star):
            runs.append((0, missing + 1))
        elif isinstance(cell, grammar.Missing):
            runs.append((missing, missing))
        else:
            found = _ends(entry, cell)
            runs.append((place[found[0]], place[found[-1]]))
    low, high = np.array(runs, dtype=np.int32).reshape(-1, 2).T
    return {
        "run_at": np.arange(len(runs) + 1), "low": low, "high": high, "atoms": missing + 2, "bounds": ends, "codes": {},
    }  # fmt: skip


def _ends(entry: Mapping[str, Any], cell: grammar.Cell) -> list[Any]:
    if isinstance(cell, grammar.Interval):
        return _quantities(entry["name"], entry["type"], [cell.lo_text, cell.hi_text])
    return _quantities(entry["name"], entry["type"], [cell.text]) if isinstance(cell, grammar.Value) else []


def _text_runs(entry: Mapping[str, Any], kind: str, texts: list[str]) -> dict[str, Any]:
    """Atoms of texts: every leaf of the hierarchy in its order, or every value that a cell names."""
    if kind == "label":
        if any(label is None for row in entry["hierarchy"] for label in row):
            raise InputError(f"What the labels of column '{entry['name']}' cover is not told: give its hierarchy.")
        tree = Hierarchy.from_rows(entry["name"], entry["hierarchy"])
        ids = {label: node for node, label in enumerate(tree.node_labels)}
        codes = dict(tree.leaf_code)
        absent = [text for text in texts if text not in ids and text not in (ROOT, MISSING)]
        if absent:
            raise InputError(f"Column '{entry['name']}' has {len(absent)} labels that its hierarchy lacks: check it.")

        def spans(text: str) -> list[tuple[int, int]]:
            node = ids[text]
            first = int(tree.node_first[node])
            return [(first, first + int(tree.node_leaves[node]) - 1)]
    else:
        parsed = {text: grammar.parse(text, kind, entry["type"]) for text in texts}
        members = {text: _members(cell) for text, cell in parsed.items()}
        values = [*map(str, entry.get("order", ())), *sorted({one for found in members.values() for one in found})]
        codes = {value: at for at, value in enumerate(dict.fromkeys(values))}

        def spans(text: str) -> list[tuple[int, int]]:
            return _stretches(sorted(codes[value] for value in members[text]))

    missing, runs, run_at = len(codes), [], [0]
    for text in texts:
        if text == ROOT:
            runs.append((0, missing + 1))
        elif text == MISSING:
            runs.append((missing, missing))
        else:
            runs += spans(text)
        run_at.append(len(runs))
    low, high = np.array(runs, dtype=np.int32).reshape(-1, 2).T
    return {
        "run_at": np.array(run_at), "low": low, "high": high, "atoms": missing + 2, "bounds": None, "codes": codes,
    }  # fmt: skip


def _members(cell: grammar.Cell) -> tuple[str, ...]:
    if isinstance(cell, grammar.Set):
        return cell.values
    return (cell.text,) if isinstance(cell, grammar.Value) else ()


def _stretches(codes: list[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring codes."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def _between(ends: Sequence[Any], values: Sequence[Any]) -> list[int]:
    """Atoms of numbers: odd on an end, even between two."""
    found = []
    for value in values:
        at = bisect_left(ends, value)
        found.append(2 * at + 1 if at < len(ends) and ends[at] == value else 2 * at)
    return found


def _quantities(name: str, kind: str, texts: Sequence[str]) -> list[Any]:
    """Exact numbers, or days, of texts."""
    try:
        if kind == "date":
            return [date.fromisoformat(text[:10]).toordinal() - _EPOCH for text in texts]
        return [_number(text) for text in texts]
    except (ValueError, InvalidOperation):
        raise InputError(
            f"Column '{name}' of the release, or of the people held against it, has cells that are no "
            f"{'dates' if kind == 'date' else 'numbers'}: name its missing marker, or clean it."
        ) from None


def _number(text: str) -> Any:
    """Whole numbers as such, which compare much faster."""
    try:
        return int(text)
    except ValueError:
        number = Decimal(text)
        if not number.is_finite():
            raise
        return number
