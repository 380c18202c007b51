"""Trees: a statement a leaf, of all conditions on the way to it. scikit-learn, Weka's J48, rpart and partykit in R."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.vault.forms import NUMBER
from shoal.vault.protocol.conditions import Conditions
from shoal.vault.protocol.figures import figure, leaf_figures, named_figures
from shoal.vault.protocol.rules import Sheet
from shoal.vault.protocol.statements import Condition, Figure, Statement

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
