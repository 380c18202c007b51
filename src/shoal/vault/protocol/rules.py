"""Rules, one a line: ``IF … THEN …``, Weka's JRip, PART and Apriori, arules in R, or conditions with a count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shoal.vault.leftovers import Left
from shoal.vault.protocol.conditions import LONGEST_LINE, Conditions, Read
from shoal.vault.protocol.figures import called, leaf_figures, listed_figures, named_figures
from shoal.vault.protocol.statements import Condition, Figure, Statement

_ARROW = re.compile(r"==>|=>|-->|->|→|⇒|\bthen\b", re.I)
_START = re.compile(r"^\s*(?:\[\d+\]|\d+[.:)]\s|rule\s*#?\d*\s*[.:)]?)?\s*(?:if\b)?", re.I)
_SIGN = re.compile(r"[<>=≤≥≠]\s*[\w\"'`]")
_OR = re.compile(r"\bor\b|\bnot\b|\|\||\bexcept\b|\bunless\b", re.I)
_JOINED = re.compile(r"(?:\band|&&?)\s*$", re.I)
_COUNT = re.compile(r"(?<![\w.])(\d+)\s*$")
_ORDERED = re.compile(r"\b(?:JRIP rules|PART decision list|decision list|ordered rules)\b", re.I)
_HEADER = re.compile(r"\blhs\b.*\brhs\b", re.I)
_NOISE = re.compile(r"[\s,;.:&|{}()\[\]<>=+*'\"`-]*(?:\b(?:and|if|when|where|with|the|that|of|rows?|threshold|rule)\b"
                    r"[\s,;.:&|{}()\[\]<>=+*'\"`-]*)*", re.I)  # fmt: skip


@dataclass
class Sheet:
    """What is read of a text: statements, and pieces that could not be."""

    statements: list[Statement] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)
    """Conclusions without a column, by the place of their statement."""
    pieces: list[tuple[int, str]] = field(default_factory=list)
    """All that was submitted, in parts with the numbers by which statements name them."""
    took: dict[int, list[Condition | str]] = field(default_factory=dict)
    """What was read of each part: conditions and labels."""

    def take(self, line: int, *read: Condition | str) -> None:
        """Note what a part is read as; unless it becomes part of a statement, the codes in it are listed."""
        self.took.setdefault(line, []).extend(read)

    def add(self, other: Sheet) -> None:
        """Take what was read of other parts of the same text; it has no labels."""
        self.statements += other.statements
        self.left += other.left
        self.pieces += other.pieces
        for line, read in other.took.items():
            self.take(line, *read)

    def leave(self, line: int, text: str, why: str) -> None:
        """Report a piece that is no part of any statement."""
        self.left.append(Left(line, 1, text.strip()[:80], why))


def read_rules(text: str, reader: Conditions) -> Sheet:
    """Statements of a text of rules.

    Those of a list are ordered up to its first line that is not read, or to another list: behind these, nobody can tell
    which rows are left.
    """
    sheet, header = Sheet(), []
    begun = broken = False
    sheet.pieces = list(_whole_lines(text))
    for number, line in sheet.pieces:
        if _HEADER.search(line) and not reader.read(line).conditions:
            broken = broken or begun
            header = [name for word in line.split() if (name := called(word)) is not None]
            continue
        before, heads = len(sheet.statements), _ORDERED.search(line) is not None
        broken = broken or (heads and any(one.ordered for one in sheet.statements))
        begun = begun or heads
        _rule(line, number, reader, sheet, header, begun and not broken)
        is_read = len(sheet.statements) > before or not re.search(r"\w", line)
        broken = broken or (begun and not is_read and (not heads or _ARROW.search(line) is not None))
    return sheet


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines, with those joined that one rule goes over: PART breaks behind AND, many people before THEN."""
    waiting, start = "", 0
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        start, waiting = (start, f"{waiting} {line.strip()}") if waiting else (number, line)
        following = lines[number].strip() if number < len(lines) else ""
        goes_on = _JOINED.search(line) or (_ARROW.match(following) and not _ARROW.search(waiting))
        if goes_on and len(waiting) <= LONGEST_LINE:
            continue
        yield start, waiting
        waiting = ""
    if waiting:
        yield start, waiting


