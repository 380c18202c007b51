"""Judges a written release by its files and by what the case knows. It shares no code with Shoal."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from tests.soak.cases import Case, Row
from tests.soak.cells import MISSING, STAR, bounds, covers, listed, number
from tests.soak.judge import Members, broken, judged


def faults(case: Case, folder: Path) -> list[str]:
    """Every promise that the files in ``folder`` break."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rows = read_rows(folder, "release")
    apart = read_rows(folder, "sensitive")
    starred = [row for row in rows if case.suppressed == "star" and set(row.values()) == {STAR}]
    rows = [row for row in rows if row not in starred] if starred else rows
    found = _accounting(case, rows, starred, manifest)
    found += [f"an identifier stands in {path.name}" for path in sorted(folder.iterdir()) if _named(case, path)]
    found += _leaks(case, manifest, (folder / "report.html"), [*rows, *starred, *apart])
    sources = {row["ref"]: row for row in case.kept} if case.linked else {}
    if case.linked and any(row["ref"] not in sources for row in rows):
        return [*found, "a row has no source"]
    linked = [sources[row["ref"]] for row in rows] if case.linked else None
    if linked is not None:
        found += _truth(case, manifest, rows, linked)
    return found + _promises(case, manifest, rows, linked, apart)


def read_rows(folder: Path, name: str) -> list[Row]:
    """A published table as texts; no rows where there is no such table."""
    if (folder / f"{name}.parquet").exists():
        import polars as pl

        frame = pl.read_parquet(folder / f"{name}.parquet")
        return [{key: _text(cell) for key, cell in row.items()} for row in frame.iter_rows(named=True)]
    if not (folder / f"{name}.csv").exists():
        return []
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def _text(cell: Any) -> str:
    if cell is None:
        return MISSING
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def _accounting(case: Case, rows: list[Row], starred: list[Row], manifest: dict[str, Any]) -> list[str]:
    found = []
    counterfeits = int(manifest.get("counterfeits", 0))
    lost = len(case.kept) - (len(rows) - counterfeits)
    if lost < 0 or lost > case.algorithm["suppression_limit"] * len(case.kept) + 1e-9:
        found.append(f"{lost} of {len(case.kept)} rows are missing, over the limit")
    if case.suppressed == "star" and lost != len(starred):
        found.append("suppressed rows are not the starred ones")
    if case.linked and len({row["ref"] for row in rows}) != len(rows):
        found.append("a row is released twice")
    return found


def _named(case: Case, path: Path) -> bool:
    data = path.read_bytes().decode("utf-8", "ignore")
    words = [word for row in case.rows for word in str(row["name"]).split()]
    return any(word in data for word in words)


def _leaks(case: Case, manifest: dict[str, Any], report: Path, rows: list[Row]) -> list[str]:
    """Values that were read, are in no released cell, and were not declared, but stand in what goes with the data."""
    shown = {str(cell) for row in rows for cell in row.values()}
    text = "\n".join(shown)
    declared = {*_strings(case.models), *_strings([one.non_answers for one in case.columns.values()])}
    declared |= {value for one in case.columns.values() if one.kind == "ordinal" for value in one.order}
    read = {str(row[name]) for row in case.rows for name in [*case.quasi, *case.sensitive] if row[name] is not None}
    # A short number may be anybody's: a share, a limit, a class size.
    hidden = {value for value in read - declared if len(value) >= 4 and value not in text and not _figure(value)}
    published = _strings(manifest["columns"])
    page = report.read_text(encoding="utf-8") if report.exists() else ""
    wrong = sum(value in published or value in page for value in hidden)
    return [f"{wrong} values that are in no cell stand in manifest or report"] if wrong else []


def _figure(text: str) -> bool:
    return re.fullmatch(r"-?\d+\.\d+|\d{1,4}", text) is not None


