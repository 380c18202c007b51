"""What a command looks at: a file of any tool, a table of a database, the source of a recipe, or a release, coded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, ParameterError, SchemaError
from shoal.params import nearest

if TYPE_CHECKING:
    import polars as pl

    from shoal.cli.attack import Known
    from shoal.data.domain import Domain
    from shoal.data.rows import PeopledRows
    from shoal.data.table import Table
    from shoal.recipe.recipe import Recipe
    from shoal.release.standing import Released
    from shoal.risk.attacks.case import AttackCase
    from shoal.risk.audit import Standing

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


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Who keeps the rows, as options say it; they need not fit into memory.

    Attributes
    ----------
    table, query, key
        Of a database: which rows, and the column that tells them apart.
    """

    engine: str | None = None
    memory: str | None = None
    scratch: Path | None = None
    table: str | None = None
    query: str | None = None
    key: str | None = None

    @property
    def given(self) -> list[str]:
        """Options that were given."""
        return [name for name, entry in vars(self).items() if entry is not None]

    def recipe(self, target: str, reading: Reading | None = None) -> Recipe:
        """Where the rows are and who keeps them, checked as a recipe is."""
        from shoal.release.entry import as_recipe

        how = {} if reading is None else {
            "columns": reading.columns, "separator": reading.separator, "encoding": reading.encoding,
            "missing_markers": list(reading.markers) or None,
        }  # fmt: skip
        source = {**how, **place_of(target), "table": self.table, "query": self.query}
        return as_recipe({"source": {key: entry for key, entry in source.items() if entry is not None},
                          "engine": self.settings(target)})  # fmt: skip

    def settings(self, target: str) -> dict[str, str]:
        """The section about the engine."""
        name = self.engine or ("postgres" if is_url(target) else None)
        found = {"name": name, "memory": self.memory, "scratch": None if self.scratch is None else str(self.scratch)}
        return {key: entry for key, entry in found.items() if entry is not None}


def is_url(target: str) -> bool:
    """Whether a target is in a database."""
    return "://" in target


def called(target: str) -> str:
    """A target as it may be printed: an address may hold a password."""
    from shoal.io.databases import without_password

    return without_password(target) if is_url(target) else target


def place_of(target: str) -> dict[str, str]:
    """Where rows are, as a recipe says it."""
    return {"url": target} if is_url(target) else {"path": target}


@contextmanager
def open_target(
    target: str,
    roles: Roles,
    reading: Reading,
    keeping: Keeping,
    *,
    household: str | None = None,
    every: bool = False,
    step: Callable[[str], None] = lambda text: None,
) -> Iterator[tuple[PeopledRows, list[str]]]:
    """The rows behind a target, and what to know before their figures are read.

    Roles come from the options for a file, else from the recipe or the manifest. With ``every``, columns of a file
    without a role are kept: as neutral ones, or as quasi-identifiers where none is named.
    """
    from shoal.io.databases import no_file
    from shoal.io.folders import is_release
    from shoal.registry import load
    from shoal.release.capabilities import refuse_keyless, refuse_people, refuse_unread
    from shoal.release.entry import keeps_rows, open_rows
    from shoal.risk.classes import counted_rows

    step("reading")
    path = Path(target)
    if path.suffix == ".toml" and path.is_file():
        from shoal.recipe.recipe import load_recipe

        _refuse_options("recipe", roles, reading, keeping)
        recipe = load_recipe(path)
        refuse_people(recipe.engine.name, recipe.roles.subject)
        with open_rows(recipe, step) as kept:
            yield kept, []
        return
    released = path.is_dir() and (is_release(path) or not keeping.given)
    if released and roles.quasi and not is_release(path):
        raise InputError(f"'{target}' is a folder of files: read them as one by --engine duckdb, or name one of them.")
    if released:
        _refuse_options("release", roles, reading)
    if not keeps_rows(recipe := keeping.recipe(target, reading)):
        load("engine", recipe.engine.name)
        if recipe.source.url is not None:
            raise no_file()
        table, notes = _released(path) if released else (_read(path, roles, reading, household, every), [])
        yield counted_rows(table), notes
        return
    from shoal.release.standing import opened_standing

    if household is not None:
        raise ParameterError("--household looks at rows one by one: use --engine memory, or leave it out.")
    source, notes = None, []
    refuse_people(recipe.engine.name, roles.subject)
    if released:
        refuse_unread(recipe.engine.name)
        standing, source, notes = _released_there(path)
    else:
        refuse_keyless(recipe.engine.name, keeping.key)
        standing = _standing(recipe, roles, keeping, every)
    with opened_standing(recipe, standing, step, source) as rows:
        yield rows, notes


