"""Which values a released cell covers, so that people can be held against cells without comparing every pair.

The values of a column are cut into *atoms*, stretches that no cell tells apart. A cell covers a few runs of atoms, a
person's value lies in one atom.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
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
            found = _between(self.bounds, _as_quantities(self.name, self.type, distinct.to_list()))
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
        return _as_quantities(entry["name"], entry["type"], [cell.lo_text, cell.hi_text])
    return _as_quantities(entry["name"], entry["type"], [cell.text]) if isinstance(cell, grammar.Value) else []


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


def _as_quantities(name: str, kind: str, texts: Sequence[str]) -> list[Any]:
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


# ----------------------------------------
# Whether values that somebody holds against a release are written as its cells are: if not, nothing matches.
#
# A table *does not meet* a release in a column where
#
# - cells cannot be read as the numbers or dates that the release has there, however few they are; - cells would be
# covered if they were written alike: other case, spaces, leading zeros, units' blanks, encoding; - more than half
# of its cells lie outside what the release names, **and** more than half of the released cells cover none of its
# values. One side alone is no error: a register holds many people who are not in the release, and an attacker may
# know only a few who are.
#
# Missing cells count on neither side, and a ``*`` says nothing about how values are written.


LIMIT = 0.5
_MARKED = (ROOT, MISSING)


def refuse_unmet(cover: Cover, values: pl.Series, who: str) -> None:
    """Refuse a column of values that does not meet the cells of a release.

    Parameters
    ----------
    who
        Whose values they are, such as "the people to attack".
    """
    texts = canonical_text(values)
    counts = _counts(texts)
    if not _has_values(cover.name, counts, [text for text in cover.texts if text != ROOT], who):
        return
    known = cover.codes
    if cover.type in ("numeric", "date"):
        lost = [text for text in counts if text not in known and not is_readable(cover.type, text)]
        _refuse_unreadable(cover.name, cover.type, lost, counts, who)
        if cover.bounds is None and not all(text in known for text in counts):
            # Leaves are the numbers or days that somebody has: another one in their range is written alike.
            mine = _count_quantities(cover.type, counts)
            theirs = _count_quantities(cover.type, dict.fromkeys(known, 1))
            _refuse_apart(cover.name, _beyond(mine, theirs), _beyond(theirs, mine), who)
            return
    atoms = cover.place(pl.Series(list(counts), dtype=pl.String))
    shares = np.array(list(counts.values())) / sum(counts.values())
    named = _named(cover)
    outside = [text for text, atom in zip(counts, atoms, strict=True) if not named[atom]]
    if cover.bounds is None:
        _refuse_alike(cover.name, outside, [text for text, atom in known.items() if named[atom]], counts, who)
    _refuse_apart(cover.name, float(shares[~named[atoms]].sum()), _untouched(cover, atoms), who)


def refuse_unmet_values(name: str, type: str, released: pl.Series, values: pl.Series, who: str) -> None:
    """The same for a column that is published value by value.

    Parameters
    ----------
    released
        Its published cells.
    """
    counts, known = _counts(canonical_text(values)), _counts(canonical_text(released))
    if not _has_values(name, counts, list(known), who):
        return
    if type in ("numeric", "date"):
        lost = [text for text in counts if text not in known and not is_readable(type, text)]
        _refuse_unreadable(name, type, lost, counts, who)
        mine, theirs = _count_quantities(type, counts), _count_quantities(type, known)
        _refuse_apart(name, _beyond(mine, theirs), _beyond(theirs, mine), who)
        return
    outside = [text for text in counts if text not in known]
    _refuse_alike(name, outside, known, counts, who)
    untouched = sum(many for text, many in known.items() if text not in counts) / max(sum(known.values()), 1)
    _refuse_apart(name, sum(counts[text] for text in outside) / sum(counts.values()), untouched, who)


def is_readable(type: str, text: str) -> bool:
    """Whether a text is a number, or a date as ISO writes it."""
    return _quantity(type, text) is not None


def _quantity(type: str, text: str) -> Decimal | None:
    try:
        if type == "date":
            return Decimal(date.fromisoformat(text[:10]).toordinal())
        number = Decimal(text)
    except (ValueError, InvalidOperation):
        return None
    return number if number.is_finite() else None


def _counts(texts: pl.Series) -> dict[str, int]:
    """How often each text occurs; what stands for no value is left out."""
    found = texts.drop_nulls().alias("text").value_counts().sort("text").rows()
    return {text: many for text, many in found if text not in _MARKED}


def _has_values(name: str, counts: dict[str, int], released: Sequence[str], who: str) -> bool:
    """Whether there is anything to compare; a column without any value cannot match what is published."""
    if not counts and any(text not in _MARKED for text in released) and MISSING not in released:
        raise InputError(f"Column '{name}' of {who} has no value at all: name the columns as the release does.")
    return bool(counts) and any(text not in _MARKED for text in released)


def _named(cover: Cover) -> np.ndarray:
    """Atoms that a cell other than ``*`` covers; of numbers, all between the smallest and the largest end."""
    named = np.zeros(cover.atoms, dtype=bool)
    if cover.bounds is not None:
        named[1 : cover.atoms - 2] = True
        return named
    for cell, text in enumerate(cover.texts):
        for run in range(cover.run_at[cell], cover.run_at[cell + 1]) if text != ROOT else ():
            named[cover.low[run] : cover.high[run] + 1] = True
    return named


def _untouched(cover: Cover, atoms: np.ndarray) -> float:
    """Share of the released cells, stars and missing ones left out, that cover none of some atoms."""
    held = np.sort(np.unique(atoms))
    inside = np.searchsorted(held, cover.high, "right") > np.searchsorted(held, cover.low, "left")
    touched = np.add.reduceat(inside, cover.run_at[:-1]) > 0
    says = np.array([text not in _MARKED for text in cover.texts])
    many = np.bincount(cover.cell, minlength=len(cover.texts))[: len(cover.texts)]
    return float((many * says * ~touched).sum() / max((many * says).sum(), 1))


def _count_quantities(type: str, counts: Mapping[str, int]) -> list[tuple[Decimal, int]]:
    """Numbers, or days, with how often each occurs."""
    found = ((_quantity(type, text), many) for text, many in counts.items())
    return [(number, many) for number, many in found if number is not None]


def _beyond(mine: Sequence[tuple[Decimal, int]], theirs: Sequence[tuple[Decimal, int]]) -> float:
    """Share of some numbers outside the range of others; none where there are no others."""
    if not theirs:
        return 0.0
    low, high = min(theirs)[0], max(theirs)[0]
    return sum(many for number, many in mine if not low <= number <= high) / max(sum(many for _, many in mine), 1)


def _refuse_unreadable(name: str, type: str, lost: Sequence[str], counts: dict[str, int], who: str) -> None:
    if lost:
        share = sum(counts[text] for text in lost) / sum(counts.values())
        what, how = ("dates", "write them as YYYY-MM-DD") if type == "date" else ("numbers", "write them as such")
        raise InputError(
            f"Column '{name}' of {who} does not meet the release: {_percent(share)} of its cells cannot be read as "
            f"{what}: {how}, or name the missing marker."
        )


def _refuse_alike(
    name: str, outside: Sequence[str], known: Iterable[str], counts: dict[str, int], who: str
) -> None:
    """Refuse cells that only their spelling keeps from a value of the release."""
    spelt = {form for text in known for form in _spellings(text)} if outside else set()
    alike = [text for text in outside if spelt & set(_spellings(text))]
    if alike:
        share = sum(counts[text] for text in alike) / sum(counts.values())
        raise InputError(
            f"Column '{name}' of {who} does not meet the release: {_percent(share)} of its cells differ from released "
            "values in case, spaces, leading zeros or encoding alone: write them as the release does."
        )


def _refuse_apart(name: str, outside: float, untouched: float, who: str) -> None:
    if outside > LIMIT and untouched > LIMIT:
        raise InputError(
            f"Column '{name}' of {who} does not meet the release: {_percent(outside)} of its cells are values outside "
            f"the release's, and {_percent(untouched)} of the released cells cover none of its values: write them "
            "alike, in the same unit, or give the hierarchy by which they were generalised."
        )


def _spellings(text: str) -> list[str]:
    """A text as it is compared when spelling does not count, read in its own encoding and in those it is taken for."""
    found = {text}
    for wrong, right in (("cp1252", "utf-8"), ("latin-1", "utf-8"), ("utf-8", "cp1252"), ("utf-8", "latin-1")):
        try:
            found.add(text.encode(wrong).decode(right))
        except UnicodeError:
            continue
    return [_spelt(one) for one in found]


def _spelt(text: str) -> str:
    plain = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    number = plain.removesuffix(".0").lstrip("0") or "0"
    return number if number.isalnum() and number[:1].isdigit() else plain


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0005 else "less than 0.1%"
