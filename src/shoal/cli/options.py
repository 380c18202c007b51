"""The options of the commands, each defined once: how it is typed, and which entry of a recipe it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from shoal.grammar import (
    pairs,
    parse_code,
    parse_hierarchy,
    parse_model,
    parse_policy,
    parse_sample,
    separator_character,
    split_columns,
    typed_value,
)

T = TypeVar("T", bound=Callable[..., Any])

_READ, _ROLES = "Reading the file", "Roles of the columns"
_KEEP = "Rows that need not fit into memory"
_PROMISE, _WRITE = "What to promise, and how", "What to write"


def _one(metavar: str, help: str, panel: str | None = None, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, show_default=False)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
ShowValues = Annotated[bool, typer.Option("--show-values", help="Show quasi-identifiers too; on a terminal only.")]
AllMeasures = Annotated[bool, typer.Option("--measures", help="List all measures too.")]
Replace = Annotated[bool, typer.Option("--replace", help="Swap an earlier release for this one.")]
Page = Annotated[Path | None, _one("FILE", "Write a page with plots, for yourself.", None, "--html")]
ReplacePage = Annotated[bool, typer.Option("--replace", help="Overwrite an earlier page.")]
Profile = Annotated[
    str | None, _one("NAME", "Models and limits to start from, see 'shoal list profiles'.", None, "--profile")
]
Seed = Annotated[
    int | None, _one("NUMBER", "Only for tests and papers: the default is a fresh secret.", None, "--seed")
]
FileOrUrl = Annotated[
    str, typer.Argument(metavar="FILE|URL", help="A file (CSV, Parquet, Excel, ...) or database.", show_default=False)
]
Output = Annotated[Path, _one("FOLDER", "Where the release goes.", _WRITE, "--output", "-o")]
Vault = Annotated[Path | None, _one("FILE.vault", "Keep what undoes a coded release here, encrypted.", _WRITE)]
PassphraseFile = Annotated[
    Path | None, _one("FILE", "First line: the vault's passphrase. Else SHOAL_PASSPHRASE, else a question.")
]
KeyFile = Annotated[Path | None, _one("FILE", "At least 32 random bytes instead of a passphrase.")]
AcceptShort = Annotated[
    bool, typer.Option("--accept-short", help="Accept a passphrase of 8 to 11 characters for a new file.")
]
SaveRecipe = Annotated[Path | None, _one("FILE", "Write the equivalent recipe as well.", _WRITE)]


# ----------------------------------------
# Options that are entries of a recipe. Commands name those that they take, and get what a recipe would say.


@dataclass(frozen=True, kw_only=True)
class RecipeOption:
    """An option that says an entry of a recipe.

    Attributes
    ----------
    place
        Section and entry, such as ``"source.encoding"``; a section alone where the option gives several entries of it.
    annotation
        Its type, its name on the command line and its help.
    read
        Makes the entry of what was typed.
    """

    place: str
    annotation: Any
    default: Any = None
    read: Callable[[Any], Any] = lambda given: given

    @property
    def flag(self) -> str | None:
        """Its name on the command line, where that is not the parameter's."""
        first = get_args(self.annotation)[1].default  # where typer keeps the first of several names
        return first if isinstance(first, str) else None


def _entry(place: str, metavar: str, help: str, panel: str | None, *names: str, **more: Any) -> RecipeOption:
    return RecipeOption(place=place, annotation=Annotated[str | None, _one(metavar, help, panel, *names)], **more)


def _file(place: str, metavar: str, help: str, panel: str) -> RecipeOption:
    return RecipeOption(place=place, annotation=Annotated[Path | None, _one(metavar, help, panel)], read=str)


def _many(place: str, metavar: str, help: str, panel: str, *names: str, **more: Any) -> RecipeOption:
    told = _one(metavar, f"{help} Can be repeated.", panel, *names)
    return RecipeOption(place=place, annotation=Annotated[list[str] | None, told], **more)


def _each(option: str, parse: Callable[[str], Any]) -> Callable[[Sequence[str]], dict[str, Any]]:
    """Reads entries of the form ``key=value``, their values parsed."""
    return lambda given: {name: parse(text) for name, text in pairs(option, given).items()}


def _typed(kind: str) -> dict[str, Any]:
    """A type, a date with its format, or items with what stands between them."""
    first, _, rest = kind.partition(" ")
    return {"items": rest.strip()} if first == "items" else {"type": first} | ({"format": rest.strip()} if rest else {})


