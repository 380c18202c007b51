"""Tables of aggregates, rules or cluster centres: CSV with a header, JSON, or the centres that Weka prints."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import InputError
from shoal.vault.forms import NUMBER
from shoal.vault.protocol.conditions import LONGEST_LINE, Conditions, Heading, called, figure
from shoal.vault.protocol.rules_trees import Sheet, is_whole
from shoal.vault.protocol.statements import Condition, Statement

_CLUSTERS = re.compile(r"(?:cluster|centre|center|centroid)s?(?:[\s_-]*(?:id|number|no))?", re.I)
# Neither part can be split in more than one way, so that no name takes more steps than it has characters.
_MEAN = re.compile(
    r"(?:mean|avg)[\s_.-]+(?:of[\s_.-]+)?(?P<behind>[^\s_.-].*)|(?P<before>.*[^\s_.-])[\s_.-]+(?:mean|avg)", re.I | re.S
)
_IF, _THEN = ("if", "antecedents", "antecedent", "lhs", "conditions"), ("then", "consequents", "consequent", "rhs")
_LISTED = {"=": "=", "==": "=", "in": "=", "!=": "!=", "<>": "!=", "~=": "!=", "≠": "!=", "not in": "!="}


def read_csv(text: str, reader: Conditions) -> Sheet:
    """A statement a row: cells under columns of the release are conditions, under names of figures figures."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), strict=True, delimiter=delimiter))
    except csv.Error:
        raise InputError("The results cannot be read as CSV: check quotes, or submit them as text.") from None
    sheet = Sheet()
    if not rows:
        return sheet
    header = [name.strip() for name in rows[0]]
    if max(map(len, header), default=0) > LONGEST_LINE:
        raise InputError(f"The header has a name of more than {LONGEST_LINE:,} characters: check the table.")
    if len(set(header)) < len(header):
        raise InputError("The header has a name twice: give every column a name of its own.")
    for number, row in enumerate(rows[1:], 2):
        if row and len(row) != len(header):
            raise InputError(f"Line {number} has {len(row)} cells and the header {len(header)}: check the table.")
        if row:
            sheet.pieces.append((number, delimiter.join(row)))
            _record(dict(zip(header, row, strict=True)), number, reader, sheet)
    return sheet


def read_json(text: str, reader: Conditions) -> tuple[Sheet, str | None]:
    """A list of statements as objects, or an object with ``statements`` and perhaps ``target``."""
    try:
        found = json.loads(text, object_pairs_hook=_named_once)
        json.dumps(found, ensure_ascii=False).encode()  # which half a character, as \ud800, would not bear
    except (ValueError, RecursionError):
        raise InputError("The results cannot be read as JSON: check them, or submit them as text.") from None
    target = found.get("target") if isinstance(found, dict) else None
    listed = found.get("statements", found.get("rules", found.get("centres"))) if isinstance(found, dict) else found
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise InputError("Results in JSON must be a list of objects, or an object with a list 'statements'.")
    if target is not None and not isinstance(target, str):
        raise InputError("The 'target' of results must be the name of a column.")
    sheet = Sheet()
    if isinstance(found, dict):
        beside = {name: value for name, value in found.items() if value is not listed and name != "target"}
        sheet.pieces.append((1, json.dumps(beside, ensure_ascii=False)))
    for number, one in enumerate(listed, 1):
        sheet.pieces.append((number, json.dumps(one, ensure_ascii=False)))
        _object(one, number, reader, sheet)
    return sheet, target


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in JSON, of which nothing is lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("An object of the results has a name twice: give everything in it a name of its own.")
    return found


def _object(given: Mapping[str, Any], number: int, reader: Conditions, sheet: Sheet) -> None:
    cells: list[tuple[str, str]] = []
    conditions: list[Condition] = []
    concluded: list[Condition] = []
    for name, value in given.items():
        if name.lower() in (*_IF, *_THEN) and isinstance(value, list):
            made = [_triple(one, reader) for one in value]
            if any(one is None for one in made):
                sheet.leave(number, name, "has a condition that is not [column, sign, value]")
                return
            (conditions if name.lower() in _IF else concluded).extend(one for one in made if one is not None)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            cells.append((name, value if isinstance(value, str) else repr(value)))
        elif name in ("centre", "center") and isinstance(value, dict):
            cells += [(name, str(number)), *((each, str(place)) for each, place in value.items())]
        elif isinstance(value, list | dict):  # perhaps a condition: without it this says something else
            sheet.leave(number, json.dumps(value, ensure_ascii=False), f"under '{name}' cannot be read")
            return
        else:
            sheet.leave(number, name, "was not read, and is no part of the answer")
    plain = dict(cells)
    if len(plain) < len(cells):
        sheet.leave(number, "centre", "has a name that stands beside it as well")
        return
    _record(plain, number, reader, sheet, conditions, concluded)


def _triple(given: Any, reader: Conditions) -> Condition | None:
    if isinstance(given, list) and len(given) == 3 and isinstance(given[0], str):
        if isinstance(given[2], list):
            return _listed(given[0], given[1], given[2], reader)
        given = f"{given[0]} {given[1]} {given[2]}"
    if not isinstance(given, str):
        return None
    read = reader.read(given)
    return read.conditions[0] if len(read.conditions) == 1 and is_whole(read) else None


def _listed(name: str, sign: object, values: Sequence[object], reader: Conditions) -> Condition | None:
    """That a column has one of several values, or none of them; a sign for one value alone has no meaning here."""
    column, plain = reader.names.column(name), _LISTED.get(" ".join(str(sign).lower().split()))
    if column is None or plain is None or not values:
        return None
    made = [reader.equal(column, str(value)) for value in values]
    return None if None in made else Condition(column, plain, tuple(one.values[0] for one in made if one is not None))


