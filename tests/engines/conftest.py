"""A database for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
