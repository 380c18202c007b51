"""Everything that is wrong with a hierarchy's rows, all at once, and what of the data it leaves uncovered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.errors import HierarchyError
from shoal.hierarchy.hierarchy import MISSING, ROOT, Hierarchy
from shoal.hierarchy.values import normal_text

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
