"""Recipes: one TOML file that says what to read, what to promise and where to write.

Models and algorithm stay plain tables here (a name and its parameters); the registry makes them into objects.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tomlkit
from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError, model_validator
from tomlkit.items import AoT, Item

from shoal.data.entries import Entries
from shoal.data.sampling import Sampling
from shoal.data.schema import ColumnSpec, Roles
from shoal.errors import RecipeError
from shoal.io.databases import check_place, check_target, check_url, no_file, relation_name, without_password
from shoal.io.files import is_data
from shoal.io.text import UNPACK_LIMIT
from shoal.params import choice, nearest, shown
from shoal.recipe import fields
from shoal.recipe.fields import PolicySettings, Section
from shoal.recipe.profiles import profiled
from shoal.recipe.review import Review, check_review

if TYPE_CHECKING:
    from pydantic import BaseModel


# ----------------------------------------
# What is wrong with a recipe, in one sentence: findings of pydantic in words.


_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "dataclass_type": "a table",
    "greater_than": "above 0",
}


_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")  # of a model, and of a dataclass


def entries_of(section: type[BaseModel] | type[Entries]) -> list[str]:
    """The entries of a table of a recipe, by the names that they have there."""
    if issubclass(section, Entries):
        return [one.name for one in dataclasses.fields(section)]  # type: ignore[arg-type]
    return [field.alias or name for name, field in section.model_fields.items()]


def sentence(
    error: Mapping[str, Any], sections: Mapping[str, type[BaseModel] | type[Entries]], whole: type[BaseModel]
) -> str:
    """One finding of pydantic as one sentence that names the entry and its table.

    Parameters
    ----------
    sections, whole
        What stands under each heading of a recipe, and the recipe.
    """
    table, key, below = _address(error["loc"])
    entry = f"Entry {below[0] + 1} of '{key}'" if below and isinstance(below[0], int) else f"The '{key}'"
    kind = error["type"]
    if kind in _UNKNOWN:
        section = sections[str(error["loc"][0])] if len(error["loc"]) > 1 else whole
        known = entries_of(section)
        return f"There is no entry '{key}' in {table}. {_hint(key, known)}"
    if kind == "missing":
        return f"The entry '{key}' is missing from {table}: add it."
    if kind == "literal_error":
        options = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        near = nearest(str(error["input"]), options)
        hint = f" Did you mean '{near}'?" if near else ""
        return f"{entry} in {table} must be {error['ctx']['expected']}.{hint}"
    if kind == "value_error":
        return f"{entry} in {table} {error['ctx']['error']}."
    return f"{entry} in {table} must be {_KINDS.get(kind, 'of another kind')}."


def call_sentence(error: Mapping[str, Any], owner: str) -> str:
    """One finding of pydantic about an argument of a call, in the words of :mod:`shoal.params`."""
    key, *below = error["loc"]
    entry = f"Entry {below[0] + 1} of the '{key}'" if below and isinstance(below[0], int) else f"The '{key}'"
    if error["type"] == "value_error":
        return f"{entry} of {owner} {error['ctx']['error']}. Got {shown(error['input'])}."
    if error["type"] == "literal_error":
        choice(owner, key, error["input"], re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    return f"{entry} of {owner} must be {_KINDS.get(error['type'], 'of another kind')}. Got {shown(error['input'])}."


def _address(place: tuple[Any, ...]) -> tuple[str, str, tuple[Any, ...]]:
    """The table an entry stands in, its key, and what lies below it."""
    if len(place) == 1 or place[0] == "models":
        return "the recipe", str(place[0]), place[1:]
    if place[0] in ("columns", "policies") and len(place) > 2:
        return f"[{place[0]}.{place[1]}]", str(place[2]), place[3:]
    return f"[{place[0]}]", str(place[1]), place[2:]


def _hint(word: str, options: list[str]) -> str:
    near = nearest(word, options)
    return f"Did you mean '{near}'?" if near else f"Possible are: {', '.join(options)}."


Named = Annotated[dict[str, Any], BeforeValidator(fields.check_named)]


# A recipe is written by hand.
_MOST_BYTES = 1 << 20
_DEEPEST = 16
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rf"(?<![\w.-])(?:{_PART}\.[ \t]*){{{_DEEPEST}}}")


class Source(Section):
    """What to read: a file, whose ``path`` is relative to the recipe, or a table or query of a database."""

    name: str | None = None
    path: str | None = None
    url: Annotated[str | None, BeforeValidator(check_url), Field(repr=False)] = None
    table: str | None = None
    query: str | None = None
    columns: list[str] | None = None
    separator: str | None = None
    sheet: str | None = None
    encoding: str = "utf-8"
    decimal: Literal[".", ","] = "."
    thousands: str | None = None
    missing_markers: list[str] = []
    unpack_limit: Annotated[int, Field(gt=0)] = UNPACK_LIMIT
    missing: Literal["error", "drop", "value"] = "error"
    population: str | None = None

    @property
    def file(self) -> str:
        """The path, for whoever reads files only."""
        if self.path is None:
            raise no_file()
        return self.path

    @property
    def title(self) -> str:
        """What to call it."""
        return self.name or (relation_name(self.table) if self.path is None else Path(self.path).stem)


class Engine(Section):
    """Who counts, in how much memory, and where its scratch files go (relative to the recipe)."""

    name: str = "memory"
    memory: Annotated[str | None, BeforeValidator(fields.check_memory)] = None
    scratch: str | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Engine:
        if self.name == "memory" and self.memory is not None:
            raise RecipeError(
                "The engine 'memory' takes the memory that it needs: choose 'duckdb', or leave 'memory' out of "
                "[engine]."
            )
        return self


class Output(Section):
    """Where the release goes, and how, and what undoes it; ``folder`` and ``vault`` are relative to the recipe.

    ``table`` is a new one in the database that the source is in.
    """

    folder: str = "out"
    table: str | None = None
    format: Literal["csv", "parquet"] = "csv"
    copies: list[Literal["xlsx", "sav", "dta"]] = []
    formulas: Literal["keep", "escape"] = "keep"
    suppressed: Literal["drop", "star"] = "drop"
    order: Literal["shuffled", "kept"] = "shuffled"
    neutral_limit: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.05
    date: Annotated[str | None, BeforeValidator(fields.check_date)] = None
    vault: str | None = None
    vault_entry: str | None = None
    token_key: str | None = None
    codes: str | None = None
    discard_secret: bool = False
    log: str | None = None


class RegistrySettings(Section):
    """Where the releases of this source are remembered; ``file`` is relative to the recipe."""

    file: str


class WorkloadSettings(Section):
    """What the release is for; ``queries`` may name a file of one query a line, relative to the recipe."""

    queries: Annotated[list[str] | str, BeforeValidator(fields.check_queries)] = []
    target: str | None = None
    boundaries: dict[str, Annotated[list[Any], BeforeValidator(fields.check_boundaries)]] = {}
    strength: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)] = 1.0


class ResearchSettings(Section):
    """What levels are worth to researchers; ``values`` is a table of ``shoal values``, relative to the recipe."""

    values: str | None = None
    rules: list[Any] = []
    weights: Literal["given", "association"] = "given"
    normalise: bool = True
    rv: dict[str, list[Any]] = {}


class Compare(Section):
    """What ``shoal compare`` sweeps, and the figures that it places points by."""

    algorithms: Annotated[list[Named], BeforeValidator(fields.named_entries)] = []
    grid: Annotated[dict[str, list[Any]], BeforeValidator(fields.flat_grid)] = {}
    utility: str | None = None
    protection: str | None = None
    risk: str | None = None
    evaluate: Annotated[list[Named], BeforeValidator(fields.named_entries)] = []
    hold_out: Annotated[float, Field(ge=0, le=0.9, strict=False)] = 0.0


class Recipe(Section):
    """A whole recipe.

    Examples
    --------
    >>> parse_recipe('[source]\\npath = "patients.csv"\\n[roles]\\nquasi = ["age"]').roles.quasi
    ['age']
    """

    acknowledge: list[str] = []
    seed: int | None = None
    profile: str | None = None
    source: Source
    sample: Annotated[Sampling, AfterValidator(dataclasses.replace)] | None = None
    roles: Roles = Roles()
    columns: dict[str, ColumnSpec] = {}
    hierarchies: dict[str, Annotated[Any, BeforeValidator(fields.check_hierarchy)]] = {}
    weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
    workload: WorkloadSettings | None = None
    research: ResearchSettings | None = None
    policies: dict[str, PolicySettings] = {}
    limits: dict[str, Annotated[Any, BeforeValidator(fields.check_limit)]] = {}
    models: list[Named] = []
    algorithm: Named = {"name": "mondrian"}
    engine: Engine = Engine()
    registry: RegistrySettings | None = None
    review: Review | None = None
    output: Output = Output()
    compare: Compare = Compare()
    _base: Path = PrivateAttr(default_factory=Path)

    @property
    def base(self) -> Path:
        """The folder that relative paths start from: the recipe's own."""
        return self._base

    def resolve(self, path: str | Path) -> Path:
        """A path of the recipe, seen from where we are."""
        return self._base / path

    def accepting(self, codes: Iterable[str]) -> Recipe:
        """The same recipe with these warning codes accepted."""
        changed = self.model_copy(update={"acknowledge": sorted(codes)})
        changed._base = self._base
        return changed

    def with_roles(self, roles: Roles) -> Recipe:
        """The same recipe with other roles."""
        changed = self.model_copy(update={"roles": roles})
        changed._base = self._base
        return changed

    def with_vault(self, path: Path) -> Recipe:
        """The same recipe with another vault."""
        changed = self.model_copy(update={"output": self.output.model_copy(update={"vault": str(path)})})
        changed._base = self._base
        return changed


