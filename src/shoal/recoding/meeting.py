"""Whether values that somebody holds against a release are written as its cells are: if not, nothing matches.

A table *does not meet* a release in a column where

- cells cannot be read as the numbers or dates that the release has there, however few they are;
- cells would be covered if they were written alike: other case, spaces, leading zeros, units' blanks, encoding;
- more than half of its cells lie outside what the release names, **and** more than half of the released cells cover
  none of its values. One side alone is no error: a register holds many people who are not in the release, and an
  attacker may know only a few who are.

Missing cells count on neither side, and a ``*`` says nothing about how values are written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.hierarchy import MISSING, ROOT
from shoal.errors import InputError
from shoal.recoding.cover import Cover

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
            mine, theirs = _quantities(cover.type, counts), _quantities(cover.type, dict.fromkeys(known, 1))
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
        mine, theirs = _quantities(type, counts), _quantities(type, known)
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


def _quantities(type: str, counts: Mapping[str, int]) -> list[tuple[Decimal, int]]:
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
