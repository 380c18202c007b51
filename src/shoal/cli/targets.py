"""What a command looks at: a file of any tool, the source of a recipe, or the folder of a release, as a coded table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError, SchemaError
from shoal.params import nearest

if TYPE_CHECKING:
    import polars as pl

    from shoal.table.table import Table

# How our own releases write a missing cell in CSV.
_MISSING = "<missing>"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options for reading a file that has no recipe."""

    columns: Sequence[str] | None = None
    separator: str | None = None
    encoding: str | None = None
    markers: Sequence[str] = ()

    def frame(self, path: Path) -> pl.DataFrame:
        """The rows of a file."""
        from shoal.io.files import read_frame

        return read_frame(
            path,
            columns=self.columns,
            separator=self.separator,
            encoding=self.encoding or "utf-8",
            missing_markers=self.markers,
        )


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Roles given as options."""

    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    subject: str | None = None
    weight: str | None = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)


def load_target(
    target: Path, roles: Roles, reading: Reading, household: str | None, *, every: bool = False
) -> tuple[Table, list[str]]:
    """The table behind a target, and what to know before its figures are read.

    Roles come from the options for a file, else from the recipe or the manifest. With ``every``, columns of a file
    without a role are kept: as neutral ones, or as quasi-identifiers where none is named.
    """
    if target.is_dir():
        _refuse_options("release", roles, reading)
        return _released(target)
    if target.suffix == ".toml":
        from shoal.io.recipes import load_recipe
        from shoal.running import read_recipe_source

        _refuse_options("recipe", roles, reading)
        return read_recipe_source(load_recipe(target)), []
    from shoal.hierarchy.files import build
    from shoal.io.policies import load_policy
    from shoal.risk.cells import as_it_stands

    frame = reading.frame(target)
    others = _others(frame, roles, household)
    left = _left(frame, roles, others) if every else []
    table = as_it_stands(
        frame,
        quasi=roles.quasi or left,
        sensitive=roles.sensitive,
        subject=roles.subject,
        weight=roles.weight,
        others=others,
        neutral=left if roles.quasi else [],
        hierarchies={name: partial(build, name, entry) for name, entry in roles.hierarchies.items()},
        policies={name: load_policy(name, entry, None) for name, entry in roles.policies.items()},
    )
    return table, []


def load_population(path: Path, target: Path, table: Table, reading: Reading) -> Table:
    """A population file with a header, its quasi-identifiers read like the table's."""
    from shoal.table.building import build_table
    from shoal.table.schema import ColumnSpec, Schema

    frame = _population_reading(target, reading).frame(path)
    names = list(table.schema.quasi)
    for name in names:
        if name not in frame.columns:
            near = nearest(name, frame.columns)
            hint = f"did you mean its '{near}'?" if near else "it needs every quasi-identifier of the table."
            raise SchemaError(f"The population '{path.name}' has no column '{name}': {hint}")
    specs = {}
    for column in table.quasi:
        kind = column.type if column.type in ("numeric", "date") else "categorical"
        specs[column.name] = ColumnSpec(type=kind, format=column.spec.format if kind == "date" else None)
    return build_table(frame.select(names), Schema(quasi=names, specs=specs), missing="value")


def _population_reading(target: Path, reading: Reading) -> Reading:
    """Separator, encoding and markers of the file itself: from the options, or from the recipe."""
    if target.suffix != ".toml" or target.is_dir():
        return replace(reading, columns=None)
    from shoal.io.recipes import load_recipe

    source = load_recipe(target).source
    return Reading(separator=source.separator, encoding=source.encoding, markers=source.missing_markers)


def _others(frame: pl.DataFrame, roles: Roles, household: str | None) -> list[str]:
    """The household column, when it has no role already."""
    if household is None or household in {*roles.quasi, *roles.sensitive, roles.subject, roles.weight}:
        return []
    if household not in frame.columns:
        near = nearest(household, frame.columns)
        hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(frame.columns)}."
        raise SchemaError(f"There is no household column '{household}' in the table. {hint}")
    return [household]


def _left(frame: pl.DataFrame, roles: Roles, others: Sequence[str]) -> list[str]:
    """Columns without a role."""
    used = {*roles.quasi, *roles.sensitive, roles.subject, roles.weight, *others}
    return [name for name in frame.columns if name not in used]


def _refuse_options(kind: str, roles: Roles, reading: Reading) -> None:
    given = [name for one in (roles, reading) for name, entry in vars(one).items() if entry]
    if given:
        names = {"markers": "missing-marker", "hierarchies": "hierarchy", "policies": "policy"}
        option = names.get(given[0], given[0])
        raise ParameterError(f"--{option} is for a file, and a {kind} says it itself: leave it out.")


def _released(folder: Path) -> tuple[Table, list[str]]:
    import polars as pl

    from shoal.hierarchy.hierarchy import Hierarchy
    from shoal.io.output import read_release
    from shoal.kinds.base import Trait, made_of
    from shoal.kinds.codings import class_figures
    from shoal.risk.cells import as_it_stands
    from shoal.table.policies import given_policy
    from shoal.table.schema import ColumnSpec

    frame, manifest = read_release(folder)
    text = pl.selectors.string()
    if manifest["suppressed"] == "star":
        # All-star rows are suppressed records, and no class.
        frame = frame.filter(~pl.all_horizontal(pl.all().cast(pl.String) == "*").fill_null(False))
    frame = frame.with_columns(pl.when(text != _MISSING).then(text).name.keep())
    quasi, sensitive = (_columns(manifest, role, frame.columns) for role in ("quasi", "sensitive"))
    if made_of(manifest).has(Trait.GROUPS):
        sensitive = []  # the value beside a record need not be its own
    # Codes, and labels above values, are compared as they stand like any text.
    plain = {
        entry["name"]: entry
        for entry in manifest["columns"]
        if entry["name"] in sensitive and entry["cells"] == "value" and "coded" not in entry
    }
    table = as_it_stands(
        frame, quasi=quasi, sensitive=sensitive,
        specs={
            name: ColumnSpec(
                type=entry["type"], order=entry.get("order") or None, non_answers=tuple(entry.get("non_answers", ()))
            )
            for name, entry in plain.items()
        },
        hierarchies={
            name: Hierarchy.from_rows(name, entry["hierarchy"])
            for name, entry in plain.items()
            if entry.get("hierarchy")
        },
        policies={name: given_policy(entry["policy"]) for name, entry in plain.items() if entry.get("policy")},
    )  # fmt: skip
    codes = {column["coded"] for column in manifest["columns"] if "coded" in column}
    return table, class_figures(made_of(manifest), codes)


def _columns(manifest: Mapping[str, Any], role: str, present: Sequence[str]) -> list[str]:
    """Columns of the data file with a role: two for a column of bounds; those kept in another file are left out."""
    listed = [column for column in manifest["columns"] if column["role"] == role]
    names = [name for column in listed for name in column.get("columns", [column["name"]])]
    return [name for name in names if name in present]