def place_of(target: str) -> dict[str, str]:
    """Where rows are, as a recipe says it."""
    return {"url": target} if "://" in target else {"path": target}


OPTIONS = {
    "file": RecipeOption(place="source", annotation=FileOrUrl, default=inspect.Parameter.empty, read=place_of),
    "output": RecipeOption(place="output.folder", annotation=Output, default=inspect.Parameter.empty, read=str),
    "identifiers": _many("roles.identifiers", "COLUMN", "Names a person.", _ROLES, "--identifier"),
    "quasi": _many("roles.quasi", "COLUMN", "Could be known to somebody.", _ROLES),
    "sensitive": _many("roles.sensitive", "COLUMN", "Nobody should learn it.", _ROLES),
    "neutral": _many("roles.neutral", "COLUMN", "Neither; released as it is.", _ROLES),
    "pseudonym": _many("roles.pseudonym", "COLUMN", "Released as a token that links rows (W-TRAJECTORY).", _ROLES),
    "drop": _many("roles.drop", "COLUMN", "Not needed, not released.", _ROLES),
    "subject": _entry("roles.subject", "COLUMN", "Whose row it is: people are counted, not rows.", _ROLES),
    "weight": _entry("roles.weight", "COLUMN", "Survey weight, not released.", _ROLES),
    "key": _entry("roles.key", "COLUMN", "Stable key of a row, for reproducible draws.", _ROLES),
    "guard": _entry("roles.guard", "COLUMN", "What a row's owner guards; never released.", _ROLES),
    "columns": _entry(
        "source.columns", "A,B,...", "Names of the columns, for a file without a header.", _READ, read=split_columns
    ),
    "separator": _entry(
        "source.separator", "CHARACTER", r"A comma by default, a tab for .tsv; \t is a tab.", _READ,
        read=separator_character,
    ),
    "encoding": _entry("source.encoding", "NAME", "Encoding of a text file, UTF-8 by default.", _READ),
    "sheet": _entry("source.sheet", "NAME", "Which sheet of a workbook, where it has several.", _READ),
    "decimal": _entry(
        "source.decimal", "MARK", "What stands before decimals: a point (default) or a comma.", _READ
    ),
    "thousands": _entry("source.thousands", "MARK", "What stands between thousands, if anything.", _READ),
    "missing_markers": _many(
        "source.missing_markers", "TEXT", "A cell that stands for a missing value.", _READ, "--missing-marker"
    ),
    "missing": _entry("source.missing", "POLICY", "Missing cells: error (default), drop (the row) or value.", _READ),
    "population": _file(
        "source.population", "FILE", "Everybody that the file was drawn from, for k-map and delta-presence.", _READ
    ),
    "sample": _entry(
        "sample", "SHARE|NUMBER", "Draw a sample of rows or people: 0.1, 1000, '0.1 by sex'.", _READ, "--sample",
        read=parse_sample,
    ),
    "types": _many(
        "columns", "COLUMN=TYPE", "numeric, date, ordinal, categorical, 'born=date %d.%m.%Y', 'a=items |'.", _READ,
        "--type", read=_each("--type", _typed),
    ),
    "hierarchies": _many(
        "hierarchies", "COLUMN=FILE", "Or a builder as in a recipe, 'zip={prefix=[4,3]}'.", _READ, "--hierarchy",
        read=_each("--hierarchy", parse_hierarchy),
    ),
    "policies": _many(
        "policies", "COLUMN=RANGES", "Sensitive ranges: value, a file, level:2, or 'income=[[0,9],[10,15]]'.",
        _PROMISE, "--policy", read=_each("--policy", parse_policy),
    ),
    "code": _many(
        "columns", "COLUMN=HOW", "Publish codes of its values: mapping, graded, or a table as in a recipe.", _PROMISE,
        "--code", read=_each("--code", lambda text: {"code": parse_code(text)}),
    ),
    "models": _many(
        "models", "MODEL", "NAME[=MAIN] [key=value ...] [on COLUMN], such as k=5.", _PROMISE, "--model",
        read=lambda given: [parse_model(text) for text in given],
    ),
    "settings": _many(
        "algorithm", "KEY=VALUE", "A parameter of the algorithm.", _PROMISE, "--set", read=_each("--set", typed_value)
    ),
    "algorithm": RecipeOption(
        place="algorithm.name", default="mondrian",
        annotation=Annotated[str, typer.Option(metavar="NAME", help="The method.", rich_help_panel=_PROMISE)],
    ),
    "acknowledge": _many("acknowledge", "CODE", "A warning that you accept.", _PROMISE),
    "profile": RecipeOption(place="profile", annotation=Profile),
    "seed": RecipeOption(place="seed", annotation=Seed),
    "format": _entry("output.format", "FORMAT", "csv (default) or parquet.", _WRITE, "--format"),
    "suppressed": _entry("output.suppressed", "HOW", "Suppressed rows: drop (default) or star.", _WRITE),
    "order": _entry("output.order", "HOW", "Rows: shuffled (default) or kept.", _WRITE),
    "formulas": _entry(
        "output.formulas", "HOW", "Cells that spreadsheets would run: keep (default) or escape.", _WRITE
    ),
    "date": _entry(
        "output.date", "DATE", "Date the release so, as 2026-01-31; by default it has no date.", _WRITE
    ),
    "vault": RecipeOption(place="output.vault", annotation=Vault, read=str),
    "vault_entry": _entry("output.vault_entry", "NAME", "Its name there; the folder's by default.", _WRITE),
    "token_key": _entry(
        "output.token_key", "NAME", "Make tokens with this key of the vault, which is made if there is none.", _WRITE
    ),
    "codes": _entry(
        "output.codes", "NAME|FILE.json", "Code with the secrets of this entry of the vault, or of a file.", _WRITE
    ),
    "discard_secret": RecipeOption(
        place="output.discard_secret", default=False,
        annotation=Annotated[
            bool, typer.Option("--discard-secret", help="Keep nothing that undoes it.", rich_help_panel=_WRITE)
        ],
    ),
    "output_table": _entry("output.table", "NAME", "Of a url: a new table there for the release as well.", _WRITE),
    "engine": _entry(
        "engine.name", "NAME", "Who keeps the rows: memory (default), duckdb, or postgres for a url.", _KEEP, "--engine"
    ),
    "memory": _entry("engine.memory", "SIZE", "What it may take, as 2GB; 4GiB by default.", _KEEP),
    "scratch": _file("engine.scratch", "FOLDER", "Where its scratch files go; the system's place by default.", _KEEP),
    "table": _entry("source.table", "NAME", "Of a url: the table or view.", _KEEP, "--table"),
    "query": _entry("source.query", "SELECT", "Of a url: a query in the place of a table.", _KEEP),
}  # fmt: skip

