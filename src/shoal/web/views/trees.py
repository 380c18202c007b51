"""Hierarchies of a project: the tree of a column, what its levels cost, what it does not cover, and what could be."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from shoal.errors import HierarchyError, ShoalError
from shoal.hierarchy.costs import LevelCost, leaf_weights, level_costs
from shoal.hierarchy.edits import apply_edit
from shoal.hierarchy.faults import coverage, find_faults
from shoal.hierarchy.files import write_csv
from shoal.hierarchy.hierarchy import MISSING, Hierarchy
from shoal.hierarchy.suggest import suggest
from shoal.starting.known import Known, file_rows, recipe_columns, recipe_tree
from shoal.web.views.editing import with_hierarchy
from shoal.web.views.place import FILES, Place, file_name
from shoal.web.views.remembering import remembered

# Children of a node that a page lists; the file has all of them.
LISTED = 60
_BESIDE = 4


@dataclass(frozen=True, kw_only=True)
class Node:
    """A label of a tree with the values and records below it; ``more`` children are not listed."""

    label: str
    values: int
    records: int
    level: int
    children: tuple[Node, ...] = ()
    more: int = 0


@dataclass(frozen=True, kw_only=True)
class Line:
    """A column in the list of hierarchies."""

    column: str
    role: str
    type: str
    how: str
    values: int
    levels: int
    labels: tuple[int, ...]
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A hierarchy that a column could have; ``spec`` as a recipe says it, empty where it would be a file."""

    how: str
    why: str
    spec: str
    labels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class TreeView:
    """Everything about the hierarchy of one column."""

    column: str
    role: str
    type: str
    how: str
    records: int
    root: Node | None
    costs: tuple[LevelCost, ...]
    labels: tuple[tuple[str, ...], ...]
    uncovered: tuple[tuple[str, int], ...]
    records_uncovered: int
    unused: int
    proposals: tuple[Proposed, ...]
    problem: str = ""


def _spec_text(entry: Any) -> str:
    """How a recipe says it."""
    if isinstance(entry, str):
        return f"file {Path(entry).name}"
    if "path" in entry:
        return f"file {Path(entry['path']).name}"
    inline = tomlkit.inline_table()
    inline.update(dict(entry))
    text = inline.as_string()
    return text if len(text) <= 120 else f"{text[:119]}…"


def columns_of(place: Place) -> list[str]:
    """Columns that could have a hierarchy."""
    roles = place.recipe.roles
    return [*roles.quasi, *roles.sensitive]


def known(place: Place, column: str, beside: Sequence[str] = ()) -> Known:
    """A column of the project, with how often each value occurs."""
    if column not in columns_of(place):
        raise HierarchyError(f"There is no column '{column}' that could have a hierarchy: choose one of the list.")
    place = place.head
    found = _known(place.stamp, _settings(place), str(place.folder), (column,) if beside else (), tuple(beside))
    return found[column]


def _settings(place: Place) -> str:
    """What of a recipe decides which values a column has."""
    recipe = place.recipe
    kept = {
        "source": recipe.source.model_dump(exclude_none=True), "roles": recipe.roles.model_dump(exclude_none=True),
        "columns": {name: one.model_dump(exclude_none=True, exclude_defaults=True, by_alias=True)
                    for name, one in recipe.columns.items()},
    }  # fmt: skip
    return tomlkit.dumps(kept)


@remembered(12)
def _known(
    stamp: tuple[str, int, int], settings: str, folder: str, names: tuple[str, ...], beside: tuple[str, ...]
) -> dict[str, Known]:
    """Columns by name, all that could have a hierarchy where none is named: the source is read once for them."""
    place = Place(Path(folder), settings)
    return {one.name: one for one in recipe_columns(place.recipe, names or columns_of(place), beside)}


def tree_of(place: Place, column: str) -> Hierarchy | None:
    """The hierarchy that the recipe gives a column; None where it has two levels, as it is and everything."""
    if column not in place.recipe.hierarchies:
        return None
    return recipe_tree(place.recipe, known(place, column))


def two_levels(mine: Known) -> Hierarchy:
    """What a column has without a hierarchy: its values, and everything."""
    return Hierarchy.from_rows(mine.name, [[value, "*"] for value in mine.counts if value != MISSING])