_STARTING = "shoal start {} -o recipe.toml makes a recipe of data"


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe file."""
    path = Path(path)
    if is_data(path) and path.is_file():
        raise RecipeError(f"'{path.name}' is data, not a recipe: {_STARTING.format(path)}.")
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise RecipeError(f"There is no recipe '{path}': check the path.") from None
    except OSError as error:
        raise RecipeError(f"The recipe '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        if path.suffix.lower() != ".toml":
            raise RecipeError(f"'{path.name}' is no recipe: {_STARTING.format(path)}.") from None
        raise RecipeError(f"The recipe '{path.name}' is not UTF-8: save it as UTF-8.") from None
    if len(data) > _MOST_BYTES:
        raise RecipeError(f"The recipe '{path.name}' is larger than a MiB: keep lists of values in files of their own.")
    try:
        return parse_recipe(text.replace("\r\n", "\n"), path.parent)
    except RecipeError as error:
        if path.suffix.lower() == ".toml" or not isinstance(error.__context__, tomllib.TOMLDecodeError):
            raise
        raise RecipeError(f"'{path.name}' is no recipe, which is TOML: {_STARTING.format(path)}.") from None


def parse_recipe(text: str, base: Path = Path()) -> Recipe:
    """Read a recipe from text; relative paths in it start from ``base``."""
    try:
        recipe = Recipe.model_validate(_load_toml(text))
    except ValidationError as error:
        # A misspelt entry often leaves another one lacking, so it is the one to name.
        found = sorted(error.errors(include_url=False), key=lambda one: one["type"] not in _UNKNOWN)
        raise RecipeError(sentence(found[0], _SECTIONS, Recipe)) from None
    check_place(recipe.source.model_dump(include={"path", "url", "table", "query", "columns"}))
    recipe = profiled(recipe, recipe.profile)
    check_target(recipe.source.url, recipe.output.table)
    check_review(recipe.review, recipe.acknowledge, dataclasses.asdict(recipe.roles))
    recipe._base = base
    return recipe


def _load_toml(text: str) -> dict[str, Any]:
    """The tables of a recipe, none of which can cost more than the text itself did."""
    # The parser's memory grows with the square of a key's parts.
    if _LONG_KEY.search(text):
        raise RecipeError(f"The recipe has a key of more than {_DEEPEST} parts: no entry lies that deep.")
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"The recipe is not valid TOML: {error}.") from None
    except (RecursionError, ValueError):  # brackets without end, or numbers without end
        raise RecipeError("The recipe nests too deep, or holds a number of thousands of digits: correct it.") from None
    fields.check_plain(found, _DEEPEST)
    return found


_SPARSE = {"columns", "policies", "compare", "sample", "workload", "research", "review"}  # written without defaults


def dump_recipe(recipe: Recipe) -> str:
    """A recipe as TOML text that :func:`parse_recipe` reads back to an equal recipe, but for a password in it."""
    document = tomlkit.document()
    settings = recipe.model_dump(exclude_none=True, exclude=_SPARSE)
    settings |= recipe.model_dump(exclude_none=True, exclude_defaults=True, by_alias=True, include=_SPARSE)
    if recipe.source.url is not None:
        settings["source"]["url"] = without_password(recipe.source.url)
    for key in Recipe.model_fields:
        value = settings.get(key)
        if key in ("source", "roles"):
            value = {name: entry for name, entry in settings[key].items() if entry != []}
        if value not in (None, [], {}):
            document[key] = _item(value, _depth(key))
    return tomlkit.dumps(document)


def _depth(key: str) -> int:
    """How many levels of a top-level entry are tables with headings of their own."""
    return 2 if key in ("columns", "policies") else 1


def _item(value: Any, depth: int) -> Item:
    """A value as TOML: tables with headings down to ``depth``, inline tables below."""
    if depth and isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        tables: AoT = tomlkit.aot()
        for entry in value:
            tables.append(_item(entry, depth))
        return tables
    if isinstance(value, Mapping):
        table: Any = tomlkit.table() if depth else tomlkit.inline_table()
        for name, entry in value.items():
            table[name] = _item(entry, max(depth - 1, 0))
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for entry in value:
            array.append(_item(entry, 0))
        return array
    return tomlkit.item(value)


_SECTIONS: dict[str, type[Section] | type[Entries]] = {
    "source": Source,
    "sample": Sampling,
    "roles": Roles,
    "columns": ColumnSpec,
    "policies": PolicySettings,
    "workload": WorkloadSettings,
    "research": ResearchSettings,
    "engine": Engine,
    "registry": RegistrySettings,
    "review": Review,
    "output": Output,
    "compare": Compare,
}
