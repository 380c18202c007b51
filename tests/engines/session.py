"""A Spark session of the tests' own: two threads, told to start quickly rather than to run fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false",
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "Europe/Vienna",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}  # fmt: skip


@contextmanager
def started() -> Iterator[Any]:
    """A session, until it is no longer needed."""
    from pyspark.sql import SparkSession

    where = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYSPARK_PYTHON")}
    os.environ.update({"PYTHONPATH": where, "PYSPARK_PYTHON": sys.executable})
    builder = SparkSession.builder.master("local[2]").appName("shoal tests")
    for name, value in SETTINGS.items():
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
