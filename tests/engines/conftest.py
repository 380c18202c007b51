"""A database and a Spark session for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shoal.engines import spark_session
from tests.engines import session
from tests.engines.server import Server, binaries, running


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
    """One session for the tests of a file."""
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'shoal[spark]'")
    if (spark_session.java_version() or 0) < 17:
        pytest.skip("needs Java 17: install openjdk-17-jre-headless")
    with session.started() as found:
        yield found
