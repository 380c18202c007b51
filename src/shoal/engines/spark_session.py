"""Talking to Spark: its session, versions of it and of Java, and what it could not do in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from shoal import errors
from shoal.engines.scratch import scratch
from shoal.engines.spark_files import DONE
from shoal.engines.spark_tasks import Mapped
from shoal.errors import InputError, InternalError, MissingExtraError, ShoalError

_SPARK, _JAVA = 4, 17


def need_spark() -> None:
    """Refuse to go on without PySpark and, where no session is open, Java."""
    try:
        import pyarrow  # noqa: F401
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("The engine 'spark'", str(error.name or "pyspark"), "spark") from None
    refuse_old("PySpark", pyspark.__version__)
    if SparkSession.getActiveSession() is None and not _is_running():
        need_java()


def _is_running() -> bool:
    """Whether there is a session that is not ours to stop, active in this thread or not."""
    import pyspark

    return getattr(pyspark.SparkContext, "_active_spark_context", None) is not None or "SPARK_REMOTE" in os.environ


@contextmanager
def session(folder: Path | None = None) -> Iterator[Any]:
    """The session of whoever calls, or one of our own for as long as it is needed.

    Parameters
    ----------
    folder
        Where scratch files go.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is not None or _is_running():
        yield found or SparkSession.builder.getOrCreate()
        return
    with scratch(folder) as own:
        with told():
            # A configuration knows the defaults of the place only once Java runs.
            SparkContext._ensure_initialized()
            _forget_folder(SparkContext._jvm)
            found = _started(SparkConf(), SparkSession.builder, own)
        try:
            yield found
        finally:
            try:
                found.stop()
            finally:
                with suppress(Exception):  # of a Java that has ended, whose own fault is told
                    _forget_folder(SparkContext._jvm)


def _forget_folder(java: Any) -> None:
    """Have the next session find a folder of its own: Java goes on, and would write to that of the first for good."""
    getattr(getattr(java.org.apache.spark.util, "Utils$"), "MODULE$").clearLocalRootDirs()


def _started(given: Any, builder: Any, folder: Path) -> Any:
    """A session as the configuration says; on this machine alone, nobody else reaches it."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # which is not used
    builder = builder.appName("shoal").config("spark.ui.showConsoleProgress", "false")
    if given.get("spark.master", "").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # What a task fails of is told in a sentence; its traces would stand on the terminal before that.
        ours = {"spark.local.dir": str(folder.resolve()), "spark.ui.enabled": "false", "spark.log.level": "OFF"}
        ours |= dict.fromkeys(("spark.driver.host", "spark.driver.bindAddress"), "127.0.0.1")
        for name, value in ours.items():
            if not given.contains(name):
                builder = builder.config(name, value)
    return builder.getOrCreate()


def need_java(version: int = _JAVA) -> None:
    """Refuse to go on without Java of a version, or a later one."""
    found = java_version()
    advice = f"install Java {version} (such as the package openjdk-{version}-jre-headless), or set JAVA_HOME to it"
    if found is None:
        raise InputError(f"The engine 'spark' needs Java {version} or later, and there is none: {advice}.")
    if found < version:
        raise InputError(f"The engine 'spark' needs Java {version} or later, and this is Java {found}: {advice}.")


def java_version() -> int | None:
    """The version of Java that Spark would start, None where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        return None
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if said is None:
        return None
    return int(said[2] or 0) if said[1] == "1" else int(said[1])  # Java 8 called itself 1.8


def refuse_old(what: str, version: str) -> None:
    """Refuse a version of Spark that lacks what is needed."""
    if int(version.split(".")[0]) < _SPARK:
        raise InputError(f"{what} {version} is too old: the engine 'spark' needs {_SPARK}.0 or later.")


@contextmanager
def told() -> Iterator[None]:
    """What Spark could not do, in one sentence; its own words may hold more than is good."""
    try:
        yield
    except ShoalError:
        raise
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise _sentence(str(error), type(error).__name__) from None


def _sentence(text: str, kind: str) -> ShoalError:
    ours = re.search(r"shoal\.errors\.(\w+): (.+)", text)
    if ours is not None and isinstance(getattr(errors, ours[1], None), type):
        return InputError(ours[2].strip())
    for mark, sentence in _KNOWN.items():
        if mark in text:
            return InputError(sentence)
    return InputError(f"Spark cannot read, count or write rows of this source ({kind}): see the logs of its executors.")


