"""Spark DataFrames in and out, and sources of recipes that Spark reads."""

from __future__ import annotations

import atexit
import codecs
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tomlkit

from shoal.data.keys import Keys
from shoal.engines.spark import SparkRows
from shoal.engines.spark_session import need_spark, observed, refuse_broken_lines, refuse_old, session, told
from shoal.errors import InputError, ParameterError, RecipeError
from shoal.io.cell_format import check_names
from shoal.io.files import extension_of
from shoal.io.folders import ENDINGS, is_hidden
from shoal.io.frames import Arriving
from shoal.io.partitions import Looked, Partitions, look_at
from shoal.recipe.recipe import Recipe, dump_recipe, load_recipe, parse_recipe
from shoal.release.capabilities import CLUSTER, require
from shoal.release.entry import methods, opened_on, plan_of
from shoal.release.prepare import Progress
from shoal.release.publish import publish
from shoal.release.sinks import Elsewhere, Gone
from shoal.release.write import leaks_of, refuse_leaks
from shoal.results import Release
from shoal.verify.folder import MANIFEST


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkSource:
    """A Spark DataFrame as a source.

    Attributes
    ----------
    rows
        The DataFrame; it must give the same rows whenever it is read.
    name
        What it is called where nobody said.
    odd
        Of text, whether rows have another length stands beside them in a column of this name.
    """

    rows: Any
    name: str
    arriving: Arriving
    odd: str | None = None
    _seen: list[Any] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        names, where = list(self.frame.columns), self.arriving.where
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise InputError(f"Two columns of {where} are called '{twice[0]}': give one of them another name.")
        check_names(names, where)

    @property
    def frame(self) -> Any:
        """Its rows."""
        return self.rows if self.odd is None else self.rows.drop(self.odd)

    def watched(self) -> Any:
        """Its rows, to be read once before :meth:`refuse` is asked."""
        if self.odd is None:
            return self.rows
        rows, seen = observed(self.rows, self.odd)
        self._seen[:] = [seen]
        return rows.drop(self.odd)

    @property
    def faults(self) -> Any:
        """Counts cells that no table may have."""
        return self.arriving.faults

    @property
    def clean(self) -> Any:
        """Brings a batch into the form of a source."""
        return self.arriving.clean

    def refuse(self, found: Mapping[tuple[str, str], int]) -> None:
        """Refuse rows of another length, and cells that no table may have."""
        count = sum(int(one.get["n"]) for one in self._seen)
        if count:
            raise InputError(
                f"{count} rows of {self.arriving.where} have more or fewer cells than its header: correct them, or use "
                "the engine 'duckdb', which names them."
            )
        self.arriving.refuse(found)


@contextmanager
def spark_source(recipe: Recipe) -> Iterator[SparkSource]:
    """The files or the table that a recipe names, read by Spark."""
    source, scratch = recipe.source, recipe.engine.scratch
    need_spark()
    looked = _looked(recipe)
    with session(None if scratch is None else recipe.resolve(scratch)) as spark, told():
        refuse_old("Spark", spark.version)
        if source.table is not None:
            name = source.table.rpartition(".")[2].strip("`")
            yield _source(spark.table(source.table), name, f"the table '{source.table}'", recipe)
            return
        path = source.file
        if looked is None:  # where only Spark can look
            where = f"'{path.rpartition('/')[2]}'"
            kind = extension_of(Path(path)) if Path(path).suffix else ".parquet"
            if kind == ".parquet":
                yield _source(spark.read.parquet(path), Path(path).stem, where, recipe)
            else:
                yield _source(_text(spark, [path], kind, recipe), Path(path).stem, where, recipe, text=True)
            return
        files = [_PATTERN.sub(r"\\\g<0>", _address(one)) for one in looked.places]
        where = f"'{looked.paths[0].name}'"
        if looked.kind == ".parquet":
            frame = _parquet(spark, files, looked.partitions)
            yield _source(frame, looked.name, where, recipe, zones=looked.zones)
        else:
            frame = _text(spark, files, looked.kind, recipe, looked)
            yield _source(frame, looked.name, where, recipe, text=True)