def hierarchy_lines(place: Place) -> list[Line]:
    """Every column that could have a hierarchy, and what it has."""
    found = []
    for name in columns_of(place):
        role = "quasi" if name in place.recipe.roles.quasi else "sensitive"
        entry = place.recipe.hierarchies.get(name)
        line: dict[str, Any] = {"column": name, "role": role, "how": "" if entry is None else _spec_text(entry)}
        try:
            mine = known(place, name)
            tree = tree_of(place, name)
            labels = () if tree is None else tuple(map(len, tree.labels))
            problem = "" if tree is None else _lacking(tree, mine)
            line |= {"type": mine.type, "values": len(mine.counts), "levels": len(labels) or 2, "labels": labels}
            found.append(Line(**line, problem=problem))
        except ShoalError as error:
            found.append(Line(**{"type": "", "values": 0, "levels": 0, "labels": (), **line}, problem=str(error)))
    return found


def _lacking(tree: Hierarchy, mine: Known) -> str:
    met = coverage(tree, mine.counts)
    if not met.uncovered:
        return ""
    return f"{len(met.uncovered):,} of {met.values:,} values have no line ({met.records_uncovered:,} records)."


def tree_view(place: Place, column: str) -> TreeView:
    """Everything about the hierarchy of one column."""
    role = "quasi" if column in place.recipe.roles.quasi else "sensitive"
    others = [name for name in place.recipe.roles.quasi if name != column][:_BESIDE]
    mine = known(place, column, others)
    entry, problem = place.recipe.hierarchies.get(column), ""
    try:
        tree = tree_of(place, column)
    except ShoalError as error:
        tree, problem = None, str(error)
    shown = tree or two_levels(mine)
    met = coverage(shown, mine.counts)
    return TreeView(
        column=column, role=role, type=mine.type, how="" if entry is None else _spec_text(entry),
        records=mine.records, root=None if problem else _drawn(shown, leaf_weights(shown, mine.counts)),
        costs=tuple(level_costs(shown, mine.counts)) if tree is not None else (),
        labels=tuple(level[:LISTED * 5] for level in shown.labels), uncovered=tuple(met.uncovered.items())[:20],
        records_uncovered=met.records_uncovered, unused=met.unused, proposals=tuple(_proposed(mine)), problem=problem,
    )  # fmt: skip


def _drawn(tree: Hierarchy, weights: np.ndarray) -> Node:
    every = np.arange(tree.n_leaves)

    def node(level: int, place: int, below: np.ndarray) -> Node:
        label, children, more, under = tree.labels[level][place], [], 0, level
        while under > 0:
            under -= 1
            found = np.unique(tree.ancestors[under][below]).tolist()
            if len(found) > 1 or tree.labels[under][found[0]] != label:
                more = max(0, len(found) - LISTED)
                children = [
                    node(under, child, below[tree.ancestors[under][below] == child]) for child in found[:LISTED]
                ]
                break
        return Node(
            label=label, values=below.size, records=int(weights[below].sum()), level=level, children=tuple(children),
            more=more,
        )  # fmt: skip

    return node(tree.height, 0, every)


def _proposed(mine: Known) -> list[Proposed]:
    found = suggest(mine.name, mine.counts, type=mine.type, beside=mine.beside)
    return [
        Proposed(
            how=one.how, why=one.why, spec=_spec_text(one.spec) if one.by_rule else "",
            labels=tuple(map(len, one.hierarchy.labels)),
        )
        for one in found
    ]  # fmt: skip


def with_proposal(place: Place, column: str, how: str) -> tuple[str, bytes | None]:
    """The recipe with the proposal of a kind, and the file that it needs where it is no rule."""
    others = [name for name in place.recipe.roles.quasi if name != column][:_BESIDE]
    mine = known(place, column, others)
    found = suggest(column, mine.counts, type=mine.type, beside=mine.beside, how=how)
    if not found:
        raise HierarchyError(f"There is no such proposal for '{column}' any more: look at the page again.")
    type = None if found[0].type in (None, mine.type) else found[0].type
    if found[0].by_rule:
        return with_hierarchy(place.text, column, dict(found[0].spec), type), None
    data = as_csv(found[0].hierarchy)
    return with_hierarchy(place.text, column, stored_name(column, data), type), data


def edited(place: Place, column: str, edits: Sequence[str]) -> tuple[str, bytes]:
    """The recipe with a column's hierarchy changed by sentences, and the file that it is then."""
    tree = tree_of(place, column) or two_levels(known(place, column))
    for one in edits:
        tree = apply_edit(tree, one)
    data = as_csv(tree)
    return with_hierarchy(place.text, column, stored_name(column, data)), data


def moved(label: str, under: str) -> str:
    """The sentence that moves a label, whatever marks it has in it."""
    return f"move {_quoted(label)} under {_quoted(under)}"


def _quoted(label: str) -> str:
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"'