def _strings(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {one for key, item in value.items() for one in {key, *_strings(item)}}
    if isinstance(value, list):
        return {one for item in value for one in _strings(item)}
    return {str(value)}


def _truth(case: Case, manifest: dict[str, Any], rows: list[Row], linked: list[Row]) -> list[str]:
    """Cells cover what they stand for, and values are those of their row."""
    made = manifest.get("made", manifest["kind"])
    coded = {entry["name"] for entry in manifest["columns"] if "coded" in entry}
    found = []
    for name in [*case.quasi, *case.sensitive]:
        if name not in rows[0] if rows else True:
            continue
        pairs = [(str(row[name]), source[name]) for row, source in zip(rows, linked, strict=True)]
        if name in coded:
            found += _bijection(name, pairs)
        elif name in case.sensitive:
            exact = made in ("randomised", "microaggregated", "perturbed")
            if (exact or (made == "generalised" and case.algorithm["name"] != "personalised")) and any(
                not _same(cell, value) for cell, value in pairs
            ):
                found.append(f"a value of {name} is not its row's")
        elif made == "generalised" and not all(covers(case.columns[name], cell, value) for cell, value in pairs):
            found.append(f"a cell of {name} does not cover its value")
        elif manifest.get("perturbation") in ("swapped", "shuffled") and not _shuffled(pairs):
            found.append(f"{name} has not the values that it had")
        elif made in ("bucketised", "pseudonymised") and any(not _same(cell, value) for cell, value in pairs):
            found.append(f"a value of {name} is not its row's")
    if made == "randomised":
        found += _redrawn(case, rows, linked, int(manifest["redraw"]))
    return found


def _shuffled(pairs: list[tuple[str, str | None]]) -> bool:
    """Whether cells are the values of all rows in another order."""
    left = [value for _, value in pairs]
    for cell, _ in pairs:
        found = next((value for value in left if _same(cell, value)), ...)
        if found is ...:
            return False
        left.remove(found)
    return True


def _same(cell: str, value: str | None) -> bool:
    if value is None or cell == MISSING:
        return value is None and cell == MISSING
    try:
        return cell == value or float(cell) == float(value)
    except ValueError:
        return False


def _bijection(name: str, pairs: list[tuple[str, str | None]]) -> list[str]:
    known = {(cell, value) for cell, value in pairs if value is not None}
    clash = len({cell for cell, _ in known}) != len(known) or len({value for _, value in known}) != len(known)
    return [f"codes of {name} are not one to one"] if clash else []


def _redrawn(case: Case, rows: list[Row], linked: list[Row], redraw: int) -> list[str]:
    changed = [
        sum(not _same(str(row[name]), source[name]) for name in case.quasi)
        for row, source in zip(rows, linked, strict=True)
    ]
    return ["more cells are redrawn than the manifest says"] if max(changed, default=0) > redraw else []


def _promises(
    case: Case, manifest: dict[str, Any], rows: list[Row], linked: list[Row] | None, apart: list[Row]
) -> list[str]:
    """The models that the recipe asked for, on the classes that can be seen in the files."""
    grouped = "group" in manifest
    if not rows:
        return []
    shown = [manifest["group"]] if grouped else [column for column in rows[0] if column in case.quasi]
    classes: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        classes[tuple(row[name] for name in shown)].append(place)
    values = apart or rows
    inside = classes if not apart else _grouped(apart, manifest["group"])
    found = []
    for model in _asked(case):
        names = [model["on"]] if isinstance(model.get("on"), str) else model.get("on", [])
        if not judged(model) or (not case.linked and {*names} & _coded(manifest)):
            continue
        owners = _owners(case, linked, len(values)) if not apart else list(range(len(values)))
        cells = _cells(case, names, values, linked if not apart and {*names} & _coded(manifest) else None)
        column = case.columns[names[0]] if len(names) == 1 else None
        whole = _table(case, names)
        groups = [
            Members([cells[i] for i in places], [owners[i] for i in places], column, whole.values)
            for places in inside.values()
        ]
        released = Members(cells, owners, column, whole.values)
        wrong = broken(model, groups, released if model.get("reference") == "released" else whole)
        if wrong:
            found.append(f"{model['name']} is broken in {wrong} of {len(groups)} classes")
    return found + _utility(case, rows, manifest)


def _asked(case: Case) -> list[dict[str, Any]]:
    shorthand: list[dict[str, Any]] = []
    if case.algorithm["name"] == "alpha-k":
        shorthand = [{"name": "alpha-k-general", "alpha": 0.7, "k": 2, "on": name} for name in case.sensitive]
    if case.algorithm["name"] == "anatomy":
        shorthand = [{"name": "distinct-l", "l": 2, "on": name} for name in case.sensitive]
    if case.again:
        shorthand = [{"name": "m-invariance", "m": 2, "on": name} for name in case.sensitive]
    return [*case.models, *shorthand]


def _coded(manifest: dict[str, Any]) -> set[str]:
    return {entry["name"] for entry in manifest["columns"] if "coded" in entry}


def _grouped(rows: list[Row], group: str) -> dict[tuple[Any, ...], list[int]]:
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        found[(row[group],)].append(place)
    return found


def _owners(case: Case, linked: list[Row] | None, count: int) -> list[Hashable]:
    if case.people and linked is not None:
        return [row["who"] for row in linked]
    return list(range(count))


def _cells(case: Case, names: list[str], rows: list[Row], linked: list[Row] | None) -> list[Hashable]:
    """The value, or tuple of values, of every row; None where nothing is known."""
    source = linked if linked is not None else rows
    found: list[Hashable] = []
    for row in source:
        parts = [None if _unknown(case, name, row[name]) else row[name] for name in names]
        found.append(parts[0] if len(parts) == 1 else None if None in parts else tuple(parts))
    return found


def _unknown(case: Case, name: str, cell: str | None) -> bool:
    return cell is None or cell in (MISSING, STAR, "") or cell in case.columns[name].non_answers


def _table(case: Case, names: list[str]) -> Members:
    owners: list[Hashable] = [row["who"] for row in case.kept] if case.people else list(range(len(case.kept)))
    column = case.columns[names[0]] if len(names) == 1 else None
    return Members(_cells(case, names, case.kept, None), owners, column)


def _utility(case: Case, rows: list[Row], manifest: dict[str, Any]) -> list[str]:
    """What a class may lose; columns whose domain only the publisher knows count as lossless."""
    limits = [model["u"] for model in case.models if model["name"] == "worst-group-utility"]
    if not limits or manifest.get("made", manifest["kind"]) != "generalised":
        return []
    worst = max(sum(_loss(case, name, str(row[name])) for name in case.quasi) / len(case.quasi) for row in rows)
    return ["worst-group-utility is broken"] if worst > limits[0] + 1e-9 else []


def _loss(case: Case, name: str, cell: str) -> float:
    column = case.columns[name]
    values = [str(row[name]) for row in case.kept if row[name] is not None]
    if len(set(values)) < 2 or cell == MISSING:
        return 0.0
    gap = len(values) < len(case.kept)  # a missing cell is a value of its own, beside all others
    if column.kind in ("int", "real", "date"):
        whole = [number(value, column.kind) for value in values]
        low, high = (min(whole), max(whole)) if cell == STAR else bounds(column, cell)
        return min(1.0, float((high - low) / (max(whole) - min(whole))))
    if column.kind == "flat":
        domain = Counter(values)
        count = len(domain) if cell == STAR else len(listed(column, cell))
        return (count - 1) / (len(domain) - 1 + gap)
    if column.kind == "tree":
        under = [leaf for leaf, above in column.paths.items() if cell == STAR or cell in (leaf, *above)]
        return (len(under) - 1) / (len(column.paths) - 1 + gap)
    return 0.0
