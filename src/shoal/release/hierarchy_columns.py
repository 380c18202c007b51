"""What hierarchies are edited by: columns of a file or a recipe, how often each value occurs, and their trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import HierarchyError, InputError, RecipeError
from shoal.params import nearest

if TYPE_CHECKING:
    import numpy as np

    from shoal.data.column import Column
    from shoal.data.hierarchy import Hierarchy
    from shoal.data.rows import Rows
    from shoal.recipe.recipe import Recipe

Step = Callable[[str], None]
# What goes with a value is looked at in so many groups of an ordered column, and not at all in columns of more values.
_BINS, _MOST_BESIDE = 8, 200
_MOST_CELLS = 20_000_000  # of values by what goes with them
_SEPARATORS = ";,\t|"


@dataclass(frozen=True, kw_only=True)
class Known:
    """A column: its type, its role in a recipe, how often each value occurs, and what goes with its values."""

    name: str
    type: str
    counts: Mapping[str, int]
    role: str | None = None
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Records of the column, missing cells included."""
        return sum(self.counts.values())


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file of data is read."""

    separator: str | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def is_recipe(path: Path) -> bool:
    """Whether a file is a recipe, by its name."""
    return path.suffix.lower() == ".toml"


def known_columns(source: Path, names: Sequence[str], beside: Sequence[str], how: Reading, step: Step) -> list[Known]:
    """The named columns of a file or a recipe, all that could have a hierarchy by default."""
    if is_recipe(source):
        return _of_recipe(_recipe(source), names, beside, step)
    return _of_file(source, names, beside, how, step)


def recipe_columns(recipe: Recipe, names: Sequence[str], beside: Sequence[str] = ()) -> list[Known]:
    """The named columns of a recipe, its quasi-identifiers by default."""
    return _of_recipe(recipe, names, beside, lambda step: None)


def recipe_trees(source: Path, names: Sequence[str], step: Step) -> list[tuple[Hierarchy, Known]]:
    """The hierarchies that a recipe gives its columns, built over their values."""
    recipe = _recipe(source)
    wanted = list(names or recipe.hierarchies)
    if not wanted:
        raise RecipeError(
            f"The recipe '{source.name}' has no hierarchies: propose some with 'shoal hierarchy suggest {source}'."
        )
    for name in wanted:
        if name not in recipe.hierarchies:
            raise RecipeError(_no_tree(source, recipe, name))
    found = []
    for known in _of_recipe(recipe, wanted, (), step):
        found.append((recipe_tree(recipe, known), known))
    return found


def recipe_tree(recipe: Recipe, known: Known) -> Hierarchy:
    """The hierarchy that a recipe gives a column."""
    from shoal.data.hierarchy import MISSING
    from shoal.data.hierarchy_files import build

    entry = recipe.hierarchies[known.name]
    if isinstance(entry, str):
        entry = str(recipe.resolve(entry))
    elif "path" in entry:
        entry = {**entry, "path": str(recipe.resolve(entry["path"]))}
    values = [value for value in known.counts if value != MISSING]
    return build(known.name, entry, values, counts=[known.counts[value] for value in values])


def file_rows(path: Path, name: str, separator: str | None) -> list[list[str]]:
    """The lines of a hierarchy file, whichever usual separator it has, without a header."""
    from shoal.data.hierarchy_files import header_of, read_rows

    rows = read_rows(path, name, separator or _separator_of(path))
    return rows if header_of(name, rows) is None else rows[1:]


def _separator_of(path: Path) -> str:
    """The separator that stands on every line of a file as often as on the first; a semicolon where none does."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line for line in (file.readline() for _ in range(50)) if line.strip()]
    except (OSError, UnicodeDecodeError):
        return ";"  # the reader says what is wrong
    return next((mark for mark in _SEPARATORS if lines and all(mark in line for line in lines)), ";")


def _recipe(path: Path) -> Recipe:
    from shoal.recipe.recipe import load_recipe

    return load_recipe(path)


def _no_tree(source: Path, recipe: Recipe, name: str) -> str:
    roles = [*recipe.roles.quasi, *recipe.roles.sensitive]
    if name in roles:
        return (
            f"The column '{name}' has no hierarchy in '{source.name}', so it has two levels, as it is and everything: "
            f"propose one with 'shoal hierarchy suggest {source} {name}'."
        )
    near = nearest(name, roles)
    hint = f"did you mean '{near}'?" if near else "name a quasi-identifier or a sensitive column."
    return f"There is no column '{name}' that could have a hierarchy in '{source.name}': {hint}"