def _looked(recipe: Recipe) -> Looked | None:
    """What files of this machine are; None where they are not, or a table is read."""
    source = recipe.source
    if source.path is None:
        return None
    path = _HERE.sub("/", source.path)
    if _ELSEWHERE.match(path):
        _refuse_hidden([Path(path).name] if Path(path).suffix in ENDINGS else [])
        return None
    looked = look_at(
        path, base=recipe.base, columns=source.columns, separator=source.separator, encoding=source.encoding
    )
    _refuse_hidden([one.name for one in looked.paths])
    if looked.partitions.wide:
        raise InputError(
            "Names of folders hold letters as '%C3%A4', which Spark reads as others: rename the folders, or use the "
            "engine 'duckdb'."
        )
    return looked


def _address(path: Path) -> str:
    """A path as Spark takes it, which is no address of the web: nothing in it stands for anything else."""
    return f"file:///{path.as_posix().lstrip('/')}"


def _refuse_hidden(names: Sequence[str]) -> None:
    """Refuse named files that Spark would leave out silently."""
    for name in names:
        if is_hidden(name):
            raise InputError(
                f"Spark leaves out files whose names begin with '.' or '_', and the source names '{name}': rename it, "
                "or use the engine 'duckdb'."
            )


def _source(
    frame: Any, name: str, where: str, recipe: Recipe, *, text: bool = False, zones: Mapping[str, str] | None = None
) -> SparkSource:
    # Times have no zone of their own on Spark: those of a file have its, others the session's.
    times = [field.name for field in frame.schema if field.dataType.typeName() == "timestamp"]
    here = frame.sparkSession.conf.get("spark.sql.session.timeZone") if times else ""
    arriving = Arriving(
        where=where, missing_markers=tuple(recipe.source.missing_markers), decoded=text,
        zones={name: (zones or {}).get(name, here) for name in times},
    )  # fmt: skip
    return SparkSource(rows=frame, name=name, arriving=arriving, odd=_ODD if text else None)


def _parquet(spark: Any, files: list[str], partitions: Partitions) -> Any:
    """Parquet, with columns that folders name."""
    rows = spark.read.parquet(*files)
    if not partitions.names:
        return rows
    return _placed(spark.read, partitions).schema(_typed(rows.schema, partitions)).parquet(*files)


def _placed(reader: Any, partitions: Partitions) -> Any:
    return reader.option("basePath", _address(partitions.root.resolve())) if partitions.names else reader


def _typed(schema: Any, partitions: Partitions) -> Any:
    """Columns with those that folders name, as text: Spark would guess."""
    for name in partitions.names:
        schema = schema.add(name, "string")
    return schema


def _text(spark: Any, files: list[str], kind: str, recipe: Recipe, looked: Looked | None = None) -> Any:
    """Delimited text, every cell as it stands, beside rows of another length."""
    source, partitions = recipe.source, Partitions() if looked is None else looked.partitions
    # As they stand there, since Spark gives columns of one name others.
    named = source.columns or (None if looked is None else looked.own)
    separator = source.separator or ("\t" if kind == ".tsv" else ",")
    refuse_broken_lines(spark, files, separator if len(named or ()) > 1 else None)
    reader = spark.read.options(
        sep=separator, encoding=_charset(source.encoding), quote='"',
        escape='"', enforceSchema=False, inferSchema=False, header=source.columns is None,
        columnPruning=False,  # a row is looked at as a whole
        mode="PERMISSIVE", columnNameOfCorruptRecord=_ODD,  # other modes quote the row that they refuse in logs
    )  # fmt: skip
    if source.columns is not None:
        reader = reader.schema(", ".join(f"c{at} string" for at in range(len(source.columns))))
    schema = _typed(reader.csv(files).schema.add(_ODD, "string"), partitions)
    rows = _placed(reader, partitions).schema(schema).csv(files)
    return rows if named is None else rows.toDF(*named, _ODD, *partitions.names)


def _charset(encoding: str) -> str:
    """An encoding as Spark calls it."""
    try:
        return _CHARSETS[codecs.lookup(encoding).name]
    except LookupError:
        raise ParameterError(
            f"Spark does not read text in the encoding '{encoding}': save it as 'utf-8', or use the engine 'duckdb'."
        ) from None


_ODD = "shoal_row_of_another_length"
_CHARSETS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "ascii": "US-ASCII", "iso8859-1": "ISO-8859-1"}
_PATTERN = re.compile(r"[\\{}\[\]*?]")
_HERE = re.compile(r"^file:/(//)?(?!/)")  # a path as Spark's own, see _address
_ELSEWHERE = re.compile(r"[A-Za-z][\w+.-]+:/")  # such as hdfs://, s3a:// and dbfs:/