def _record(
    cells: Mapping[str, str],
    number: int,
    reader: Conditions,
    sheet: Sheet,
    conditions: Sequence[Condition] = (),
    concluded: Sequence[Condition] = (),
) -> None:
    """One statement of cells by the names above them, beside conditions that are read already."""
    found, ends, figures = list(conditions), list(concluded), []
    centre: list[tuple[str, float | str]] = []
    headings = [_heading(name, reader) for name in cells]
    is_centre = any(each.kind == "cluster" for each in headings)
    for (name, cell), heading in zip(cells.items(), headings, strict=True):
        cell, column = cell.strip(), heading.column
        if not cell or heading.kind == "cluster":
            continue
        if heading.kind in ("if", "then"):
            made = reader.read(_bare(cell))
            (found if heading.kind == "if" else ends).extend(made.conditions)
            if not made.conditions or not is_whole(made):
                sheet.leave(number, cell, "has no condition that can be read")
                return
        elif column is not None and is_centre:
            centre.append((column, float(cell) if re.fullmatch(NUMBER, cell) else cell))
        elif column is not None:
            made_of_cell = _of_cell(column, cell, reader)
            if not made_of_cell:
                sheet.leave(number, cell, f"under '{column}' is no value or interval that can be read")
                return
            found += made_of_cell
        elif heading.figure is not None and re.fullmatch(rf"{NUMBER}\s*%?", cell):
            figures.append(figure(heading.figure, cell, heading.of))
        else:
            sheet.leave(number, name, "is neither a column of the release nor a figure that can be checked")
            if not re.fullmatch(rf"{NUMBER}\s*%?", cell):  # perhaps a condition: without it this says something else
                return
    if len(ends) > 1:
        sheet.leave(number, "several conclusions", "cannot be checked: write a rule for each")
        return
    end = ends[0] if ends else None
    sheet.take(number, *found, *ends, *(Condition(column, "=", (value,)) for column, value in centre))
    sheet.statements.append(Statement(number, tuple(found), end, tuple(figures), centre=tuple(centre)))


def _bare(cell: str) -> str:
    """mlxtend writes ``frozenset({'age=1.2', 'sex=F'})``."""
    inside = re.fullmatch(r"frozenset\(\{(.*)\}\)|[{\[](.*)[}\]]", cell)
    return cell if inside is None else re.sub(r"['\"]", " ", inside[1] or inside[2])


def _of_cell(column: str, cell: str, reader: Conditions) -> list[Condition]:
    equal = reader.equal(column, cell)
    read = reader.read(f"{column} {cell}")
    return [equal] if equal is not None else read.conditions if is_whole(read) else []


def _heading(name: str, reader: Conditions) -> Heading:
    """What cells below a name are, which is looked for once, however many they are."""
    found = reader.headings.get(name) if len(name) <= LONGEST_LINE else Heading("", None, None, None)
    if found is None:
        kind = "cluster" if _CLUSTERS.fullmatch(name) else "if" if name.lower() in _IF else ""
        kind = "then" if name.lower() in _THEN else kind
        told, mean = called(name), _MEAN.fullmatch(name)
        of = None if told or mean is None else reader.names.column(mean["behind"] or mean["before"])
        found = Heading(kind, reader.names.column(name), told or ("mean" if of else None), of)
        reader.headings[name] = found
    return found


# ----------------------------------------
# Cluster centres as Weka's SimpleKMeans prints them. Other printed tables are handed in as CSV or JSON.


_WEKA = re.compile(r"^Attribute\s+Full Data(?P<clusters>(?:\s+\d+)+)\s*$")
_SIZE = re.compile(r"\(\s*(\d+(?:\.\d+)?)\s*\)")
_INSTANCES = re.compile(r"^\d+\s+\d+\s+\(\s*\d+%\)\s*$")


def read_centres(text: str, reader: Conditions) -> tuple[Sheet, str]:
    """Read the tables of centres in a text; return the text with their lines replaced by a word without meaning."""
    lines = text.splitlines()
    sheet, at = Sheet(), 0
    while at < len(lines):
        found = _WEKA.match(lines[at])
        at = at + 1 if found is None else _read_table(lines, at, found["clusters"].split(), reader, sheet)
    return sheet, "\n".join(lines)


def _read_table(lines: list[str], at: int, clusters: Sequence[str], reader: Conditions, sheet: Sheet) -> int:
    """Read one table: a line an attribute, a column a cluster, and one of all rows. Return the line behind it."""
    start, rows, read = at, {"cluster": list(clusters)}, [at]
    at += 1
    sizes = _SIZE.findall(lines[at]) if at < len(lines) else []
    if len(sizes) == len(clusters) + 1:
        rows["n"] = sizes[1:]
        read.append(at)
    while at < len(lines) and lines[at].strip() and not _WEKA.match(lines[at]):
        words = lines[at].split()
        name = " ".join(words[: -len(clusters) - 1])
        # Names that recur and standard deviations are listed, like all that is not read.
        if name and name not in rows and not name.startswith("+/-"):
            rows[name] = words[-len(clusters) :]
            read.append(at)
        at += 1
    behind = at
    # Lines up to the next table that repeat how many rows each cluster has.
    while at < len(lines) and not _WEKA.match(lines[at]):
        if _INSTANCES.match(lines[at]):
            read.append(at)
        at += 1
    for place in read:
        lines[place] = "(printed)"  # no list of rules is whole without them
    sheet.leave(start + 1, "Full Data", "is about all rows, and no part of the answer")
    for cluster in range(len(clusters)):
        cells = {name: values[cluster] for name, values in rows.items()}
        sheet.pieces.append((start + 1, " \t ".join(cells.values())))
        _record(cells, start + 1, reader, sheet)
    return behind
