"""What the cells of a column look like: addresses, telephones, numbers with check digits, names, free text, codes."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shoal.starting.digits import recognised

_SAMPLE = 2000
_MOST = 0.8
# What nearly all cells of a column match. Polars has no look-around, which none of these needs.
_SHAPES: dict[str, str] = {
    "an e-mail address": r"^[^@\s]+@[^@\s]+\.\p{L}{2,}$",
    "an address on the internet": (
        r"^(?:https?://\S+|www\.\S+|(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2})$"
    ),
    "a number made by a machine": r"^\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?$",
    "a telephone number": (
        r"^(?:\+|00)\d[\d ()/.\-]{6,18}$|^\(?0\d{1,5}\)?[ /\-][\d \-]{4,14}$|^\(\d{3}\) ?\d{3}-\d{4}$"
    ),
    "a street address": (
        r"(?i)^\p{L}[\p{L} .'\-]*(?:str(?:\.|aße|asse)|weg|platz|allee|gasse|ring|damm|ufer) ?\d+ ?[a-z]?\b|"
        r"^\d+[a-z]? \p{L}[\p{L} .']* (?:street|st\.?|road|rd\.?|avenue|ave\.?|lane|drive|way|court|ct\.?)\b"
    ),
}
_ICD = r"^[A-TV-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?[*+!]?$"
_TWO_NAMES = r"^\p{Lu}[\p{L}'’\-]+(?:,? \p{Lu}[\p{L}'’.\-]*){1,3}$"
_WORDS = r"\p{L}{2,}"
_TEXT_WORDS, _TEXT_LENGTH = 4, 25
_MARKS, _SEVERAL, _LONGEST_ITEM = ("|", ";"), 0.3, 40


@dataclass(frozen=True, kw_only=True)
class Look:
    """What cells look like.

    Attributes
    ----------
    direct
        What names a person, such as "an e-mail address"; None where nothing of the kind was found.
    text
        Whether it is free text.
    icd
        Whether cells are codes of diseases.
    names
        Whether cells are two or more capitalised words, as people's names are.
    items
        What stands between several items that many cells hold; None where cells are single values.
    """

    direct: str | None = None
    text: bool = False
    icd: bool = False
    names: bool = False
    items: str | None = None


def look(values: pl.Series) -> Look:
    """What different cells of a column of text look like, by a sample of them."""
    texts = values.drop_nulls()
    texts = texts.gather_every(max(1, texts.len() // _SAMPLE))
    if texts.is_empty():
        return Look()
    for words, shape in _SHAPES.items():
        if _share(texts, shape) >= _MOST:
            return Look(direct=words)
    number = recognised(texts.to_list())
    if number is not None:
        return Look(direct=number.words)
    mark = next((mark for mark in _MARKS if _are_items(texts, mark)), None)
    if mark is not None:
        # A list of what names people names them, and one of names is theirs.
        single = look(_items(texts, mark).unique(maintain_order=True))
        return Look(direct=single.direct, names=single.names, items=mark)
    wordy = texts.str.count_matches(_WORDS)
    long = (wordy >= _TEXT_WORDS) & (texts.str.len_chars() >= _TEXT_LENGTH)
    return Look(
        text=float(long.mean() or 0) >= 0.2 and texts.len() >= 5,  # type: ignore[arg-type]
        icd=_share(texts, _ICD) >= 0.95,
        names=_share(texts, _TWO_NAMES) >= 0.9,
    )


def _are_items(texts: pl.Series, mark: str) -> bool:
    """Whether many cells hold several short items, which come again in other cells."""
    several = texts.filter(texts.str.contains(mark, literal=True))
    if several.len() < max(5, _SEVERAL * texts.len()):
        return False
    items = _items(texts, mark)
    longest = items.filter(items.str.len_chars() > _LONGEST_ITEM).len()
    return 2 * items.n_unique() <= items.len() and not longest


def _items(texts: pl.Series, mark: str) -> pl.Series:
    items = texts.str.split(mark).explode().str.strip_chars()
    return items.filter(items != "")


def numbers_look(values: pl.Series) -> str | None:
    """What different whole numbers are, if they carry check digits."""
    texts = values.drop_nulls().cast(pl.String)
    number = recognised(texts.gather_every(max(1, texts.len() // _SAMPLE)).to_list())
    return None if number is None else number.words


def _share(texts: pl.Series, shape: str) -> float:
    return float(texts.str.contains(shape).mean() or 0)  # type: ignore[arg-type]
