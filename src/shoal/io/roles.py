"""Roles by pattern, and of columns that nobody named: told from the names that a source has.

A column that comes to a source later must never be published unnoticed. So patterns stand under roles that hide,
protect or leave out what they match, and not under those that publish it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from shoal.data.derive import derived_from, with_derived
from shoal.data.schema import LIST_ROLES, SINGLE_ROLES, ColumnSpec, Schema, column_spec
from shoal.errors import RecipeError, SchemaError
from shoal.io.files import read_frame
from shoal.io.partitions import look_at

if TYPE_CHECKING:
    from shoal.io.recipes import Recipe

_AS_THEY_ARE = ("neutral", "pseudonym")
_READ_AHEAD = (".csv", ".tsv", ".txt", ".data", ".parquet")


def is_open(roles: Mapping[str, Any], specs: Mapping[str, ColumnSpec]) -> bool:
    """Whether some roles follow from the names of a source alone."""
    named = {name for role in LIST_ROLES for name in roles[role]} | {roles.get(role) for role in SINGLE_ROLES}
    unnamed = any(name not in named for name in derived_from(specs))
    unnamed |= any(name not in named for one in roles.get("quasi_sets") or () for name in one)
    patterns = any(name is not None and _is_pattern(name) for name in named)
    return bool(roles.get("rest")) or unnamed or patterns


def settled_roles(
    roles: Mapping[str, Any], source: Sequence[str], specs: Mapping[str, ColumnSpec]
) -> dict[str, Any]:
    """Roles that name every column: patterns by what they match, and columns that nobody named by ``rest``.

    Parameters
    ----------
    source
        Columns of the source; those that are derived from them come to them.
    """
    names = with_derived(source, specs)
    listed = {role: list(roles[role]) for role in LIST_ROLES}
    sets = [list(one) for one in roles.get("quasi_sets") or ()]
    named = dict.fromkeys(name for one in sets for name in one)
    listed["quasi"] += [name for name in named if name not in listed["quasi"]]
    single = {role: roles.get(role) for role in SINGLE_ROLES}
    taken = {name for several in listed.values() for name in several if not _is_pattern(name) or name in names}
    taken |= {name for name in single.values() if name is not None}
    found = {
        role: [name for one in several for name in _matches(role, one, names, taken)]
        for role, several in listed.items()
    }
    given = taken.union(*found.values())
    unnamed = names if roles.get("rest") == "drop" else derived_from(specs)
    found["drop"] += [name for name in unnamed if name not in given]
    expanded = [[name for one in several for name in _matches("quasi", one, names, taken)] for several in sets]
    return {**found, **single, "quasi_sets": expanded}


def settled(recipe: Recipe) -> Recipe:
    """The same recipe, with roles that name every column where some follow from the source."""
    specs = {name: column_spec(name, entry.model_dump()) for name, entry in recipe.columns.items()}
    if not is_open(recipe.roles.model_dump(), specs):
        return recipe
    roles = settled_roles(recipe.roles.model_dump(), _names(recipe), specs)
    return recipe.with_roles(recipe.roles.model_copy(update={**roles, "rest": None}))


def _names(recipe: Recipe) -> Sequence[str]:
    source = recipe.source
    if source.path is None:
        raise RecipeError(
            "Roles by pattern, 'rest' and derived columns need a source that is a file: name every column of this one "
            "under [roles]."
        )
    path = recipe.resolve(source.path)
    how: dict[str, Any] = {"columns": source.columns, "separator": source.separator, "encoding": source.encoding}
    if path.is_file() and not path.name.lower().removesuffix(".gz").endswith(_READ_AHEAD):
        return read_frame(path, unpack_limit=source.unpack_limit, sheet=source.sheet, **how).columns
    return look_at(path, **how).names


def _is_pattern(name: str) -> bool:
    return any(mark in name for mark in "*?")


def _matches(role: str, name: str, names: Sequence[str], taken: set[str]) -> list[str]:
    """Columns that an entry of a role stands for; those that are named themselves are no matter of patterns."""
    if name in names or not _is_pattern(name):
        return [name]
    if role in _AS_THEY_ARE:
        raise SchemaError(
            f"'{name}' is a pattern under '{role}', whose columns are published: name each of them, so that no new "
            "column is published unnoticed."
        )
    found = [one for one in names if one not in taken and fnmatchcase(one, name)]
    if not found:
        raise SchemaError(f"No column matches '{name}' under '{role}': check the pattern, or leave it out.")
    return found


def schema_of(recipe: Recipe) -> Schema:
    """The roles and settings of a recipe."""
    specs = {name: column_spec(name, entry.model_dump()) for name, entry in recipe.columns.items()}
    return Schema(**settled(recipe).roles.model_dump(exclude={"rest"}), specs=specs)