def _rule(line: str, number: int, reader: Conditions, sheet: Sheet, header: Sequence[str], ordered: bool) -> None:
    body = _START.sub("", line, count=1)
    arrow = _ARROW.search(body)
    if arrow is None:
        _without_arrow(body, number, reader, sheet, ordered)
        return
    before, behind = body[: arrow.start()], body[arrow.end() :]
    figures: list[Figure] = []
    if arrow[0] == "==>":  # Apriori: rows of the left side, and of both
        for name, side in (("covered", before), ("right", re.split(r"<?conf", behind, maxsplit=1)[0].rstrip())):
            count = _COUNT.search(side)
            figures += [] if count is None else [Figure(name, float(count[1]), 0.5)]
        before = _COUNT.sub("", before)
        behind = re.sub(r"\s\d+(?=\s*<?conf|\s*$)", " ", behind, count=1)
        behind = re.sub(r"(?:lev|conv):\([^)]*\)|\[\d+\]", " ", behind)
    if arrow[0] == "=>" and "}" in behind and (tail := behind[behind.rindex("}") + 1 :]).strip():
        listed, rest = listed_figures(tail, list(header))
        figures, behind = figures + listed, behind[: behind.rindex("}") + 1] + rest
    leaf, behind = ([], behind) if arrow[0] == "==>" else leaf_figures(behind)
    named, behind = named_figures(behind)
    right = reader.read(behind)
    left = reader.read(before)
    _add(sheet, number, left, right, (*figures, *leaf, *named), ordered, line)


def _without_arrow(body: str, number: int, reader: Conditions, sheet: Sheet, ordered: bool) -> None:
    """PART's ``… : label (n/m)``, or conditions with figures."""
    leaf, rest = leaf_figures(body)
    named, rest = named_figures(rest)
    found = reader.read(rest)
    if not found.conditions:
        if reader.columns_in(body):
            sheet.leave(number, body, "has no condition that can be read")
        return
    start, colon, label = found.rest.rpartition(":")
    if colon and label.strip() and leaf:
        found.rest = start
        sheet.labels[len(sheet.statements)] = label.strip().strip("\"'`")
    _add(sheet, number, found, Read(), (*leaf, *named), ordered, body)


def is_whole(read: Read) -> bool:
    """Whether nothing stands beside the conditions of a piece without which they would be others."""
    return not (read.has_bar or _OR.search(read.rest)) and _NOISE.fullmatch(read.rest) is not None


def _add(
    sheet: Sheet, number: int, left: Read, right: Read, figures: Sequence[Figure], ordered: bool, line: str
) -> None:
    place = len(sheet.statements)
    either = any(_OR.search(one.rest) or one.has_bar for one in (left, right))
    if either or len(right.conditions) > 1:
        sheet.labels.pop(place, None)
        sheet.leave(number, line, "has alternatives, a negation, or several conclusions: write a rule for each")
        return
    if not _NOISE.fullmatch(left.rest) or (right.conditions and _SIGN.search(right.rest)):
        sheet.labels.pop(place, None)
        piece = left.rest if not _NOISE.fullmatch(left.rest) else right.rest
        sheet.leave(number, _bare(piece), "was not read, and without it the rule would be another one")
        return
    concluded = right.conditions[0] if right.conditions else None
    words = right.rest.strip(" \t.;:,{}\"'`")
    if concluded is None and words and re.search(r"\w", words):
        sheet.labels[place] = words
    sheet.take(number, *left.conditions, *right.conditions, *filter(None, [sheet.labels.get(place)]))
    if concluded is not None and not _NOISE.fullmatch(right.rest):
        sheet.leave(number, _bare(right.rest), "was not read, and is no part of the answer")
    sheet.statements.append(Statement(number, tuple(left.conditions), concluded, tuple(figures), ordered))


def _bare(piece: str) -> str:
    return re.sub(r"\s{2,}", " … ", piece.strip())


def with_label(statement: Statement, column: str, label: float | str) -> Statement:
    """A statement whose conclusion was told without its column."""
    told = Condition(column, "=", (label,))
    return Statement(statement.line, statement.conditions, told, statement.stated, statement.ordered)
