"""A database and a Spark session for the tests that need one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.engines import cluster
from tests.engines.server import Server, binaries, running

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL that is started for this run of the tests."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'shoal[postgres]'")
    programs = binaries()
    if programs is None:
        pytest.skip("needs the programs of PostgreSQL: install the package 'postgresql'")
    with running(programs) as server:
        yield server


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """One session of two threads, told to start quickly rather than to run fast."""
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'shoal[spark]'")
    if (cluster.java_version() or 0) < 17:
        pytest.skip("needs Java 17: install openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    where = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYSPARK_PYTHON")}
    os.environ.update({"PYTHONPATH": where, "PYSPARK_PYTHON": sys.executable})
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "Europe/Vienna",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]").appName("shoal tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
