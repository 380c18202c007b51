"""The options of the commands, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_READ, _ROLES = "Reading the file", "Roles of the columns"
_KEEP = "Rows that need not fit into memory"
_PROMISE, _WRITE = "What to promise, and how", "What to write"


def _one(metavar: str, help: str, panel: str | None = None, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, show_default=False)


def _many(metavar: str, help: str, panel: str, *names: str) -> Any:
    return _one(metavar, f"{help} Can be repeated.", panel, *names)


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

Columns = Annotated[str | None, _one("A,B,...", "Names of the columns, for a file without a header.", _READ)]
Separator = Annotated[
    str | None, _one("CHARACTER", r"A comma by default, a tab for .tsv; \t is a tab.", _READ)
]
Sheet = Annotated[str | None, _one("NAME", "Which sheet of a workbook, where it has several.", _READ)]
Decimal = Annotated[str | None, _one("MARK", "What stands before decimals: a point (default) or a comma.", _READ)]
Thousands = Annotated[str | None, _one("MARK", "What stands between thousands, if anything.", _READ)]
Encoding = Annotated[str | None, _one("NAME", "Encoding of a text file, UTF-8 by default.", _READ)]
Markers = Annotated[
    list[str] | None, _many("TEXT", "A cell that stands for a missing value.", _READ, "--missing-marker")
]
Population = Annotated[
    Path | None, _one("FILE", "Everybody that the file was drawn from, for k-map and delta-presence.", _READ)
]
Sample = Annotated[
    str | None, _one("SHARE|NUMBER", "Draw a sample of rows or people: 0.1, 1000, '0.1 by sex'.", _READ, "--sample")
]
Missing = Annotated[
    str | None, _one("POLICY", "Missing cells: error (default), drop (the row) or value.", _READ)
]
Types = Annotated[
    list[str] | None,
    _many("COLUMN=TYPE", "numeric, date, ordinal, categorical, 'born=date %d.%m.%Y', 'a=items |'.", _READ, "--type"),
]
Hierarchies = Annotated[
    list[str] | None,
    _many("COLUMN=FILE", "Or a builder as in a recipe, 'zip={prefix=[4,3]}'.", _READ, "--hierarchy"),
]
Policies = Annotated[
    list[str] | None,
    _many(
        "COLUMN=RANGES", "Sensitive ranges: value, a file, level:2, or 'income=[[0,9],[10,15]]'.", _PROMISE, "--policy"
    ),
]

Code = Annotated[
    list[str] | None,
    _many("COLUMN=HOW", "Publish codes of its values: mapping, graded, or a table as in a recipe.", _PROMISE, "--code"),
]
FileOrUrl = Annotated[
    str, typer.Argument(metavar="FILE|URL", help="A file (CSV, Parquet, Excel, ...) or database.", show_default=False)
]
EngineName = Annotated[
    str | None, _one("NAME", "Who keeps the rows: memory (default), duckdb, or postgres for a url.", _KEEP, "--engine")
]
Memory = Annotated[str | None, _one("SIZE", "What it may take, as 2GB; 4GiB by default.", _KEEP)]
Scratch = Annotated[Path | None, _one("FOLDER", "Where its scratch files go; the system's place by default.", _KEEP)]
DatabaseTable = Annotated[str | None, _one("NAME", "Of a url: the table or view.", _KEEP, "--table")]
Query = Annotated[str | None, _one("SELECT", "Of a url: a query in the place of a table.", _KEEP)]

Identifiers = Annotated[list[str] | None, _many("COLUMN", "Names a person.", _ROLES, "--identifier")]
Quasi = Annotated[list[str] | None, _many("COLUMN", "Could be known to somebody.", _ROLES)]
Sensitive = Annotated[list[str] | None, _many("COLUMN", "Nobody should learn it.", _ROLES)]
Neutral = Annotated[list[str] | None, _many("COLUMN", "Neither; released as it is.", _ROLES)]
Pseudonym = Annotated[
    list[str] | None, _many("COLUMN", "Released as a token that links rows (W-TRAJECTORY).", _ROLES)
]
Drop = Annotated[list[str] | None, _many("COLUMN", "Not needed, not released.", _ROLES)]
Subject = Annotated[str | None, _one("COLUMN", "Whose row it is: people are counted, not rows.", _ROLES)]
Guard = Annotated[str | None, _one("COLUMN", "What a row's owner guards; never released.", _ROLES)]
Weight = Annotated[str | None, _one("COLUMN", "Survey weight, not released.", _ROLES)]
Key = Annotated[str | None, _one("COLUMN", "Stable key of a row, for reproducible draws.", _ROLES)]

Models = Annotated[
    list[str] | None,
    _many("MODEL", "NAME[=MAIN] [key=value ...] [on COLUMN], such as k=5.", _PROMISE, "--model"),
]
Algorithm = Annotated[str, typer.Option(metavar="NAME", help="The method.", rich_help_panel=_PROMISE)]
Settings = Annotated[list[str] | None, _many("KEY=VALUE", "A parameter of the algorithm.", _PROMISE, "--set")]
Acknowledge = Annotated[list[str] | None, _many("CODE", "A warning that you accept.", _PROMISE)]

Output = Annotated[Path, _one("FOLDER", "Where the release goes.", _WRITE, "--output", "-o")]
OutputTable = Annotated[str | None, _one("NAME", "Of a url: a new table there for the release as well.", _WRITE)]
Format = Annotated[str | None, _one("FORMAT", "csv (default) or parquet.", _WRITE, "--format")]
Suppressed = Annotated[str | None, _one("HOW", "Suppressed rows: drop (default) or star.", _WRITE)]
Vault = Annotated[Path | None, _one("FILE.vault", "Keep what undoes a coded release here, encrypted.", _WRITE)]
VaultEntry = Annotated[str | None, _one("NAME", "Its name there; the folder's by default.", _WRITE)]
TokenKey = Annotated[
    str | None, _one("NAME", "Make tokens with this key of the vault, which is made if there is none.", _WRITE)
]
Codes = Annotated[
    str | None, _one("NAME|FILE.json", "Code with the secrets of this entry of the vault, or of a file.", _WRITE)
]
DiscardSecret = Annotated[
    bool, typer.Option("--discard-secret", help="Keep nothing that undoes it.", rich_help_panel=_WRITE)
]
PassphraseFile = Annotated[
    Path | None, _one("FILE", "First line: the vault's passphrase. Else SHOAL_PASSPHRASE, else a question.")
]
KeyFile = Annotated[Path | None, _one("FILE", "At least 32 random bytes instead of a passphrase.")]
AcceptShort = Annotated[
    bool, typer.Option("--accept-short", help="Accept a passphrase of 8 to 11 characters for a new file.")
]
Order = Annotated[str | None, _one("HOW", "Rows: shuffled (default) or kept.", _WRITE)]
Formulas = Annotated[str | None, _one("HOW", "Cells that spreadsheets would run: keep (default) or escape.", _WRITE)]
Date = Annotated[str | None, _one("DATE", "Date the release so, as 2026-01-31; by default it has no date.", _WRITE)]
SaveRecipe = Annotated[Path | None, _one("FILE", "Write the equivalent recipe as well.", _WRITE)]
