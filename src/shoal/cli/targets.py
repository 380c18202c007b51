"""What a command looks at: a file of any tool, a table of a database, the source of a recipe, or a release, coded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.cli.options import OPTIONS, flag_of, recipe_data
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.params import nearest

if TYPE_CHECKING:
    import polars as pl

    from shoal.cli.attack import Known
    from shoal.data.domain import Domain
    from shoal.data.rows import PeopledRows
    from shoal.data.schema import Schema
    from shoal.data.table import Table
    from shoal.recipe.recipe import Recipe
    from shoal.release.standing import Released
    from shoal.risk.attacks.case import AttackCase
    from shoal.risk.audit import Standing

# How our own releases write a missing cell in CSV.
_MISSING = "<missing>"
# Options that say who keeps the rows, and not how a file is written or read.
_KEEPING = ("engine", "memory", "scratch", "table", "query", "key")


@dataclass(frozen=True, eq=False)
class Target:
    """A file, a recipe, the folder of a release or the address of a database, and the options that are about it."""

    name: str
    options: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """Where it is, unless it is in a database."""
        return Path(self.name)

    @property
    def shown(self) -> str:
        """Its name as it may be printed: an address may hold a password."""
        from shoal.io.databases import without_password

        return without_password(self.name) if "://" in self.name else self.name

    @property
    def is_recipe(self) -> bool:
        """Whether it is a recipe, which says everything itself."""
        return self.path.suffix == ".toml" and self.path.is_file()

    @cached_property
    def recipe(self) -> Recipe:
        """The recipe that it is, or that its options stand for."""
        from shoal.recipe.recipe import load_recipe
        from shoal.release.entry import as_recipe

        return load_recipe(self.path) if self.is_recipe else as_recipe(recipe_data({**self.options, "file": self.name}))

    @property
    def given(self) -> list[str]:
        """The options that were given, those about who keeps the rows last."""
        found = [name for name in OPTIONS if self.options.get(name) not in (None, [])]
        return sorted(found, key=lambda name: name in _KEEPING)

    def refuse_options(self, kind: str, options: Sequence[str]) -> None:
        """Refuse options for a kind of target that says what they say itself."""
        if options:
            raise ParameterError(f"{flag_of(options[0])} is for a file, and a {kind} says it itself: leave it out.")


def reader(options: Mapping[str, Any]) -> Callable[[Path], pl.DataFrame]:
    """Reads files that are written as options say."""

    def read(path: Path) -> pl.DataFrame:
        from shoal.recipe.source import read_file

        return read_file(Target("", options).recipe.source, path)

    return read


@contextmanager
def open_target(
    target: Target,
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
    path, about_file = target.path, [name for name in target.given if name not in _KEEPING]
    if target.is_recipe:
        target.refuse_options("recipe", target.given)
        refuse_people(target.recipe.engine.name, target.recipe.roles.subject)
        with open_rows(target.recipe, step) as kept:
            yield kept, []
        return
    released = path.is_dir() and (is_release(path) or about_file == target.given)
    if released and "quasi" in about_file and not is_release(path):
        raise InputError(f"'{path}' is a folder of files: read them as one by --engine duckdb, or name one of them.")
    if released:
        target.refuse_options("release", about_file)
    recipe = target.recipe
    if not keeps_rows(recipe):
        load("engine", recipe.engine.name)
        if recipe.source.url is not None:
            raise no_file()
        table, notes = _released(path) if released else (_read(recipe, household, every), [])
        yield counted_rows(table), notes
        return
    from shoal.release.standing import names_of, opened_standing

    if household is not None:
        raise ParameterError("--household looks at rows one by one: use --engine memory, or leave it out.")
    source, notes = None, []
    refuse_people(recipe.engine.name, recipe.roles.subject)
    if released:
        refuse_unread(recipe.engine.name)
        standing, source, notes = _released_there(path)
    else:
        from shoal.risk.audit import Standing

        refuse_keyless(recipe.engine.name, key := recipe.roles.key)
        schema = _schema(recipe, names_of(recipe) if every else [], key=key)
        standing = Standing(schema=schema, **_about_values(recipe))
    with opened_standing(recipe, standing, step, source) as rows:
        yield rows, notes


def _read(recipe: Recipe, household: str | None, every: bool) -> Table:
    """A file in memory."""
    from shoal.recipe.source import read_file
    from shoal.risk.audit import as_it_stands

    frame = read_file(recipe.source, Path(recipe.source.file))
    schema = _schema(recipe, frame.columns if every else [], drop=_others(frame, recipe, household))
    return as_it_stands(frame, schema, **_about_values(recipe))


def _schema(recipe: Recipe, names: Sequence[str], *, drop: Sequence[str] = (), key: str | None = None) -> Schema:
    """The roles of a recipe, and of columns that have none: neutral ones, or quasi-identifiers where none is named."""
    from shoal.data.schema import Schema

    roles = recipe.roles
    used = {*roles.quasi, *roles.sensitive, roles.subject, roles.weight, *drop, key}
    left = [name for name in names if name not in used]
    return Schema(
        quasi=list(roles.quasi or left), sensitive=roles.sensitive, subject=roles.subject, weight=roles.weight,
        drop=list(drop), neutral=left if roles.quasi else [], key=key,
    )  # fmt: skip


def _about_values(recipe: Recipe) -> dict[str, Any]:
    """What a recipe says about sensitive values."""
    from shoal.data.hierarchy_files import build
    from shoal.recipe.source import policies_of

    trees = {name: partial(build, name, entry) for name, entry in recipe.hierarchies.items()}
    return {"hierarchies": trees, "policies": policies_of(recipe)}


def load_population(path: Path, target: Target, known: Domain) -> Table:
    """A population file with a header, its quasi-identifiers read like the table's."""
    from shoal.data.build import build_table
    from shoal.data.schema import ColumnSpec, Schema, Type
    from shoal.recipe.source import read_file

    how = target.recipe.source.model_copy(update={"columns": None, "sheet": None})
    frame = read_file(how, path)
    names = list(known.schema.quasi)
    for name in names:
        if name not in frame.columns:
            near = nearest(name, frame.columns)
            hint = f"did you mean its '{near}'?" if near else "it needs every quasi-identifier of the table."
            raise SchemaError(f"The population '{path.name}' has no column '{name}': {hint}")
    specs, ordered = {}, dict[str, Type](numeric="numeric", date="date")
    for column in known.quasi:
        kind = ordered.get(column.type, "categorical")
        specs[column.name] = ColumnSpec(type=kind, format=column.spec.format if kind == "date" else None)
    return build_table(frame.select(names), Schema(quasi=names, specs=specs), missing="value")


def _others(frame: pl.DataFrame, recipe: Recipe, household: str | None) -> list[str]:
    """The household column, when it has no role already."""
    roles = recipe.roles
    if household is None or household in {*roles.quasi, *roles.sensitive, roles.subject, roles.weight}:
        return []
    if household not in frame.columns:
        near = nearest(household, frame.columns)
        hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(frame.columns)}."
        raise SchemaError(f"There is no household column '{household}' in the table. {hint}")
    return [household]


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
