"""Hierarchy files (one line a leaf, as ARX writes them) and hierarchies as recipes describe them."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.data import hierarchy_builders, hierarchy_suggest
from shoal.data.hierarchy import MISSING, ROOT, Hierarchy
from shoal.data.values import normal_text
from shoal.errors import HierarchyError
from shoal.params import nearest

# Each way to describe a hierarchy, with the further keys that may stand beside it.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "path": ("separator", "public"),
    "prefix": ("mask",),
    "intervals": (),
    "widths": ("origin",),
    "quantiles": (),
    "dates": (),
    "groups": ("public",),
    "nested": ("public",),
    "rare": (),
}
# What a first line that names the levels calls the values.
_LEAF_WORDS = {"value", "values", "leaf", "leaves", "level0", "level1", "original", "originalvalue", "code", "label"}
# What outliers can be recoded beside.
_BESIDE_RARE = ("path", "prefix", "intervals", "widths", "nested")


def read_csv(path: str | Path, name: str, separator: str = ";") -> Hierarchy:
    """Read a hierarchy: one line a leaf, ``leaf;level 1;...;*``, UTF-8.

    Blank lines are skipped, short lines are padded after the leaf and labels may be quoted. A first line that names the
    levels is recognised (:func:`header_of`).
    """
    rows = read_rows(path, name, separator)
    return Hierarchy.from_rows(name, rows if header_of(name, rows) is None else rows[1:])


def read_rows(path: str | Path, name: str, separator: str = ";") -> list[list[str]]:
    """The lines of a hierarchy file as they are, a header among them."""
    if not isinstance(separator, str) or len(separator) != 1:
        raise HierarchyError(f"The 'separator' of the hierarchy of '{name}' must be one character: got {separator!r}.")
    rows = []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            for row in reader:
                if not row or (len(row) == 1 and row[0].isspace()):
                    continue
                if "" in row:
                    raise HierarchyError(
                        f"Line {reader.line_num} of '{path}', the hierarchy of '{name}', has an empty label: "
                        "name every level of the path."
                    )
                rows.append(row)
    except OSError as error:
        raise HierarchyError(
            f"The hierarchy file '{path}' of '{name}' cannot be read ({error.strerror}): check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise HierarchyError(
            f"The hierarchy file '{path}' of '{name}' is not UTF-8 text: save it with that encoding."
        ) from error
    except csv.Error as error:
        raise HierarchyError(
            f"Line {reader.line_num} of '{path}', the hierarchy of '{name}', is malformed ({error}): check its quotes."
        ) from error
    _check_separator(path, name, separator, rows)
    return rows


def header_of(name: str, rows: Sequence[Sequence[str]]) -> Sequence[str] | None:
    """The first line where it names the levels of a hierarchy instead of a value, else None.

    Its labels stand nowhere else, and either it begins with the column's name or a word such as ``value``, or all other
    lines end in one root and it does not.

    Examples
    --------
    >>> header_of("pet", [["pet", "kind", "all"], ["cat", "mammal", "*"], ["carp", "fish", "*"]])
    ['pet', 'kind', 'all']
    >>> header_of("pet", [["cat", "mammal", "*"], ["carp", "fish", "*"]]) is None
    True
    """
    if len(rows) < 2 or len(set(rows[0])) < len(rows[0]):
        return None
    first, others = {normal_text(label) for label in rows[0]}, rows[1:]
    if any(normal_text(label) in first for row in others for label in row):
        return None
    word = re.sub(r"[ _-]", "", normal_text(rows[0][0]).casefold())
    named = word in _LEAF_WORDS or word == re.sub(r"[ _-]", "", name.casefold())
    roots = {row[-1] for row in others}
    return rows[0] if named or (len(others) > 1 and roots == {ROOT}) else None


def write_csv(hierarchy: Hierarchy, path: str | Path) -> None:
    """Write a hierarchy so that :func:`read_csv` gives the same one back; whole or not at all."""
    path = Path(path)
    # The reader would take these for a line end or a byte order mark if they stood unquoted.
    awkward = any("\r" in label or label.startswith("\ufeff") for label in hierarchy.node_labels)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(
                file,
                delimiter=";",
                lineterminator="\n",
                quoting=csv.QUOTE_ALL if awkward else csv.QUOTE_MINIMAL,
            )
            writer.writerows(hierarchy.rows())
        os.replace(temporary, path)
    except OSError as error:
        raise HierarchyError(
            f"The hierarchy of '{hierarchy.name}' cannot be written to '{path}' ({error.strerror}): check the path."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def build(name: str, spec: Any, values: Sequence[str], *, counts: Sequence[int] | None = None) -> Hierarchy:
    """Turn a recipe's entry into a hierarchy.

    Parameters
    ----------
    name
        The column.
    spec
        A path; a mapping such as ``{"prefix": [4, 3, 2]}``, ``{"intervals": {"edges": [[0, 20, 40]]}}``,
        ``{"widths": [5, 10], "origin": 0}``, ``{"quantiles": [8, 4, 2]}``, ``{"dates": ["month", "year"]}``,
        ``{"groups": [...]}``, ``{"nested": {...}}``, ``{"rare": 20}`` (alone or beside
        another) or ``{"path": ..., "separator": ","}``; or a
        :class:`Hierarchy`, which is returned as it is. ``"public": True`` beside a path, groups or a tree lets all of
        it be published.
    values
        The column's values as canonical text; for ``groups``, in the column's order.
    counts
        How often each value occurs, for ``quantiles`` and ``rare``.
    """
    if isinstance(spec, Hierarchy):
        return spec
    if isinstance(spec, str | Path):
        return read_csv(spec, name)
    if isinstance(spec, Mapping) and "rare" in spec:
        return _recoded(name, spec, values, counts)
    kind = _kind(name, spec)
    public = spec.get("public", False)
    if not isinstance(public, bool):
        raise HierarchyError(f"The 'public' of the hierarchy of '{name}' must be true or false: got {public!r}.")
    options = {key: value for key, value in spec.items() if key not in (kind, "public")}
    found = _built(name, kind, spec[kind], options, values, counts)
    return replace(found, public=True) if public else found


def _built(
    name: str, kind: str, main: Any, options: Mapping[str, Any], values: Sequence[str], counts: Sequence[int] | None
) -> Hierarchy:
    match kind:
        case "path":
            return read_csv(main, name, **options)
        case "prefix":
            return hierarchy_builders.prefix(name, values, main, **options)
        case "intervals":
            return hierarchy_builders.intervals(name, values, _edges(name, main))
        case "widths":
            return hierarchy_builders.equal_width(name, values, main, **options)
        case "quantiles":
            return hierarchy_builders.quantiles(name, values, counts, main)
        case "dates":
            return hierarchy_builders.dates(name, values, main)
        case "groups":
            return hierarchy_builders.ordered(name, values, main)
        case _:
            return hierarchy_builders.nested(name, main)


def _recoded(name: str, spec: Mapping[str, Any], values: Sequence[str], counts: Sequence[int] | None) -> Hierarchy:
    """A hierarchy with its outliers recoded, by how often each value occurs."""
    least = hierarchy_suggest.check_least(name, spec["rare"])
    rest = {key: value for key, value in spec.items() if key != "rare"}
    kind = _kind(name, rest) if rest else "rare"
    if kind not in ("rare", *_BESIDE_RARE) or "public" in rest:
        beside = "public" if "public" in rest else kind
        raise HierarchyError(f"The hierarchy of '{name}' cannot have 'rare' beside '{beside}': remove one of them.")
    known = [value for value in values if value != MISSING]
    tree = build(name, rest, values) if rest else Hierarchy.from_rows(name, [[value, ROOT] for value in known])
    tree = tree.with_missing() if MISSING in values else tree
    often = dict(zip(values, counts or [1] * len(values), strict=True))
    recode = hierarchy_suggest.rare_tails if kind in ("intervals", "widths") else hierarchy_suggest.rare_together
    return recode(tree, often, least)


def _kind(name: str, spec: Any) -> str:
    if not isinstance(spec, Mapping):
        raise HierarchyError(
            f"The hierarchy of '{name}' must be a path or a table with one of {', '.join(_OPTIONS)}: got {spec!r}."
        )
    known = list(dict.fromkeys([*_OPTIONS, *(key for keys in _OPTIONS.values() for key in keys)]))
    for key in spec:
        if key not in known:
            raise HierarchyError(_unknown(name, str(key), known))
    kinds = [key for key in spec if key in _OPTIONS]
    if len(kinds) != 1:
        raise HierarchyError(
            f"The hierarchy of '{name}' needs exactly one of {', '.join(_OPTIONS)}: got {', '.join(kinds) or 'none'}."
        )
    for key in spec:
        if key != kinds[0] and key not in _OPTIONS[kinds[0]]:
            raise HierarchyError(f"The hierarchy of '{name}' cannot have '{key}' beside '{kinds[0]}': remove it.")
    return str(kinds[0])


def _edges(name: str, main: Any) -> Any:
    if not isinstance(main, Mapping) or "edges" not in main:
        raise HierarchyError(f"The intervals for '{name}' need edges: write intervals = {{ edges = [[0, 20, 40]] }}.")
    for key in main:
        if key != "edges":
            raise HierarchyError(_unknown(name, str(key), ["edges"]))
    return main["edges"]


def _unknown(name: str, key: str, known: Sequence[str]) -> str:
    near = nearest(key, known)
    hint = f"did you mean '{near}'?" if near else f"use one of {', '.join(known)}."
    return f"The hierarchy of '{name}' has an unknown entry '{key}': {hint}"


def _check_separator(path: str | Path, name: str, separator: str, rows: list[list[str]]) -> None:
    """A file of one column whose every line holds another separator was written with that one."""
    if len(rows) < 2 or any(len(row) > 1 for row in rows):
        return
    for other in ",;\t|":
        if other != separator and all(other in row[0] for row in rows):
            raise HierarchyError(
                f"The hierarchy file '{path}' of '{name}' has no '{separator}' but {other!r} on every line: "
                f"set its separator to {other!r}."
            )


# ----------------------------------------
# Everything that is wrong with a hierarchy's rows, all at once, and what of the data it leaves uncovered.


_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind of thing that is wrong: what it is, how often, and the labels or lines that show it."""

    kind: str
    count: int
    message: str


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How a hierarchy and a column's values meet.

    Attributes
    ----------
    values, records
        Different values of the column, and its records with one.
    uncovered
        Values that the hierarchy lacks, with the records that have them, most first.
    unused
        Leaves that no record has.
    """

    values: int
    records: int
    uncovered: Mapping[str, int]
    unused: int

    @property
    def records_uncovered(self) -> int:
        """Records whose value the hierarchy lacks."""
        return sum(self.uncovered.values())


def find_faults(name: str, rows: Sequence[Sequence[str]]) -> list[Fault]:
    """Everything that keeps rows from being a hierarchy; empty where they are one.

    Examples
    --------
    >>> rows = [["a", "x", "top"], ["b", "x", "other"], ["a", "y", "top"]]
    >>> [(fault.kind, fault.count) for fault in find_faults("v", rows)]
    [('duplicate', 1), ('parents', 1)]
    """
    paths = [[normal_text(label) for label in row] for row in rows]
    if not paths:
        return [Fault(kind="empty", count=1, message=f"The hierarchy of '{name}' has no line: give one a value.")]
    found = [_empty(paths)]
    depth = max(map(len, paths))
    paths = [[path[0], *[path[0]] * (depth - len(path)), *path[1:]] for path in paths if "" not in path]
    if paths:
        found += [_duplicates(paths), *_parents(paths), _meanings(paths)]
    faults = [fault for fault in found if fault is not None]
    if not faults:
        try:
            Hierarchy.from_rows(name, paths)
        except HierarchyError as error:  # of the words that are kept for the root and for missing values
            faults.append(Fault(kind="reserved", count=1, message=str(error)))
    return faults


def coverage(tree: Hierarchy, counts: Mapping[str, int]) -> Coverage:
    """Values that a hierarchy lacks and those that nobody has; missing ones need no line.

    Examples
    --------
    >>> tree = Hierarchy.from_rows("pet", [["cat", "*"], ["dog", "*"]])
    >>> coverage(tree, {"cat": 3, "newt": 2}).uncovered
    {'newt': 2}
    """
    known = {value: count for value, count in counts.items() if value != MISSING and count > 0}
    lacking = {value: count for value, count in known.items() if value not in tree.leaf_code}
    ranked = dict(sorted(lacking.items(), key=lambda item: (-item[1], item[0])))
    unused = sum(leaf not in known and leaf != MISSING for leaf in tree.labels[0])
    return Coverage(values=len(known), records=sum(known.values()), uncovered=ranked, unused=unused)


def _empty(paths: list[list[str]]) -> Fault | None:
    places = [place for place, path in enumerate(paths, 1) if "" in path]
    if not places:
        return None
    return Fault(
        kind="empty",
        count=len(places),
        message=f"{_lines(places)} an empty label: name every level of the path.",
    )


def _duplicates(paths: list[list[str]]) -> Fault | None:
    first: dict[str, list[str]] = {}
    twice = Counter(path[0] for path in paths if first.setdefault(path[0], path) != path)
    if not twice:
        return None
    return Fault(
        kind="duplicate",
        count=len(twice),
        message=f"{_named(twice)} two different paths: keep one line a value.",
    )


def _parents(paths: list[list[str]]) -> list[Fault]:
    """Labels of a level that do not nest: they have several parents on the level above."""
    found = []
    for level in range(1, len(paths[0]) - 1):
        above: dict[str, str] = {}
        pairs = ((path[level], path[level + 1]) for path in paths)
        wrong = Counter(label for label, parent in pairs if above.setdefault(label, parent) != parent)
        if wrong:
            where = f"On level {level} {_named(wrong)} several parents on level {level + 1}"
            message = f"{where}: keep one, or use two labels."
            found.append(Fault(kind="parents", count=len(wrong), message=message))
    return found


def _meanings(paths: list[list[str]]) -> Fault | None:
    """Labels that stand on several levels over different values."""
    meaning: dict[str, frozenset[str]] = {}
    wrong: Counter[str] = Counter()
    for level in range(len(paths[0])):
        here: dict[str, set[str]] = {}
        for path in paths:
            here.setdefault(path[level], set()).add(path[0])
        for label, leaves in here.items():
            if label != ROOT and meaning.setdefault(label, frozenset(leaves)) != leaves:
                wrong[label] += 1
    if not wrong:
        return None
    return Fault(
        kind="meanings",
        count=len(wrong),
        message=f"{_named(wrong)} different values below on different levels: use two labels.",
    )


def _named(labels: Mapping[str, int]) -> str:
    shown = ", ".join(f"'{label}'" for label in list(labels)[:_SHOWN])
    more = f" and {len(labels) - _SHOWN:,} more" if len(labels) > _SHOWN else ""
    return f"{shown}{more} {'has' if len(labels) == 1 else 'have'}"


def _lines(places: Sequence[int]) -> str:
    shown = ", ".join(map(str, places[:_SHOWN]))
    more = f" and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
    return f"Line {shown} has" if len(places) == 1 else f"Lines {shown}{more} have"
