"""Tables in PostgreSQL: values are counted, coded and grouped there, and rows come here in batches for publication.

One transaction (REPEATABLE READ) sees one state of the source from beginning to end, and writes nothing but temporary
tables, which go with it. Names are quoted by the driver; values stand in no statement: they come and go by COPY.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.data.table import Table
from shoal.data.values import EDGES
from shoal.engines.coder import dictionaries
from shoal.engines.database_coding import (
    DAY,
    REAL,
    TEXT,
    TIME,
    TRUTH,
    WHOLE,
    Kind,
    Served,
    following,
    refused,
    type_of,
    unkept,
    unreachable,
)
from shoal.engines.external_rows import Reading
from shoal.engines.scratch import scratch
from shoal.engines.store import Store, StoredRows
from shoal.errors import EmptyTableError, InputError, MissingExtraError, SchemaError, ShoalError

# ----------------------------------------
# Types of PostgreSQL, and rows as its COPY sends and takes them: one piece of text, column by column.


# What a column of a type is here, and how it is read there: text in its composed form and without white space ({1}) at
# its edges, a short float as the decimal that it is written as, a numeric as text, so that no digit is lost.
_ASCII = "octet_length({0}::text) = char_length({0}::text)"
_TEXT = f'btrim(CASE WHEN {_ASCII} THEN {{0}}::text ELSE normalize({{0}}::text, NFC) END, {{1}}) COLLATE "C"'
HASHED = "hashed"  # of columns that nobody publishes, whatever their type
READ: dict[str, tuple[Kind, str]] = {
    HASHED: (WHOLE, """hashtextextended(nullif(btrim({0}::text), '') COLLATE "C", 0)"""),
    **dict.fromkeys(("int2", "int4", "int8"), (WHOLE, "{}::bigint")),
    "numeric": (TEXT, '{}::text COLLATE "C"'),
    "float4": (REAL, "{}::text::double precision"),
    "float8": (REAL, "{}"),
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), (TEXT, _TEXT)),
    "bool": (TRUTH, "{}"),
    "date": (DAY, "{}"),
    "timestamp": (TIME, "{}"),
}


def parsed(data: bytes, kinds: Mapping[str, Kind]) -> pl.DataFrame:
    """Rows of a COPY as columns."""
    plain = (pl.Int64, pl.Float64, pl.String)
    schema = {name: kind.here if kind.here in plain else pl.String() for name, kind in kinds.items()}
    if not data:
        return pl.DataFrame(schema={name: kind.here for name, kind in kinds.items()})
    frame = pl.read_csv(data, has_header=False, schema=schema)
    return frame.with_columns(kind.read(frame[name]) for name, kind in kinds.items())


def lines(frame: pl.DataFrame) -> bytes:
    """Rows as a COPY takes them in its text format."""
    cells = []
    for name in frame.columns:
        cell = pl.col(name).cast(pl.String)
        for mark, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            cell = cell.str.replace_all(mark, written, literal=True)
        cells.append(cell.fill_null("\\N"))
    rows = frame.select(pl.concat_str(cells, separator="\t").alias("row"))["row"]
    return "".join(f"{row}\n" for row in rows.to_list()).encode()


_BATCH = 1 << 18  # rows
_PIECE = 1 << 16
_LONGEST = 63  # bytes of a name
_SECONDS = 30  # to wait for a connection, where the address does not say
_SETTINGS = (
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL extra_float_digits = 1",
)


class Found(Protocol):
    """A source in a database, as a recipe names it (`shoal.io.databases.Relation`)."""

    @property
    def url(self) -> str: ...

    @property
    def table(self) -> str | None: ...

    @property
    def query(self) -> str | None: ...

    @property
    def target(self) -> str | None: ...

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str: ...

    @property
    def markers(self) -> list[str]: ...

    def check(self, names: Sequence[str]) -> None: ...


class PostgresEngine:
    """Rows in a database of PostgreSQL.

    Parameters
    ----------
    memory
        Bytes that a run may take.
    folder
        Where scratch files go; by default the system's temporary folder.
    """

    capabilities = StoredRows.capabilities

    def __init__(self, *, memory: int = 4 << 30, folder: Path | None = None) -> None:
        self.memory, self.folder = memory, folder

    @contextmanager
    def opened(
        self,
        source: Found,
        schema: Schema,
        build: Callable[..., Table],
        keys: Keys,
        *,
        missing: str,
        name: str | None = None,
        followed: Sequence[str] = (),
        progress: Callable[[str], None] = lambda step: None,
    ) -> Iterator[StoredRows]:
        """The rows of a source, until they are no longer needed; of ``followed`` dropped columns, hashes."""
        if schema.key is None:
            raise SchemaError(
                "Rows of a database have no order of their own: name a column that tells them apart as 'key' under "
                "[roles]."
            )
        progress("connecting")
        with connected(source.url) as database, scratch(self.folder) as folder:
            if source.target is not None:
                database.reserve(source.target)
            kinds = database.describe(source, schema, followed)
            progress(f"reading {source.where}")
            if not database.copy_cells(source, kinds, schema.key):
                raise EmptyTableError(f"There are no rows in {source.where}: there is nothing to publish.")
            served = Served(database, schema, kinds, missing, source.where)
            progress("counting values")
            gathering = served.gather()
            known = dictionaries(gathering, schema, build, name or source.name)
            progress("coding the rows")
            store = Store(folder, schema)
            served.code(known, store)
            served.store(known, store, keys, progress)
            reading = Reading(known=known, places=store.places, others=store.others)
            yield StoredRows(reading, store, database)


class PostgresDatabase:
    """One transaction of one connection."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._types = connection, dict[str, str]()
        self._from: Any = None
        self._to: Any = None
        self._cut = False
        self._schema: str | None = None
        self._doing, self._seen = "SELECT", False

    def begin(self) -> None:
        """Set what a run depends on, and refuse a database that it cannot go on in."""
        connection = self._connection
        for setting in _SETTINGS:
            self.do(setting)
        found = connection.execute("SELECT current_setting('server_encoding'), current_schema()").fetchone()
        encoding, self._schema = found
        if encoding != "UTF8":
            raise InputError(f"The database is encoded in {encoding}: Shoal reads databases in UTF8.")
        if not self._may("SELECT has_database_privilege(current_database(), 'TEMPORARY')"):
            raise InputError(
                f"The role '{connection.info.user}' may not make temporary tables in the database "
                f"'{connection.info.dbname}': grant it TEMPORARY."
            )
        # Ours are found before others of the same names.
        others = "nullif(current_setting('search_path'), '')"
        self.do(f"SELECT set_config('search_path', concat_ws(', ', 'pg_temp', {others}), true)")

    def ask(self, query: str) -> dict[str, np.ndarray]:
        """What a query of whole numbers finds."""
        rows = self._copied(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)")
        names = next(rows).decode().rstrip("\n").split(",")
        frame = parsed(b"".join(rows), dict.fromkeys(names, WHOLE))
        return {name: frame[name].to_numpy() for name in names}

    def send(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Make a table of whole numbers."""
        frame = pl.DataFrame({key: np.asarray(values, dtype=np.int64) for key, values in columns.items()})
        self.load(name, frame, dict.fromkeys(columns, WHOLE))

    def do(self, statement: str) -> None:
        """Carry out a statement in which nothing but names of ours stands."""
        self._connection.execute(statement)

    def load(self, name: str, frame: pl.DataFrame, kinds: Mapping[str, Kind]) -> None:
        """Make a temporary table, in place of the one of that name."""
        listed = ", ".join(f"{column} {kind.type}" for column, kind in kinds.items())
        self.do(f"DROP TABLE IF EXISTS pg_temp.{name}")
        self.do(f"CREATE TEMP TABLE {name} ({listed}) ON COMMIT DROP")
        self._pour(f"COPY pg_temp.{name} FROM STDIN", [frame])
        self.do(f"ANALYZE pg_temp.{name}")

    def frames(self, query: str, kinds: Mapping[str, Kind]) -> Iterator[pl.DataFrame]:
        """What a query finds, batch by batch."""
        waiting: list[bytes] = []
        for row in self._copied(f"COPY ({query}) TO STDOUT (FORMAT csv)"):
            waiting.append(row)
            if len(waiting) == _BATCH:
                yield parsed(b"".join(waiting), kinds)
                waiting = []
        if waiting:
            yield parsed(b"".join(waiting), kinds)

    def names(self, source: Found) -> list[str]:
        """The columns of a source."""
        from psycopg.sql import SQL

        self._doing = "SELECT"
        if source.table is not None:
            self._from, names = self._table(source.table)
            return names
        # On lines of its own, since it may end in a comment.
        self._from = SQL("(\n{}\n)").format(SQL((source.query or "").strip().rstrip(";")))
        return [one.name for one in self._looked(SQL("*"))]

    def describe(self, source: Found, schema: Schema, followed: Sequence[str] = ()) -> dict[str, Kind]:
        """The columns of a source that are not dropped or are followed, after the roles are held against it."""
        from psycopg.sql import SQL, Identifier

        names = self.names(source)
        source.check(names)
        schema.check(names)
        wanted = [name for name in names if name not in schema.drop]
        found = self._looked(SQL(", ").join(map(Identifier, wanted)))
        self._types = dict(zip(wanted, self._names([one.type_code for one in found]), strict=True))
        for name, kind in self._types.items():
            if kind not in READ:
                told = f"Column '{name}' of {source.where} holds {kind} values"
                raise InputError(f"{told}: cast it in a query, or drop the column.")
        if source.table is not None:  # whose dropped columns the role may be kept from reading
            granted, table = "SELECT has_column_privilege(%s, %s, 'SELECT')", self._from.as_string(self._connection)
            followed = [name for name in followed if self._may(granted, table, name)]
        self._types |= dict.fromkeys(followed, HASHED)
        return {name: READ[kind][0] for name, kind in self._types.items()}

    def copy_cells(self, source: Found, kinds: Mapping[str, Kind], key: str) -> int:
        """Make the relation ``cells``, numbered by the key; gives how many rows it has."""
        from psycopg.sql import SQL, Identifier, Literal

        self._seen = True
        markers = f"markers_{secrets.token_hex(8)}"  # which no query of a source names, and would find before its own
        self.load(markers, pl.DataFrame({"m": source.markers}), {"m": TEXT})
        marked = f"CASE WHEN {{0}} IN (SELECT m FROM pg_temp.{markers}) THEN NULL ELSE {{1}} END AS {{2}}"
        order = Identifier(f"y{list(kinds).index(key)}")
        inner, outer = [], [SQL("row_number() OVER (ORDER BY {}) - 1 AS p").format(order)]
        for at, (name, kind) in enumerate(kinds.items()):
            cell = SQL(READ[self._types[name]][1]).format(Identifier(name), Literal(EDGES))
            inner.append(SQL("{} AS {}").format(cell, Identifier(f"y{at}")))
            text = SQL("y{0}{1}").format(SQL(str(at)), SQL("" if kind is TEXT else "::text"))
            outer.append(SQL(marked).format(text, Identifier(f"y{at}"), Identifier(f"x{at}")))
        made = SQL(
            "CREATE TEMP TABLE cells ON COMMIT DROP AS SELECT {} FROM (SELECT {} FROM {} AS source) AS read"
        ).format(SQL(", ").join(outer), SQL(", ").join(inner), self._from)
        rows: int = self._connection.execute(made, binary=True).rowcount
        self.do("ANALYZE pg_temp.cells")
        return rows

    def reserve(self, table: str) -> None:
        """Refuse a table that a release cannot go to."""
        from psycopg.sql import Identifier

        self._doing = "CREATE"
        parts = self._connection.execute("SELECT parse_ident(%s)", [table]).fetchone()[0]
        if len(parts) > 2:
            raise InputError(f"The table '{table}' under [output] must be called 'schema.name' or 'name'.")
        schema, name = [self._schema, *parts][-2:]
        if schema is None or not self._may("SELECT true FROM pg_namespace WHERE nspname = %s", schema):
            raise InputError(f"The database has no schema for the table '{table}' under [output]: make it first.")
        found = "SELECT true FROM pg_class WHERE relname = %s AND relnamespace = quote_ident(%s)::regnamespace"
        if self._may(found, name, schema):
            raise InputError(f"The table '{table}' under [output] is there already, and is not replaced: name another.")
        if not self._may("SELECT has_schema_privilege(%s, 'CREATE')", schema):
            role = self._connection.info.user
            raise InputError(f"The role '{role}' may not make tables in the schema '{schema}': grant it CREATE.")
        self._to = Identifier(schema, name)

    def write(
        self, frames: Iterable[pl.DataFrame], types: Sequence[pl.DataType], unchanged: Collection[str], comment: str
    ) -> int:
        """Make the table that was reserved, which nobody sees before :meth:`commit`; gives how many rows it has.

        Parameters
        ----------
        frames
            Batches of rows, whose cells may all be text.
        types
            What their columns are.
        unchanged
            Columns that are those of the source, so that they keep their digits.
        """
        from psycopg.sql import SQL, Identifier, Literal

        self._doing, self._seen = "CREATE", False
        first = next(batches := iter(frames))
        for name in first.columns:
            if len(name.encode()) > _LONGEST:
                raise InputError(f"The column '{name}' has too long a name: PostgreSQL keeps {_LONGEST} bytes.")
        digits = [name for name in unchanged if self._types.get(name) == "numeric"]
        listed = [
            SQL("{} {}").format(Identifier(name), SQL("numeric" if name in digits else type_of(kind)))
            for name, kind in zip(first.columns, types, strict=True)
        ]
        self._connection.execute(SQL("CREATE TABLE {} ({})").format(self._to, SQL(", ").join(listed)))
        self._connection.execute(SQL("COMMENT ON TABLE {} IS {}").format(self._to, Literal(comment)))
        self._seen = True
        return self._pour(SQL("COPY {} FROM STDIN").format(self._to), chain([first], batches))

    def commit(self) -> None:
        """Let everybody see what was written, and end; once more where that was interrupted."""
        import psycopg

        try:
            self._connection.commit()
            if self._cut and not self._may("SELECT to_regclass(%s) IS NOT NULL", self._to.as_string(self._connection)):
                raise unkept("interrupted")
        except psycopg.Error as error:
            raise unkept(type(error).__name__, lost=self._cut or self._connection.closed) from None
        except KeyboardInterrupt:  # by which the driver may have had the server break the commit off
            self._cut = True
            raise

    def told(self, error: Any) -> ShoalError:
        """Why the database refused something."""
        info = self._connection.info
        return refused(error, role=info.user, doing=self._doing, seen=self._seen)

    def _table(self, table: str) -> tuple[Any, list[str]]:
        """A table as the driver quotes it, and its columns."""
        from psycopg.sql import Identifier

        found = self._connection.execute(
            "SELECT nspname, relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE c.oid = to_regclass(%s)",
            [table],
        ).fetchone()
        if found is None:
            raise InputError(f"There is no table '{table}' in the database: check its name, and its schema's.")
        columns = self._connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [found[2]],
        ).fetchall()
        return Identifier(found[0], found[1]), [name for (name,) in columns]

    def _looked(self, columns: Any) -> Sequence[Any]:
        """How columns of the source are described; what is more than one statement is refused on the way."""
        from psycopg.sql import SQL

        query = SQL("SELECT {} FROM {} AS source LIMIT 0").format(columns, self._from)
        described: Sequence[Any] = self._connection.execute(query, binary=True).description
        return described

    def _names(self, codes: Sequence[int]) -> list[str]:
        found = self._connection.execute("SELECT oid, typname FROM pg_type WHERE oid = ANY(%s)", [codes]).fetchall()
        return [dict(found)[code] for code in codes]

    def _may(self, query: str, *asked: str) -> bool:
        found = self._connection.execute(query, asked).fetchone()
        return bool(found and found[0])

    def _copied(self, query: str) -> Iterator[bytes]:
        """What a COPY sends: a row at a time."""
        with self._connection.cursor() as cursor, cursor.copy(query) as copy:
            for row in copy:
                yield bytes(row)

    def _pour(self, statement: Any, frames: Iterable[pl.DataFrame]) -> int:
        """Send rows; gives how many arrived."""
        with self._connection.cursor() as cursor:
            with cursor.copy(statement) as copy:
                for frame in frames:
                    for piece in frame.iter_slices(_PIECE):
                        copy.write(lines(piece))
            arrived: int = cursor.rowcount
        return arrived


@contextmanager
def connected(url: str) -> Iterator[PostgresDatabase]:
    """A transaction that sees one state of a database, undone in the end unless it was committed."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError:
        raise MissingExtraError("The engine 'postgres'", "psycopg", "postgres") from None
    try:
        given = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise InputError(
            "The 'url' under [source] is no address of a database: write postgresql://user@host:port/database, and "
            "special characters as %40."
        ) from None
    known = {one.keyword.decode(): (one.val or b"").decode() for one in psycopg.pq.Conninfo.get_defaults()}
    known = {**known, **{key: str(value) for key, value in given.items()}}
    try:
        seconds = int(known.get("connect_timeout") or _SECONDS)
    except ValueError:
        raise InputError("The 'connect_timeout' of the database must be a whole number of seconds.") from None
    try:
        connection = psycopg.connect(
            url, client_encoding="UTF8", fallback_application_name="shoal", connect_timeout=seconds
        )
    except psycopg.Error as error:
        raise unreachable(known, str(error)) from None
    database = PostgresDatabase(connection)
    try:
        if connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
            raise following(connection.info.host)
        connection.rollback()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = False  # whatever the role's default is: temporary tables are written
        database.begin()
        yield database
    except psycopg.Error as error:
        raise database.told(error) from None
    finally:
        connection.close()
