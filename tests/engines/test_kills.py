"""Runs that are killed or interrupted leave nothing behind, and the next one completes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.conftest import THOROUGH, many
from tests.engines.kills import Killed, storm
from tests.engines.server import Server

ROWS = 2000
KILLS = many(1, 10)
# Kills at every step of a publication are tried elsewhere.
SIGNALS = [signal.SIGINT] if not THOROUGH else [signal.SIGKILL, signal.SIGINT]


def test_in_memory(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "place", "memory", None, ROWS)
    assert storm(killed, KILLS, seed=4, signals=SIGNALS).total() == KILLS


def test_on_duckdb(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    killed = Killed(tmp_path / "place", "duckdb", None, ROWS)
    assert storm(killed, KILLS, seed=4, signals=SIGNALS).total() == KILLS


def test_on_postgres(tmp_path: Path, postgres: Server) -> None:
    killed = Killed(tmp_path / "place", "postgres", postgres, ROWS)
    assert storm(killed, KILLS, seed=4, signals=SIGNALS).total() == KILLS
    killed.clean()
    postgres.do("DROP TABLE public.killed")