def _read(path: Path, roles: Roles, reading: Reading, household: str | None, every: bool) -> Table:
    """A file in memory."""
    from shoal.data.schema import Schema
    from shoal.risk.audit import as_it_stands

    frame = reading.frame(path)
    others = _others(frame, roles, household)
    left = _left(frame.columns, roles, others) if every else []
    schema = Schema(
        quasi=list(roles.quasi or left), sensitive=list(roles.sensitive), subject=roles.subject, weight=roles.weight,
        drop=list(others), neutral=left if roles.quasi else [],
    )  # fmt: skip
    return as_it_stands(frame, schema, **_about_values(roles))


def _about_values(roles: Roles) -> dict[str, Any]:
    """What options say about sensitive values."""
    from shoal.data.hierarchy_files import build
    from shoal.recipe.source import load_policy

    return {
        "hierarchies": {name: partial(build, name, entry) for name, entry in roles.hierarchies.items()},
        "policies": {name: load_policy(name, entry, None) for name, entry in roles.policies.items()},
    }


def _standing(recipe: Recipe, roles: Roles, keeping: Keeping, every: bool) -> Standing:
    """The same of rows that an engine keeps."""
    from shoal.data.schema import Schema
    from shoal.release.standing import names_of
    from shoal.risk.audit import Standing

    key = [] if keeping.key is None else [keeping.key]
    left = _left(names_of(recipe), roles, key) if every else []
    schema = Schema(
        quasi=list(roles.quasi or left), sensitive=list(roles.sensitive), subject=roles.subject, weight=roles.weight,
        neutral=left if roles.quasi else [], key=keeping.key,
    )  # fmt: skip
    return Standing(schema=schema, **_about_values(roles))


def load_population(path: Path, target: str, known: Domain, reading: Reading) -> Table:
    """A population file with a header, its quasi-identifiers read like the table's."""
    from shoal.data.build import build_table
    from shoal.data.schema import ColumnSpec, Schema

    frame = _population_reading(target, reading).frame(path)
    names = list(known.schema.quasi)
    for name in names:
        if name not in frame.columns:
            near = nearest(name, frame.columns)
            hint = f"did you mean its '{near}'?" if near else "it needs every quasi-identifier of the table."
            raise SchemaError(f"The population '{path.name}' has no column '{name}': {hint}")
    specs = {}
    for column in known.quasi:
        kind = column.type if column.type in ("numeric", "date") else "categorical"
        specs[column.name] = ColumnSpec(type=kind, format=column.spec.format if kind == "date" else None)
    return build_table(frame.select(names), Schema(quasi=names, specs=specs), missing="value")


def _population_reading(target: str, reading: Reading) -> Reading:
    """Separator, encoding and markers of the file itself: from the options, or from the recipe."""
    if Path(target).suffix != ".toml" or not Path(target).is_file():
        return replace(reading, columns=None)
    from shoal.recipe.recipe import load_recipe

    source = load_recipe(Path(target)).source
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


def _left(names: Sequence[str], roles: Roles, others: Sequence[str]) -> list[str]:
    """Columns without a role."""
    used = {*roles.quasi, *roles.sensitive, roles.subject, roles.weight, *others}
    return [name for name in names if name not in used]


def _refuse_options(kind: str, roles: Roles, reading: Reading, keeping: Keeping | None = None) -> None:
    given = [name for one in (roles, reading) for name, entry in vars(one).items() if entry]
    given += [] if keeping is None else keeping.given
    if given:
        names = {"markers": "missing-marker", "hierarchies": "hierarchy", "policies": "policy"}
        option = names.get(given[0], given[0])
        raise ParameterError(f"--{option} is for a file, and a {kind} says it itself: leave it out.")


def _released(folder: Path) -> tuple[Table, list[str]]:
    from shoal.release.write import read_release

    frame, manifest = read_release(folder)
    standing, notes = _of_release(manifest, frame.columns)
    used = [name for name in standing.schema.roles() if name in frame.columns]
    return standing.table(_plain(manifest, frame).select(used), standing.schema, name=None), notes


