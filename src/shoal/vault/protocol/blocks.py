"""Tables as programs print them: lines of cells with blanks between, of which records are made as of CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.vault.forms import NUMBER
from shoal.vault.protocol.conditions import Conditions

CLUSTERS = re.compile(r"(?:cluster|centre|center|centroid)s?(?:[\s_-]*(?:id|number|no))?", re.I)
Record = tuple[int, dict[str, str]]


@dataclass
class Block:
    """A print within a text.

    Attributes
    ----------
    records
        Cells by the names above them, with the place of their line.
    lines
        Places of lines that were read, from 0.
    left
        What was seen and is no part of any record: place, text and why.
    """

    records: list[Record] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    left: list[tuple[int, str, str]] = field(default_factory=list)


def columns_of(words: Sequence[str], reader: Conditions) -> list[str]:
    """The columns that words are names of, where all are and no column is named twice; else none."""
    found = [column for word in words if (column := reader.names.column(word)) is not None]
    return found if len(set(found)) == len(words) else []


def is_number(word: str) -> bool:
    """Whether a word is a number and nothing else."""
    return re.fullmatch(NUMBER, word) is not None


def is_count(word: str) -> bool:
    """Whether a word is a number of rows."""
    return re.fullmatch(r"\d+", word) is not None


def filled(line: str, words: list[str], width: int, before: Sequence[str]) -> list[str] | None:
    """The words of a row as many as there are columns; pandas leaves out keys that are those of the row before."""
    missing = width - len(words)
    if missing > 0 and line[:1].isspace() and len(before) == width:
        words = [*before[:missing], *words]
    return words if len(words) == width else None
