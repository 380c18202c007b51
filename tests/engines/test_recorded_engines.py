"""Engines release what memory did: a few methods in a regular run, all that they serve in a thorough one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import THOROUGH
from tests.engines.server import Server
from tests.recorded.methods import methods, release, served
from tests.recorded.releases import RECORD_ANEW, recorded

FEW = {"duckdb": ["samarati", "anatomy"], "postgres": ["incognito"], "spark": ["table-transform"]}


def some(engine: str) -> list[str]:
    return [name for name in methods() if engine in served(name)] if THOROUGH else FEW[engine]


def test_engines_serve_what_is_tried_there() -> None:
    assert [(engine, name) for engine, tried in FEW.items() for name in tried if engine not in served(name)] == []


@pytest.mark.parametrize("name", some("duckdb"))
def test_duckdb_releases_as_recorded(name: str, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="needs duckdb: pip install 'shoal[duckdb]'")
    is_as_recorded(name, release(name, "duckdb", tmp_path))


@pytest.mark.parametrize("name", some("postgres"))
def test_postgres_releases_as_recorded(name: str, tmp_path: Path, postgres: Server) -> None:
    is_as_recorded(name, release(name, "postgres", tmp_path, postgres))


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", some("spark"))
def test_spark_releases_as_recorded(name: str, tmp_path: Path) -> None:
    is_as_recorded(name, release(name, "spark", tmp_path))


def is_as_recorded(name: str, made: str) -> None:
    data, _, share, *_ = recorded()[f"method {name}"].split()
    found = made.split()
    assert (found[0], found[2]) == (data, share), RECORD_ANEW