def _released_there(folder: Path) -> tuple[Standing, Released, list[str]]:
    """The same for rows that an engine keeps."""
    from shoal.release.standing import Released
    from shoal.verify.folder import read_manifest

    manifest = read_manifest(folder)
    source = Released(folder=folder, clean=partial(_plain, manifest))
    standing, notes = _of_release(manifest, source.names)
    return standing, source, notes


def _plain(manifest: Mapping[str, Any], frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of a release as those of any file: suppressed records are no class, and missing cells are none."""
    import polars as pl

    text = pl.selectors.string()
    if manifest["suppressed"] == "star":
        frame = frame.filter(~pl.all_horizontal(pl.all().cast(pl.String) == "*").fill_null(False))
    return frame.with_columns(pl.when(text != _MISSING).then(text).name.keep())


def _of_release(manifest: Mapping[str, Any], present: Sequence[str]) -> tuple[Standing, list[str]]:
    """How cells of a release are compared, and what to know before figures of it are read."""
    from shoal.data.hierarchy import Hierarchy
    from shoal.data.policies import given_policy
    from shoal.data.schema import ColumnSpec, Schema
    from shoal.recoding.kinds import Trait, class_figures, made_of
    from shoal.recoding.reader_labels import readers_manifest
    from shoal.risk.audit import Standing

    quasi, sensitive = (_columns(manifest, role, present) for role in ("quasi", "sensitive"))
    if made_of(manifest).has(Trait.GROUPS):
        sensitive = []  # the value beside a record need not be its own
    # Codes, and labels above values, are compared as they stand like any text.
    plain = {
        entry["name"]: entry
        for entry in readers_manifest(manifest, [])["columns"]
        if entry["name"] in sensitive and entry["cells"] == "value" and "coded" not in entry
    }
    specs = {
        name: ColumnSpec(
            type=entry["type"], order=entry.get("order") or None, non_answers=tuple(entry.get("non_answers", ()))
        )
        for name, entry in plain.items()
    }
    standing = Standing(
        schema=Schema(quasi=quasi, sensitive=sensitive, specs=specs),
        hierarchies={
            name: Hierarchy.from_rows(name, entry["hierarchy"])
            for name, entry in plain.items()
            if entry.get("hierarchy")
        },
        policies={name: given_policy(entry["policy"]) for name, entry in plain.items() if entry.get("policy")},
    )
    codes = {column["coded"] for column in manifest["columns"] if "coded" in column}
    return standing, class_figures(made_of(manifest), codes)


def _columns(manifest: Mapping[str, Any], role: str, present: Sequence[str]) -> list[str]:
    """Columns of the data file with a role: two for a column of bounds; those kept in another file are left out."""
    listed = [column for column in manifest["columns"] if column["role"] == role]
    names = [name for column in listed for name in column.get("columns", [column["name"]])]
    return [name for name in names if name in present]


# ----------------------------------------
# What ``shoal attack`` does with a recipe whose engine keeps the rows: a sample of its people is attacked.


def kept_recipe(target: Path) -> Recipe | None:
    """The recipe, where its engine keeps the rows."""
    from shoal.recipe.recipe import load_recipe
    from shoal.release.entry import keeps_rows

    if target.is_dir() or target.suffix != ".toml":
        return None
    recipe = load_recipe(target)
    return recipe if keeps_rows(recipe) else None


def kept_case(
    recipe: Recipe, hold_out: float | None, sample: int | None, known: Known, step: Callable[[str], None]
) -> tuple[AttackCase, str, dict[str, int] | None]:
    """What is attacked, how it is announced, and how large a sample of the people it is."""
    from shoal.release.attack_case import Beside, recipe_case

    engine = recipe.engine.name
    if hold_out:
        raise InputError(f"Nobody is held out of what the engine '{engine}' keeps: give --control, or leave it out.")
    if known.against is not None:
        raise InputError(f"On the engine '{engine}' the recipe's own people are attacked: leave out --against.")
    outside = None if known.control is None else known.read(known.control)
    beside = Beside(control=outside, others=known.others)
    return recipe_case(recipe, sample=sample, beside=beside, seed=known.seed, progress=step)
