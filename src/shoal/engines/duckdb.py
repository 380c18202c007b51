"""Files larger than memory: coded once into a scratch store, and counted there by DuckDB."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from shoal.data.gather import Gathering
from shoal.data.keys import Keys
from shoal.data.schema import Schema
from shoal.data.table import Table, full
from shoal.engines.base import Capability
from shoal.engines.coder import dictionaries
from shoal.engines.external_rows import Reading
from shoal.engines.prefetch import ahead
from shoal.engines.scratch import scratch
from shoal.engines.store import Store, StoredRows
from shoal.errors import InputError, MissingExtraError

# DuckDB's limit covers its buffers only, and kernels and batches want memory too.
_SHARE = 0.65
# What DuckDB says, in an error that is none of its own, when Ctrl-C came while it counted.
_CTRL_C = "Query interrupted"


class Readable(Protocol):
    """A source that is read in batches."""

    @property
    def name(self) -> str: ...

    @property
    def told(self) -> str: ...

    @property
    def names(self) -> list[str]: ...

    def stamp(self) -> dict[str, Any]: ...

    def frames(
        self, wanted: Sequence[str] | None = None, held: Collection[str] = (), hashed: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]: ...


class DuckDBEngine:
    """Rows in a scratch store on disk.

    Parameters
    ----------
    memory
        Bytes that a run may take.
    folder
        Where scratch files go; by default the system's temporary folder.
    """

    capabilities = StoredRows.capabilities | {Capability.DERIVE, Capability.SAMPLE}

    def __init__(self, *, memory: int = 4 << 30, folder: Path | None = None) -> None:
        self.memory = memory
        self.folder = folder

    @contextmanager
    def opened(
        self,
        source: Readable,
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
        driver = _driver()
        schema.check(source.names)
        with ExitStack() as places:
            stamp = source.stamp()
            folder = places.enter_context(scratch(self.folder))
            store, gathering = Store(folder, schema), Gathering(schema, missing)
            _read(source, stamp, schema, gathering, store, progress, followed)
            known = dictionaries(gathering, schema, build, name or source.name)
            store.code(known, keys, progress)
            with _connection(driver, folder, store, self.memory) as database:
                if schema.key is not None:
                    _refuse_repeated(database, f"o{store.others.index(schema.key)}", schema.key)
                reading = Reading(known=known, places=store.places, others=store.others, kinds=store.kinds)
                yield StoredRows(reading, store, database)


def _read(
    source: Readable,
    stamp: Mapping[str, Any],
    schema: Schema,
    gathering: Gathering,
    store: Store,
    progress: Callable[[str], None],
    followed: Sequence[str],
) -> None:
    """Read a source once, in batches."""
    progress(f"reading {source.told}")
    wanted = [column for column in source.names if column not in schema.drop]
    for frame in ahead(source.frames(wanted, gathering.columns, followed)):
        store.gather(gathering, frame)
        progress(f"reading: {gathering.n_read:,} rows")
    if source.stamp() != stamp:
        raise InputError("A file of the source was changed while it was read: wait until it is whole, and run again.")


class DuckDatabase:
    """A connection of one's own, in memory, to the coded rows on disk."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def ask(self, query: str) -> dict[str, np.ndarray]:
        """What a query of whole numbers finds."""
        found = self._connection.execute(query).fetchnumpy()
        return {name: np.asarray(values, dtype=np.int64) for name, values in found.items()}

    def send(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Make a table of whole numbers."""
        frame = pl.DataFrame({key: np.asarray(values, dtype=np.int64) for key, values in columns.items()})
        self._connection.register("sent", frame.to_arrow())
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM sent")
        self._connection.unregister("sent")


def _driver() -> Any:
    """DuckDB and what its rows come back by."""
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("The engine 'duckdb'", "duckdb", "duckdb") from None
    return duckdb


@contextmanager
def _connection(duckdb: Any, folder: Path, store: Store, memory: int) -> Iterator[DuckDatabase]:
    spilled = folder / "spilled"
    spilled.mkdir(0o700)
    settings: dict[str, Any] = {
        "memory_limit": f"{int(memory * _SHARE) >> 20}MiB",
        "temp_directory": str(spilled),
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config=settings)
    try:
        connection.execute("SET enable_progress_bar = false")
        files = f"{glob.escape(str(store.coded))}/*.parquet"
        connection.read_parquet(files, hive_partitioning=False).create_view("coded")
        yield DuckDatabase(connection)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error as error:
        raise _told(error, memory * _SHARE) from None
    except RuntimeError as error:
        if str(error) == _CTRL_C:
            raise KeyboardInterrupt from None
        raise
    finally:
        connection.close()


def _told(error: Exception, limit: float) -> InputError:
    """What DuckDB could not do; its own words may hold more than is good."""
    if "No space left" in str(error) or "max_temp_directory_size" in str(error):
        return full()
    if "Out of Memory" in str(error) or "OutOfMemory" in type(error).__name__:
        return InputError(
            f"DuckDB has too little memory for this source in its {limit / 1e9:.1f}GB, {_SHARE:.0%} of the run's: "
            "raise 'memory' under [engine]."
        )
    return InputError(f"DuckDB cannot count the rows of this source ({type(error).__name__}).")


def _refuse_repeated(database: DuckDatabase, column: str, name: str) -> None:
    found = database.ask(f"SELECT count(*) AS n, count(DISTINCT {column}) AS d FROM coded")
    if found["n"][0] != found["d"][0]:
        raise InputError(f"The key column '{name}' repeats values: a key must name one row.")