def uploaded(place: Place, column: str, path: Path) -> tuple[str, bytes]:
    """The recipe with a hierarchy that was uploaded, after saying everything that is wrong with it."""
    mine = known(place, column)
    rows = file_rows(path, column, None)
    faults = find_faults(column, rows)
    if faults:
        raise HierarchyError(" ".join(one.message for one in faults))
    tree = Hierarchy.from_rows(column, rows)
    lacking = _lacking(tree, mine)
    if lacking:
        raise HierarchyError(f"The hierarchy of '{column}' does not cover the data: {lacking} Add lines for them.")
    data = as_csv(tree)
    return with_hierarchy(place.text, column, stored_name(column, data)), data


def as_csv(tree: Hierarchy) -> bytes:
    """A hierarchy as the bytes of its file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        write_csv(tree, Path(folder) / "tree.csv")
        return (Path(folder) / "tree.csv").read_bytes()


def stored_name(column: str, data: bytes) -> str:
    """Where a hierarchy is kept: a name for its content, so that earlier recipes still find theirs."""
    return f"{FILES}/{file_name(column)}-{hashlib.sha256(data).hexdigest()[:10]}.csv"


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Classes of a table whose quasi-identifiers were published on some levels.

    ``people`` tells that they are counted and not rows, once in each class that they have rows in.
    """

    columns: tuple[tuple[str, int, int], ...]  # name, level, highest level
    people: bool
    rows: int
    classes: int
    smallest: int
    alone: int
    below: int
    k: int
    sizes: tuple[tuple[str, int], ...]


def class_counts(place: Place, levels: dict[str, int], k: int | None = None) -> Counted:
    """How many rows, or people where there is a subject, look the same on some levels, level 0 by default."""
    wanted = k or max([one["k"] for one in place.recipe.models if isinstance(one.get("k"), int)], default=5)
    names, trees, codes, rows, held = _cells(place)
    placed = []
    parts = []
    for at, name in enumerate(names):
        tree = trees[at]
        top = 1 if tree is None else tree.height
        level = min(max(levels.get(name, 0), 0), top)
        placed.append((name, level, top))
        if level < top:
            parts.append(codes[:, at] if tree is None or level == 0 else tree.ancestors[level][codes[:, at]])
    if parts:
        of = np.unique(np.stack(parts, axis=1), axis=0, return_inverse=True)[1].ravel()
    else:
        of = np.zeros(rows.size, dtype=np.int64)
    sizes = np.bincount(of, rows).astype(np.int64) if held is None else _people(of, *held)
    return Counted(
        columns=tuple(placed), people=held is not None, rows=int(sizes.sum()), classes=int(sizes.size),
        smallest=int(sizes.min()) if sizes.size else 0, alone=int((sizes == 1).sum()),
        below=int(sizes[sizes < wanted].sum()), k=wanted, sizes=_bins(sizes),
    )  # fmt: skip


def _people(of: np.ndarray, cells: np.ndarray, persons: np.ndarray) -> np.ndarray:
    """People of each class, whatever number of rows they have in it."""
    pairs = np.unique(np.stack([of[cells], persons], axis=1), axis=0)
    return np.bincount(pairs[:, 0]).astype(np.int64)


_BINS = (1, 2, 3, 5, 10, 20, 50, 100)


def _bins(sizes: np.ndarray) -> tuple[tuple[str, int], ...]:
    """Rows in classes of a size."""
    found = []
    for low, high in zip(_BINS, [*_BINS[1:], None], strict=True):
        mine = sizes[(sizes >= low) & (True if high is None else sizes < high)]
        name = f"{low} or more" if high is None else str(low) if high == low + 1 else f"{low} to {high - 1}"
        found.append((name, int(mine.sum())))
    return tuple(found)


def _cells(place: Place) -> Any:
    """Quasi-identifiers with their trees, the different combinations of them, the rows of each, and who has which."""
    place = place.head
    bare = tomlkit.dumps({**tomlkit.parse(_settings(place)).unwrap(), "hierarchies": place.recipe.hierarchies})
    return _counted_cells(place.stamp, bare, str(place.folder), place.files)


@remembered(4)
def _counted_cells(stamp: tuple[str, int, int], text: str, folder: str, files: tuple[int, ...]) -> Any:
    from shoal.running import open_rows

    with open_rows(Place(Path(folder), text).recipe) as rows:
        frequency = rows.frequency([])
        columns = rows.domain.quasi
        held = rows.held(None)[::2] if rows.domain.by_people else None
        return (
            [one.name for one in columns], [one.hierarchy for one in columns], np.asarray(frequency.codes).T,
            np.asarray(frequency.rows), held,
        )  # fmt: skip
