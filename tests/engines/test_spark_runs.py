"""Spark in processes of its own: what it lacks is said before anything is read, and a run that ends leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import polars as pl
import pytest

from shoal.engines import spark_session
from shoal.engines.scratch import clear
from shoal.engines.spark_tasks import CHANGED, Each, Mapped
from shoal.errors import InputError, InternalError, MissingExtraError
from shoal.recipe.recipe import load_recipe
from shoal.release.spark import spark_source
from tests.conftest import many

pyspark = pytest.importorskip("pyspark", reason="needs PySpark: pip install 'shoal[spark]'")
ROOT = Path(__file__).resolve().parents[2]
RECIPE = """
seed = 1
[source]
path = "people.csv"
[roles]
key = "line"
quasi = ["age"]
[[models]]
name = "k"
k = 3
[algorithm]
name = "mondrian"
[engine]
name = "spark"
scratch = "scratch"
"""


@pytest.mark.parametrize(
    "says, version", [('openjdk version "17.0.15"', 17), ('java version "1.8.0_442"', 8), ("nothing at all", None)]
)
def test_java_is_asked_for_its_version(
    says: str, version: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert spark_session.java_version() == version
    if version != 17:
        with pytest.raises(InputError, match="needs Java 17 or later"):
            spark_session.need_java()
    shutil.rmtree(tmp_path / "bin")
    with pytest.raises(InputError, match="there is none"):
        spark_session.need_java()


@pytest.mark.parametrize(
    "given",
    [{}, {"spark.ui.enabled": "true", "spark.driver.bindAddress": "10.0.0.1", "spark.log.level": "WARN"}],
)
def test_a_session_of_its_own_is_reached_by_nobody_else_unless_that_is_asked_for(
    given: dict[str, str], tmp_path: Path
) -> None:
    class Builder(dict[str, str]):
        def config(self, name: str, value: str) -> Builder:
            return Builder({**self, name: value})

        def appName(self, name: str) -> Builder:
            return self

        def getOrCreate(self) -> Builder:
            return self

    conf = pyspark.SparkConf(loadDefaults=False).setMaster("local[1]").setAll(list(given.items()))
    made = spark_session._started(conf, Builder(), tmp_path)
    expected = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "OFF",
    }  # fmt: skip
    assert {name: made.get(name, given.get(name)) for name in expected} == expected | given


@pytest.mark.parametrize("lacking", ["java", "pyspark", "a new pyspark"])
def test_what_is_missing_is_said_before_anything_is_read(
    lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    monkeypatch.setattr(spark_session, "_is_running", lambda: False)
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    kind, words = InputError, "needs Java 17 or later, and there is none"
    if lacking == "java":
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    elif lacking == "pyspark":
        monkeypatch.setitem(sys.modules, "pyspark", None)
        kind, words = MissingExtraError, "shoal[spark]"
    else:
        monkeypatch.setattr(pyspark, "__version__", "3.5.1")
        words = "PySpark 3.5.1 is too old: the engine 'spark' needs 4.0 or later"
    with pytest.raises(kind) as refused, spark_source(load_recipe(tmp_path / "recipe.toml")):
        pass
    assert words in str(refused.value)


def test_what_spark_says_is_told_in_one_sentence() -> None:
    from pyspark.errors import AnalysisException

    for text, words in (
        ("[TABLE_OR_VIEW_NOT_FOUND] `secret`", "Spark knows no table"), ("java.lang.Odd: a cell", "cannot read, count"),
        ("File x\nshoal.errors.InputError: The source changed.\nat y", "The source changed."),
    ):  # fmt: skip
        with pytest.raises(InputError) as found, spark_session.told():
            raise AnalysisException(text)
        assert words in str(found.value)
        assert "cell" not in str(found.value)


def test_no_cell_stands_in_what_a_machine_says_of_its_rows() -> None:
    def quoting(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(pl.col("age").cast(pl.Int64))

    batches = pl.DataFrame({"age": ["30", "hidden"]}).to_arrow().to_batches()
    with pytest.raises(pl.exceptions.PolarsError, match="hidden"):
        quoting(pl.DataFrame({"age": ["30", "hidden"]}))
    with pytest.raises(InputError) as found:
        list(Mapped(Each(quoting))(iter(batches)))
    logged = "".join(traceback.format_exception(found.value))
    assert "could not read, code or publish its rows (InvalidOperationError)" in logged
    assert "hidden" not in logged

    def panicking(frame: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.PanicException("no 'hidden' was expected")

    assert not issubclass(pl.exceptions.PanicException, Exception)
    with pytest.raises(InputError) as found:
        list(Mapped(Each(panicking))(iter(batches)))
    assert "hidden" not in "".join(traceback.format_exception(found.value))

    def changed(frame: pl.DataFrame) -> pl.DataFrame:
        raise InputError(CHANGED)

    with pytest.raises(InputError, match="The source changed"):
        list(Mapped(Each(changed))(iter(batches)))


def test_work_that_was_not_done_as_it_was_given_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        def range(self, *given: int) -> Session:
            return self

    for told in ([0, 1], [0, 1, 1, 2], []):
        said = pl.DataFrame({"at": told, "name": ["x"] * len(told), "n": [1] * len(told)})
        monkeypatch.setattr(spark_session, "mapped", lambda *given, said=said: said)
        monkeypatch.setattr(spark_session, "collected", lambda rows: rows)
        with pytest.raises(InternalError, match="other pieces of work than it was given"):
            spark_session.carried_out(Session(), 3, iter)
    with pytest.raises(InternalError, match="outside of it"):
        spark_session.task()


def test_scratch_that_others_wrote_to_after_its_run_is_cleared(tmp_path: Path) -> None:
    late = tmp_path / ".shoal-scratch-0123" / "coded" / "_temporary"
    late.mkdir(parents=True)
    clear(tmp_path)
    assert list(tmp_path.iterdir()) == []


ENDED = """
import os, signal, sys, shoal
def progress(step):
    if step.startswith(sys.argv[2]):
        os.kill(os.getpid(), getattr(signal, sys.argv[3]))
