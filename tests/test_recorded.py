"""The same seed gives the cells that it gave when they were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.catalogue import names
from shoal.vault import seal
from tests.recorded import made_again, recorded

RECORDED = recorded()


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deriving keys is made cheap for no longer than a test."""
    monkeypatch.setattr(seal, "MEMORY", seal.MEMORY)


@pytest.mark.parametrize("case", RECORDED)
def test_the_same_seed_gives_the_same_release(tmp_path: Path, case: str) -> None:
    now = made_again(case, tmp_path)
    assert now is not None
    assert now.split()[0] == RECORDED[case].split()[0], "meant? then record anew: python -m tests.recorded --write"


def test_every_algorithm_is_recorded() -> None:
    assert {case.split()[-1] for case in RECORDED} == set(names("algorithm"))