class SparkTables(Elsewhere):
    """Released rows in files of the scratch folder, which is private, since the gate saw the input beside them there.

    They are removed by :meth:`close`, or when the program ends: write the frame where it is to go before that.
    """

    def __init__(self) -> None:
        super().__init__("The rows of this release stay with Spark: use its 'frame'.")
        self._frame: Any = None
        self._held = ExitStack()

    def keep(self, frame: Any, held: ExitStack) -> None:
        """Hold files, and the Spark DataFrame of them, until they are not needed any more."""
        self._frame, self._held = frame, held
        # Not when nobody holds the release any more: somebody may still hold its frame.
        atexit.register(self.close)

    def copy(self, table: str) -> Any:
        """A Spark DataFrame, in no order of the source."""
        return self._frame

    def close(self) -> None:
        """Remove the files; the frame cannot be read any more."""
        atexit.unregister(self.close)
        self._held.close()


def anonymize(
    frame: Any,
    recipe: Recipe | Mapping[str, Any] | str | Path,
    *,
    scratch: str | Path | None = None,
    progress: Progress = lambda step: None,
) -> Release:
    """Anonymise a Spark DataFrame and gate the result.

    Parameters
    ----------
    frame
        A DataFrame that gives the same rows whenever it is read; a column of it must have the role ``key``.
    recipe
        A recipe, the path of one, or its tables as a mapping. Its source and output are not looked at, but for
        ``missing``, ``missing_markers``, ``suppressed`` and the like.
    scratch
        A folder that the driver and all executors see; by default the recipe's, or the system's temporary one.

    Examples
    --------
    ::

        with shoal.spark.anonymize(visits, "visits.toml", scratch="/mnt/shared/tmp") as release:
            release.frame.write.parquet("s3a://public/visits")
            print(release.manifest["statement"])
    """
    asked = _recipe(recipe, scratch)
    for what in ("vault", "token_key", "codes"):
        if getattr(asked.output, what) is not None:
            raise RecipeError(
                f"There is a '{what}' under [output], which is for releases in a folder: leave it out and keep the "
                "'secrets' of this one, or use 'shoal run'."
            )
    method, models = methods(asked)
    require(asked, method)
    if not hasattr(frame, "sparkSession") or not hasattr(frame, "mapInArrow"):
        raise InputError(f"A {type(frame).__name__} is no Spark DataFrame: use shoal.read and shoal.anonymize for it.")
    refuse_old("Spark", frame.sparkSession.version)
    keys, tables = Keys.from_seed(asked.seed), SparkTables()
    with ExitStack() as held:
        source = _source(frame, asked.source.name or "frame", "the frame", asked)
        rows = held.enter_context(opened_on(asked, source, keys, progress))
        release = publish(plan_of(asked, rows, method, models, keys, progress).judged(), tables)
        published = release.rows
        assert isinstance(published, SparkRows)
        leaks = leaks_of(release, {MANIFEST: release.gated.manifest})
        for batch in published.released():
            leaks.see(batch)
        refuse_leaks(release, leaks)
        tables.keep(published.frame(), held.pop_all())
    gone: Any = Gone("The rows of this release stay with Spark: use its 'frame'.")
    evidence = {**release.evidence, "recipe": dump_recipe(asked)}
    secrets = () if asked.output.discard_secret else release.secrets
    return replace(release, evidence=evidence, secrets=secrets, released=gone, rows=gone)


def _recipe(given: Recipe | Mapping[str, Any] | str | Path, scratch: str | Path | None) -> Recipe:
    """What is asked for, on this engine."""
    if isinstance(given, Mapping):
        usual = {"source": {"path": ""}, "engine": {"name": CLUSTER}}
        parts = {name: given.get(name, {}) for name in usual}
        parts = {name: {**usual[name], **part} if isinstance(part, Mapping) else part for name, part in parts.items()}
        try:
            given = parse_recipe(tomlkit.dumps({**given, **parts}))
        except tomlkit.exceptions.ConvertError:
            raise RecipeError("A recipe holds texts, numbers, dates, lists and tables, and nothing else.") from None
    recipe = given if isinstance(given, Recipe) else load_recipe(given)
    folder = recipe.engine.scratch if scratch is None else str(Path(scratch).resolve())
    mine = recipe.engine.model_copy(update={"name": CLUSTER, "scratch": folder})
    changed = recipe.model_copy(update={"engine": mine})
    changed._base = recipe.base
    return changed
