"""Prints of cluster centres and of tables within a text: read like CSV, and the rest of the text is left for others."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.vault.protocol.blocks import Block
from shoal.vault.protocol.conditions import Conditions
from shoal.vault.protocol.printed_centres import array_centres, r_centres, weka_centres
from shoal.vault.protocol.printed_tables import counted, crossed, frame, series
from shoal.vault.protocol.rules import Sheet
from shoal.vault.protocol.tables import record


def read_printed(text: str, reader: Conditions) -> tuple[Sheet, str]:
    """Statements of all prints in a text, and the text with words that mean nothing in the place of their lines."""
    lines = text.splitlines()
    rest = list(lines)
    ends = _ends(lines)
    sheet, at = Sheet(), 0
    while at < len(lines):
        block = _block(lines, at, ends[at], reader) if lines[at].strip() else None
        if block is not None:
            for place, what, why in block.left:
                sheet.leave(place + 1, what, why)
            for place, cells in block.records:
                sheet.pieces.append((place + 1, " \t ".join(cells.values())))
                record(cells, place + 1, reader, sheet)
            for place in block.lines:
                lines[place], rest[place] = "", "(printed)"  # no list of rules is whole without them
        at += 1
    return sheet, "\n".join(rest)


def _block(lines: Sequence[str], at: int, end: int, reader: Conditions) -> Block | None:
    """The print that begins at a line, if one does."""
    found = (
        weka_centres(lines, at, reader) or r_centres(lines, at, reader) or array_centres(lines, at, reader)
    )  # fmt: skip
    found = found or series(lines, at, end, reader) or crossed(lines, at, reader)
    return found or counted(lines, at, reader) or frame(lines, at, reader)


def _ends(lines: Sequence[str]) -> list[int]:
    """For every line, the last one before the next that is blank."""
    ends, end = [0] * len(lines), len(lines) - 1
    for place in range(len(lines) - 1, -1, -1):
        if not lines[place].strip():
            end = place - 1
        ends[place] = end
    return ends
