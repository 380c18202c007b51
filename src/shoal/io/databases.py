"""A source in a database: where it is, what it is called in messages, and its address without the password."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from shoal.data.values import normal_text
from shoal.errors import InputError, RecipeError
from shoal.io.cell_format import MISSING, check_names

_SCHEMES = ("postgresql://", "postgres://")
_PRIVATE = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
# As libpq reads it: whatever stands before the first @ that no slash comes before is about the user.
_ADDRESS = re.compile(r"(?P<scheme>[a-z]+://)(?:(?P<who>[^/@]*)@)?(?P<rest>[^?]*)(?:\?(?P<more>.*))?", re.DOTALL)
_HOST = re.compile(r"(?:\[[^][]*\]|[^]:[]*)(?::[0-9]*)?")


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A table, or what a query finds.

    Attributes
    ----------
    url
        Where the database is, as libpq reads it.
    table, query
        One of them: a name as SQL has it, or a SELECT.
    missing_markers
        Cells that mean "missing", besides empty ones.
    target
        A new table that the release goes to.
    """

    url: str = field(repr=False)
    table: str | None = None
    query: str | None = None
    missing_markers: Sequence[str] = ()
    target: str | None = None

    @property
    def name(self) -> str:
        """What the source is called where nobody said."""
        return relation_name(self.table)

    @property
    def where(self) -> str:
        """The same in messages."""
        return "the query" if self.table is None else f"the table '{self.table}'"

    @property
    def markers(self) -> list[str]:
        """Texts that mean "missing", as cells are read."""
        return ["", MISSING, *map(normal_text, self.missing_markers)]

    def check(self, names: Sequence[str]) -> None:
        """Refuse names of columns that cannot be told apart, or not be written."""
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise InputError(f"Two columns of {self.where} are called '{twice[0]}': give one of them another name.")
        check_names(names, self.where)


def check_url(value: object) -> object:
    """Where a database is; nothing of it is repeated, since it may hold a password."""
    if isinstance(value, str) and not value.startswith(_SCHEMES):
        raise ValueError("must begin with 'postgresql://'")
    if isinstance(value, str) and _address(value) is None:
        raise ValueError("must be postgresql://user@host:port/database, special marks as %40 (@), %2F (/), %3F (?)")
    return value


def _address(url: str) -> re.Match[str] | None:
    """The parts of an address; None where part of a password would be taken for a host or a database."""
    found = _ADDRESS.fullmatch(url)
    if found is None or "@" in found["rest"] or "@" in (found["more"] or ""):
        return None
    hosts = found["rest"].partition("/")[0].split(",")
    return found if all(_HOST.fullmatch(host) for host in hosts) else None


def check_place(source: Mapping[str, Any]) -> None:
    """Refuse a source of a recipe that is in no place, or in two."""
    url, path = source["url"], source["path"]
    asked = [key for key in ("table", "query") if source[key] is not None]
    if url is None and path is None and asked == ["table"]:
        return  # one that Spark knows by name
    if url is None and asked:
        raise RecipeError(f"The '{asked[0]}' under [source] is in a database: add its 'url'.")
    if url is None and path is None:
        raise RecipeError("The entry 'path' is missing from [source]: add it.")
    if url is not None and path is not None:
        raise RecipeError("The [source] has both a 'path' and a 'url': keep one of them.")
    if url is not None and len(asked) != 1:
        raise RecipeError("The 'url' under [source] needs either a 'table' or a 'query': give one of them.")
    if url is not None and source["columns"] is not None:
        raise RecipeError("The 'columns' under [source] are for files without a header: a database names its own.")


def check_target(url: str | None, table: str | None) -> None:
    """Refuse a table for a release whose source is in no database."""
    if table is not None and url is None:
        raise RecipeError(
            "The 'table' under [output] is made in the database of the source, and this source is a file: leave it out."
        )


def relation_name(table: str | None) -> str:
    """What a table, or a query where there is none, is called where nobody said."""
    return "query" if table is None else table.rpartition(".")[2].strip('"')


def no_file() -> RecipeError:
    """What whoever reads files only says of a source in a database."""
    return RecipeError(
        "The source of this recipe is in a database, which the engine 'postgres' reads and no other: name it under "
        "[engine], or give the 'path' of a file."
    )


def without_password(url: str) -> str:
    """An address as it may be written down.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@db.example:5432/clinic?sslmode=require&password=secret")
    'postgresql://ann@db.example:5432/clinic?sslmode=require'
    >>> without_password("postgresql://ann:what?now@db.example/clinic")
    'postgresql://ann@db.example/clinic'
    """
    found = _address(url)
    if found is None:
        return ""
    who, more = found["who"], found["more"]
    text = found["scheme"] + ("" if who is None else f"{who.partition(':')[0]}@") + found["rest"]
    if more is not None:
        kept = [one for one in more.split("&") if unquote(one.partition("=")[0]).strip().lower() not in _PRIVATE]
        text += f"?{'&'.join(kept)}" if kept else ""
    return text
