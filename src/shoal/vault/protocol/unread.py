"""Codes of a submission that stand in no statement: each is listed, so that none vanishes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shoal.vault.leftovers import Left, Range, loose_numbers
from shoal.vault.names import looks_like
from shoal.vault.protocol.conditions import Conditions
from shoal.vault.protocol.rules import Sheet
from shoal.vault.protocol.statements import GRADING, MAPPING, Condition, Released

_NO_STATEMENT = "stands in no statement that was read, and is no part of the answer"
_SHORT = 4  # codes of fewer letters are parts of many words
_MANY = 500  # codes above which only those are looked for that a text has


def unread(sheet: Sheet, released: Released, reader: Conditions) -> list[Left]:
    """Codes in pieces of a submission that no statement holds and that are not listed yet."""
    text = "\n".join(line for _, line in sheet.pieces)
    codes, ranges = _Codes(released, reader, text), _ranges(released)
    stated: set[Condition | str] = set(sheet.labels.values())
    for one in sheet.statements:
        stated.update((*one.everything(), *one.coordinates()))
    listed: dict[int, str] = {}
    for left in sheet.left:
        listed[left.line] = f"{listed.get(left.line, '')}\n{left.text}"
    found: list[Left] = []
    for number, line in sheet.pieces:
        took = sheet.took.get(number, [])
        is_read = bool(took) and all(one in stated for one in took)
        known = {str(value) for one in took if one in stated for value in _spelt(one)}
        places = list(codes.within(line, numbers=not is_read))
        if not is_read:
            made = reader.read(line)
            graded = [one for one in made.conditions if released.coded.get(one.column) == GRADING]
            places += [(0, str(one)) for one in graded if one not in stated]
            places += [(low, line[low:high]) for low, high in loose_numbers(made.rest, ranges, read=True)]
        new = {text: at for at, text in reversed(places) if text not in known and not _has(listed.get(number), text)}
        found += [Left(number, at + 1, text, _NO_STATEMENT) for text, at in sorted(new.items(), key=lambda one: one[1])]
    return found


class _Codes:
    """Where codes of mapped columns, and what looks like them, stand in a line."""

    def __init__(self, released: Released, reader: Conditions, text: str) -> None:
        mapped = [name for name, kind in released.coded.items() if kind == MAPPING]
        codes = frozenset[str]().union(*map(reader.values, mapped))
        if len(codes) > _MANY:
            codes = _present(codes, text)
        self._numbers = {code for code in codes if re.fullmatch(r"[\d.+-]+", code)}
        self._pattern = re.compile(looks_like(codes), re.I)

    def within(self, line: str, *, numbers: bool) -> Iterator[tuple[int, str]]:
        """Codes with their places; those that are mere numbers only where figures are not meant."""
        for found in self._pattern.finditer(line):
            low, high = found.span()
            alone = not (line[low - 1 : low].isalnum() or line[high : high + 1].isalnum())
            if alone or high - low >= _SHORT:
                yield low, found[0]
        if numbers and self._numbers:
            for found in re.finditer(r"(?<![\w.])[\d.+-]*\d(?![\w.])", line):
                if found[0] in self._numbers:
                    yield found.start(), found[0]


def _present(codes: frozenset[str], text: str) -> frozenset[str]:
    """Codes that a text has: of each length all pieces of it are looked up, however many codes there are."""
    lengths = {*map(len, codes)}
    pieces = (text[at : at + length] for length in lengths for at in range(len(text) - length + 1))
    return frozenset(piece for piece in pieces if piece in codes)


def _has(listed: str | None, text: str) -> bool:
    return listed is not None and text in listed


def _spelt(one: Condition | str) -> tuple[float | str, ...]:
    """What a label or condition is made of; a column can be called like a code."""
    return (one,) if isinstance(one, str) else (one.column, *one.values)


def _ranges(released: Released) -> list[Range]:
    """From the lowest to the highest code of every graded column."""
    cells = [released.frame[name].drop_nulls() for name, kind in released.coded.items() if kind == GRADING]
    return [(float(one.min()), float(one.max())) for one in cells if len(one)]  # type: ignore[arg-type]
