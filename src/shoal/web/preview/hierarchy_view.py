"""Hierarchies of a project: the tree of a column, what its levels cost, what it does not cover, and what could be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import tomlkit

from shoal.data.hierarchy import MISSING, Hierarchy
from shoal.data.hierarchy_edits import LevelCost, apply_edit, leaf_weights, level_costs
from shoal.data.hierarchy_files import coverage, find_faults, write_csv
from shoal.data.hierarchy_suggest import suggest
from shoal.errors import HierarchyError, ShoalError
from shoal.recipe.edit import with_hierarchy
from shoal.recipe.recipe import Recipe
from shoal.release.hierarchy_columns import Known, file_rows, recipe_columns, recipe_tree
from shoal.web.jobs.sandbox import without_places
from shoal.web.preview.cache import apart_in_turn
from shoal.web.preview.head import FOLDER
from shoal.web.preview.place import FILES, Place, carried_recipe, file_name

_T = TypeVar("_T")
# Children of a node that a page lists; the file has all of them.
LISTED = 60
MOST_VALUES = 10_000  # of a column that something is proposed for: it takes seconds
_BESIDE = 4
_MOST_LINES = 2000


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
    """Everything about the hierarchy of one column; nothing is proposed for one of too ``many`` values."""

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
    many: bool = False


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
    return _columns(place.recipe)


def _columns(recipe: Recipe) -> list[str]:
    return [*recipe.roles.quasi, *recipe.roles.sensitive]


def _refuse_other(place: Place, column: str) -> None:
    if column not in columns_of(place):
        raise HierarchyError(f"There is no column '{column}' that could have a hierarchy: choose one of the list.")


def _beside(place: Place, column: str) -> tuple[str, ...]:
    """Columns that could tell how values of one belong together."""
    return tuple(name for name in place.recipe.roles.quasi if name != column)[:_BESIDE]


def _known(recipe: Recipe, column: str, beside: Sequence[str] = ()) -> Known:
    """A column of the project, with how often each value occurs."""
    return recipe_columns(recipe, [column], beside)[0]


def _tree_of(recipe: Recipe, mine: Known) -> Hierarchy | None:
    """The hierarchy that the recipe gives a column; None where it has two levels, as it is and everything."""
    return recipe_tree(recipe, mine) if mine.name in recipe.hierarchies else None


def two_levels(mine: Known) -> Hierarchy:
    """What a column has without a hierarchy: its values, and everything."""
    return Hierarchy.from_rows(mine.name, [[value, "*"] for value in mine.counts if value != MISSING])


def hierarchy_lines(place: Place) -> list[Line]:
    """Every column that could have a hierarchy, and what it has."""
    try:
        return place.read(list_lines)
    except ShoalError as error:
        return [_line(place.recipe, name, problem=str(error)) for name in columns_of(place)[:_MOST_LINES]]


def list_lines(told: bytes) -> list[Line]:
    """What the columns of a recipe have, its source read once for all of them."""
    recipe, found = carried_recipe(told), []
    for mine in recipe_columns(recipe, _columns(recipe)[:_MOST_LINES]):
        try:
            tree = _tree_of(recipe, mine)
            labels = () if tree is None else tuple(map(len, tree.labels))
            about = {"values": len(mine.counts), "levels": len(labels) or 2, "labels": labels}
            problem = "" if tree is None else _lacking(tree, mine)
            found.append(_line(recipe, mine.name, type=mine.type, problem=problem, **about))
        except ShoalError as error:
            found.append(_line(recipe, mine.name, problem=_problem(recipe, error)))
    return found


def _line(recipe: Recipe, name: str, **known: Any) -> Line:
    entry = recipe.hierarchies.get(name)
    nothing = {"type": "", "values": 0, "levels": 0, "labels": ()}
    how = "" if entry is None else _spec_text(entry)
    return Line(**{**nothing, "column": name, "role": _role(recipe, name), "how": how, **known})


def _problem(recipe: Recipe, error: ShoalError) -> str:
    return without_places(str(error), [str(recipe.base)])


def _role(recipe: Recipe, name: str) -> str:
    return "quasi" if name in recipe.roles.quasi else "sensitive"


def _lacking(tree: Hierarchy, mine: Known) -> str:
    met = coverage(tree, mine.counts)
    if not met.uncovered:
        return ""
    return f"{len(met.uncovered):,} of {met.values:,} values have no line ({met.records_uncovered:,} records)."


def tree_view(place: Place, column: str) -> TreeView:
    """Everything about the hierarchy of one column."""
    _refuse_other(place, column)
    return place.read(view_tree, column, _beside(place, column))


def view_tree(told: bytes, column: str, beside: Sequence[str]) -> TreeView:
    """The same of a recipe that was carried over."""
    recipe = carried_recipe(told)
    mine = _known(recipe, column, beside)
    entry, problem = recipe.hierarchies.get(column), ""
    try:
        tree = _tree_of(recipe, mine)
    except ShoalError as error:
        tree, problem = None, _problem(recipe, error)
    shown = tree or two_levels(mine)
    met = coverage(shown, mine.counts)
    return TreeView(
        column=column, role=_role(recipe, column), type=mine.type, how="" if entry is None else _spec_text(entry),
        records=mine.records, root=None if problem else _drawn(shown, leaf_weights(shown, mine.counts)),
        costs=tuple(level_costs(shown, mine.counts)) if tree is not None else (),
        labels=tuple(level[:LISTED * 5] for level in shown.labels), uncovered=tuple(met.uncovered.items())[:20],
        records_uncovered=met.records_uncovered, unused=met.unused, proposals=tuple(_proposed(mine)), problem=problem,
        many=len(mine.counts) > MOST_VALUES,
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
    if len(mine.counts) > MOST_VALUES:
        return []
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
    spec, data, type = _asked(place, propose, column, _beside(place, column), how)
    return with_hierarchy(place.text, column, spec if data is None else stored_name(column, data), type), data


def propose(
    told: bytes, folder: Path, column: str, beside: Sequence[str], how: str
) -> tuple[dict[str, Any], bytes | None, str | None]:
    """What the proposal of a kind is: its rule, the bytes of its file where it is none, and the type that it needs."""
    mine = _known(carried_recipe(told), column, beside)
    found = suggest(column, mine.counts, type=mine.type, beside=mine.beside, how=how)
    if not found:
        raise HierarchyError(f"There is no such proposal for '{column}' any more: look at the page again.")
    first = found[0]
    type = None if first.type in (None, mine.type) else first.type
    return (dict(first.spec), None, type) if first.by_rule else ({}, as_csv(first.hierarchy, folder), type)


def _asked(place: Place, make: Callable[..., _T], column: str, *given: Any) -> _T:
    """What a form asks of the values of a column."""
    _refuse_other(place, column)
    _ = place.stamp, place.files  # what is lacking or too large is told before
    return apart_in_turn(place.folder, make, place.carried("hierarchies"), place.folder, column, *given)


def edited(place: Place, column: str, edits: Sequence[str]) -> tuple[str, bytes]:
    """The recipe with a column's hierarchy changed by sentences, and the file that it is then."""
    data = _asked(place, edit, column, tuple(edits))
    return with_hierarchy(place.text, column, stored_name(column, data)), data


