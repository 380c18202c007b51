"""Runs that are killed or interrupted leave nothing behind, and the next one completes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.engines.kills import Killed, storm
from tests.engines.server import Server

ROWS = 2000
BOTH = [signal.SIGKILL, signal.SIGINT]


def test_in_memory(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "place", "memory", None, ROWS)
    assert storm(killed, 1, seed=4, signals=BOTH).total() == 1


def test_on_duckdb(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    killed = Killed(tmp_path / "place", "duckdb", None, ROWS)
    assert storm(killed, 2, seed=4, signals=BOTH).total() == 2


def test_on_postgres(tmp_path: Path, postgres: Server) -> None:
    killed = Killed(tmp_path / "place", "postgres", postgres, ROWS)
    assert storm(killed, 2, seed=4, signals=BOTH).total() == 2
    killed.clean()
    postgres.do("DROP TABLE public.killed")
