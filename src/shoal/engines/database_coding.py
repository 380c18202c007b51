"""Rows that a database keeps and codes itself: it counts values, our coder codes each once, and it joins the codes.

The rows of a source are a relation ``cells`` there: ``p`` numbers them, ``x0``, ``x1``, ... are its columns as they are
read, missing cells null. Every different value comes here once; a code table ``d0``, ``d1``, ... goes back for each
coded column, and ``coded`` (:mod:`shoal.engines.sql`) is their join. Rows come here in batches, for publication.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.data.gather import LEAST, Gathering, Numbered
from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.engines.base import Dictionaries
from shoal.engines.store import Store
from shoal.errors import InputError, InternalError


@dataclass(frozen=True)
class Kind:
    """How a column is kept there, how it is written for us, and what it is here; ``odd`` are cells that nobody reads.

    Attributes
    ----------
    odd
        A condition, and what it means.
    """

    type: str
    here: pl.DataType
    written: str = "{}"
    odd: tuple[str, str] | None = None

    def read(self, texts: pl.Series) -> pl.Series:
        """The values of what was written."""
        if self.here == pl.Boolean:
            return texts == "true"
        if self.here == pl.Date:
            return texts.str.to_date("%Y-%m-%d")
        if self.here == pl.Datetime:
            return texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us")
        return texts


_DATED = "NOT isfinite({0}) OR {0} < '0001-01-01' OR {0} > '9999-12-31'", "dates outside of the years 1 to 9999"
TEXT = Kind('text COLLATE "C"', pl.String())
WHOLE = Kind("bigint", pl.Int64())
REAL = Kind("double precision", pl.Float64(), odd=("{0} IN ('NaN', 'Infinity', '-Infinity')", "NaN or infinite cells"))
TRUTH = Kind("boolean", pl.Boolean(), "{}::text")
DAY = Kind("date", pl.Date(), odd=_DATED)
TIME = Kind("timestamp", pl.Datetime("us"), odd=_DATED)


class Server(Protocol):
    """The database."""

    def ask(self, query: str) -> dict[str, np.ndarray]:
        """What a query of whole numbers finds."""
        ...

    def do(self, statement: str) -> None:
        """Change something among our temporary tables."""
        ...

    def frames(self, query: str, kinds: Mapping[str, Kind]) -> Iterator[pl.DataFrame]:
        """What a query finds, batch by batch; ``kinds`` are those of its columns in order, under their names here."""
        ...

    def load(self, name: str, frame: pl.DataFrame, kinds: Mapping[str, Kind]) -> None:
        """Make a temporary table, in place of the one of that name."""
        ...


class Served:
    """The relation ``cells`` on its way to ``coded``.

    Parameters
    ----------
    kinds
        The columns of the source that are not dropped, in order.
    missing
        ``"error"``, ``"drop"`` or ``"value"``.
    where
        What the source is called in messages.
    """

    def __init__(self, server: Server, schema: Schema, kinds: Mapping[str, Kind], missing: str, where: str) -> None:
        self._server, self._schema, self._kinds, self._where = server, schema, kinds, where
        self._place = {name: f"x{at}" for at, name in enumerate(kinds)}
        needed = [f"{self._place[name]} IS NOT NULL" for name in schema.released] if missing == "drop" else []
        self._kept = f"({' AND '.join(needed)})" if needed else "true"
        self._gathering = Gathering(schema, missing)

    def gather(self) -> Gathering:
        """What the database tells of the rows without giving them away."""
        place, gathering, key = self._place, self._gathering, self._schema.key
        asked = [f"count(*) AS n, count(*) FILTER (WHERE {self._kept}) AS k"]
        asked += [f"count({x}) AS {x}" for x in place.values()]
        odd = {name: kind.odd[0].format(place[name]) for name, kind in self._kinds.items() if kind.odd is not None}
        asked += [f"count(*) FILTER (WHERE {test}) AS o{place[name]}" for name, test in odd.items()]
        asked += [] if key is None else [f"count(DISTINCT {place[key]}) AS d"]
        counts = {one: int(found[0]) for one, found in self._ask(asked).items()}
        for name in odd:
            if found := counts[f"o{place[name]}"]:
                what = (self._kinds[name].odd or ("", ""))[1]
                raise InputError(
                    f"Column '{name}' of {self._where} has {found} {what}: correct them or make them null."
                )
        gathering.learn(
            self._frame(f" WHERE {self._kept} ORDER BY p LIMIT {LEAST}"),
            {name: self._values(name) for name in gathering.columns},
            n_read=counts["n"],
            n=counts["k"],
            nulls={name: counts["n"] - counts[x] for name, x in place.items()},
            dropped=self._dropped() if counts["k"] < counts["n"] else {},
        )
        gathering.refuse()
        if key is not None and counts["d"] < counts["n"]:
            raise InputError(f"The key column '{key}' repeats values: a key must name one row.")
        return gathering

    def code(self, known: Dictionaries, store: Store) -> None:
        """Send the codes of all values, and make ``coded`` of them."""
        numbers = {name: at for at, name in enumerate(self._gathering.columns)}
        listed, joins, n = ["row_number() OVER (ORDER BY p) - 1 AS r"], [], known.domain.n
        for name, at in numbers.items():
            absent = self._send(name, at, known)
            joins.append(f" LEFT JOIN d{at} ON {self._place[name]} = d{at}.x")
            if name in store.places:
                listed.append(f"{_or(f'd{at}.c', absent and absent[0])} AS c{store.places[name]}")
            if name in known.spelled:
                listed.append(f"{_or(f'd{at}.i', absent and absent[1])} AS v{store.places[name]}")
            if name == self._schema.subject:
                listed.append(f"d{at}.i AS s")
        store.others = [name for name in self._kinds if name not in numbers]
        listed += [f"{self._place[name]} AS o{at}" for at, name in enumerate(store.others)]
        made = f"SELECT {', '.join(listed)} FROM cells{''.join(joins)} WHERE {self._kept}"
        self._server.do(f"CREATE TEMP TABLE coded ON COMMIT DROP AS {made}")
        self._server.do("DROP TABLE cells")
        self._server.do("ANALYZE coded")
        whole = [name for name in self._coded(known, store) if name != "r"]
        found = self._server.ask(f"SELECT {', '.join(f'count({name}) AS {name}' for name in whole)} FROM coded")
        if any(int(count[0]) != n for count in found.values()):
            raise InternalError("The database gave values when they were coded that it had not given before.")

    def store(self, known: Dictionaries, store: Store, keys: Keys, progress: Callable[[str], None]) -> None:
        """Fetch the coded rows in the order of their keys."""
        kinds = dict.fromkeys(self._coded(known, store), WHOLE)
        kinds |= {f"o{at}": self._kinds[name] for at, name in enumerate(store.others)}
        row = 0
        for part in self._server.frames(f"SELECT {_listed(kinds)} FROM coded ORDER BY r", kinds):
            store.take(part, known, keys)
            row += part.height
            progress(f"fetching the rows: {row:,} of {known.domain.n:,}")

    def _coded(self, known: Dictionaries, store: Store) -> list[str]:
        """The columns of whole numbers."""
        spelled = [f"v{store.places[name]}" for name in known.spelled]
        people = [] if self._schema.subject is None else ["s"]
        return ["r", *(f"c{at}" for at in store.places.values()), *spelled, *people]

    def _send(self, name: str, at: int, known: Dictionaries) -> tuple[int, int] | None:
        """Send the codes of a column; gives code and number of a missing cell, if there is one."""
        values = self._gathering.columns[name].values
        numbers = np.arange(values.len())
        codes = known.codes.get(name, numbers)
        frame = pl.DataFrame({"c": codes.astype(np.int64), "i": numbers, "x": values})
        absent = frame.filter(pl.col("x").is_null())
        self._server.load(f"d{at}", frame.drop_nulls("x"), {"c": WHOLE, "i": WHOLE, "x": self._kinds[name]})
        return (absent["c"][0], absent["i"][0]) if absent.height else None

    def _ask(self, asked: list[str]) -> dict[str, np.ndarray]:
        return self._server.ask(f"SELECT {', '.join(asked)} FROM cells")

    def _values(self, name: str) -> Numbered:
        """The different values of a column and how often each occurs."""
        kind, x = self._kinds[name], self._place[name]
        found = self._whole(
            f"SELECT count(*), {kind.written.format(x)} FROM cells WHERE {self._kept} GROUP BY {x}",
            {"n": WHOLE, "x": kind},
        ).sort("x")
        return Numbered.counted(found["x"], found["n"].to_numpy())

    def _dropped(self) -> dict[str, pl.Series]:
        """Values of rows that do not take part."""
        found = {}
        for name, kind in self._kinds.items():
            if name in self._schema.drop:  # hashes
                continue
            x = self._place[name]
            query = f"SELECT count(*), {kind.written.format(x)} FROM cells WHERE NOT {self._kept} GROUP BY {x}"
            found[name] = self._whole(query, {"n": WHOLE, "x": kind})["x"].drop_nulls().alias(name)
        return found

    def _frame(self, rest: str) -> pl.DataFrame:
        listed = _listed({self._place[name]: kind for name, kind in self._kinds.items()})
        # A number comes first, so that no line is ever blank.
        found = self._whole(f"SELECT p, {listed} FROM cells{rest}", {"p": WHOLE, **_apart(self._kinds)})
        return found.drop("p").rename(dict(zip(_apart(self._kinds), self._kinds, strict=True)))

    def _whole(self, query: str, kinds: Mapping[str, Kind]) -> pl.DataFrame:
        return pl.concat([_empty(kinds), *self._server.frames(query, kinds)])


def _listed(kinds: Mapping[str, Kind]) -> str:
    return ", ".join(kind.written.format(name) for name, kind in kinds.items())


def _apart(kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """The same under names of ours, since a column may be called as one of them is."""
    return {f"x{at}": kind for at, kind in enumerate(kinds.values())}


def _empty(kinds: Mapping[str, Kind]) -> pl.DataFrame:
    return pl.DataFrame(schema={name: kind.here for name, kind in kinds.items()})


def _or(code: str, absent: int | None) -> str:
    """A code, or that of a missing cell, which no table of codes finds."""
    return code if absent is None else f"coalesce({code}, {absent})"


def type_of(kind: pl.DataType) -> str:
    """The type of a column of a release there."""
    if kind.is_integer():
        return WHOLE.type
    return next((one.type for one in (REAL, TRUTH, DAY, TIME) if kind == one.here.base_type()), "text")


# ----------------------------------------
# What a database refuses, in words of ours: its own may hold a password, or cells.


_RIGHTS = {"SELECT": "read the source", "CREATE": "write the table"}
# By the beginnings of its codes, what is wrong with a statement, so that its words are about the recipe's own text.
_OF_THE_STATEMENT = ("42", "3F", "0A", "22023")

# By what the driver says in such a case, without names.
_REASONS = {
    "password": "the password is refused, or none is given (PGPASSWORD, ~/.pgpass or a service file may hold it)",
    "no pg_hba": "the server lets nobody in from here",
    "permission denied": "the role may not connect to it, so grant it CONNECT",
    "not permitted to log in": "the role may not log in, so grant it LOGIN",
    "role  does not exist": "there is no such role",
    "database  does not exist": "there is no such database",
    "translate host": "there is no such host",
    "resolve": "there is no such host",
    "timeout": "the server does not answer",
    "timed out": "the server does not answer",
    "refused": "no server answers there, so check host and port",
    "no such file": "no server answers there, so check host and port",
    "certificate": "the server's certificate, or ours, is not accepted",
    "too many": "the server has too many connections, so try again later",
    "starting up": "the server is starting, so try again later",
}


def following(host: str) -> InputError:
    """The refusal of a server that only follows another."""
    return InputError(f"The server '{host}' is a standby and keeps no temporary tables: use its primary.")


def refused(error: Any, *, role: str, doing: str, seen: bool) -> InputError:
    """Why a statement failed.

    Parameters
    ----------
    error
        An exception of the driver.
    doing
        The right that was needed last, ``"SELECT"`` or ``"CREATE"``.
    seen
        Whether the statement looked at cells, any of which its words may hold.
    """
    state, kind = error.sqlstate or "", type(error).__name__
    if state == "42501":
        return InputError(
            f"The role '{role}' may not {_RIGHTS[doing]}: grant it {doing} on it, and USAGE on its schema."
        )
    if state.startswith(_OF_THE_STATEMENT) and not seen:
        said = (error.diag.message_primary or "").replace("\n", " ")
        return InputError(f"The database cannot do what the recipe asks for ({said}): correct it.")
    if state == "53100":
        return InputError("The disk of the database server is full, so nothing is written.")
    if state[:2] in ("08", "57", ""):
        return InputError(f"The connection to the database was lost ({kind}), so nothing is written: run again.")
    return InputError(f"The database cannot give these rows ({kind}): look at the source there.")


def unreachable(known: Mapping[str, str], said: str) -> InputError:
    """Why there is no connection, without the driver's words."""
    # Names stand in quotes, and could be any of our words.
    lowered = re.sub(r"\"[^\"]*\"|'[^']*'", "", said.lower())
    why = next((reason for mark, reason in _REASONS.items() if mark in lowered), "the server refused it")
    host = known.get("host") or known.get("hostaddr") or "localhost"
    name = known.get("dbname") or known.get("user") or ""
    return InputError(f"There is no connection to the database '{name}' on '{host}': {why}.")


def unkept(why: str, *, lost: bool = False) -> InputError:
    """Of a release whose table was not kept in the end, or nobody knows where the connection was lost over it."""
    told = "nobody knows whether the database kept" if lost else "the database did not keep"
    todo = f"{'look there, and if it is not, ' if lost else ''}run again with another folder"
    return InputError(f"The release is in its folder, but {told} its table ({why}): {todo}.")