# What several commands take.
ROLES = ("identifiers", "quasi", "sensitive", "neutral", "pseudonym", "drop", "subject", "weight", "key", "guard")
READING = ("columns", "separator", "encoding", "missing_markers")
ROWS = ("engine", "memory", "scratch", "table", "query", "key")


def takes(*names: str) -> Callable[[T], T]:
    """Give a command the options of these names, in this order; its own parameters stand where they are named, or last.

    The others come to it as keywords, by their names.
    """

    def with_options(command: T) -> T:
        own = inspect.signature(command).parameters
        hints = get_type_hints(command, include_extras=True)
        given = [name for name, one in own.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]

        def parameter(name: str) -> inspect.Parameter:
            kind = inspect.Parameter.KEYWORD_ONLY
            if name in own:
                return inspect.Parameter(name, kind, default=own[name].default, annotation=hints[name])
            option = OPTIONS[name]
            return inspect.Parameter(name, kind, default=option.default, annotation=option.annotation)

        every = [*names, *(name for name in given if name not in names)]
        command.__signature__ = inspect.Signature([parameter(name) for name in every])  # type: ignore[attr-defined]
        return command

    return with_options


def recipe_data(options: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe that options stand for, as nested plain data without empty entries; paths as given."""
    found: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        given = options.get(name)
        if given is not None and given is not False and given != []:
            section, _, key = option.place.partition(".")
            _merge(found, {section: {key: option.read(given)} if key else option.read(given)})
    if "url" in found.get("source", {}):
        found["engine"] = {"name": "postgres"} | found.get("engine", {})
    return found


def _merge(found: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, entry in more.items():
        if isinstance(entry, Mapping) and isinstance(found.get(key), dict):
            _merge(found[key], entry)
        else:
            found[key] = entry


def flag_of(name: str) -> str:
    """What an option is called on the command line."""
    return (OPTIONS[name].flag if name in OPTIONS else None) or f"--{name.replace('_', '-')}"