_KNOWN = {
    "MALFORMED_RECORD": "A row of the source has more or fewer cells than its header, or a line break inside quotes: "
    "correct it, or use the engine 'duckdb', which names the row and reads such lines.",
    "TABLE_OR_VIEW_NOT_FOUND": "Spark knows no table of that name: check 'table' under [source].",
    "PATH_NOT_FOUND": "Spark finds no file there: check 'path' under [source].",
    "No module named 'shoal'": "The executors of Spark have no Shoal: install it there, or send it along "
    "(spark-submit --archives).",
    "PYTHON_VERSION_MISMATCH": "The executors of Spark run another version of Python: set PYSPARK_PYTHON to one that "
    "all machines have.",
    "No space left": "The disk of Spark or of the scratch folder is full: name another folder under [engine].",
    "Permission denied": "The executors of Spark may not write to the scratch folder: name another under [engine].",
}


def collected(rows: Any) -> pl.DataFrame:
    """What a small table holds: dictionaries, cells, classes. The one place where anything comes to the driver."""
    return pl.DataFrame(rows.toArrow())


def observed(rows: Any, column: str) -> tuple[Any, Any]:
    """Rows, and what tells as ``n`` how many had something in a column, once they were read for the first time."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count

    seen = Observation()
    return rows.observe(seen, count(column).alias("n")), seen


def refuse_broken_lines(session: Any, files: Sequence[str], separator: str | None) -> None:
    """Refuse text in which a line ends inside quotes, where Spark would begin a row, or a row that it would leave out.

    Parameters
    ----------
    separator
        Between cells: blanks without one are no row, which is what Spark and everybody else leave out. None where
        there is a single column, or nobody knows how many, so that they may be one.
    """
    from pyspark.sql.functions import col, expr

    lines = session.read.text(list(files)).select(
        expr("(length(value) - length(replace(value, '\"', ''))) % 2").alias("odd"),
        (col("value").rlike(r"^[\x00-\x20]+$") & ~col("value").rlike(_no_row(separator))).cast("int").alias("blank"),
    )
    found = collected(lines.groupBy().sum()).fill_null(0).row(0)
    if found[0]:
        raise InputError(
            f"{found[0]} lines of the source have an odd number of quotes, so that a line break or a quote stands "
            "inside a cell: correct them, or use the engine 'duckdb', which reads cells of several lines."
        )
    if found[1]:
        raise InputError(
            f"{found[1]} lines of the source have nothing but white space, which Spark leaves out: remove them, or use "
            "the engine 'duckdb', which reads rows of missing cells."
        )


def _no_row(separator: str | None) -> str:
    """A pattern of the lines of blanks that are no row anywhere."""
    return "^$" if separator is None else f"^[{_BLANKS.replace(separator, '')}]*$"


# What strips at the edges both in Java and in Python.
_BLANKS = " \t\x0b\x0c\r\x1c\x1d\x1e\x1f"


def mapped(rows: Any, made: Mapped, empty: pl.DataFrame) -> Any:
    """Rows as machines make them of their batches, given what they make of none."""
    described = ", ".join(f"{name} {_sql_type(kind)}" for name, kind in empty.schema.items())
    return rows.mapInArrow(made, described)


def carried_out(session: Any, count: int, made: Callable[..., Iterator[pl.DataFrame]]) -> pl.DataFrame:
    """What machines say of so many pieces of work, each of which one of them does, in the order of their numbers."""
    pieces = session.range(0, count, 1, count)
    found = collected(mapped(pieces, Mapped(made), pl.DataFrame(schema=DONE))).sort("at")
    if found["at"].to_list() != list(range(count)):
        raise InternalError("Spark did other pieces of work than it was given, or some of them twice: run again.")
    return found


def task() -> tuple[int, int]:
    """The part that a machine works on, and the number of its attempt, which no other has."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise InternalError("A piece of work for Spark was done outside of it.")
    return int(context.partitionId()), int(context.taskAttemptId())


def _sql_type(kind: pl.DataType) -> str:
    if isinstance(kind, pl.Decimal):
        return f"decimal({kind.precision or 38}, {kind.scale})"
    return _TYPES[kind.base_type()]


_TYPES: dict[Any, str] = {
    pl.String: "string", pl.Boolean: "boolean", pl.Int8: "tinyint", pl.Int16: "smallint", pl.Int32: "int",
    pl.Int64: "bigint", pl.Float32: "float", pl.Float64: "double", pl.Date: "date", pl.Datetime: "timestamp_ntz",
}  # fmt: skip
