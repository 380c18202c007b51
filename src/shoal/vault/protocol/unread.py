"""Codes of a submission that stand in no statement: each is listed, so that none vanishes."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from shoal.vault.leftovers import Left, Range, loose_numbers
from shoal.vault.names import looks_like
from shoal.vault.protocol.conditions import LONGEST_LINE, Conditions
from shoal.vault.protocol.rules import Sheet
from shoal.vault.protocol.statements import GRADING, MAPPING, Condition, Released

_NO_STATEMENT = "stands in no statement that was read, and is no part of the answer"
_SHORT = 4  # codes of fewer letters are parts of many words
_EDGE = 50  # letters that a word may have which is whole in every part of a piece
_MANY = 500  # codes above which only those are looked for that a text has


def unread(sheet: Sheet, released: Released, reader: Conditions) -> list[Left]:
    """Codes in pieces of a submission that no statement holds and that are not listed yet."""
    text = "\n".join(line for _, line in sheet.pieces)
    codes = _Codes(released, reader, text)
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
        beside = None if is_read else stated
        places = [(start + at, text) for start, part in _parts(line) for at, text in codes.within(part, beside)]
        first = {text: at for at, text in reversed(places) if text not in known}
        new = [(at, text) for text, at in first.items() if not _has(listed.get(number, ""), text)]
        found += [Left(number, at + 1, text, _NO_STATEMENT) for at, text in sorted(new)]
    return found


class _Codes:
    """Where codes of mapped columns, and what looks like them, stand in a line."""

    def __init__(self, released: Released, reader: Conditions, text: str) -> None:
        mapped = [name for name, kind in released.coded.items() if kind == MAPPING]
        codes = frozenset[str]().union(*map(reader.codes, mapped))
        if len(codes) > _MANY:
            codes = _present(codes, text)
        self._numbers = {code for code in codes if re.fullmatch(r"[\d.+-]+", code)}
        self._pattern = re.compile(looks_like(codes), re.I)
        self._graded = {name for name, kind in released.coded.items() if kind == GRADING}
        self._reader, self._ranges = reader, _ranges(released)

    def within(self, line: str, stated: Container[Condition | str] | None) -> Iterator[tuple[int, str]]:
        """Codes with their places; numbers where figures are not meant: in what holds no statement, beside those."""
        for found in self._pattern.finditer(line):
            low, high = found.span()
            alone = not (line[low - 1 : low].isalnum() or line[high : high + 1].isalnum())
            if alone or high - low >= _SHORT:
                yield low, found[0]
        if stated is None:
            return
        for found in re.finditer(r"(?<![\w.])[\d.+-]*\d(?![\w.])", line) if self._numbers else ():
            if found[0] in self._numbers:
                yield found.start(), found[0]
        made = self._reader.read(line)
        yield from ((0, str(one)) for one in made.conditions if one.column in self._graded and one not in stated)
        yield from ((low, line[low:high]) for low, high in loose_numbers(made.rest, self._ranges, read=True))


def _parts(piece: str) -> Iterator[tuple[int, str]]:
    """A piece in parts as long as a line can be, with their places: patterns that look beside them stay quick.

    They overlap, and end at blanks where there are some, so that every word is whole in one of them.
    """
    for start in range(0, max(len(piece) - 4 * _EDGE, 1), LONGEST_LINE - 4 * _EDGE):
        low, high = start, min(start + LONGEST_LINE, len(piece))
        if start > 0:
            low = piece.find(" ", start, start + _EDGE) + 1 or start
        if high < len(piece):
            high = piece.rfind(" ", high - _EDGE, high) + 1 or high
        yield low, piece[low:high]


def _present(codes: frozenset[str], text: str) -> frozenset[str]:
    """Codes that a text has: of each length all pieces of it are looked up, however many codes there are."""
    lengths = {*map(len, codes)}
    pieces = (text[at : at + length] for length in lengths for at in range(len(text) - length + 1))
    return frozenset(piece for piece in pieces if piece in codes)


def _has(listed: str, text: str) -> bool:
    """Whether a text stands in another as a word, and not as a part of a longer code or number."""
    at = listed.find(text)
    while at >= 0:
        before, behind = listed[max(at - 1, 0) : at], listed[at + len(text) : at + len(text) + 2]
        if not (before.isalnum() or before == "." or re.match(r"[^\W_]|\.\d", behind)):
            return True
        at = listed.find(text, at + 1)
    return False


def _spelt(one: Condition | str) -> tuple[float | str, ...]:
    """What a label or condition is made of; a column can be called like a code."""
    return (one,) if isinstance(one, str) else (one.column, *one.values)


def _ranges(released: Released) -> list[Range]:
    """From the lowest to the highest code of every graded column."""
    cells = [released.frame[name].drop_nulls() for name, kind in released.coded.items() if kind == GRADING]
    return [(float(one.min()), float(one.max())) for one in cells if len(one)]  # type: ignore[arg-type]