def edit(told: bytes, folder: Path, column: str, edits: Sequence[str]) -> bytes:
    """A column's hierarchy, changed."""
    recipe = carried_recipe(told)
    mine = _known(recipe, column)
    tree = _tree_of(recipe, mine) or two_levels(mine)
    for one in edits:
        tree = apply_edit(tree, one)
    return as_csv(tree, folder)


def moved(label: str, under: str) -> str:
    """The sentence that moves a label, whatever marks it has in it."""
    return f"move {_quoted(label)} under {_quoted(under)}"


def _quoted(label: str) -> str:
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"') + '"'


def uploaded(place: Place, column: str, content: bytes) -> tuple[str, bytes]:
    """The recipe with a hierarchy that was uploaded, after saying everything that is wrong with it."""
    data = _asked(place, take, column, content)
    return with_hierarchy(place.text, column, stored_name(column, data)), data


def take(told: bytes, folder: Path, column: str, content: bytes) -> bytes:
    """A hierarchy as it was sent, held against the values of its column."""
    mine = _known(carried_recipe(told), column)
    with _aside(folder) as path:
        path.write_bytes(content)
        rows = file_rows(path, column, None)
    faults = find_faults(column, rows)
    if faults:
        raise HierarchyError(" ".join(one.message for one in faults))
    tree = Hierarchy.from_rows(column, rows)
    lacking = _lacking(tree, mine)
    if lacking:
        raise HierarchyError(f"The hierarchy of '{column}' does not cover the data: {lacking} Add lines for them.")
    return as_csv(tree, folder)


def as_csv(tree: Hierarchy, folder: Path) -> bytes:
    """A hierarchy as the bytes of its file."""
    with _aside(folder) as path:
        write_csv(tree, path)
        return path.read_bytes()


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A file for a moment, in the project's folder: it has values of people, and who writes it may be killed."""
    (folder / FOLDER).mkdir(mode=0o700, exist_ok=True)
    with TemporaryDirectory(dir=folder / FOLDER) as made:
        yield Path(made) / "hierarchy.csv"


def stored_name(column: str, data: bytes) -> str:
    """Where a hierarchy is kept: a name for its content, so that earlier recipes still find theirs."""
    return f"{FILES}/{file_name(column)}-{hashlib.sha256(data).hexdigest()[:10]}.csv"
