"""Reading a source into a coded table: a file or a frame, roles, settings and hierarchies in one call."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any, Unpack

import polars as pl
from pydantic import TypeAdapter, ValidationError

from shoal.data.build import build_table, building_problems
from shoal.data.coding import canonical_text
from shoal.data.dates import as_declared, refuse_undeclared_dates
from shoal.data.derive import changes, derived_from, prepared, with_derived
from shoal.data.hierarchy import Hierarchy
from shoal.data.hierarchy_files import build
from shoal.data.keys import Keys
from shoal.data.policies import VALUE, set_policies
from shoal.data.population import check_population, wider, with_population
from shoal.data.sampling import Sampling, draw_sample
from shoal.data.schema import LIST_ROLES, SINGLE_ROLES, ColumnSpec, Roles, Schema, checked_specs, column_spec
from shoal.data.table import Table, with_sample
from shoal.data.texts import all_told
from shoal.data.values import format_number
from shoal.data.workload import Workload, set_workload
from shoal.errors import InputError, ParameterError, PolicyError, RecipeError, SchemaError, ShoalError
from shoal.io.batches import Batches, PreparedBatches, open_batches
from shoal.io.cell_format import Notation, as_written, normalise
from shoal.io.databases import Relation
from shoal.io.files import read_frame
from shoal.io.frames import numbers_as_names, to_polars
from shoal.io.partitions import look_at
from shoal.params import choice, nearest
from shoal.recipe.fields import Section
from shoal.recipe.profiles import refuse_unfit
from shoal.recipe.recipe import Recipe, ResearchSettings, Source, WorkloadSettings, call_sentence
from shoal.recipe.research_values import read_values
from shoal.recipe.settings import ReadSettings

# ----------------------------------------
# Files of sensitive ranges: one line a value, ``value;low;high`` or ``value;label``.


def load_policy(column: str, given: Any, base: Path | None) -> Any:
    """A policy with the file it names, if it names one, read in its place."""
    if isinstance(given, Mapping) and "ranges" in given:
        return {**given, "ranges": load_policy(column, given["ranges"], base)}
    if isinstance(given, Path) or (isinstance(given, str) and given != VALUE):
        return {"each": read_ranges(Path(given) if base is None else base / given, column)}
    return given


def read_ranges(path: Path, column: str) -> list[list[str]]:
    """The lines of a policy file: UTF-8, semicolons between fields, no header; blank lines are skipped."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=";", strict=True)
            rows = [[field.strip() for field in row] for row in reader if row and row != [""]]
    except OSError as error:
        raise PolicyError(
            f"The policy file '{path}' of '{column}' cannot be read ({error.strerror}): check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"The policy file '{path}' of '{column}' is not UTF-8 text: save it as UTF-8.") from error
    except csv.Error as error:
        raise PolicyError(f"The policy file '{path}' of '{column}' has a quote that is not closed: mend it.") from error
    if not rows:
        raise PolicyError(f"The policy file '{path}' of '{column}' is empty: give one line a value.")
    return rows


# ----------------------------------------
# Roles by pattern, and of columns that nobody named: told from the names that a source has.
#
# A column that comes to a source later must never be published unnoticed. So patterns stand under roles that hide,
# protect or leave out what they match, and not under those that publish it as it is.


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
    roles, specs = asdict(recipe.roles), checked_specs(recipe.columns)
    if not is_open(roles, specs):
        return recipe
    return recipe.with_roles(replace(recipe.roles, **settled_roles(roles, _names(recipe), specs), rest=None))


def _names(recipe: Recipe) -> Sequence[str]:
    source = recipe.source
    if source.path is None:
        raise RecipeError(
            "Roles by pattern, 'rest' and derived columns need a source that is a file: name every column of this one "
            "under [roles]."
        )
    path = recipe.resolve(source.path)
    if path.is_file() and not path.name.lower().removesuffix(".gz").endswith(_READ_AHEAD):
        return read_file(source, path).columns
    return look_at(path, **_taken_by(look_at, source)).names


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
    return _schema(settled(recipe).roles, checked_specs(recipe.columns))


def _schema(roles: Roles, specs: Mapping[str, ColumnSpec]) -> Schema:
    return Schema(**{**vars(roles), "rest": None}, specs=specs)


# ----------------------------------------
# Reading into memory, for Python callers and for recipes: both say how by the sections of a recipe.


def read(source: Any, **settings: Unpack[ReadSettings]) -> Table:
    """Read a CSV, Parquet, Excel, SPSS, Stata or SAS file, or a pandas, Polars or PyArrow frame, as a table.

    Parameters
    ----------
    source
        A path or a frame.
    identifiers, quasi, sensitive, neutral, pseudonym, drop, subject, weight, key, guard
        The role of every column; ``"lab_*"`` stands for those that it matches, except under neutral and pseudonym.
    rest
        ``"drop"`` leaves out columns that have no role, and those that others are derived from.
    quasi_sets
        Several sets of quasi-identifiers: models hold for each set, and not for all of them together.
    across_classes
        Whether diversity models also judge the values that all classes of a subject's rows leave possible, where the
        subject's own values are all the same.
    columns
        Names of the columns of a file without a header.
    sheet
        Which sheet of a workbook, where it has several.
    decimal, thousands
        How a text file writes numbers, such as ``","`` and ``"."`` for 1.234,5; columns of nothing else are read so.
    missing_markers
        Cells that mean "missing", besides empty ones.
    unpack_limit
        MiB that a gzip or Parquet file may unpack to.
    missing
        ``"error"``, ``"drop"`` (leave such rows out) or ``"value"`` (missing is a value of its own).
    settings
        Per column a :class:`shoal.ColumnSpec`, or its entries as a mapping: ``{"admitted": {"type": "date", "format":
        "%d.%m.%Y"}, "stage": {"type": "ordinal", "order": ["I", "II", "III"]}}``. Some say what is done to
        a column before it is coded: ``derive``, ``recode``, ``top``, ``bottom``, ``round``.
    hierarchies
        Per column: a file, a `Hierarchy`, its rows, or a builder such as ``{"prefix": [4, 3]}``.
    weights
        Importance of quasi-identifiers, 1 by default.
    policies
        Sensitive ranges by column: ``"value"``, a list of ranges, ``{"level": 2}`` or a file; with ``"else"`` beside
        it as ``{"ranges": ..., "else": "value"}``.
    workload
        What the release is for: ``queries`` (or a file of them), a ``target``, ``boundaries``, ``strength``.
    research
        What levels are worth to researchers: the parameters of the measure ``rv``, and ``values``, a file of them.
    population
        The people that the rows were drawn from, as a file with a header or a frame of one row a person, with the same
        quasi-identifiers written alike; for the models ``k-map`` and ``delta-presence``.
    sample, seed
        Draw a random sample of the rows, or of the people where there is a subject, before anything is coded: a share
        such as ``0.1``, a number such as ``1000``, or ``{"share": 0.1, "by": ["region"]}``. The seed, for tests and
        papers alone, determines it; else it is drawn by a fresh secret, which the evidence keeps.
    """
    known = ReadSettings.__annotations__
    for name in settings:
        if name not in known:
            near = nearest(name, known)
            hint = "" if near is None else f". Did you mean '{near}'?"
            raise TypeError(f"read() got an unexpected keyword argument '{name}'{hint}")
    given = numbers_as_names(settings)
    if isinstance(source, str | Path):
        recipe, backend = _as_recipe({**given, "path": str(source)}), None
        frame = read_file(recipe.source, recipe.resolve(source), hold=True)
    else:
        recipe, (frame, backend) = _as_recipe(given), to_polars(source)
        frame = normalise(frame, "the frame", recipe.source.missing_markers)
    return _coded(recipe, frame, backend, given.get("population"))


def read_table(recipe: Recipe) -> Table:
    """Read the file of a recipe into memory, and code it."""
    frame = read_file(recipe.source, recipe.resolve(recipe.source.file), hold=True)
    table = _coded(recipe, frame, None, recipe.source.population)
    refuse_unfit(recipe, table)
    return table


def open_source(recipe: Recipe) -> Batches | PreparedBatches | Relation:
    """Open the source of a recipe for engines that take rows in batches: files, or a place in a database."""
    source, specs = recipe.source, checked_specs(recipe.columns)
    if source.url is not None:
        return Relation(**_taken_by(Relation, source), target=recipe.output.table)
    scratch = None if recipe.engine.scratch is None else recipe.resolve(recipe.engine.scratch)
    batches = open_batches(source.file, base=recipe.base, scratch=scratch, **_taken_by(open_batches, source))
    return PreparedBatches(batches, specs) if changes(specs) else batches


def read_file(source: Source, path: Path, *, hold: bool = False) -> pl.DataFrame:
    """Read a file as a recipe says that its source is written."""
    return read_frame(path, hold=hold, **_taken_by(read_frame, source))


def _taken_by(reader: Callable[..., Any], source: Source) -> dict[str, Any]:
    """Entries of a source that a reader takes, by their names; the path is given apart, as seen from a folder."""
    return {
        name: getattr(source, name)
        for name in signature(reader).parameters
        if name in Source.model_fields and name != "path"
    }


def _as_recipe(given: Mapping[str, Any]) -> Recipe:
    """The recipe that says what a Python caller says; it may hold objects, such as hierarchies, in place of tables."""
    file = {key: given[key] for key in Source.model_fields if key in given and key != "population"}
    roles = {one.name: given[one.name] for one in fields(Roles) if one.name in given}
    recipe = Recipe.model_construct(
        source=_section(Source, "the source", file),
        roles=_section(Roles, "roles", roles),
        columns={
            column: spec if isinstance(spec, ColumnSpec) else column_spec(column, spec)
            for column, spec in (given.get("settings") or {}).items()
        },
        sample=None if given.get("sample") is None else Sampling.of(given["sample"]),
        seed=given.get("seed"),
        hierarchies=given.get("hierarchies") or {},
        weights=given.get("weights") or {},
        policies=given.get("policies") or {},
        workload=given.get("workload"),
        research=given.get("research"),
    )
    recipe._base = given.get("base") or Path()
    return recipe


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """What checks the entries of a section, which takes as long to build as a small table to read."""
    return TypeAdapter(kind)


def _section(kind: Any, what: str, given: Mapping[str, Any]) -> Any:
    """A section of a recipe made of a call's arguments, in which any sequence may stand for a list."""
    plain = {
        key: list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else value
        for key, value in given.items()
    }
    try:
        return _adapter(kind).validate_python(plain)
    except ValidationError as error:
        raise ParameterError(call_sentence(error.errors(include_url=False)[0], what)) from None


def _coded(recipe: Recipe, frame: pl.DataFrame, backend: Any, population: Any) -> Table:
    """The table of the rows of a source."""
    source, specs = recipe.source, checked_specs(recipe.columns)
    schema = _schema(replace(recipe.roles, **settled_roles(asdict(recipe.roles), frame.columns, specs)), specs)
    if source.path is not None and source.columns is None:
        _refuse_headless(frame, schema, Path(source.path).name)
    notation = Notation(decimal=source.decimal, thousands=source.thousands)
    required = schema.released if source.missing == "drop" else ()
    frame = prepared(as_written(frame, schema, notation), specs, schema.subject, required)
    everybody = None if population is None else read_population(recipe, population)
    told = Told(recipe, None if everybody is None else as_written(everybody, schema, notation))
    frame, drawn = _drawn(frame, schema, recipe.sample, recipe.seed)
    table = told.table(frame, schema, name=source.name if source.path is None else source.title, backend=backend)
    return drawn(table if notation.plain else table.knowing(number_form=notation.pattern))


def _drawn(
    frame: pl.DataFrame, schema: Schema, how: Sampling | None, seed: int | None
) -> tuple[pl.DataFrame, Callable[[Table], Table]]:
    """The rows that are drawn, and what tells their table so; all of them where nothing is drawn."""
    if how is None:
        return frame, lambda table: table
    flags, sample = draw_sample(frame, how, Keys.from_seed(seed), subject=schema.subject, key=schema.key)
    others = frame.filter(~flags)
    return frame.filter(flags), lambda table: with_sample(table, sample, as_declared(others, schema))


@dataclass(frozen=True, eq=False)
class Told:
    """What a recipe says of its source beside the columns' roles, and the population that it names."""

    recipe: Recipe
    population: pl.DataFrame | None = None

    def table(
        self,
        frame: pl.DataFrame,
        schema: Schema,
        *,
        name: str | None,
        backend: Any = None,
        often: Mapping[str, Mapping[str, int]] | None = None,
    ) -> Table:
        """The coded table of some rows; an error finds whatever else is wrong with them.

        Parameters
        ----------
        often
            How often each value of a column occurs, where the rows do not tell.
        """
        try:
            return self._table(frame, schema, name, backend, often or {})
        except ShoalError as error:
            error.everything = partial(self.problems, frame, schema)
            raise

    def _table(
        self, frame: pl.DataFrame, schema: Schema, name: str | None, backend: Any, often: Mapping[str, Any]
    ) -> Table:
        frame = as_declared(frame, schema)
        taking_part = self._taking_part(frame, schema)
        refuse_undeclared_dates(taking_part, schema, self.recipe.hierarchies)
        made = self._trees(taking_part, often)
        everybody = None
        if self.population is not None:
            mine = {name: schema.specs[name] for name in schema.quasi if name in schema.specs}
            everybody = check_population(prepared(self.population, mine), schema)
            everybody = as_declared(everybody, Schema(quasi=list(schema.quasi), specs=schema.specs))
            built = [column for column, entry in made.items() if callable(entry) and column in schema.quasi]
            made |= {column: wider(made[column], everybody[column]) for column in built}  # type: ignore[arg-type]
        missing, weights = self.recipe.source.missing, self.recipe.weights
        table = build_table(
            frame, schema, hierarchies=made, missing=missing, name=name, backend=backend, weights=weights
        )
        table = set_workload(set_policies(table, policies_of(self.recipe)), self._workload())
        table = table.knowing(research=self._research(table))
        return table if everybody is None else with_population(table, everybody)

    def _taking_part(self, frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
        """The rows without those that are dropped, which decide nothing: not how others are read either."""
        if self.recipe.source.missing != "drop":
            return frame
        return frame.drop_nulls([name for name in schema.released if name in frame.columns])

    def _trees(self, frame: pl.DataFrame, often: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
        """Hierarchies by column, of the rows that take part."""
        return {
            column: _hierarchy(column, entry, self.recipe.base, frame, often.get(column))
            for column, entry in self.recipe.hierarchies.items()
        }

    def problems(self, frame: pl.DataFrame, schema: Schema) -> list[ShoalError]:
        """Everything for which some rows would be refused, where :meth:`table` stops at the first."""
        frame, found = as_declared(all_told(frame), schema), list[ShoalError]()
        taking_part = self._taking_part(frame, schema)
        try:
            refuse_undeclared_dates(taking_part, schema, self.recipe.hierarchies)
        except ShoalError as error:
            found.append(error)
        missing, weights = self.recipe.source.missing, self.recipe.weights
        trees = self._trees(taking_part, {}) if set(self.recipe.hierarchies) <= set(frame.columns) else {}
        found += building_problems(frame, schema, trees, missing, weights)
        if found:
            return found
        table = build_table(frame, schema, hierarchies=trees, missing=missing, weights=weights)
        steps: list[Callable[[], Any]] = [
            *(partial(self._with_policy, table, column) for column in self.recipe.policies),
            lambda: set_workload(set_policies(table, policies_of(self.recipe)), self._workload()),
            lambda: self._research(table),
        ]
        for step in steps:
            try:
                step()
            except ShoalError as error:
                found += [error] if str(error) not in map(str, found) else []
        return found

    def _with_policy(self, table: Table, column: str) -> None:
        set_policies(table, {column: _policy(self.recipe, column)})

    def _workload(self) -> Workload | None:
        """The workload, its file of queries read: one a line, without blank lines and those that begin with ``#``."""
        given = _entries(self.recipe.workload)
        if given is None or isinstance(given, Workload):
            return given
        for key in given:
            choice("the workload", "key", key, WorkloadSettings.model_fields)
        queries = given.get("queries", ())
        if isinstance(queries, str | Path):
            path = self.recipe.resolve(queries)
            try:
                lines = path.read_text("utf-8-sig").splitlines()
            except (OSError, UnicodeDecodeError):
                raise InputError(
                    f"The file of queries '{path}' cannot be read as UTF-8 text: check the path."
                ) from None
            queries = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        return Workload(**{**given, "queries": queries})

    def _research(self, table: Table) -> dict[str, Any]:
        """Parameters of the research value, its file of values read."""
        given = _entries(self.recipe.research) or {}
        for key in given:
            choice("research values", "key", key, ResearchSettings.model_fields)
        found = {key: value for key, value in given.items() if key != "values"}
        if given.get("values") is not None:
            file = read_values(self.recipe.resolve(given["values"]), table.quasi)
            twice = [name for name in found.get("rv", {}) if name in file]
            if twice:
                raise ParameterError(
                    f"The values of '{twice[0]}' stand both in 'rv' and in the file: keep one of them."
                )
            found["rv"] = {**found.get("rv", {}), **file}
        return found


def _entries(given: Any) -> Any:
    """What a section of a recipe says, as a mapping; Python callers give mappings and objects in its place."""
    return given.model_dump(exclude_defaults=True, by_alias=True) if isinstance(given, Section) else given


def policies_of(recipe: Recipe) -> dict[str, Any]:
    """The policies of a recipe, with the files that they name read in their place."""
    return {column: _policy(recipe, column) for column in recipe.policies}


def _policy(recipe: Recipe, column: str) -> Any:
    return load_policy(column, _entries(recipe.policies[column]), recipe.base)


def told_by(recipe: Recipe) -> Told:
    """What a recipe says of its source, for engines that make the table of its rows themselves."""
    given = recipe.source.population
    return Told(recipe, None if given is None else read_population(recipe, given))


def read_population(recipe: Recipe, given: Any) -> pl.DataFrame:
    """The people that a source was drawn from, as a file, read like the source, or as a frame."""
    if isinstance(given, str | Path):
        how = recipe.source.model_copy(update={"columns": None, "sheet": None})
        return read_file(how, recipe.resolve(given))
    return normalise(to_polars(given)[0], "the population", recipe.source.missing_markers)


def _refuse_headless(frame: pl.DataFrame, schema: Schema, file: str) -> None:
    """Refuse a file that has none of the columns that were named: its first row may be no header, but somebody's."""
    named = schema.roles()
    if len(named) > 1 and not any(name in frame.columns for name in named):
        raise SchemaError(
            f"'{file}' has none of the columns that the roles name: if its first row is no header, give "
            "their names, as 'columns' under [source] or by --columns."
        )


def _hierarchy(
    column: str, entry: Any, base: Path, frame: pl.DataFrame, often: Mapping[str, int] | None
) -> Hierarchy | Callable[[list[str]], Hierarchy]:
    """A hierarchy, or how to build it once the column's values are known."""
    if isinstance(entry, Hierarchy):
        return entry
    if isinstance(entry, list | tuple):
        return Hierarchy.from_rows(column, entry)
    if isinstance(entry, str | Path):
        entry = str(base / entry)
    elif isinstance(entry, Mapping) and "path" in entry:
        entry = {**entry, "path": str(base / entry["path"])}
    if isinstance(entry, Mapping) and {"rare", "quantiles"} & set(entry) and column in frame.columns:
        found = Counter(canonical_text(frame[column]).drop_nulls().to_list()) if often is None else often
        return lambda values: build(column, entry, values, counts=_counts(values, found))
    return lambda values: build(column, entry, values)


def _counts(values: Sequence[str], often: Mapping[str, int]) -> list[int]:
    """How often values occur, however they are written: a number may be so in several ways."""
    known, found = set(values), Counter[str]()
    for text, count in often.items():
        found[text if text in known else _plain(text)] += count
    return [found[value] for value in values]


def _plain(text: str) -> str:
    """A text, numbers as a hierarchy writes them."""
    try:
        return format_number(Decimal(text))
    except (InvalidOperation, InputError):
        return text
