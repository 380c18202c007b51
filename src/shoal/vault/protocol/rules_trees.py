"""Rules, one a line: ``IF … THEN …``, Weka's JRip, PART and Apriori, arules in R, or conditions with a count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shoal.vault.forms import NUMBER
from shoal.vault.interpret import Left
from shoal.vault.protocol.conditions import (
    LONGEST_LINE,
    Conditions,
    Read,
    called,
    figure,
    leaf_figures,
    listed_figures,
    named_figures,
)
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


# ----------------------------------------
# Trees: a statement a leaf, of all conditions on the way to it. scikit-learn, Weka's J48, rpart and partykit in R.


_SKLEARN = re.compile(r"^(?P<bars>(?:\|   )*)\|--- (?P<content>.*)$")
_BARS = re.compile(r"^(?P<bars>(?:[|:]\s{2,3})*)(?:\[\d+\]\s*)?(?P<content>\S.*)$")
_WEIGHTS = re.compile(r"^weights: \[(?P<weights>[^\]]*)\](?: class: (?P<label>.*))?$|^class: (?P<only>.*)$")
_VALUE = re.compile(rf"^value: \[(?P<value>{NUMBER})\]$")
_RPART = re.compile(
    rf"^\s*(?P<node>\d+)\)\s+(?P<split>.*?)\s+(?P<n>\d+)\s+(?P<loss>{NUMBER})\s+(?P<label>\S+)"
    rf"(?:\s+\([\d.\s]+\))?\s*(?P<leaf>\*)?\s*$"
)
_FORMULA = re.compile(r"^\s*(?P<target>[\w.]+)\s*~")


def tree_form(text: str) -> str | None:
    """Which kind of tree a text is: ``sklearn``, ``rpart``, ``bars`` (J48, partykit), or None."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(_SKLEARN.match(line) for line in lines):
        return "sklearn"
    if sum(_RPART.match(line) is not None for line in lines) >= 2:
        return "rpart"
    return "bars" if any(re.match(r"^[|:]\s{2,3}\S", line) for line in lines) else None


def read_tree(text: str, reader: Conditions) -> Sheet:
    """Statements of a tree, whose conclusions are labels without a column."""
    return {"sklearn": _read_sklearn, "rpart": _read_rpart, "bars": _read_bars}[tree_form(text) or "bars"](text, reader)


def target_of(text: str) -> str | None:
    """The column on the left of R's formula, where a text shows it."""
    for line in text.splitlines():
        if found := _FORMULA.match(line):
            return found["target"]
    return None


def _read_sklearn(text: str, reader: Conditions) -> Sheet:
    sheet = Sheet(pieces=list(enumerate(text.splitlines(), 1)))
    path: list[Sequence[Condition] | None] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _SKLEARN.match(line)
        if found is None:
            if reader.columns_in(line):
                sheet.leave(number, line, "is no line of the tree")
            continue
        del path[len(found["bars"]) // 4 :]
        content = found["content"].strip()
        if leaf := _WEIGHTS.match(content):
            label = (leaf["label"] or leaf["only"] or "").strip()
            _leaf(sheet, number, path, label, _weights(leaf["weights"]))
        elif leaf := _VALUE.match(content):
            _leaf(sheet, number, path, "", [figure("mean", leaf["value"])])
        else:
            path.append(_split(content, number, reader, sheet))
    return sheet


def _weights(text: str | None) -> list[Figure]:
    """Rows of every class in a leaf, as scikit-learn writes them; or their shares."""
    weights = [] if text is None else [one.strip() for one in text.split(",")]
    if not weights or not all(re.fullmatch(NUMBER, one) for one in weights):
        return []
    most = max(weights, key=float)
    total, slack = sum(map(float, weights)), figure("covered", most).slack * len(weights)
    if abs(total - 1.0) <= slack:
        return [figure("confidence", most)]
    return [Figure("covered", total, min(slack, 0.5)), figure("right", most)]


def _read_bars(text: str, reader: Conditions) -> Sheet:
    sheet = Sheet(pieces=list(enumerate(text.splitlines(), 1)))
    path: list[Sequence[Condition] | None] = []
    rooted = re.search(r"^\s*\[1\] root\b", text, re.M) is not None  # partykit gives the root a line of its own
    for number, line in enumerate(text.splitlines(), 1):
        found = _BARS.match(line)
        if found is None or not reader.columns_in(line):
            continue
        content = found["content"].strip()
        depth = len(re.findall(r"[|:]", found["bars"])) - rooted
        if _FORMULA.match(content):
            continue
        if not 0 <= depth <= len(path):
            sheet.leave(number, content, "is no line of the tree")
            continue
        del path[depth:]
        head, opened, told = content.rpartition("(")
        split, colon, label = head.rpartition(":")
        is_leaf = bool(opened and colon and label.strip()) and content.endswith(")")
        path.append(_split(split if is_leaf else content, number, reader, sheet))
        if is_leaf:
            figures = leaf_figures(f"({told}")[0] or named_figures(told)[0]
            _leaf(sheet, number, path, label.strip(), figures)
    return sheet


def _read_rpart(text: str, reader: Conditions) -> Sheet:
    """Node 2k and 2k+1 are the branches of node k."""
    sheet = Sheet(pieces=list(enumerate(text.splitlines(), 1)))
    splits: dict[int, Sequence[Condition] | None] = {1: []}
    for number, line in enumerate(text.splitlines(), 1):
        found = _RPART.match(line)
        if found is None:
            continue
        node = int(found["node"])
        if node > 1:
            splits[node] = _split(_rpart_set(found["split"], reader), number, reader, sheet)
        if found["leaf"]:
            path = []
            while node >= 1:
                path.append(splits.get(node))
                node //= 2
            figures = [figure("covered", found["n"])]
            if re.fullmatch(r"\d+", found["loss"]) and not re.fullmatch(NUMBER, found["label"]):
                figures.append(figure("wrong", found["loss"]))
            _leaf(sheet, number, path[::-1], found["label"], figures)
        else:
            sheet.take(number, found["label"])  # the commonest class on the way, mostly that of a leaf as well
    return sheet


def _rpart_set(split: str, reader: Conditions) -> str:
    """``disease=a,b,c`` is a set."""
    name, sign, values = split.partition("=")
    return f"{name} in {{{values}}}" if sign and "," in values and name[-1:] not in "<>!" else split


def _split(text: str, number: int, reader: Conditions, sheet: Sheet) -> Sequence[Condition] | None:
    """The conditions of an inner node; None where they cannot be read, and so nothing below it."""
    found = reader.read(text)
    if not found.conditions or found.has_bar or re.search(r"\w", found.rest):
        sheet.leave(number, text, "is no condition on a column of the release: give what it calls a column as an alias")
        return None
    sheet.take(number, *found.conditions)
    return found.conditions


def _leaf(
    sheet: Sheet, number: int, path: Sequence[Sequence[Condition] | None], label: str, figures: Sequence[Figure]
) -> None:
    if any(split is None for split in path):
        sheet.leave(number, label or "leaf", "is below a line that could not be read")
        return
    if label:
        sheet.labels[len(sheet.statements)] = label.strip("\"'`")
        sheet.take(number, label.strip("\"'`"))
    conditions = tuple(one for split in path for one in split or ())
    sheet.statements.append(Statement(number, conditions, None, tuple(figures)))