shoal.run(sys.argv[1], progress=progress)
"""


def environment(folder: Path) -> dict[str, str]:
    """Where Spark starts quickly rather than runs fast."""
    where = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(
        "spark.ui.enabled false\nspark.sql.shuffle.partitions 1\nspark.sql.adaptive.enabled false\n"
        "spark.sql.codegen.wholeStage false\nspark.master local[2]\n"
    )
    return {
        **os.environ, "PYTHONPATH": where, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(folder / "conf"), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }  # fmt: skip


@pytest.mark.skipif((spark_session.java_version() or 0) < 17, reason="needs Java 17: install openjdk-17-jre-headless")
def test_a_run_that_ends_leaves_nothing_and_the_next_completes_under_spark_submit(tmp_path: Path) -> None:
    ages = [20 + row * 7 % 40 for row in range(200)]
    pl.DataFrame({"line": range(200), "age": ages}).write_csv(tmp_path / "people.csv")
    recipe, scratch, script = tmp_path / "recipe.toml", tmp_path / "scratch", tmp_path / "script.py"
    scratch.mkdir()
    recipe.write_text(RECIPE)
    script.write_text(ENDED)
    given = environment(tmp_path)
    for step, how in [("coding", "SIGKILL"), ("judging", "SIGINT")][: many(1, 2)]:
        command = [sys.executable, str(script), str(recipe), step, how]
        ended = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300)
        assert ended.returncode == -getattr(signal, how), ended.stderr
        assert not (tmp_path / "out").exists()
    submit = Path(pyspark.__file__).with_name("bin") / "spark-submit"
    command = [str(submit), str(script), str(recipe), "never", "SIGKILL"]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "conf", "out", "out.evidence", "people.csv", "recipe.toml", "scratch", "script.py"
    ]  # fmt: skip
    assert list(scratch.iterdir()) == []


SESSIONS = """
import sys
from pathlib import Path
from shoal.engines.spark_session import session
for name in sys.argv[1:-1]:
    with session(Path(name)) as spark:
        print(spark.sparkContext._temp_dir)
    assert not list(Path(name).iterdir())
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.local.dir", sys.argv[-1]).getOrCreate()
print(spark.sparkContext._temp_dir)
spark.stop()
"""


@pytest.mark.skipif((spark_session.java_version() or 0) < 17, reason="needs Java 17: install openjdk-17-jre-headless")
def test_a_second_session_of_one_process_writes_to_its_own_folder(tmp_path: Path) -> None:
    """One of ours behind another of ours, and one of somebody else behind both."""
    folders = [tmp_path / "one", tmp_path / "two", tmp_path / "three"]
    for folder in folders:
        folder.mkdir()
    command = [sys.executable, "-c", SESSIONS, *map(str, folders)]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    written = map(Path, done.stdout.split())
    assert all(place.is_relative_to(folder) for place, folder in zip(written, folders, strict=True))