def _of_recipe(recipe: Recipe, names: Sequence[str], beside: Sequence[str], step: Step) -> list[Known]:
    from shoal.release.entry import open_rows

    wanted = list(names or recipe.roles.quasi)
    for name in (*wanted, *beside):
        if name not in (*recipe.roles.quasi, *recipe.roles.sensitive):
            raise RecipeError(_no_tree(Path("the recipe"), recipe, name))
    # Values as hierarchies see them, whatever hierarchy they have: one of these can be made of any values.
    any_tree = {name: {"rare": 2} for name in recipe.hierarchies}
    bare = {"hierarchies": any_tree, "policies": {}, "research": None, "workload": None}
    source = recipe.source.model_copy(update={"missing": "value", "population": None})
    changed = recipe.model_copy(update={**bare, "source": source})
    changed._base = recipe.base
    with open_rows(changed, step) as rows:
        roles = rows.domain.schema
        return [_known(rows, name, roles.role(name), beside) for name in wanted]


def _of_file(path: Path, names: Sequence[str], beside: Sequence[str], how: Reading, step: Step) -> list[Known]:
    from shoal.io.files import read_frame
    from shoal.recipe.source import read
    from shoal.registry import load

    step("reading")
    frame = read_frame(path, separator=how.separator)
    for name in (*names, *beside, *how.settings):
        if name not in frame.columns:
            near = nearest(name, frame.columns)
            hint = f"did you mean '{near}'?" if near else f"it has {', '.join(frame.columns[:20])}."
            raise InputError(f"There is no column '{name}' in '{path.name}': {hint}")
    wanted = list(names or frame.columns)
    coded = list(dict.fromkeys([*wanted, *beside]))
    settings = {name: dict(entry) for name, entry in how.settings.items() if name in coded}
    others = [name for name in frame.columns if name not in coded]
    table = read(frame, quasi=coded, drop=others, missing="value", settings=settings)
    rows = load("engine", "memory")().open(table)
    return [_known(rows, name, None, beside) for name in wanted]


def _known(rows: Rows, name: str, role: str | None, beside: Sequence[str]) -> Known:
    from shoal.data.dictionary import in_order
    from shoal.data.hierarchy import MISSING

    column = rows.domain.columns[name]
    texts = column.texts.to_list()
    often = dict(zip(texts, column.frequencies.tolist(), strict=True))
    known = column.texts.filter(column.texts != MISSING)
    ordered = [*in_order(column.type, known), *([MISSING] if often.get(MISSING) else [])]
    others = [rows.domain.columns[other] for other in beside if other != name]
    company = [other for other in others if _groups(other) <= min(_MOST_BESIDE, _MOST_CELLS // max(len(ordered), 1))]
    return Known(
        name=name, type=column.type, role=role, counts={text: int(often[text]) for text in ordered},
        beside={other.name: _crossed(rows, column, other, ordered) for other in company},
    )  # fmt: skip


def _groups(other: Column) -> int:
    """In how many groups of a column it is looked what goes with a value."""
    return _BINS if other.type in ("numeric", "date") else int(other.card)


def _crossed(rows: Rows, column: Column, other: Column, ordered: Sequence[str]) -> np.ndarray:
    """How often each value of another column, or eighth of an ordered one, goes with each value of ours."""
    import numpy as np

    joint = rows.joined((column.name, other.name))
    place = {text: at for at, text in enumerate(ordered)}
    mine = np.array([place[text] for text in column.texts.to_list()])
    theirs = np.arange(other.card)
    if other.type in ("numeric", "date"):
        before = np.cumsum(other.frequencies) - other.frequencies / 2
        theirs = (before * _BINS / max(int(other.frequencies.sum()), 1)).astype(np.int64)
    table = np.zeros((len(ordered), int(theirs.max(initial=0)) + 1))
    np.add.at(table, (mine[joint.codes[0]], theirs[joint.codes[1]]), joint.counts)
    return table


def check_output(path: Path, replace: bool) -> Path:
    """Where a hierarchy file may be written: it holds values of the data."""
    from shoal.io.private import check_private

    return check_private(path, suffix=".csv", replace=replace)


def check_export(path: Path, replace: bool, recipe: Path) -> Path:
    """The same of a file beside a recipe, which is never the data that the recipe names."""
    place, known = check_output(path, replace), _recipe(recipe)
    if known.source.path is not None and place == known.resolve(known.source.path).resolve():
        raise InputError(f"'{path}' holds the data of the recipe: choose another name with -o.")
    return place


def write_tree(tree: Hierarchy, place: Path) -> None:
    """Write a hierarchy for its owner's eyes, whole or not at all."""
    from shoal.data.hierarchy_files import write_csv

    write_csv(tree, place)
    place.chmod(0o600)


def column_of(tree: Hierarchy, path: Path, column: str | None, how: Reading, step: Step) -> Known:
    """The column of a file of data that a hierarchy is of: the one named, else the one called as the hierarchy."""
    return _of_file(path, [column or tree.name], (), how, step)[0]


def file_tree(path: Path, name: str | None, separator: str | None) -> Hierarchy:
    """A hierarchy file as a hierarchy."""
    from shoal.data.hierarchy import Hierarchy

    called = name or path.stem
    if not path.is_file():
        raise HierarchyError(f"There is no hierarchy file '{path}': check the path, or name a recipe (.toml).")
    return Hierarchy.from_rows(called, file_rows(path, called, separator))
